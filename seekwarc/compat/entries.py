"""What a file system says about a record or folder: the dictionaries that fsspec calls `info`."""

from __future__ import annotations

from typing import Any, Final

from seekwarc.compat.captures import Listed
from seekwarc.read.record import Record

__all__ = ["folder_info", "listed_info", "record_info"]

FILE_MODE: Final = 0o444
FOLDER_MODE: Final = 0o555


def record_info(path: str, record: Record, *, decoded: bool) -> dict[str, Any]:
    """Describe a record. All chunks of a chunked body are passed for its size, once.

    Args:
        path: Its path.
        record: The record.
        decoded: Whether content codings are undone; then the size of what has one is None.
    """
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


def listed_info(listed: Listed, *, decoded: bool) -> dict[str, Any]:
    """Describe a capture as far as a listing knows it, which costs no reading."""
    return _file_info(
        listed.name,
        # A listing does not know which payloads have a coding.
        size=None if decoded else listed.size,
        mtime=listed.date.datetime.timestamp(),
        date=str(listed.date),
        content_type=listed.content_type,
        status=listed.status,
        digest=listed.digest,
        uri=listed.uri,
        record_id=listed.record_id,
        record_type=listed.type,
        file=listed.file,
        offset=listed.offset,
    )


def folder_info(path: str) -> dict[str, Any]:
    """Describe a folder."""
    return {"name": path, "type": "directory", "mode": FOLDER_MODE, "size": 0}


def _file_info(path: str, **known: Any) -> dict[str, Any]:  # noqa: ANN401
    return {"name": path, "type": "file", "mode": FILE_MODE, **known}
