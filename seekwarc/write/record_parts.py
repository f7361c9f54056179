"""The header and the block of a record, from the arguments of the methods that write it (`record_types`).

mypyc compiles this module, not that one: compiled functions check the types of their arguments first, in
words of their own. So an argument of a caller is an `object` here until this package has checked it, and its
messages are the same in both builds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, SupportsIndex, TypeAlias, cast

from seekwarc.format.dates import format_date
from seekwarc.format.http import MAX_HTTP_HEAD_SIZE, HttpHead
from seekwarc.options import integer, shown
from seekwarc.write.block_reader import Block, BlockSource, SizedStream, as_stream, length_of
from seekwarc.write.header import HeaderDraft, Headers, bracketed, new_id, pairs_of
from seekwarc.write.message import refuse_message_fields, response_head, with_head
from seekwarc.write.written import Written

__all__ = ["http_type", "record_parts", "response_parts", "typed_parts"]

Parts: TypeAlias = tuple[HeaderDraft, BlockSource]

FIELDS: Final = {
    "ip_address": "WARC-IP-Address",
    "truncated": "WARC-Truncated",
    "identified_payload_type": "WARC-Identified-Payload-Type",
    "profile": "WARC-Profile",
    "payload_digest": "WARC-Payload-Digest",
    "refers_to_target_uri": "WARC-Refers-To-Target-URI",
    "segment_number": "WARC-Segment-Number",
    "total_length": "WARC-Segment-Total-Length",
}
IDS: Final = {
    "warcinfo_id": "WARC-Warcinfo-ID",
    "refers_to": "WARC-Refers-To",
    "origin_id": "WARC-Segment-Origin-ID",
}
OTHERS: Final = ("date", "record_id", "length", "on_interrupt", "refers_to_date", "concurrent_to", "headers")
KNOWN: Final = frozenset({*FIELDS, *IDS, *OTHERS})


def record_parts(
    kind: object,
    target_uri: object,
    block: Block,
    content_type: object,
    headers: Headers,
    *,
    head: HttpHead | None = None,
    date: object = None,
    record_id: object = None,
    length: object = None,
    on_interrupt: object = "discard",
) -> Parts:
    """Return the parts of a record; see `TypedWrites.write`. `head` is that of the block if it is known."""
    if on_interrupt not in ("discard", "truncate"):
        raise ValueError(f'on_interrupt is {on_interrupt!r}, not "discard" or "truncate"')
    keeps = on_interrupt == "truncate"
    stream = as_stream(block)
    draft = HeaderDraft(headers)
    draft.add("WARC-Type", kind)
    draft.add("WARC-Record-ID", _record_id(record_id))
    draft.add("WARC-Date", format_date(date))
    is_text = target_uri is None or isinstance(target_uri, str)
    draft.add("WARC-Target-URI", target_uri if is_text else str(target_uri))
    draft.add("Content-Type", content_type)
    # Checked before the block is read, which may be gigabytes.
    draft.check()
    stated = draft.get("Content-Length")
    size = _length(length) if stated is None else int(stated)
    if keeps:
        draft = draft.without("Content-Length")
        if draft.get("WARC-Block-Digest") or draft.get("WARC-Payload-Digest"):
            raise ValueError('on_interrupt="truncate" does not go with given digests of the whole block')
    return draft, BlockSource(stream, size, keeps=keeps, head=head)


def response_parts(
    target_uri: object,
    block: Block,
    *,
    status: object,
    reason: object,
    http_headers: Headers,
    content_type: object,
    common: Mapping[str, object],
) -> Parts:
    """Return the parts of a response; see `TypedWrites.write_response`."""
    given: dict[str, Any] = dict(common)
    known = None
    if status is not None:
        length = _length(given.get("length"))
        if "headers" in given:
            record_fields = pairs_of(given["headers"])
            refuse_message_fields(record_fields)
            given["headers"] = record_fields
        head = response_head(status, reason, pairs_of(http_headers, "http_headers"), block, length)
        expected = length_of(block) if length is None else None
        block = with_head(head, block)
        if isinstance(status, int) and status >= 200 and len(head) <= MAX_HTTP_HEAD_SIZE:
            known = HttpHead(head, status)  # No need to parse a head just made.
        if length is not None:
            given["length"] = len(head) + length
        elif expected is not None:
            block = SizedStream(block, len(head) + expected)
    elif reason is not None or pairs_of(http_headers, "http_headers"):
        raise TypeError("reason and http_headers need status: without it, the block is the whole message")
    kind = content_type or http_type(target_uri, "response")
    return typed_parts("response", target_uri, block, kind, given, head=known)


def typed_parts(
    kind: str,
    target_uri: object,
    block: Block,
    content_type: object,
    given: Mapping[str, object],
    *,
    head: HttpHead | None = None,
) -> Parts:
    """Return the parts of a record of a type that the standard defines; `given` are its further arguments."""
    more: dict[str, Any] = {name: it for name, it in given.items() if it is not None}
    if not more:
        return record_parts(kind, target_uri, block, content_type, (), head=head)
    if unknown := more.keys() - KNOWN:
        raise TypeError(f"a record of type {kind!r} takes no argument {min(unknown)!r}")
    fields = [(FIELDS[name], str(value)) for name, value in more.items() if name in FIELDS]
    fields += [(IDS[name], _id_of(name, value)) for name, value in more.items() if name in IDS]
    if "refers_to_date" in more:
        fields.append(("WARC-Refers-To-Date", format_date(more["refers_to_date"])))
    concurrent = more.get("concurrent_to", ())
    is_one = isinstance(concurrent, str | Written) or not isinstance(concurrent, Iterable)
    for record in [concurrent] if is_one else concurrent:
        fields.append(("WARC-Concurrent-To", _id_of("concurrent_to", record)))
    fields += pairs_of(more.get("headers", ()))
    return record_parts(
        kind,
        target_uri,
        block,
        content_type,
        fields,
        head=head,
        date=more.get("date"),
        record_id=more.get("record_id"),
        length=more.get("length"),
        on_interrupt=more.get("on_interrupt", "discard"),
    )


def http_type(target_uri: object, message: str) -> str | None:
    """Return the Content-Type of a "request" or "response"; None if it is not of HTTP."""
    is_http = str(target_uri).lower().startswith(("http:", "https:", "<http:", "<https:"))
    return f"application/http; msgtype={message}" if is_http else None


def _length(value: object) -> int | None:
    if value is None:
        return None
    length = integer("length", cast("SupportsIndex", value))
    if length < 0:
        raise ValueError(f"length is {length}, not 0 or more")
    return length


def _record_id(value: object) -> str:
    if value is not None and not isinstance(value, str):
        raise TypeError(f"record_id must be text, not {shown(value)}")
    return bracketed(value) if value else new_id()


def _id_of(name: str, record: object) -> str:
    if isinstance(record, Written):
        return bracketed(record.id)
    if isinstance(record, str):
        return bracketed(record)
    raise TypeError(f"{name} must be what write_* returned, or a record ID, not {type(record).__name__}")
