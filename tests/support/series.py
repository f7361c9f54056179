"""Series of files as they lie in a folder, taken apart, and held against what WARC 1.1 says of segments."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import seekwarc
from tests.support.writing import DATE, KIB, URI, StoredFrame, content_of, record_id, walk

FRAME = 64 * KIB
MAX = 300_000
"""Room for four frames that do not compress, and no fifth."""

MANDATORY = {"WARC-Type", "WARC-Record-ID", "WARC-Date", "Content-Length"}
OF_CONTINUATIONS = MANDATORY | {
    "WARC-Target-URI",
    "WARC-Segment-Origin-ID",
    "WARC-Segment-Number",
    "WARC-Block-Digest",
}
"""What continuations may have; the last of them may have two fields more (clause 7)."""


@dataclass(frozen=True)
class Found:
    """A record of a file that is closed again."""

    file: str
    header: seekwarc.RecordHeader
    block: bytes
    offset: int
    length: int

    def __getitem__(self, name: str) -> str | None:
        return self.header.get(name)

    @property
    def type(self) -> str | None:
        return self["WARC-Type"]

    @property
    def segment(self) -> int | None:
        number = self["WARC-Segment-Number"]
        return int(number) if number is not None else None

    @property
    def names(self) -> list[str]:
        return list(self.header)


@dataclass(frozen=True)
class FileFound:
    """A file of a series."""

    name: str
    data: bytes
    records: list[Found]

    @property
    def size(self) -> int:
        return len(self.data)

    def frames(self, dictionary: bytes | None = None) -> list[StoredFrame]:
        return walk(self.data, dictionary)


def files_in(folder: Path) -> list[FileFound]:
    """Read all files of a folder, hidden ones too, by their names."""
    found = []
    for name in sorted(os.listdir(folder)):
        data = (folder / name).read_bytes()
        with seekwarc.open(data) as archive:
            records = [Found(name, r.header, r.block.read(), r.offset, r.length) for r in archive]
        found.append(FileFound(name, data, records))
    return found


def write_series(
    folder: Path,
    *records: dict[str, Any],
    warcinfo: dict[str, str] | None = None,
    max_file_size: int = MAX,
    **options: Any,
) -> list[seekwarc.Written]:
    """Write records as "crawl.warc.zst"; what would differ from run to run is fixed, but for warcinfo."""
    options = {"frame_size": FRAME, **options}
    with seekwarc.Writer(folder / "crawl.warc.zst", max_file_size=max_file_size, **options) as writer:
        if warcinfo is not None:
            writer.write_warcinfo(warcinfo)
        done = []
        for number, record in enumerate(records):
            fixed = {"type": "resource", "target_uri": URI, "date": DATE, "record_id": record_id(number)}
            done.append(writer.write(**{**fixed, **record}))
    return done


def series_of(folder: Path, *records: dict[str, Any], **options: Any) -> list[FileFound]:
    """Write records, and return the files that came of it."""
    write_series(folder, *records, **options)
    return files_in(folder)


def user_records(files: Iterable[FileFound]) -> Iterator[Found]:
    """All records that were not put there by the series itself."""
    return (record for file in files for record in file.records[1:])


def logical_records(files: Iterable[FileFound]) -> list[tuple[Found, bytes]]:
    """Put segments together as clause 7 says: (first segment or whole record, block)."""
    segments: dict[str | None, list[Found]] = {}
    whole = []
    for record in user_records(files):
        if record.type == "continuation":
            segments.setdefault(record["WARC-Segment-Origin-ID"], []).append(record)
        else:
            whole.append(record)
    logical = []
    for record in whole:
        parts = sorted(segments.pop(record["WARC-Record-ID"], []), key=lambda part: part.segment or 0)
        logical.append((record, record.block + b"".join(part.block for part in parts)))
    assert segments == {}, "continuations of nothing"
    return logical


def labelled(algorithm: str, data: bytes) -> str:
    raw = hashlib.new(algorithm, data)
    value = base64.b32encode(raw.digest()).decode() if algorithm == "sha1" else raw.hexdigest()
    return f"{algorithm}:{value}"


def errors_of(header: seekwarc.RecordHeader) -> list[str]:
    """What the standard forbids in a header."""
    return [str(finding) for finding in seekwarc.check_header(header) if finding.severity == "error"]


SLACK = 2 * KIB
"""Room that a segment may leave: it is cut before its header and the head of its file are written."""


def assert_conforms(
    files: list[FileFound],
    max_size: int = MAX,
    *,
    name: str = "crawl-{:05}.warc.zst",
    dictionary: bytes | None = None,
) -> None:
    """Assert all that holds for every series in which large records could be segmented."""
    assert [file.name for file in files] == [name.format(number) for number in range(len(files))]
    ids = [record["WARC-Record-ID"] for file in files for record in file.records]
    assert len(set(ids)) == len(ids)
    for file in files:
        assert file.size <= max_size, file.name
        first, *others = file.records
        assert first.type == "warcinfo"
        assert first["WARC-Filename"] == file.name
        assert others, f"{file.name} holds nothing but its warcinfo record"
        for record in file.records:
            assert errors_of(record.header) == []
            assert len(record.block) == int(record["Content-Length"] or -1)
        frames = [frame for frame in file.frames(dictionary) if frame.is_data]
        assert content_of(frames) == b"".join(r.header.raw + r.block + b"\r\n\r\n" for r in file.records)
        assert max(len(frame.content) for frame in frames) <= 8 << 20
    for segments in segmented(files):
        assert_segments(segments, files)
        first = next(file for file in files if file.name == segments[0].file)
        following = files[files.index(first) + 1]
        assert first.size + next_frame_size(following, dictionary) + SLACK > max_size


def segmented(files: list[FileFound]) -> list[list[Found]]:
    """The segments of each record that has several."""
    records = list(user_records(files))
    return [
        [one, *(each for each in records if each["WARC-Segment-Origin-ID"] == one["WARC-Record-ID"])]
        for one in records
        if one.segment == 1
    ]


def assert_segments(segments: list[Found], files: list[FileFound]) -> None:
    """Assert what clause 7 says of the segments of one record."""
    first, *others = segments
    assert others
    assert first.type != "continuation"
    assert "WARC-Segment-Origin-ID" not in first.header
    names = [file.name for file in files]
    places = [names.index(segment.file) for segment in segments]
    assert places == list(range(places[0], places[0] + len(places))), "one file a segment, in order"
    assert all(files[place].records[1] is one for place, one in zip(places, segments, strict=True))
    for number, segment in enumerate(segments, 1):
        assert segment.segment == number
        assert segment["WARC-Target-URI"] == first["WARC-Target-URI"] is not None
        assert segment["WARC-Date"] == first["WARC-Date"]
        assert segment.block
        stated = segment["WARC-Block-Digest"]
        if stated is not None:
            assert stated == labelled(stated.partition(":")[0], segment.block)
        is_last = number == len(segments)
        total = str(sum(len(one.block) for one in segments))
        assert segment["WARC-Segment-Total-Length"] == (total if is_last else None)
        assert is_last or "WARC-Truncated" not in segment.header
    for segment in others:
        assert segment.type == "continuation"
        assert segment["WARC-Segment-Origin-ID"] == first["WARC-Record-ID"]
        more = {"WARC-Segment-Total-Length", "WARC-Truncated"} if segment is segments[-1] else set()
        assert set(segment.names) <= OF_CONTINUATIONS | more


def next_frame_size(following: FileFound, dictionary: bytes | None = None) -> int:
    """Stored bytes of the first frame of the block of the segment that a file begins with."""
    segment = following.records[1]
    frames = [f for f in following.frames(dictionary) if f.is_data and f.offset >= segment.offset]
    assert frames[0].content == segment.header.raw
    return frames[1].size
