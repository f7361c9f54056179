"""Which records belong to others, where relations lead far, in circles or nowhere."""

from __future__ import annotations

import base64
import hashlib
import io
import pickle
from collections.abc import Callable

import pytest

import seekwarc
from seekwarc.edit.closure import Catalogue
from seekwarc.edit.originals import Originals

DIGEST = "sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"


def closed(write: Callable[[seekwarc.Writer], object], *kept: int) -> tuple[list[int], dict[str, int], int]:
    """Return the numbers of the kept records, what was added, and the dangling revisits."""
    stored = io.BytesIO()
    with seekwarc.open(stored, "w") as out:
        write(out)
    catalogue = Catalogue()
    with seekwarc.open(stored.getvalue()) as archive:
        for number, record in enumerate(archive):
            # As other processes note them, some at a time.
            noted = Catalogue(key=catalogue.key)
            noted.add(record, kept=number in kept)
            catalogue.extend(pickle.loads(pickle.dumps(noted)))
    catalogue.end_file("a.warc.zst")
    with seekwarc.open(stored.getvalue()) as archive:
        records = [*archive]
        added, dangling = catalogue.close(Originals(catalogue, records.__getitem__))
        return list(catalogue.kept_in(0)), {name: count for name, count in added.items() if count}, dangling


def chain(out: seekwarc.Writer) -> None:
    before = None
    for number in range(6):
        fields = {"concurrent_to": before} if before is not None and number != 3 else {}
        before = out.write_resource(f"http://example.org/{number}", b"", "text/plain", **fields)


@pytest.mark.parametrize(("kept", "found"), [(0, [0, 1, 2]), (1, [0, 1, 2]), (5, [3, 4, 5])])
def test_chains_of_concurrent_records_are_kept_whole(kept, found) -> None:
    assert closed(chain, kept) == (found, {"concurrent": 2}, 0)


def circle(out: seekwarc.Writer) -> None:
    ids = [f"urn:uuid:00000000-0000-4000-8000-{number:012}" for number in range(3)]
    for number, own in enumerate(ids):
        out.write_resource("http://a/", b"", None, record_id=own, concurrent_to=ids[number - 1])


def test_circles_end() -> None:
    assert closed(circle, 1) == ([0, 1, 2], {"concurrent": 2}, 0)


def revisits(out: seekwarc.Writer) -> None:
    day = "2026-01-0{}T00:00:00Z".format
    info = out.write_warcinfo({"software": "test"})
    out.write_response("http://a/", b"page", status=200, date=day(1), warcinfo_id=info)
    original = out.write_response("http://b/", b"page", status=200, date=day(2))
    out.write_request("http://b/", b"GET / HTTP/1.1\r\n\r\n", concurrent_to=original)
    digest = original.header.get("WARC-Payload-Digest")
    out.write_revisit("http://c/", payload_digest=digest, refers_to=original)
    out.write_revisit(
        "http://c/", payload_digest=digest, refers_to_target_uri="http://a/", refers_to_date=day(1)
    )
    out.write_revisit("http://c/", payload_digest=digest)
    out.write_revisit("http://c/", payload_digest=DIGEST, refers_to="urn:uuid:0")
    out.write_revisit("http://c/", payload_digest=digest, refers_to="urn:uuid:0")


@pytest.mark.parametrize(
    ("kept", "found", "added"),
    [
        (4, [2, 3, 4], {"original": 1, "concurrent": 1}),
        (5, [0, 1, 5], {"original": 1, "warcinfo": 1}),
        (6, [2, 3, 6], {"original": 1, "concurrent": 1}),
        (8, [2, 3, 8], {"original": 1, "concurrent": 1}),
    ],
)
def test_an_original_is_found_by_id_place_or_digest(kept, found, added) -> None:
    assert closed(revisits, kept) == (found, added, 0)


def test_a_revisit_without_original_dangles() -> None:
    assert closed(revisits, 7) == ([7], {}, 1)


def test_a_warcinfo_record_brings_nothing_along() -> None:
    assert closed(revisits, 0) == ([0], {}, 0)


@pytest.mark.parametrize("form", ["sha1:{}", "SHA-1:{}", "sha1:{lower}", "sha1:{hex}", "sha-1:{hex}"])
def test_an_original_is_found_by_any_spelling_of_its_digest(form) -> None:
    raw = hashlib.sha1(b"page").digest()
    base32 = base64.b32encode(raw).decode("ascii")

    def write(out: seekwarc.Writer, *forms: str) -> None:
        first, second = (it.format(base32, lower=base32.lower(), hex=raw.hex()) for it in forms)
        out.write_resource("http://a/", b"page", "text/plain", payload_digest=first)
        out.write_revisit("http://c/", payload_digest=second)

    for forms in (("sha1:{}", form), (form, "sha1:{}")):
        assert closed(lambda out, forms=forms: write(out, *forms), 1) == ([0, 1], {"original": 1}, 0)
