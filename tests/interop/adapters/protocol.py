"""The protocol of the conformance kit, for adapters in Python: an implementation offers a class.

An adapter in another language does the same: it looks at its first argument, prints lines or bytes, and
chooses the exit status.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import sys
from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

OK, FAILED, NOT_SUPPORTED = 0, 1, 3


class Record(NamedTuple):
    offset: int
    length: int | None
    """None if the reader does not know it."""
    block: Iterable[bytes]
    """Pieces of the block, read when they are asked for."""


class NotSupported(Exception):  # noqa: N818 - it is an answer
    """The reader cannot do what was asked for."""


class Adapter(Protocol):
    def records(self, path: str) -> Iterator[Record]:
        """Yield all records in order. Any exception counts as an error that the reader reports."""

    def read_range(self, path: str, offset: int, length: int | None, start: int, stop: int) -> bytes:
        """Return bytes [start, stop) of the block of the record at an offset.

        One that has `knows_sidecars` gets the path of a sidecar, too, if that is to be used, and says in
        `used_sidecar` whether it was.
        """


def answer(adapter: Adapter, words: list[str]) -> int:
    """Answer one question, and return the exit status."""
    question, path, *numbers = words
    try:
        if question == "records":
            for record in adapter.records(path):
                digest, size = hashlib.sha256(), 0
                for piece in record.block:
                    digest.update(piece)
                    size += len(piece)
                line = {"offset": record.offset, "size": size, "sha256": digest.hexdigest()}
                print(json.dumps({**line, "length": record.length}))
        else:
            place, sidecar = [None if it == "-" else int(it) for it in numbers[:4]], numbers[4:]
            if sidecar and not getattr(adapter, "knows_sidecars", False):
                raise NotSupported("it knows no sidecars")
            sys.stdout.buffer.write(adapter.read_range(path, *place, *sidecar))
            if sidecar:
                outcome = "used" if adapter.used_sidecar else "refused"  # type: ignore[attr-defined]
                print(f"sidecar: {outcome}", file=sys.stderr)
        sys.stdout.flush()
    except NotSupported as error:
        return told(error, NOT_SUPPORTED)
    except Exception as error:  # noqa: BLE001 - readers raise what they like
        return told(error, FAILED)
    return OK


def told(error: Exception, status: int) -> int:
    sys.stdout.flush()
    print(f"{type(error).__name__}: {error}", file=sys.stderr)
    return status


def answer_all(adapter: Adapter) -> None:
    """Answer a question from each line of standard input."""
    out = os.fdopen(os.dup(1), "wb")
    for line in sys.stdin:
        stored = io.BytesIO()
        sys.stdout, sys.stderr = io.TextIOWrapper(stored, encoding="utf-8"), io.StringIO()
        status = answer(adapter, json.loads(line))
        message = sys.stderr.getvalue().strip().rpartition("\n")[2]
        out.write(f"{status} {len(stored.getvalue())} {message}\n".encode() + stored.getvalue())
        out.flush()


def main(adapter: Adapter) -> None:
    if sys.argv[1:] == ["batch"]:
        answer_all(adapter)
    else:
        sys.exit(answer(adapter, sys.argv[1:]))
