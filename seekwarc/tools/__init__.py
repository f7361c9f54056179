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
    from seekwarc.tools.concatenating import concat as concat
    from seekwarc.tools.converting import convert as convert
    from seekwarc.tools.deduplicating import dedupe as dedupe
    from seekwarc.tools.describe import info as info
    from seekwarc.tools.dictionaries import dictionary as dictionary
    from seekwarc.tools.extracting import extract as extract
    from seekwarc.tools.filtering import filter as filter  # noqa: A004 - the name of the verb
    from seekwarc.tools.framing import frames as frames
    from seekwarc.tools.indexing import index as index
    from seekwarc.tools.joining import join as join
    from seekwarc.tools.packing import pack as pack
    from seekwarc.tools.recovering import recover as recover
    from seekwarc.tools.redacting import redact as redact
    from seekwarc.tools.sidecars import sidecar as sidecar
    from seekwarc.tools.splitting import split as split
    from seekwarc.tools.text_indexing import index_text as index_text
    from seekwarc.tools.text_searching import SearchIndex as SearchIndex
    from seekwarc.tools.text_searching import search as search
    from seekwarc.tools.texts import text as text
    from seekwarc.tools.training import train as train
    from seekwarc.tools.verifying import verify as verify
    from seekwarc.tools.wacz_creating import create_wacz as create_wacz
    from seekwarc.tools.wacz_merging import merge_wacz as merge_wacz
    from seekwarc.tools.wacz_validating import validate_wacz as validate_wacz

# A tool is imported when it is used.
_HOMES = {
    "SearchIndex": "seekwarc.tools.text_searching",
    "concat": "seekwarc.tools.concatenating",
    "convert": "seekwarc.tools.converting",
    "create_wacz": "seekwarc.tools.wacz_creating",
    "dedupe": "seekwarc.tools.deduplicating",
    "dictionary": "seekwarc.tools.dictionaries",
    "extract": "seekwarc.tools.extracting",
    "filter": "seekwarc.tools.filtering",
    "frames": "seekwarc.tools.framing",
    "index": "seekwarc.tools.indexing",
    "index_text": "seekwarc.tools.text_indexing",
    "info": "seekwarc.tools.describe",
    "join": "seekwarc.tools.joining",
    "pack": "seekwarc.tools.packing",
    "recover": "seekwarc.tools.recovering",
    "merge_wacz": "seekwarc.tools.wacz_merging",
    "redact": "seekwarc.tools.redacting",
    "search": "seekwarc.tools.text_searching",
    "sidecar": "seekwarc.tools.sidecars",
    "split": "seekwarc.tools.splitting",
    "text": "seekwarc.tools.texts",
    "train": "seekwarc.tools.training",
    "validate_wacz": "seekwarc.tools.wacz_validating",
    "verify": "seekwarc.tools.verifying",
}
__all__ = list(_HOMES)

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:  # noqa: ANN401
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
