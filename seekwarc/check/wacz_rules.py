"""The rules that `validate_wacz` checks, what it finds, and how it reads JSON.

Rules are those of WACZ 1.1.1 (https://specs.webrecorder.net/wacz/1.1.1/), each named by its section, and what
follows from how players read: by the directory of the ZIP archive, and by the lines of the index. An error is
something that a reader would get wrong or lose.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Container
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeAlias

from seekwarc.errors import FormatError
from seekwarc.format.words import quoted

__all__ = ["RULES", "Findings", "Rule", "Severity", "WaczFinding", "json_object", "shown"]

MAX_FINDINGS: Final = 100
"""Findings of a rule that are kept; all are counted."""
MAX_TEXT: Final = 80

Severity = Literal["error", "warning"]
Dates: TypeAlias = dict[str, dict[str, set[str]]]
"""For the key of each page its URIs, and the dates of their captures, 14 digits; those of other URIs with the
same key are those of "".
"""


class Rule(NamedTuple):
    """A rule, and where it is from."""

    section: str
    severity: Severity = "error"


RULES: Final = {
    "W01": Rule("Zip Format File Extension"),
    "W02": Rule("Zip Format"),
    "W03": Rule("archive: one or more WARC files"),
    "W04": Rule("archive: names"),
    "W05": Rule("archive: what players read"),
    "W06": Rule("indexes: one or more, of CDXJ"),
    "W07": Rule("indexes: lines lead to records"),
    "W08": Rule("pages.jsonl"),
    "W09": Rule("pages.jsonl: pages are captured", "warning"),
    "W10": Rule("datapackage.json: required properties"),
    "W11": Rule("datapackage.json: resources lists all files"),
    "W12": Rule("datapackage.json: sizes and hashes"),
    "W13": Rule("datapackage.json: contextual information", "warning"),
    "W14": Rule("datapackage-digest.json is recommended", "warning"),
    "W15": Rule("datapackage-digest.json: properties"),
    "W16": Rule("datapackage-digest.json: other properties", "warning"),
    "W17": Rule("Other files and directories"),
    "W18": Rule("Zip Compression"),
    "W19": Rule("Zip Format: checksums"),
    "W20": Rule("Zip Format: players skip local headers", "warning"),
    "W21": Rule("indexes: captures have lines", "warning"),
    "W22": Rule("archive: records can be read"),
    "W23": Rule("Zip Format: what is in no member, and names", "warning"),
    "W24": Rule("indexes: lines as other tools make them", "warning"),
    "W25": Rule("archive: digests can be checked", "warning"),
    "W26": Rule("archive: revisits have originals", "warning"),
    "W27": Rule("datapackage.json: relation.requires", "warning"),
}
"""The rules by number: a section of the specification and what is looked at."""


@dataclass(frozen=True, slots=True)
class WaczFinding:
    """A rule that a WACZ breaks.

    Example:
        >>> finding = seekwarc.tools.validate_wacz("crawl.wacz").findings[0]
        >>> print(finding)
        W05 error: archive/crawl.warc.zst: no player reads Zstandard (WACZ 1.1.1, archive: what players read)
    """

    rule: str
    """Its number in `RULES`: W01 to W27."""
    severity: Severity
    path: str
    """The member that it is about; empty for the WACZ itself."""
    message: str

    def __str__(self) -> str:
        place = f"{self.path}: " if self.path else ""
        section = RULES[self.rule].section
        return f"{self.rule} {self.severity}: {place}{self.message} (WACZ 1.1.1, {section})"


class Findings:
    """What was found so far: all are counted, and the first of each rule kept.

    Rules in `errors` are errors, whatever `RULES` says.
    """

    def __init__(self, errors: Container[str] = ()) -> None:
        self._errors = errors
        self.kept: list[WaczFinding] = []
        self.counts: Counter[str] = Counter()

    def add(self, rule: str, path: str, message: str) -> None:
        """Note that a member breaks a rule."""
        severity: Severity = "error" if rule in self._errors else RULES[rule].severity
        self.counts[rule] += 1
        if self.counts[rule] <= MAX_FINDINGS:
            self.kept.append(WaczFinding(rule, severity, path, message))


def shown(value: object) -> str:
    """Return a value as messages show it."""
    return (quoted(value) if isinstance(value, str) else repr(value))[:MAX_TEXT]


def json_object(data: bytes) -> dict[str, object]:
    """Parse a JSON object as browsers do: UTF-8 without a byte order mark, and no NaN.

    Raises:
        FormatError: It is something else, or has a name twice, of which readers take one or the other.
    """
    try:
        value = json.loads(data.decode(), parse_constant=_refused, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"is not JSON: {str(error) or type(error).__name__}") from error
    if not isinstance(value, dict):
        raise FormatError("is not a JSON object")
    return value


def _refused(name: str) -> object:
    raise ValueError(f"{name} is not a number of JSON")


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("an object has a name twice")
    return found
