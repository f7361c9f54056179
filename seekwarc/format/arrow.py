"""Values as Arrow arrays, and the package that has these.

Arrays are made of buffers, since `pyarrow.array` imports pandas, where that is installed, to ask it what a
list is: 55 MiB and a third of a second in each process.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import accumulate
from typing import Any, Final

from seekwarc.errors import UnsupportedError
from seekwarc.format.uri import as_utf8

__all__ = ["array_of", "arrow", "strings"]

CODES: Final = {16: "h", 32: "i", 64: "q"}
"""Codes of the module `array` for signed numbers of so many bits."""
BLOCK: Final = 64
"""Texts that are joined at a time: many small ones are as fast as one, and large ones are not there twice."""


def arrow() -> Any:  # noqa: ANN401
    """Return the module `pyarrow`."""
    try:
        import pyarrow  # noqa: ICN001
    except ImportError as error:
        raise UnsupportedError("Arrow and Parquet need: pip install 'seekwarc[arrow]'") from error
    return pyarrow


def strings(pa: Any, values: Sequence[str | None]) -> Any:  # noqa: ANN401
    """Return texts as an array of strings; see `as_utf8`."""
    texts = [it or "" for it in values]
    blocks = [texts[it : it + BLOCK] for it in range(0, len(texts), BLOCK)]
    if all(map(str.isascii, texts)):
        # Memory of Arrow's: what comes and goes with each batch would leave holes among Python's objects.
        ends = list(accumulate(map(len, texts), initial=0))
        data = pa.allocate_buffer(ends[-1])
        view = memoryview(data).cast("B")
        for number, block in enumerate(blocks):
            begin = ends[number * BLOCK]
            joined = "".join(block).encode()
            view[begin : begin + len(joined)] = joined
        return _array(pa, pa.string(), values, array("i", ends), data)
    ends, content = [0], bytearray()
    for text in texts:
        content += text.encode() if text.isascii() else _encoded(text)
        ends.append(len(content))
    return _array(pa, pa.string(), values, array("i", ends), content)


def array_of(pa: Any, values: Sequence[Any], kind: Any) -> Any:  # noqa: ANN401
    """Return values as an array of strings, large binaries or whole numbers, such as timestamps are."""
    if kind == pa.string():
        return strings(pa, values)
    if kind == pa.large_binary():
        pieces = [it or b"" for it in values]
        ends = list(accumulate(map(len, pieces), initial=0))
        return _array(pa, kind, values, array("q", ends), b"".join(pieces))
    return _array(pa, kind, values, array(CODES[kind.bit_width], [it or 0 for it in values]))


def _array(pa: Any, kind: Any, values: Sequence[Any], *buffers: Any) -> Any:  # noqa: ANN401
    # One bit a value, that of the first is the lowest.
    bits = "".join("0" if it is None else "1" for it in reversed(values)) if None in values else ""
    present = pa.py_buffer(int(bits, 2).to_bytes(-(-len(values) // 8), "little")) if bits else None
    return pa.Array.from_buffers(kind, len(values), [present, *map(pa.py_buffer, buffers)])


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeError:
        return as_utf8(text).encode()
