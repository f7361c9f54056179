"""Work on whole files: describe, verify, convert, index, join, split, deduplicate and recover them.

Each function here does what the verb of the same name does on the command line:

    from seekwarc import tools

    tools.convert("crawl.warc.gz", "crawl.warc.zst")
    assert tools.verify("crawl.warc.zst").is_sound
    tools.index(["crawl.warc.zst"], "crawl.cdxj")

A new file gets its name when it is finished. An existing one is refused unless `existing` is "overwrite".
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from seekwarc.check.chain import check_chain as check_chain
    from seekwarc.check.describe import info as info
    from seekwarc.check.recovering import recover as recover
    from seekwarc.check.verifying import verify as verify
    from seekwarc.check.wacz_validating import validate_wacz as validate_wacz
    from seekwarc.edit.concatenating import concat as concat
    from seekwarc.edit.deduplicating import dedupe as dedupe
    from seekwarc.edit.filtering import filter as filter  # noqa: A004 - the name of the verb
    from seekwarc.edit.joining import join as join
    from seekwarc.edit.redacting import redact as redact
    from seekwarc.edit.splitting import split as split
    from seekwarc.make.converting import convert as convert
    from seekwarc.make.dictionaries import dictionary as dictionary
    from seekwarc.make.extracting import extract as extract
    from seekwarc.make.framing import pictures as pictures
    from seekwarc.make.indexing import index as index
    from seekwarc.make.packing import pack as pack
    from seekwarc.make.sidecars import sidecar as sidecar
    from seekwarc.make.text_indexing import index_text as index_text
    from seekwarc.make.text_searching import SearchIndex as SearchIndex
    from seekwarc.make.text_searching import search as search
    from seekwarc.make.texts import text as text
    from seekwarc.make.training import train as train
    from seekwarc.make.wacz_creating import create_wacz as create_wacz
    from seekwarc.make.wacz_merging import merge_wacz as merge_wacz

# A tool is imported when it is used.
_HOMES = {
    "SearchIndex": "seekwarc.make.text_searching",
    "check_chain": "seekwarc.check.chain",
    "concat": "seekwarc.edit.concatenating",
    "convert": "seekwarc.make.converting",
    "create_wacz": "seekwarc.make.wacz_creating",
    "dedupe": "seekwarc.edit.deduplicating",
    "dictionary": "seekwarc.make.dictionaries",
    "extract": "seekwarc.make.extracting",
    "filter": "seekwarc.edit.filtering",
    "index": "seekwarc.make.indexing",
    "index_text": "seekwarc.make.text_indexing",
    "info": "seekwarc.check.describe",
    "join": "seekwarc.edit.joining",
    "pack": "seekwarc.make.packing",
    "pictures": "seekwarc.make.framing",
    "recover": "seekwarc.check.recovering",
    "merge_wacz": "seekwarc.make.wacz_merging",
    "redact": "seekwarc.edit.redacting",
    "search": "seekwarc.make.text_searching",
    "sidecar": "seekwarc.make.sidecars",
    "split": "seekwarc.edit.splitting",
    "text": "seekwarc.make.texts",
    "train": "seekwarc.make.training",
    "validate_wacz": "seekwarc.check.wacz_validating",
    "verify": "seekwarc.check.verifying",
}
__all__ = list(_HOMES)
RENAMED = {"frames": ("pictures", "0.3")}
"""Old names, the new ones, and the versions that no longer have the old ones."""

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:  # noqa: ANN401
        if name in RENAMED:
            from seekwarc.deprecating import warn_old_name

            new, gone_in = RENAMED[name]
            warn_old_name(f"{__name__}.{name}", f"{__name__}.{new}", gone_in=gone_in)
            name = new
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
