"""`warcio.capture_http` into .warc.zst. Importing this replaces `http.client.HTTPConnection`, as warcio does.

So import it before what uses that, such as requests. A warning names what was imported before.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import warcio.capture_http as theirs

from seekwarc.compat.warcio.warcwriter import BufferWARCWriter, WARCWriter

__all__ = ["capture_http"]

_ORIGINAL = theirs.capture_http


@contextmanager
def capture_http(
    warc_writer: Any = None,  # noqa: ANN401 - as warcio has it
    filter_func: Any = None,  # noqa: ANN401
    append: bool = True,  # noqa: FBT001, FBT002
    record_ip: bool = True,  # noqa: FBT001, FBT002
    **kwargs: Any,  # noqa: ANN401
) -> Iterator[Any]:
    """Record the HTTP traffic of a `with` block; arguments are those of warcio.

    Args:
        warc_writer: A writer, or a path, where `.zst` at its end makes a .warc.zst; in memory unless given.
        filter_func: Called with (request, response, recorder); returns the two records that are written.
        append: Continue a file that exists, instead of refusing it.
        record_ip: Write WARC-IP-Address.
        **kwargs: Options of a `WARCWriter`.

    Yields:
        The writer.

    Raises:
        FileExistsError: The file exists, and `append` is False.

    Warns:
        UserWarning: A module has the original `HTTPConnection`: what it sends and receives is not recorded.

    Example:
        from seekwarc.compat.warcio.capture_http import capture_http
        import requests

        with capture_http("example.warc.zst"):
            requests.get("http://example.org/")
    """
    if unseen := _unseen():
        warnings.warn(
            f"{', '.join(unseen)}: imported before seekwarc.compat.warcio.capture_http, so what they send "
            "and receive is not recorded; import capture_http first",
            stacklevel=3,
        )
    with ExitStack() as stack:
        if warc_writer is None:
            warc_writer = BufferWARCWriter(**{"gzip": False, **kwargs})
        elif isinstance(warc_writer, str | os.PathLike):
            file = stack.enter_context(open(warc_writer, "ab" if append else "xb"))
            warc_writer = stack.enter_context(WARCWriter(file, **kwargs))
        yield stack.enter_context(_ORIGINAL(warc_writer, filter_func, record_ip=record_ip))


def _unseen() -> list[str]:
    """Return the modules that have the original `HTTPConnection`, or a class derived from it."""
    original = theirs.orig_connection
    derived = {kind.__module__ for kind in original.__subclasses__()}
    named = {
        name for name, module in sys.modules.items() if getattr(module, "HTTPConnection", None) is original
    }
    return sorted((derived | named) - {"http.client", theirs.__name__})
