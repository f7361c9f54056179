"""The fields of the standard and the attributes of ours, and the spellings of a digest."""

from __future__ import annotations

import base64
from collections.abc import Callable

from seekwarc.format.warc import build_record_header
from tests.support.writing import DATE, URI, record_id

ATTRIBUTES = {
    "WARC-Record-ID": "id",
    "Content-Length": "content_length",
    "WARC-Date": "date",
    "WARC-Type": "type",
    "Content-Type": "content_type",
    "WARC-Concurrent-To": "concurrent_to",
    "WARC-Block-Digest": "block_digest",
    "WARC-Payload-Digest": "payload_digest",
    "WARC-IP-Address": "ip_address",
    "WARC-Refers-To": "refers_to_id",
    "WARC-Refers-To-Target-URI": "refers_to_target_uri",
    "WARC-Refers-To-Date": "refers_to_date",
    "WARC-Target-URI": "target_uri",
    "WARC-Truncated": "truncated",
    "WARC-Warcinfo-ID": "warcinfo_id",
    "WARC-Filename": "filename",
    "WARC-Profile": "profile",
    "WARC-Identified-Payload-Type": "identified_payload_type",
    "WARC-Segment-Number": "segment_number",
    "WARC-Segment-Origin-ID": "segment_origin_id",
    "WARC-Segment-Total-Length": "segment_total_length",
}
SPELLINGS: dict[str, Callable[[bytes], bytes]] = {
    "base16": base64.b16encode,
    "base16, lower case": lambda raw: base64.b16encode(raw).lower(),
    "base32": base64.b32encode,
    "base32, lower case": lambda raw: base64.b32encode(raw).lower(),
    "base32, no padding": lambda raw: base64.b32encode(raw).rstrip(b"="),
    "base64": base64.b64encode,
    "base64, no padding": lambda raw: base64.b64encode(raw).rstrip(b"="),
    "base64 for URLs": base64.urlsafe_b64encode,
    "base64 for URLs, no padding": lambda raw: base64.urlsafe_b64encode(raw).rstrip(b"="),
}
BASE32 = "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"
BASE16 = "SHA-1:da39a3ee5e6b4b0d3255bfef95601890afd80709"
OTHER = "sha1:YAYSCX5QBYJ3I42H3S6NNFQ2MSVX7XZK"
"""One digest in two spellings, and another."""


def header(kind: str, number: int, length: int, *fields: tuple[str, str], uri: str = URI) -> bytes:
    """Make a header; a field given overrides what would be there."""
    usual = [
        ("WARC-Type", kind),
        ("WARC-Record-ID", f"<{record_id(number)}>"),
        ("WARC-Date", DATE),
        ("WARC-Target-URI", uri),
        ("Content-Length", str(length)),
    ]
    given = {name for name, _ in fields}
    return build_record_header([*(field for field in usual if field[0] not in given), *fields]).raw
