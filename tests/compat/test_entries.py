"""What a file system tells of a record is what the record says."""

from __future__ import annotations

import seekwarc
from seekwarc.compat.entries import folder_info, listed_info, record_info


def test_a_record_without_fields_has_no_facts() -> None:
    raw = b"WARC/1.1\r\nWARC-Type: metadata\r\nContent-Length: 2\r\n\r\nHi\r\n\r\n"
    with seekwarc.open(raw) as archive:
        info = record_info("@0", next(iter(archive)), decoded=True)
    assert {name for name, value in info.items() if value is not None} == {
        "name", "type", "mode", "size", "record_type", "file", "offset",
    }  # fmt: skip
    assert (info["size"], info["record_type"], info["offset"]) == (2, "metadata", 0)


def test_a_listing_of_decoded_payloads_knows_no_sizes() -> None:
    date = seekwarc.WarcDate.parse("2026")
    listed = seekwarc.Entry("a.warc", 5, uri="http://e.org/", date=date, payload_size=100)
    assert listed_info(listed, decoded=False)["size"] == 100
    assert listed_info(listed, decoded=True)["size"] is None
    assert listed_info(listed, decoded=True)["name"] == "http://e.org/%2F"


def test_a_folder_is_a_directory() -> None:
    assert folder_info("http:")["type"] == "directory"
