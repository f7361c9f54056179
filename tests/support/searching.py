"""Search indexes that tests share."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from seekwarc.inside.search_file import Builder, Captured, Page, digest_key

__all__ = ["DAY", "build", "captured", "key"]

DAY = 86_400


def captured(uri: str, day: int, offset: int = 0, **fields: object) -> Captured:
    """Return a capture of some day."""
    known = {"length": 100, "kind": "response", "mime": "text/html", "digest": None, **fields}
    return Captured(offset=offset, date=day * DAY, uri=uri, **known)  # type: ignore[arg-type]


def build(path: Path, pages: Iterable[tuple[Captured, str | None]], file: str = "a.warc.zst") -> Path:
    """Make an index of pages, or add them to it as another file; a revisit has no text."""
    draft = path.with_suffix(".draft")
    if path.exists():
        draft.write_bytes(path.read_bytes())
        path.unlink()
    with Builder(str(draft)) as builder:
        number = builder.begin_file(file, "1")
        for capture, text in pages:
            title = f"Title of {capture.uri}"
            builder.add(number, capture, Page.of(text, title) if text is not None else None)
        builder.finish(str(path))
    draft.unlink()
    return path


def key(name: str) -> int:
    """Return what the index has for a digest."""
    return digest_key(f"sha1:{name}")
