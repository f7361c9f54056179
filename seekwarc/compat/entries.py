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
    payload = record.payload
    media_type = payload.media_type
    entry = Entry(
        record.source,
        record.offset,
        type=record.type,
        id=record.id,
        uri=record.target_uri,
        date=record.date,
        payload_digest=record.payload_digest,
        mime=media_type.essence if media_type is not None else None,
        status=record.http.status if record.http is not None else None,
        payload_size=None if decoded and payload.codings else payload.size,
    )
    return _file_info(path, entry)


def listed_info(entry: Entry, *, decoded: bool) -> dict[str, Any]:
    """Describe a capture as far as a listing knows it, which costs no reading."""
    info = _file_info(name_of(entry.uri or ""), entry)
    # A listing does not know which payloads have a coding.
    return {**info, "size": None} if decoded else info


def folder_info(path: str) -> dict[str, Any]:
    """Describe a folder."""
    return {"name": path, "type": "directory", "mode": FOLDER_MODE, "size": 0}


def _file_info(path: str, entry: Entry) -> dict[str, Any]:
    date, digest = entry.date, entry.payload_digest
    return {
        "name": path,
        "type": "file",
        "mode": FILE_MODE,
        "size": entry.payload_size,
        "mtime": date.datetime.timestamp() if date is not None else None,
        "date": str(date) if date is not None else None,
        "content_type": entry.mime,
        "status": entry.status,
        "digest": str(digest) if digest is not None else None,
        "uri": entry.uri,
        "record_id": entry.id,
        "record_type": entry.type,
        "file": entry.filename,
        "offset": entry.offset,
    }
