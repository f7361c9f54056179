"""The description of the JSON interface, OpenAPI 3.1."""

from __future__ import annotations

from typing import Any, Final

from seekwarc import __version__

__all__ = ["DESCRIPTION"]

_Schema = dict[str, Any]


def _object(**properties: _Schema) -> _Schema:
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
    "Error": _object(error=_object(kind=_text(), message=_text("What went wrong, as a sentence"))),
    "Summary": _object(
        complete=_described(_BOOLEAN, "Whether all files were scanned"),
        records=_count("Records found so far"),
        files=_list(
            _object(
                name=_text(),
                size=_count("Stored bytes"),
                position=_count("Stored bytes scanned"),
                records=_count(),
                problem=_text("Why it was not scanned to its end", null=True),
            )
        ),
        types=_described(_COUNTS, "Records of each type"),
        media_types=_described(_COUNTS, "Records of the most frequent media types"),
    ),
    "Row": _object(
        id=_text("Permanent, whatever other files are served"),
        file=_text(),
        offset=_count("Where the record begins in its file"),
        length=_count("Stored bytes up to the next record", null=True),
        type=_text(null=True),
        uri=_text(null=True),
        date=_text(null=True),
        media_type=_text("Of the payload", null=True),
        status=_count("Of the HTTP response", null=True),
        size=_count("Length of the block"),
        problem=_text("What is wrong with the part that was read", null=True),
    ),
    "Rows": _object(
        total=_count("Records found in what was scanned so far"),
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
        file_name=_text("File name for the payload"),
        codings=_list(_text(), "Content codings of the payload, in the order in which they were applied"),
        block_size=_count(),
        payload_size=_count("Null if the payload is unavailable, or its size is being found", null=True),
        payload_format=_text("What a Blosc2 frame or chunk says of itself", null=True),
        counting={"type": "boolean", "description": "Its chunks are being read to find the size: ask again"},
        truncated=_text(null=True),
        problem=_text("Damage: why the payload is unavailable, or may differ from the original", null=True),
        deviation=_text("A harmless deviation from what the record states: no byte is missing", null=True),
        address=_text("Path of the payload for players, valid as long as the file is served", null=True),
        version=_text("Version of WARC"),
        header=_FIELDS,
        http={
            "oneOf": [{"type": "null"}, _object(start_line=_text(), status=_count(null=True), header=_FIELDS)]
        },
        findings=_list(_text(), "Rules of the standard that the header breaks"),
        seek_table=_text("How the frames became known"),
        seek_table_problem=_text(null=True),
        original={
            "oneOf": [{"type": "null"}, _ref("Reference")],
            "description": "The record that a revisit refers to",
        },
        segments=_list(_ref("Reference"), "The records that a logical record is stored as"),
    ),
    "Frames": _object(
        frames=_count("Number of frames; 0 if none can be reached by range"),
        content=_count("Their decompressed size"),
        stored=_count("Their size in the file"),
        cells=_list(_NUMBERS, "[first, last, content, stored]: frames [first, last) and their bytes"),
    ),
    "View": _object(
        requests=_count("Reads of the files"),
        bytes_asked=_count("Bytes of the record sent to the client"),
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
_VIEW = _parameter("view", "Name of the view to charge with the cost", _VIEW_SCHEMA)


def _json(name: str) -> _Schema:
    return {"application/json": {"schema": _ref(name)}}


_ERRORS: Final = {
    "400": {"description": "The request cannot be understood", "content": _json("Error")},
    "404": {"description": "There is no such record", "content": _json("Error")},
    "500": {"description": "seekwarc failed", "content": _json("Error")},
    "501": {"description": "The record is of a kind that cannot be opened", "content": _json("Error")},
    "502": {"description": "The archive is damaged or cannot be read", "content": _json("Error")},
}


def _get(about: str, name: str, *parameters: _Schema) -> _Schema:
    answers = {"200": {"description": about, "content": _json(name)}, **_ERRORS}
    return {"get": {"summary": about, "parameters": list(parameters), "responses": answers}}


_CAPTURE = (
    _parameter("uri", "Target URI of a capture", {"type": "string", "minLength": 1}),
    _parameter(
        "date",
        "4 to 14 digits; the nearest capture is sent, or the latest without a date",
        {"type": "string"},
    ),
)


_ROOT = [{"url": "/"}]
"""Addresses of captures are at the root of the server, not under /api."""


def _part(about: str, *which: _Schema, **more: object) -> _Schema:
    parameters = [
        *which,
        _parameter(
            "as", "bytes: as plain bytes, whatever the media type", {"type": "string", "enum": ["bytes"]}
        ),
        _parameter("Range", "One range of bytes", {"type": "string"}, where="header"),
    ]
    answers = {
        "200": {"description": "All of it", "content": {"*/*": {}}},
        "206": {"description": "The range", "content": {"*/*": {}}},
        "304": {"description": "The client has it already"},
        "412": {"description": "It is not the version that the client names"},
        "416": {"description": "The range is after its end"},
        **_ERRORS,
        "503": {"description": "Not all files were scanned yet", "content": _json("Error")},
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
            _parameter("min_size", "Minimum length of the block", _NUMBER),
            _parameter("max_size", "Maximum length of the block", _NUMBER),
            _parameter(
                "sort",
                "Order; descending with a minus",
                {"enum": ["stored", "-stored", "uri", "-uri", "date", "-date", "size", "-size"]},
            ),
            _parameter("start", "First record of the answer, from 0", _NUMBER),
            _parameter("count", "Number of records; at most 500", _NUMBER),
        ),
        "/records/{record_id}": _get("One record", "Record", _RECORD_ID, _VIEW),
        "/records/{record_id}/frames": _get(
            "The frames of a record",
            "Frames",
            _RECORD_ID,
            _VIEW,
            _parameter("cells", "Maximum number of groups of neighbouring frames", _NUMBER),
        ),
        "/records/{record_id}/page": {
            "get": {
                "summary": "The markup of an HTML page, to show in a frame: not a replay",
                "description": "Content codings are decoded, and long pages are cut. The answer's policy "
                "allows no scripts, no loads, no forms, and no frames but those of this server's pages.",
                "parameters": [_RECORD_ID, _VIEW],
                "responses": {
                    "200": {
                        "description": "The markup",
                        "content": {"text/html": {}},
                        "headers": {
                            "Seekwarc-Markup": {
                                "description": "whole; cut: the beginning of a long page; "
                                "damaged: the part before the damage",
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
            "The cost of a view", "View", _parameter("view", "Its name", _VIEW_SCHEMA, where="path")
        ),
    },
    "components": {"schemas": _SCHEMAS},
}
