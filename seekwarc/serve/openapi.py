"""The description of the JSON interface, OpenAPI 3.1."""

from __future__ import annotations

from typing import Any, Final

from seekwarc import __version__
from seekwarc.collection.groups import GROUPINGS
from seekwarc.collection.record_table import SORTS

__all__ = ["DESCRIPTION"]

_Schema = dict[str, Any]


def _object(**properties: _Schema) -> _Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _text(about: str = "", *, null: bool = False) -> _Schema:
    return _described({"type": ["string", "null"] if null else "string"}, about)


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
_REFERENCE = {
    "id": _text("Permanent, whatever other files are served"),
    "file": _text(),
    "offset": _count("Where the record begins in its file"),
    "type": _text(null=True),
    "uri": _text(null=True),
    "date": _text(null=True),
}

_SCHEMAS: Final = {
    "Error": _object(error=_object(kind=_text(), message=_text("The error, as a sentence"))),
    "Summary": _object(
        complete=_described(_BOOLEAN, "Whether all files were scanned"),
        records=_count("Records found so far"),
        files=_list(
            _object(
                name=_text(),
                size=_count("Stored bytes"),
                position=_count("Stored bytes scanned"),
                records=_count(),
                damaged=_count("Damaged places, which are rows of the list of records"),
                problems=_count("Records in which something is wrong, as their rows say"),
                problem=_text("Why it was not scanned to its end", null=True),
            )
        ),
        archives=_list(_text(), "Names of the files that hold the records, the first 1000"),
        types=_described(_COUNTS, "Records of each type"),
        mimes=_described(_COUNTS, "Records of the most frequent media types"),
        search=_described(_BOOLEAN, "Whether texts can be searched"),
        replay=_text("Address at which archived pages are replayed: append web/DATE/URI", null=True),
    ),
    "Group": _object(
        name=_text("Null: records that have none", null=True),
        records=_count(),
        content_size=_count("Their decompressed size"),
        stored_size=_count(),
    ),
    "Glance": _object(
        complete=_BOOLEAN,
        groups=_object(
            **{
                by: _object(
                    groups=_list(_ref("Group"), "Those with the most stored bytes, first"),
                    others={"oneOf": [{"type": "null"}, _ref("Group")], "description": "All others as one"},
                )
                for by in GROUPINGS
            }
        ),
        revisits=_count(),
        saved_by_revisits=_described(
            {"type": ["integer", "null"]},
            "Stored bytes of the captures that revisits repeat, less their own; null until all is scanned",
        ),
    ),
    "Row": _object(
        **_REFERENCE,
        length=_count("Stored bytes up to the next record", null=True),
        is_damage=_described(_BOOLEAN, "Whether a damaged place is here, and no record"),
        page_part=_text("What a crawler made of a page: text, screenshot, thumbnail, page-info", null=True),
        page=_text("URI of that page", null=True),
        mime=_text("Of the payload", null=True),
        status=_count("Of the HTTP response", null=True),
        size=_count("Length of the block"),
        parts=_count("Parts of a resource that the row stands for, if the list is folded; else 1"),
        problem=_text("Problems in the part that was read, or that is damaged", null=True),
    ),
    "Rows": _object(
        total=_count("Records found in what was scanned so far"),
        complete=_BOOLEAN,
        start=_count(),
        records=_list(_ref("Row")),
    ),
    "Hits": _object(
        total=_count("Pages found"),
        exact=_described(_BOOLEAN, "False if the total may be another, since not all of these were read"),
        unread=_count("Pages that may match, but cannot be read to find out"),
        start=_count(),
        hits=_list(
            _object(
                **{**_REFERENCE, "id": _text("Null if its file is not served", null=True)},
                length=_count(null=True),
                mime=_text(null=True),
                title=_text(null=True),
                captures=_count("Captures with this text that match, up to 1000; this is the latest"),
                snippet=_text("A part of the text; null if it cannot be read", null=True),
                marks=_list(_NUMBERS, "[start, stop]: where the words are in the snippet"),
                problem=_text("Why the text cannot be read", null=True),
            )
        ),
    ),
    "Reference": _object(**_REFERENCE),
    "Record": _object(
        **_REFERENCE,
        length=_count("Stored bytes up to the next record"),
        mime=_text("Of the payload", null=True),
        charset=_text(null=True),
        file_name=_text("File name for the payload"),
        codings=_list(_text(), "Content codings of the payload, in the order in which they were applied"),
        block_size=_count(),
        payload_size=_count("Null if the payload is unavailable, or its size is being found", null=True),
        payload_format=_text("What the header of a Blosc2 frame or chunk states", null=True),
        pictures=_described(
            _BOOLEAN, "Whether pictures of it can be asked for: a film, and PyAV is installed"
        ),
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
        joined={
            "oneOf": [
                {"type": "null"},
                _object(
                    parts=_count("Number of records"),
                    held=_count("Bytes of the payload that they have"),
                    holes=_list(_NUMBERS, "[start, stop]: what they do not have, up to a hundred ranges"),
                    is_proved=_described(_BOOLEAN, "Whether a strong entity tag proves it"),
                ),
            ],
            "description": "The parts (206 Partial Content) that the payload is assembled from",
        },
    ),
    "Pictures": _object(
        duration={"type": ["number", "null"], "description": "Seconds"},
        pictures=_list({"type": "number"}, "When each is shown, in seconds; its number is its place here"),
        problem=_text("Why it has none", null=True),
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
        from_memory=_list(_NUMBERS, "As `frames`: frames that were needed, and still in memory"),
        damaged=_list(_NUMBERS, "As `frames`: frames that are damaged"),
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


_TEXT = {"type": "string"}
_NAME = {"type": "string", "minLength": 1}
_NUMBER = {"type": "integer", "minimum": 0, "maximum": 10**18 - 1}
_VIEW_SCHEMA = {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,40}$"}
_RECORD_ID = _parameter("record_id", "ID of a record", _NAME, where="path")
_SORT = {"enum": [f"{minus}{name}" for name in SORTS for minus in ("", "-")]}
_VIEW = _parameter("view", "Name of the view to charge with the cost", _VIEW_SCHEMA)


def _json(name: str) -> _Schema:
    return {"application/json": {"schema": _ref(name)}}


_ERRORS: Final = {
    status: {"description": about, "content": _json("Error")}
    for status, about in {
        "400": "The request cannot be understood",
        "404": "The record is unknown",
        "500": "seekwarc failed",
        "501": "The record is of a kind that cannot be opened",
        "502": "The archive is damaged or cannot be read",
    }.items()
}


_MARKUP = {
    "description": "The markup. Content codings are decoded, and long pages are cut. The answer's policy "
    "allows no scripts, no loads, no forms, and no frames but those of this server's pages.",
    "content": {"text/html": {}},
    "headers": {
        "Seekwarc-Markup": {
            "description": "whole; cut: the beginning of a long page; damaged: the part before the damage",
            "schema": {"enum": ["whole", "cut", "damaged"]},
        }
    },
}


def _get(about: str, answer: str | _Schema, *parameters: _Schema) -> _Schema:
    if isinstance(answer, str):
        answer = {"description": about, "content": _json(answer)}
    responses = {"200": answer, **_ERRORS}
    return {"get": {"summary": about, "parameters": list(parameters), "responses": responses}}


_CAPTURE = (
    _parameter("uri", "Target URI of a capture", _NAME),
    _parameter("date", "4 to 14 digits; the nearest capture is sent, or the latest without a date", _TEXT),
)


_ROOT = [{"url": "/"}]
"""Addresses of captures are at the root of the server, not under /api."""


def _part(about: str, *which: _Schema, **more: object) -> _Schema:
    as_bytes = {**_TEXT, "enum": ["bytes"]}
    parameters = [
        *which,
        _parameter("as", "bytes: as plain bytes, whatever the media type", as_bytes),
        _parameter("Range", "One range of bytes", _TEXT, where="header"),
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
        "/glance": _get("All records, counted by what they have in common", "Glance"),
        "/records": _get(
            "Records, searched and sorted",
            "Rows",
            _parameter("q", "Words, each of which is in the URI; * in them is any text", _TEXT),
            _parameter("file", "Name of the file that holds the record", _TEXT),
            _parameter("type", "WARC-Type", _TEXT),
            _parameter("captures", "1: only responses, resources and revisits", _NUMBER),
            _parameter("status", "HTTP status such as 404, or a class such as 4xx", _TEXT),
            _parameter("mime", "Beginning of the media type", _TEXT),
            _parameter("since", "Earliest date, such as 2026-11", _TEXT),
            _parameter("until", "Latest date", _TEXT),
            _parameter("min_size", "Minimum length of the block", _NUMBER),
            _parameter("max_size", "Maximum length of the block", _NUMBER),
            _parameter("folded", "1: one row for all parts of a resource (206)", _NUMBER),
            _parameter("sort", "Order; descending with a minus", _SORT),
            _parameter("start", "First record of the answer, from 0", _NUMBER),
            _parameter("count", "Number of records; at most 500", _NUMBER),
        ),
        "/search": _get(
            "Pages, by the words of their texts; needs a search index",
            "Hits",
            _parameter("q", "What to search for, in the language of `seekwarc search`", _TEXT),
            _parameter("order", "rank: the best first; date: the latest first", {"enum": ["rank", "date"]}),
            _parameter("since", "Earliest date, such as 2026-11", _TEXT),
            _parameter("until", "Latest date", _TEXT),
            _parameter("mime", "Media type, or its beginning, such as text/", _TEXT),
            _parameter("host", "Host, or a domain", _TEXT),
            _parameter("start", "First page of the answer, from 0; at most 10000", _NUMBER),
            _parameter("count", "Number of pages; at most 50", _NUMBER),
        ),
        "/records/{record_id}": _get("One record", "Record", _RECORD_ID, _VIEW),
        "/records/{record_id}/frames": _get(
            "The frames of a record",
            "Frames",
            _RECORD_ID,
            _VIEW,
            _parameter("cells", "Maximum number of groups of neighbouring frames", _NUMBER),
        ),
        "/records/{record_id}/page": _get(
            "The markup of an HTML page, to show in a frame: not a replay", _MARKUP, _RECORD_ID, _VIEW
        ),
        "/records/{record_id}/pictures": _get("The pictures of a film", "Pictures", _RECORD_ID, _VIEW),
        "/records/{record_id}/pictures/{number}": _get(
            "A small picture of a film",
            {"description": "The picture, with an entity tag", "content": {"image/jpeg": {}}},
            _RECORD_ID,
            _parameter("number", "Its place in the list of pictures", _NUMBER, where="path"),
            _VIEW,
        ),
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
