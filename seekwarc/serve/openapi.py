"""The description of the JSON interface, OpenAPI 3.1."""

from __future__ import annotations

from typing import Any, Final

from seekwarc import __version__

__all__ = ["DESCRIPTION"]

_Schema = dict[str, Any]


def _object(**properties: _Schema) -> _Schema:
    """Return a schema of an object that has exactly these properties."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _text(about: str = "", *, null: bool = False, **more: object) -> _Schema:
    return _described({"type": ["string", "null"] if null else "string", **more}, about)


def _count(about: str = "", *, null: bool = False) -> _Schema:
    return _described({"type": ["integer", "null"] if null else "integer", "minimum": 0}, about)


def _list(items: _Schema, about: str = "") -> _Schema:
    return _described({"type": "array", "items": items}, about)


def _described(schema: _Schema, about: str) -> _Schema:
    return {**schema, "description": about} if about else schema


def _ref(name: str) -> _Schema:
    return {"$ref": f"#/components/schemas/{name}"}


_NUMBERS = {"type": "array", "items": {"type": "integer", "minimum": 0}}
_FIELDS = _list({"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 2}, "[name, value]")
_COUNTS = {"type": "object", "additionalProperties": {"type": "integer"}}
_BOOLEAN = {"type": "boolean"}

_SCHEMAS: Final = {
    "Error": _object(error=_object(kind=_text(), message=_text("What is the matter, in words"))),
    "Summary": _object(
        complete=_described(_BOOLEAN, "Whether all files were gone through"),
        records=_count("Records found so far"),
        files=_list(
            _object(
                name=_text(),
                size=_count("Stored bytes"),
                position=_count("Stored bytes gone through"),
                records=_count(),
                problem=_text("Why it was not gone through to its end", null=True),
            )
        ),
        types=_described(_COUNTS, "Records of each type"),
        media_types=_described(_COUNTS, "Records of the most frequent media types"),
    ),
    "Row": _object(
        id=_text("The same whenever and with whatever other files this file is served"),
        file=_text(),
        offset=_count("Where the record begins in its file"),
        length=_count("Stored bytes up to the next record", null=True),
        type=_text(null=True),
        uri=_text(null=True),
        date=_text(null=True),
        media_type=_text("Of the payload", null=True),
        status=_count("Of the HTTP response", null=True),
        size=_count("Length of the block"),
        problem=_text("What is wrong with it, as far as it was read", null=True),
    ),
    "Rows": _object(
        total=_count("Records found, as far as the files were gone through"),
        complete=_BOOLEAN,
        start=_count(),
        records=_list(_ref("Row")),
    ),
    "Reference": _object(
        id=_text(),
        file=_text(),
        offset=_count(),
        type=_text(null=True),
        uri=_text(null=True),
        date=_text(null=True),
    ),
    "Record": _object(
        id=_text(),
        file=_text(),
        offset=_count(),
        length=_count("Stored bytes up to the next record"),
        type=_text(null=True),
        uri=_text(null=True),
        date=_text(null=True),
        media_type=_text("Of the payload", null=True),
        charset=_text(null=True),
        file_name=_text("What to call the payload when it is saved"),
        codings=_list(_text(), "Content codings of the payload, in the order in which they were applied"),
        block_size=_count(),
        payload_size=_count("Null where the payload is unavailable, or is being counted", null=True),
        counting={"type": "boolean", "description": "Its chunks are being counted: ask again"},
        truncated=_text(null=True),
        problem=_text("Damage: why the payload is unavailable, or may not be what was sent", null=True),
        deviation=_text("What is not as the record says, and harms nothing: no byte is missing", null=True),
        address=_text("Where players find the payload, for as long as the file is served", null=True),
        version=_text("Of WARC"),
        header=_FIELDS,
        http={
            "oneOf": [{"type": "null"}, _object(start_line=_text(), status=_count(null=True), header=_FIELDS)]
        },
        findings=_list(_text(), "Rules of the standard that the header breaks"),
        seek_table=_text("How the frames became known"),
        seek_table_problem=_text(null=True),
        original={"oneOf": [{"type": "null"}, _ref("Reference")], "description": "What a revisit refers to"},
        segments=_list(_ref("Reference"), "The records that a logical record is stored as"),
    ),
    "Frames": _object(
        frames=_count("Frames in all; 0 where they cannot be reached by range"),
        content=_count("Bytes they hold"),
        stored=_count("Bytes they take in the file"),
        cells=_list(_NUMBERS, "[first, last, content, stored]: frames [first, last) and their bytes"),
    ),
    "View": _object(
        requests=_count("Reads of the files"),
        bytes_asked=_count("Bytes of the record given to the client"),
        bytes_read=_count("Stored bytes read, from disk or network"),
        bytes_decoded=_count("Bytes decompressed"),
        frames=_list(_NUMBERS, "[first, last]: frames [first, last) were fetched"),
        problem=_text("Why the last read failed", null=True),
    ),
}


def _parameter(name: str, about: str, schema: _Schema, *, where: str = "query") -> _Schema:
    return {
        "name": name,
        "in": where,
        "required": where == "path",
        "description": about,
        "schema": schema,
    }


_VIEW_SCHEMA = {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,40}$"}
_NUMBER = {"type": "integer", "minimum": 0, "maximum": 10**18 - 1}
_RECORD_ID = _parameter("record_id", "ID of a record", {"type": "string", "minLength": 1}, where="path")
_VIEW = _parameter("view", "Name of the view that the cost is counted for", _VIEW_SCHEMA)


def _json(name: str) -> _Schema:
    return {"application/json": {"schema": _ref(name)}}


_ERRORS: Final = {
    "400": {"description": "The request cannot be understood", "content": _json("Error")},
    "404": {"description": "There is no such record", "content": _json("Error")},
    "500": {"description": "seekwarc failed", "content": _json("Error")},
    "501": {"description": "The record is of a kind that cannot be opened", "content": _json("Error")},
    "502": {"description": "The archive is damaged, or cannot be read", "content": _json("Error")},
}


def _get(about: str, name: str, *parameters: _Schema) -> _Schema:
    answers = {"200": {"description": about, "content": _json(name)}, **_ERRORS}
    return {"get": {"summary": about, "parameters": list(parameters), "responses": answers}}


_CAPTURE = (
    _parameter("uri", "Target URI of a capture", {"type": "string", "minLength": 1}),
    _parameter(
        "date",
        "14 digits, or fewer: the nearest capture is sent, without a date the latest",
        {"type": "string"},
    ),
)


_ROOT = [{"url": "/"}]
"""Addresses of captures do not begin with those of the interface."""


def _part(about: str, *which: _Schema, **more: object) -> _Schema:
    parameters = [
        *which,
        _parameter("as", "bytes: as bytes, whatever they mean", {"type": "string", "enum": ["bytes"]}),
        _parameter("Range", "One range of bytes", {"type": "string"}, where="header"),
    ]
    answers = {
        "200": {"description": "All of it", "content": {"*/*": {}}},
        "206": {"description": "The range", "content": {"*/*": {}}},
        "304": {"description": "The client has it"},
        "412": {"description": "It is not the one that the client asks for"},
        "416": {"description": "The range is after its end"},
        **_ERRORS,
        "503": {"description": "Not all files were read yet", "content": _json("Error")},
    }
    both = {"parameters": parameters, "responses": answers, **more}
    return {"get": {"summary": about, **both}, "head": {"summary": f"{about}, without the bytes", **both}}


DESCRIPTION: Final[dict[str, Any]] = {
    "openapi": "3.1.0",
    "info": {
        "title": "seekwarc",
        "version": __version__,
        "description": "Records of web archives, and any range of their bytes.",
    },
    "servers": [{"url": "/api"}],
    "paths": {
        "/summary": _get("The files that are served", "Summary"),
        "/records": _get(
            "Records, searched and sorted",
            "Rows",
            _parameter("q", "Words, each of which is in the URI", {"type": "string"}),
            _parameter("type", "WARC-Type", {"type": "string"}),
            _parameter("media_type", "Beginning of the media type", {"type": "string"}),
            _parameter("since", "Earliest date, such as 2026-11", {"type": "string"}),
            _parameter("until", "Latest date", {"type": "string"}),
            _parameter("min_size", "Least length of the block", _NUMBER),
            _parameter("max_size", "Greatest length of the block", _NUMBER),
            _parameter(
                "sort",
                "Order; with a minus downwards",
                {"enum": ["stored", "-stored", "uri", "-uri", "date", "-date", "size", "-size"]},
            ),
            _parameter("start", "First record of the answer, from 0", _NUMBER),
            _parameter("count", "How many; 500 at most", _NUMBER),
        ),
        "/records/{record_id}": _get("One record", "Record", _RECORD_ID, _VIEW),
        "/records/{record_id}/frames": _get(
            "The frames of a record",
            "Frames",
            _RECORD_ID,
            _VIEW,
            _parameter("cells", "Most groups of neighbouring frames to tell of", _NUMBER),
        ),
        "/records/{record_id}/page": {
            "get": {
                "summary": "The markup of an HTML page, to be shown in a frame: not a replay",
                "description": "Content codings are undone, and what is long is cut. The answer's policy "
                "allows no scripts, no loads, no forms, and no frames but those of this server's pages.",
                "parameters": [_RECORD_ID, _VIEW],
                "responses": {
                    "200": {
                        "description": "The markup",
                        "content": {"text/html": {}},
                        "headers": {
                            "Seekwarc-Markup": {
                                "description": "whole; cut: the beginning of a long page; "
                                "damaged: what stands before the damage",
                                "schema": {"enum": ["whole", "cut", "damaged"]},
                            }
                        },
                    },
                    **_ERRORS,
                },
            }
        },
        "/records/{record_id}/payload": _part("The payload", _RECORD_ID, _VIEW),
        "/records/{record_id}/block": _part("The block", _RECORD_ID, _VIEW),
        "/payload": _part("The payload of a capture", *_CAPTURE, servers=_ROOT),
        "/block": _part("The block of a capture", *_CAPTURE, servers=_ROOT),
        "/views/{view}": _get(
            "What a view has cost", "View", _parameter("view", "Its name", _VIEW_SCHEMA, where="path")
        ),
    },
    "components": {"schemas": _SCHEMAS},
}
