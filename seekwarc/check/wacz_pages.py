"""The lists of pages in a WACZ: whether players show all of them, and whether the pages are captured."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from seekwarc.cdx.wacz import MAX_LINE, lines_in, pieces_of
from seekwarc.check.wacz_rules import Dates, Findings, json_object, shown
from seekwarc.errors import FormatError
from seekwarc.format.cdxj import timestamp_of
from seekwarc.format.dates import WarcDate
from seekwarc.format.surt import surt
from seekwarc.storage.zip_members import ZipArchive

__all__ = ["ListedPage", "check_captured", "check_pages", "is_date"]

FOLDER: Final = "pages/"
FORMAT: Final = "json-pages-1.0"

_DATE = re.compile(
    r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])[Tt ]([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?"
    r"([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)",
    re.ASCII,
)


class ListedPage(NamedTuple):
    """A page that can be looked up."""

    path: str
    uri: str
    key: str
    timestamp: str | None
    """Its date, 14 digits."""


def check_pages(archive: ZipArchive, findings: Findings) -> tuple[int, list[ListedPage]]:
    """Check all lists of pages; return how many pages there are, and those that can be looked up."""
    names = [it for it in archive.members if it.startswith(FOLDER) and it.endswith(".jsonl")]
    if f"{FOLDER}pages.jsonl" not in names:
        findings.add("W08", f"{FOLDER}pages.jsonl", "is missing")
    count, listed = 0, []
    for name in names:
        has_header = False
        try:
            for offset, page in _objects(archive, name, findings):
                if not offset and "url" not in page and "format" in page:
                    has_header = True
                    if page["format"] != FORMAT:
                        findings.add("W08", name, f"has the format {shown(page['format'])}, not {FORMAT!r}")
                    continue
                count += 1
                if (found := _checked(page, name, offset, findings)) is not None:
                    listed.append(found)
        except FormatError as error:
            findings.add("W08", name, str(error))
        if not has_header:
            findings.add(
                "W08", name, "has no header: players take the first line for it and show no page of it"
            )
    return count, listed


def _objects(archive: ZipArchive, name: str, findings: Findings) -> Iterator[tuple[int, dict[str, object]]]:
    for offset, line in lines_in(pieces_of(archive.open(name)), MAX_LINE):
        if line.strip():
            try:
                yield offset, json_object(line)
            except FormatError as error:
                findings.add("W08", name, f"the line at {offset} {error.message}")


def _checked(page: dict[str, object], name: str, offset: int, findings: Findings) -> ListedPage | None:
    uri, stated = page.get("url"), page.get("ts")
    if not isinstance(uri, str):
        findings.add("W08", name, f"the page at {offset} has no url")
        return None
    timestamp = None
    try:
        if not is_date(stated):
            raise FormatError("not a date of RFC 3339")
        timestamp = timestamp_of(WarcDate.parse(str(stated).replace(" ", "T")))
    except FormatError:
        findings.add("W08", name, f"the ts of {uri} is {shown(stated)}, not a date of RFC 3339")
    for key, kind in (("title", str), ("text", str), ("size", int)):
        if key in page and type(page[key]) is not kind:
            findings.add("W08", name, f"the {key} of {uri} is {shown(page[key])}")
    return ListedPage(name, uri, surt(uri), timestamp)


def check_captured(listed: list[ListedPage], dates: Dates, findings: Findings) -> None:
    """Compare pages with the dates at which they were captured."""
    for page in listed:
        exact, others = dates[page.key][page.uri], dates[page.key][""]
        if not exact and not others:
            findings.add("W09", page.path, f"{page.uri} is not in the index")
        elif not exact:
            findings.add("W09", page.path, f"{page.uri} is in the index in another spelling only")
        elif page.timestamp is not None and page.timestamp not in exact:
            findings.add("W09", page.path, f"{page.uri} has no capture of its date, {page.timestamp}")


def is_date(text: object) -> bool:
    """Return whether a value is a date of RFC 3339."""
    return isinstance(text, str) and _DATE.fullmatch(text) is not None
