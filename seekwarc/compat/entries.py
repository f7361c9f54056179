"""What a file system says about a record or folder: the dictionaries that fsspec calls `info`."""

from __future__ import annotations

from typing import Any, Final

from seekwarc.collection.entry import Entry
from seekwarc.compat.paths import name_of
from seekwarc.read.record import Record

__all__ = ["folder_info", "listed_info", "record_info"]

FILE_MODE: Final = 0o444
FOLDER_MODE: Final = 0o555


def record_info(path: str, record: Record, *, decoded: bool) -> dict[str, Any]:
    """Describe a record. All chunks of a chunked body are passed for its size, once."""
    payload, date, digest = record.payload, record.date, record.payload_digest
    media_type = payload.media_type
    return _file_info(
        path,
        size=None if decoded and payload.codings else payload.size,
        mtime=date.datetime.timestamp() if date is not None else None,
        date=str(date) if date is not None else None,
        content_type=media_type.essence if media_type is not None else None,
        status=record.http.status if record.http is not None else None,
        digest=str(digest) if digest is not None else None,
        uri=record.target_uri,
        record_id=record.id,
        record_type=record.type,
        file=record.source,
        offset=record.offset,
    )


def listed_info(entry: Entry, *, decoded: bool) -> dict[str, Any]:
    """Describe a capture as far as a listing knows it, which costs no reading."""
    uri, date = entry.uri or "", entry.date
    return _file_info(
        name_of(uri),
        # A listing does not know which payloads have a coding.
        size=None if decoded else entry.payload_size,
        mtime=date.datetime.timestamp() if date is not None else None,
        date=str(date) if date is not None else None,
        content_type=entry.mime,
        status=entry.status,
        digest=str(entry.payload_digest) if entry.payload_digest is not None else None,
        uri=uri,
        record_id=entry.id,
        record_type=entry.type,
        file=entry.file,
        offset=entry.offset,
    )


def folder_info(path: str) -> dict[str, Any]:
    """Describe a folder."""
    return {"name": path, "type": "directory", "mode": FOLDER_MODE, "size": 0}


def _file_info(path: str, **known: Any) -> dict[str, Any]:  # noqa: ANN401
    return {"name": path, "type": "file", "mode": FILE_MODE, **known}
