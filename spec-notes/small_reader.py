"""A reader of seekable .warc.zst in 150 lines of code, with the standard library of Python 3.14 alone.

    python small_reader.py records FILE
    python small_reader.py range FILE OFFSET LENGTH START END

It is an adapter of conform.py as it stands, for those who read code rather than text: R12 and so on are
requirements of warc-zstd-seekable/index.md. Files are held in memory. There is no XXH64 in the library, so a
table whose checksums the frames do not repeat is left alone. So are file tables.
"""

import hashlib
import json
import re
import struct
import sys

try:
    from compression import zstd
except ImportError:  # The same for Python 3.9 to 3.13.
    from backports import zstd

MAX_CONTENT = 1 << 28


class Damage(Exception):
    """The file is not what it has to be."""


class Reader:
    def __init__(self, data):
        self.data, self.dictionary, self.begin = data, None, 0
        if self.number(0, 4) == 0x184D2A5D:
            self.begin = self.frame(0)[0]
            stored = data[8 : self.begin]
            if stored[:4] == b"\x28\xb5\x2f\xfd" and self.frame(8)[0] == self.begin:
                stored = self.content(8)[1]
            if stored[:4] != b"\x37\xa4\x30\xec" or stored[4:8] == bytes(4):  # R28
                raise Damage("the dictionary frame does not hold one dictionary")
            self.dictionary = zstd.ZstdDict(stored)

    def number(self, at, size):
        if at < 0 or at + size > len(self.data):
            raise Damage("the file ends within a frame")
        return int.from_bytes(self.data[at : at + size], "little")

    def frame(self, at):
        """Return end, content size and checksum of a frame (R27); 0 and None if it is skippable."""
        magic = self.number(at, 4)
        if magic >> 4 == 0x184D2A5:
            end = at + 8 + self.number(at + 4, 4)
            self.number(end, 0)
            return end, 0, None
        if magic != 0xFD2FB528:
            raise Damage(f"no frame begins at {at}")
        flags = self.number(at + 4, 1)
        single, last = flags >> 5 & 1, 0
        at += 6 - single + (0, 1, 2, 4)[flags & 3]
        width = (single, 2, 4, 8)[flags >> 6]
        size = self.number(at, width) + 256 * (width == 2) if width else None
        at += width
        while not last:
            block = self.number(at, 3)
            last, kind, length = block & 1, block >> 1 & 3, block >> 3
            if kind == 3 or length > 1 << 17:
                raise Damage("a block that cannot be")
            at += 3 + (1 if kind == 1 else length)
        end = at + (flags & 4)
        return end, size, self.number(at, 4) if flags & 4 else self.number(end, 0) or None

    def content(self, at):
        """Return the end and the content of a frame, of the size that it states; its checksum is compared."""
        end, size, _ = self.frame(at)
        if size == 0:
            return end, b""
        try:
            decoder = zstd.ZstdDecompressor(self.dictionary, {zstd.DecompressionParameter.window_log_max: 28})
            content = decoder.decompress(self.data[at:end], MAX_CONTENT)
        except zstd.ZstdError as error:
            raise Damage(f"frame at {at}: {error}") from error
        if not decoder.eof or size not in (None, len(content)):
            raise Damage(f"the frame at {at} holds more or less than it states")
        return end, content

    def header(self, content):
        """Return the sizes of a record's header and block; None if there is not all of it."""
        blank = content.find(b"\r\n\r\n")
        if not b"WARC/".startswith(bytes(content[:5]).upper()):
            raise Damage("no record begins here")
        if blank < 0:
            return None
        length = re.search(rb"(?i)\ncontent-length[ \t]*:[ \t]*(\d+)[ \t]*\r\n", content[: blank + 2])
        if length is None:
            raise Damage("a record without Content-Length")
        return blank + 4, int(length[1])

    def records(self, at):
        """Yield offset and block of the records from a place on, without tables (R18)."""
        content, done, places, found = b"", 0, [], False  # places: where frames begin, and their content ends
        while content or at < len(self.data):
            if found and content[:1] in (b"\r", b"\n"):  # R3
                done, content = done + 1, content[1:]
                continue
            sizes = self.header(content) if content else None
            if sizes and len(content) >= sum(sizes):
                places = [it for it in places if it[1] > done]
                yield places[0][0], content[sizes[0] : sum(sizes)]
                done, content, found = done + sum(sizes), content[sum(sizes) :], True
            elif at < len(self.data):
                start, (at, more) = at, self.content(at)
                content += more
                places += [(start, done + len(content))] if more else []
            else:
                raise Damage("the file ends within a record")
        if not found:
            raise Damage("the file holds no record")

    def table(self, offset, end, walked, total):
        """Return the entries of the record table that ends at a place, or None (R12, R14, R16, R17)."""
        if end - offset < 17 or end > len(self.data) or self.number(end - 4, 4) != 0x8F92EAB1:
            return None
        count, flags = self.number(end - 9, 4), self.number(end - 5, 1)
        width = 12 if flags >> 7 else 8
        start = end - count * width - 17
        is_bad = flags & 0x7C or count > 0x08000000 or count * 8 > start - offset
        if is_bad or self.data[start : start + 8] != struct.pack("<II", 0x184D2A5E, end - start - 8):
            return None
        rows, at = [], offset
        for row in struct.iter_unpack(f"<{width // 4}I", self.data[start + 8 : end - 9]):
            rows.append((at, at + row[0], row[1], row[2] if width == 12 else None))
            at += row[0]
        if (
            at != start
            or sum(row[2] for row in rows) != total
            or not all(row[2] and row[0] < row[1] for row in rows)
        ):
            return None
        return rows if len(rows) >= len(walked) and all(map(self.is_listed, walked, rows)) else None

    def is_listed(self, frame, row):
        """Tell whether a frame is the one that is listed, by what it states (6.3, steps 1 to 3)."""
        start, end, size, checksum = frame
        return (start, end) == row[:2] and size in (None, row[2]) and (row[3] is None or checksum == row[3])

    def read(self, offset, length, start, stop):
        """Return bytes of the block of the record at a place."""
        end = None if length is None else offset + length
        while self.frame(offset)[1] == 0:  # R4
            offset = self.frame(offset)[0]
        walked, at, content, sizes = [], offset, b"", None
        while sizes is None:
            walked.append((at, *self.frame(at)))
            at, more = self.content(at)
            content += more
            sizes = self.header(content)
        rows = self.table(offset, end, walked, sum(sizes) + 4) if end is not None else None
        if rows is None:
            return next(self.records(offset))[1][start:stop]
        data, at, first, last = b"", 0, sizes[0] + start, sizes[0] + min(stop, sizes[1])
        for row in rows:
            if at < last and first < at + row[2]:
                frame, (_, content) = (row[0], *self.frame(row[0])), self.content(row[0])
                if frame[3] is None and row[3] is not None:  # There is no XXH64 to compare it with.
                    return next(self.records(offset))[1][start:stop]
                if not self.is_listed(frame, row) or len(content) != row[2]:
                    raise Damage(f"the frame at {row[0]} is not the one that is listed")
                data += content[max(first - at, 0) : last - at]
            at += row[2]
        return data


def main(question, path, *numbers):
    with open(path, "rb") as file:
        reader = Reader(file.read())
    if question == "range":
        sys.stdout.buffer.write(reader.read(*(None if it == "-" else int(it) for it in numbers)))
        return
    for offset, block in reader.records(reader.begin):
        digest = hashlib.sha256(block).hexdigest()
        print(json.dumps({"offset": offset, "length": None, "size": len(block), "sha256": digest}))


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except Damage as damage:
        sys.exit(str(damage))
