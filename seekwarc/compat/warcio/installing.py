"""`install`: programs that import warcio get the names of this package instead."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

import warcio.archiveiterator
import warcio.checker
import warcio.extractor
import warcio.indexer
import warcio.recompressor
import warcio.warcwriter

from seekwarc.compat.warcio.archiveiterator import ArchiveIterator, ARCIterator, WARCIterator
from seekwarc.compat.warcio.warcwriter import BufferWARCWriter, WARCWriter

__all__ = ["install"]

_REPLACED: Final[dict[int, Any]] = {
    id(warcio.archiveiterator.ArchiveIterator): ArchiveIterator,
    id(warcio.archiveiterator.WARCIterator): WARCIterator,
    id(warcio.archiveiterator.ARCIterator): ARCIterator,
    id(warcio.warcwriter.WARCWriter): WARCWriter,
    id(warcio.warcwriter.BufferWARCWriter): BufferWARCWriter,
}
"""By the identity of what warcio has, what takes its place. Classes that we derive from stay alive."""
EXTENSION: Final = ".warc.zst"


def install() -> None:
    """Put these classes in the place of warcio's, in warcio and in every module imported so far.

    A program that is imported afterwards reads and writes .warc.zst. A class that a program derived from one
    of warcio's before that stays as it is, so call this first. Idempotent.

    Example:
        import seekwarc.compat.warcio

        seekwarc.compat.warcio.install()
        from warcio.archiveiterator import ArchiveIterator

        with open("crawl.warc.zst", "rb") as file:
            print(next(ArchiveIterator(file)).rec_type)
    """
    ours = __name__.rpartition(".")[0]
    for name, module in list(sys.modules.items()):
        # Not in the modules that derive from them.
        if name.startswith(ours) or not (members := getattr(module, "__dict__", None)):
            continue
        for attribute, value in list(members.items()):
            if isinstance(value, type) and (replacement := _REPLACED.get(id(value))) is not None:
                members[attribute] = replacement
    for package, teach in (("cdxj_indexer", _teach_cdxj_indexer), ("warcit", _teach_warcit)):
        if find_spec(package) is not None:
            teach()


def _teach_cdxj_indexer() -> None:
    """Let cdxj-indexer, which wacz is built on, find .warc.zst files in folders."""
    indexer = import_module("cdxj_indexer.main").CDXJIndexer
    if EXTENSION not in indexer.ALLOWED_EXT:
        indexer.ALLOWED_EXT = (*indexer.ALLOWED_EXT, EXTENSION)


def _teach_warcit() -> None:
    """Let warcit keep the name of a .warc.zst, which would become one of a .warc.gz."""
    program = import_module("warcit.warcit").WARCIT
    original = program._make_name  # noqa: SLF001 - it has no other place for this
    if getattr(original, "keeps_names_of_zst", False):
        return

    def make_name(self: object, name: str | None) -> str:
        return name if name is not None and name.endswith(EXTENSION) else str(original(self, name))

    make_name.keeps_names_of_zst = True  # type: ignore[attr-defined]
    program._make_name = make_name  # noqa: SLF001
