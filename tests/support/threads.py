"""What iterating gives with any number of threads, to compare it with what one thread gives."""

from __future__ import annotations

import pytest

import seekwarc


def seen(data: bytes, threads: int) -> tuple[list[object], str, list[str]]:
    """Return the records, the error, and the warnings, each with the number of records before it."""
    found: list[object] = []
    told: list[str] = []
    error = ""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("warnings.warn", lambda text, *_, **__: told.append(f"{len(found)}: {text}"))
        try:
            with seekwarc.open(data, threads=threads) as archive:
                for record in archive:
                    found.append((record.offset, record.header.raw, record.block.read(), record.problem))
                    if record.has_length:
                        found.append(record.length)
        except seekwarc.FormatError as caught:
            error = f"{type(caught).__name__} {caught}"
    return found, error, told
