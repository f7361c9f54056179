"""The defined fields of a record header, each with its type.

Source: WARC 1.1, clause 5.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from seekwarc.compiling import mypyc_attr
from seekwarc.errors import FormatError
from seekwarc.format.header_fields import whole_number
from seekwarc.format.values import MediaType, without_brackets
from seekwarc.format.warc import RecordHeader
from seekwarc.format.words import quoted

if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv6Address

    from seekwarc.format.dates import WarcDate
    from seekwarc.format.digest import Digest
    from seekwarc.format.rules import Finding

__all__ = ["DefinedFields"]

Value = TypeVar("Value")


@mypyc_attr(allow_interpreted_subclasses=True)
class DefinedFields:
    """The defined fields of a record header, each with its type.

    A missing field is None, and so is a malformed one: archives are full of those, and a loop over records
    should not end at one. `findings` lists malformed fields, and `header.get` returns their text. URIs have
    no angle brackets.

    Attributes:
        header: The record header.
    """

    __slots__ = ("header",)

    def __init__(self, header: RecordHeader) -> None:
        self.header = header

    def _typed(self, name: str, parse: Callable[[str], Value]) -> Value | None:
        text = self.header.get(name)
        if text is None:
            return None
        try:
            return parse(text)
        except FormatError:
            return None

    @property
    def findings(self) -> list[Finding]:
        """Rules of the standard that the header breaks, including malformed fields; see `check_header`."""
        from seekwarc.format.rules import check_header

        return check_header(self.header)

    @property
    def id(self) -> str | None:
        """WARC-Record-ID (clause 5.2)."""
        return self.header.uri("WARC-Record-ID")

    @property
    def content_length(self) -> int:
        """Content-Length: bytes of the block (clause 5.3)."""
        return self.header.content_length

    @property
    def date(self) -> WarcDate | None:
        """WARC-Date (clause 5.4)."""
        return self._typed("WARC-Date", _date)

    @property
    def type(self) -> str | None:
        """WARC-Type: "response", "resource", "request", "metadata", ... (clause 5.5)."""
        return self.header.get("WARC-Type")

    @property
    def content_type(self) -> str | None:
        """Content-Type of the block, as written (clause 5.6)."""
        return self.header.get("Content-Type")

    @property
    def media_type(self) -> MediaType | None:
        """Content-Type of the block, parsed (clause 5.6)."""
        return self._typed("Content-Type", MediaType.parse)

    @property
    def concurrent_to(self) -> tuple[str, ...]:
        """WARC-Concurrent-To: IDs of records of the same capture event (clause 5.7)."""
        return tuple(map(without_brackets, self.header.get_all("WARC-Concurrent-To")))

    @property
    def block_digest(self) -> Digest | None:
        """WARC-Block-Digest (clause 5.8)."""
        return self._typed("WARC-Block-Digest", _digest)

    @property
    def payload_digest(self) -> Digest | None:
        """WARC-Payload-Digest (clause 5.9)."""
        return self._typed("WARC-Payload-Digest", _digest)

    @property
    def ip_address(self) -> IPv4Address | IPv6Address | None:
        """WARC-IP-Address (clause 5.10)."""
        return self._typed("WARC-IP-Address", _address)

    @property
    def refers_to_id(self) -> str | None:
        """WARC-Refers-To: ID of the record that this one is about (clause 5.11)."""
        return self.header.uri("WARC-Refers-To")

    @property
    def refers_to_target_uri(self) -> str | None:
        """WARC-Refers-To-Target-URI of a revisit (clause 5.12)."""
        return self.header.uri("WARC-Refers-To-Target-URI")

    @property
    def refers_to_date(self) -> WarcDate | None:
        """WARC-Refers-To-Date of a revisit (clause 5.13)."""
        return self._typed("WARC-Refers-To-Date", _date)

    @property
    def target_uri(self) -> str | None:
        """WARC-Target-URI (clause 5.14)."""
        return self.header.uri("WARC-Target-URI")

    @property
    def truncated(self) -> str | None:
        """WARC-Truncated: "length", "time", "disconnect", "unspecified" or another reason (clause 5.15)."""
        return self.header.get("WARC-Truncated")

    @property
    def warcinfo_id(self) -> str | None:
        """WARC-Warcinfo-ID (clause 5.16)."""
        return self.header.uri("WARC-Warcinfo-ID")

    @property
    def filename(self) -> str | None:
        """WARC-Filename of a warcinfo record (clause 5.17)."""
        return self.header.text("WARC-Filename")

    @property
    def profile(self) -> str | None:
        """WARC-Profile of a revisit (clause 5.18)."""
        return self.header.uri("WARC-Profile")

    @property
    def identified_payload_type(self) -> MediaType | None:
        """WARC-Identified-Payload-Type (clause 5.19)."""
        return self._typed("WARC-Identified-Payload-Type", MediaType.parse)

    @property
    def segment_number(self) -> int | None:
        """WARC-Segment-Number: 1 in the first segment, 2 and up in the continuations (clause 5.20)."""
        return self._typed("WARC-Segment-Number", _number)

    @property
    def segment_origin_id(self) -> str | None:
        """WARC-Segment-Origin-ID: ID of the record that a continuation belongs to (clause 5.21)."""
        return self.header.uri("WARC-Segment-Origin-ID")

    @property
    def segment_total_length(self) -> int | None:
        """WARC-Segment-Total-Length: bytes of all segments' blocks; only the last has it (clause 5.22)."""
        return self._typed("WARC-Segment-Total-Length", _number)


def _number(text: str) -> int:
    number = whole_number(text)
    if number is None:
        raise FormatError(f"{quoted(text[:40])} is not a number")
    return number


# The modules are imported in the functions: reading bytes of a record needs none of them.


def _date(text: str) -> WarcDate:
    from seekwarc.format.dates import WarcDate

    return WarcDate.parse(text)


def _digest(text: str) -> Digest:
    from seekwarc.format.digest import Digest

    return Digest.parse(text)


def _address(text: str) -> IPv4Address | IPv6Address:
    from ipaddress import ip_address

    try:
        return ip_address(text)
    except ValueError as error:
        raise FormatError(f"{quoted(text[:40])} is not an IP address") from error
