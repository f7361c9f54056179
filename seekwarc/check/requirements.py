"""The requirements on files of .warc.zst, by number, and an account of those that a file breaks.

Source: spec-notes/warc-zstd-seekable/index.md, sections 2 to 5 and 7; annex A.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from seekwarc.write.file_layout import TableMode

__all__ = ["MODES", "REQUIREMENTS", "Account", "Broken", "Profile", "Requirement"]

MODES: Final[tuple[TableMode, ...]] = ("large", "none", "every")
"""The modes of writers: which records have a seek table. Of equals a file is judged by the first (V10)."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """A requirement on files."""

    number: str
    section: str
    text: str
    modes: tuple[TableMode, ...] = MODES
    """The modes that it holds in."""
    is_must: bool = True
    """False if it says SHOULD: a file that breaks it meets its class all the same."""


_ALL: Final = (
    Requirement("W1", "2.1", "the first frame of a large record holds exactly the record header"),
    Requirement("W2", "2.1", "the second frame of a large record holds exactly its HTTP head"),
    Requirement("W3", "2.1", "the body of a large record is cut every frame_size bytes, 64 KiB to 8 MiB"),
    Requirement("W4", "2.1", "CRLF CRLF ends the last frame of a record, with the last byte of the block"),
    Requirement("W5", "2.1", "the frames of a record, and then its table, follow each other directly"),
    Requirement("W6", "2.2", "a small record is one frame, without a record table", ("large", "none")),
    Requirement("W7", "2.3", "every Zstandard frame has Frame_Content_Size"),
    Requirement("W8", "2.3", "every Zstandard frame has Content_Checksum, and it is right"),
    Requirement("W9", "2.3", "every Zstandard frame has the Dictionary_ID of the file's dictionary, or none"),
    Requirement("W10", "2.3", "content and Window_Size of a frame are at most 8 MiB"),
    Requirement("W11", "2.3", "no frame holds content of two records"),
    Requirement(
        "W12", "A.7", "a record table has at most 1,048,576 entries", ("large", "every"), is_must=False
    ),
    Requirement("W13", "A.2", "the file's first frame with content holds more than a header", ("large",)),
    Requirement("W14", "2.3", "no Zstandard frame is without content"),
    Requirement("W15", "5", "the file begins with a Zstandard frame or the dictionary frame"),
    Requirement(
        "W16", "A.7", "padding has the magic number 0x184D2A50 and zero bytes, not four", is_must=False
    ),
    Requirement("W17", "3", "a seek table is well-formed, and lists something", ("large", "every")),
    Requirement("W18", "3", "a seek table lists consecutive frames with true sizes", ("large", "every")),
    Requirement("W19", "3", "the checksums in a seek table are those of the frames", ("large", "every")),
    Requirement("W20", "A.7", "seek tables have checksums", ("large", "every"), is_must=False),
    Requirement("W21", "4.1", "each large record has a record table", ("large",)),
    Requirement("W22", "A.1", "the file ends with a table of the whole file", ("large",)),
    Requirement("W23", "4.2", "each record has a record table", ("every",)),
    Requirement("W24", "4.2", "a small record is a frame of its header, and one of the rest", ("every",)),
    Requirement("W25", "4.2", "all tables are record tables", ("every",)),
    Requirement("W26", "A.3", "the file has no seek table", ("none",)),
    Requirement("W27", "5", "the file ends with a whole frame and a whole record"),
    Requirement("W28", "A.4", "files are joined into one with one file table", ("large",), is_must=False),
    Requirement("W29", "7", "the file has one dictionary frame at most, at its beginning"),
    Requirement("W30", "7", "the dictionary frame holds one usable dictionary, as the text says"),
    Requirement("W31", "A.7", "the dictionary's ID is from 32,768 to 2,147,483,647", is_must=False),
    Requirement("W32", "A.7", "the file has no dictionary", ("every",), is_must=False),
    Requirement("W33", "A.1", "a file has one file table at its end, not two", ("large",), is_must=False),
    Requirement("W34", "A.1", "a file of more frames than a table can list ends in padding", ("large",)),
    Requirement("W35", "A.7", "a record begins with WARC/ in capitals", is_must=False),
)
REQUIREMENTS: Final = {it.number: it for it in _ALL}
"""All requirements on files. W28 is one on tools: a file does not show whether it was kept."""


@dataclass(slots=True)
class Broken:
    """A requirement that a file breaks."""

    requirement: Requirement
    offset: int
    """Offset of the first place where it is broken."""
    message: str
    """What is wrong there."""
    count: int = 1


@dataclass(frozen=True, slots=True)
class Profile:
    """What the specification says of a file."""

    mode: TableMode | None
    """The class of writers whose requirements the file meets; None if it meets none."""
    judged_by: TableMode
    """The mode whose requirements are listed below: that of which the file breaks the fewest (V10)."""
    broken: tuple[Broken, ...]
    """Requirements that say MUST, by number."""
    advice: tuple[Broken, ...]
    """Those that say SHOULD."""


class Account:
    """The requirements that a file breaks, were it of this mode or that. Safe to use from several threads."""

    def __init__(self) -> None:
        self._found: dict[TableMode, dict[str, Broken]] = {mode: {} for mode in MODES}
        self._lock = threading.Lock()

    def add(self, number: str, offset: int, message: str, modes: Sequence[TableMode] = MODES) -> None:
        """Note that a requirement is broken, in those of `modes` that it holds in."""
        requirement = REQUIREMENTS[number]
        with self._lock:
            for mode in modes:
                if mode not in requirement.modes:
                    continue
                first = self._found[mode].get(number)
                if first is None:
                    self._found[mode][number] = Broken(requirement, offset, message)
                    continue
                first.count += 1
                if offset < first.offset:
                    first.offset, first.message = offset, message

    def profile(self, *, is_damaged: bool) -> Profile:
        """Return the result."""
        must = {mode: self._of(mode, is_must=True) for mode in MODES}
        # However often each is broken: otherwise one record more could change the mode.
        judged_by = min(MODES, key=lambda mode: len(must[mode]))
        is_met = not must[judged_by] and not is_damaged
        advice = self._of(judged_by, is_must=False)
        return Profile(judged_by if is_met else None, judged_by, must[judged_by], advice)

    def _of(self, mode: TableMode, *, is_must: bool) -> tuple[Broken, ...]:
        found = [it for it in self._found[mode].values() if it.requirement.is_must == is_must]
        return tuple(sorted(found, key=lambda it: int(it.requirement.number[1:])))
