"""An adapter of the conformance kit for pyzstd, a reader of the Zstandard Seekable Format.

It knows no WARC: the bytes of one record are a file of that format to it (section 11, consequence 1), in
which it seeks. Where records begin is not for it to say, and a dictionary has to be given to it.
"""

from __future__ import annotations

import io
from collections.abc import Iterator

import pyzstd
from protocol import NotSupported, Record, main

DICTIONARY_FRAME = b"\x5d\x2a\x4d\x18"
ZSTANDARD_FRAME = b"\x28\xb5\x2f\xfd"
SEEKABLE = b"\xb1\xea\x92\x8f"


def dictionary_of(head: bytes) -> pyzstd.ZstdDict | None:
    if head[:4] != DICTIONARY_FRAME:
        return None
    data = head[8 : 8 + int.from_bytes(head[4:8], "little")]
    return pyzstd.ZstdDict(pyzstd.decompress(data) if data[:4] == ZSTANDARD_FRAME else data)


class Pyzstd:
    def records(self, path: str) -> Iterator[Record]:
        raise NotSupported("pyzstd does not know where frames begin")

    def read_range(self, path: str, offset: int, length: int | None, start: int, stop: int) -> bytes:
        with open(path, "rb") as file:
            stored = file.read()
        record = stored[offset:] if length is None else stored[offset : offset + length]
        if record[-4:] != SEEKABLE:
            raise NotSupported("the record does not end in a seek table")
        with pyzstd.SeekableZstdFile(io.BytesIO(record), "r", zstd_dict=dictionary_of(stored)) as content:
            header = b""
            while b"\r\n\r\n" not in header:
                piece = content.read(4096)
                if not piece:
                    raise ValueError("no record header ends here")
                header += piece
            content.seek(header.index(b"\r\n\r\n") + 4 + start)
            return content.read(stop - start)


ADAPTER = Pyzstd()

if __name__ == "__main__":
    main(ADAPTER)
