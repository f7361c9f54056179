"""Judges whether an implementation reads the sample files as the specification asks.

The implementation is a command that answers two questions:

    COMMAND records FILE                            each record as a line of JSON
    COMMAND range FILE OFFSET LENGTH START END      bytes [START, END) of the block of the record at OFFSET

The last one ends with the path of a sidecar if that is to be used.

Source: tests/interop/adapters/README.md. What it answers is compared with the manifest of the
samples, and never believed: its output is bounded and parsed with care, and what it wrote before it reported
an error has to be right too.
"""

from __future__ import annotations

import hashlib
import json
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Literal

from conformance.command import Ended
from conformance.manifest import Manifest, Sample, SampleRange, SampleRecord, counted

__all__ = ["Answer", "Ask", "ReaderClass", "Verdict", "judged", "meets", "questions_about"]

REFUSED: Final = 1
NOT_SUPPORTED: Final = 3
LINE_SIZE: Final = 4 << 10
"""Bytes of output that are read for each record that a sample has."""
FURTHER_LINES: Final = 16
"""Lines more than those: enough to tell what is wrong."""
SHOWN: Final = 100
"""Characters of a wrong line that a message shows."""
MAX_WAIT: Final = 0.5
"""Seconds."""
GZIP: Final = 31
SIDECAR: Final = "sidecar: "
"""What comes before "used" or "refused" in the message of a range that was read."""
HEADER_END: Final = b"\r\n\r\n"
MAX_CONTENT: Final = 64 << 20
MAX_HEADER: Final = 64 << 10

Ask = Callable[[Sequence[str], int], Ended]
"""Runs the implementation with some arguments, and keeps so many bytes of output; `Command.run` is one."""
ReaderClass = Literal["reads", "seeks"]


class Verdict(StrEnum):
    """What an answer is."""

    RIGHT = "right"
    REFUSED = "refused"
    """An error was reported, and nothing wrong was written before."""
    SHORT = "short"
    """Records or bytes are missing, and no error was reported."""
    WRONG = "wrong"
    MISTAKEN = "mistaken"
    """The bytes are right, but a sidecar was used that must not be, or one was refused that is sound."""
    MUST_REFUSE = "must refuse"
    """No error was reported, though the bytes are damaged or missing."""
    CRASHED = "crashed"
    """Ended by a signal, or with an exit status that the protocol does not know."""
    TIMED_OUT = "timed out"
    NOT_SUPPORTED = "not supported"


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to one question about one sample."""

    file: str
    """`Sample.name`."""
    question: Literal["records", "range"]
    verdict: Verdict
    allowed: bool
    """Whether a reader of class "seeks" may answer so."""
    message: str = ""
    """What is not right."""
    offset: int | None = None
    """For a range: the offset that was given, and the bytes [start, stop) of the record's block."""
    start: int | None = None
    stop: int | None = None


def questions_about(sample: Sample, path: str) -> list[list[str]]:
    """Return what is asked about a sample, as the arguments of an implementation."""
    asked = [["records", path]]
    beside = [os.path.join(os.path.dirname(path), sample.sidecar.file)] if sample.sidecar is not None else []
    for wanted in (wanted for record in sample.records for wanted in record.ranges):
        length = "-" if wanted.length is None else str(wanted.length)
        numbers = str(wanted.offset), length, str(wanted.start), str(wanted.stop)
        asked.append(["range", path, *numbers, *beside])
    return asked


def judged(manifest: Manifest, ask: Ask, *, jobs: int = 1) -> Iterator[Answer]:
    """Ask about `jobs` samples at a time, and yield the answers in the manifest's order."""
    pool = ThreadPoolExecutor(jobs)
    try:
        pending = [pool.submit(_judge_file, manifest, sample, ask) for sample in manifest.samples]
        for future in pending:
            # A signal that comes just before a wait does not end it: Python acts on it between two.
            while wait([future], MAX_WAIT).not_done:
                pass
            yield from future.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def meets(answers: Iterable[Answer], reader_class: ReaderClass) -> bool:
    """Return whether an implementation that answered so is of a class of readers.

    "reads" asks for all records of every sample; of ranges, that none is wrong. It need not know ranges, and
    may refuse any. "seeks" asks for the ranges too.
    """
    may_range = (Verdict.RIGHT, Verdict.REFUSED, Verdict.NOT_SUPPORTED)
    return all(
        answer.allowed
        or (reader_class == "reads" and answer.question == "range" and answer.verdict in may_range)
        for answer in answers
    )


def _judge_file(manifest: Manifest, sample: Sample, ask: Ask) -> list[Answer]:
    path = manifest.path(sample)
    first, *others = questions_about(sample, path)
    ended = ask(first, LINE_SIZE * (len(sample.records) + FURTHER_LINES))
    verdict, message = _judge_end(ended) or _judge_records(sample, ended)
    answers = [Answer(sample.name, "records", verdict, verdict is Verdict.RIGHT, message)]
    ranges = [(record, wanted) for record in sample.records for wanted in record.ranges]
    for words, (record, wanted) in zip(others, ranges, strict=True):
        ended = ask(words, wanted.size)
        verdict, message = _judge_end(ended) or _judge_range(manifest, path, record, wanted, ended)
        if verdict is Verdict.RIGHT:
            verdict, message = _judge_sidecar(record, ended) or (verdict, message)
        may_refuse = not record.complete or not (sample.valid or record.has_table)
        may_refuse = may_refuse or wanted.offset != record.offset  # R4 says SHOULD.
        allowed = verdict is Verdict.RIGHT or (verdict is Verdict.REFUSED and may_refuse)
        place = (wanted.offset, wanted.start, wanted.stop)
        answers.append(Answer(sample.name, "range", verdict, allowed, message, *place))
    return answers


def _judge_end(ended: Ended) -> tuple[Verdict, str] | None:
    if ended.broken and ended.status in (None, 0, REFUSED, NOT_SUPPORTED):
        return Verdict.WRONG, ended.broken + (f": {ended.message}" if ended.message else "")
    if ended.status is None:
        return Verdict.TIMED_OUT, "it did not end in time"
    if ended.status == NOT_SUPPORTED:
        return Verdict.NOT_SUPPORTED, ended.message
    if ended.status not in (0, REFUSED):
        how = f"exit status {ended.status}" if ended.status > 0 else f"signal {-ended.status}"
        return Verdict.CRASHED, f"it ended with {how}" + (f": {ended.message}" if ended.message else "")
    return None


def _judge_records(sample: Sample, ended: Ended) -> tuple[Verdict, str]:
    records = sample.records
    # What comes after damage may be found again, or not.
    certain = next((i for i, record in enumerate(records) if not record.complete), len(records))
    delivered = _delivered(records, certain, ended.output)
    if not isinstance(delivered, int):
        return delivered
    told = f"{delivered} of {counted(len(records), 'record')}"
    if ended.status == 0 and delivered < certain:
        return Verdict.SHORT, f"only {told}, and no error"
    if ended.status == 0 and sample.readable != "all":
        return Verdict.SHORT, "no error is reported, though the file is damaged or cut off"
    if ended.status == REFUSED and (delivered < certain or sample.readable == "all"):
        return Verdict.REFUSED, f"an error after {told}: {ended.message or 'without a message'}"
    return Verdict.RIGHT, ""


def _delivered(records: Sequence[SampleRecord], certain: int, output: bytes) -> int | tuple[Verdict, str]:
    """Return how far the lines lead, or what is wrong; the first `certain` records come before any damage."""
    position = 0
    for number, text in enumerate(filter(bytes.strip, output.split(b"\n")), 1):
        line = _parsed(text)
        if line is None:
            shown = text[:SHOWN].decode(errors="backslashreplace")
            form = '{"offset": 0, "length": 1, "size": 1, "sha256": "..."}'
            return Verdict.WRONG, f"line {number} does not have the form {form}: {shown}"
        found = next((i for i in range(position, len(records)) if _is_same(records[i], line)), None)
        if found is None:
            return Verdict.WRONG, f"record {number}: {_difference(records[position:], line)}"
        if min(found, certain) > position:
            return Verdict.SHORT, f"the record at {records[position].offset} is missing before others"
        position = found + 1
    return position


def _parsed(text: bytes) -> dict[str, object] | None:
    """Parse a line of the answer; None if it has another form."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    numbers = [value.get(name) for name in ("offset", "size")]
    if value.get("length") is not None:
        numbers.append(value["length"])
    is_form = all(isinstance(it, int) and not isinstance(it, bool) for it in numbers)
    return value if is_form and isinstance(value.get("sha256"), str) else None


def _is_same(record: SampleRecord, line: dict[str, object]) -> bool:
    length = line.get("length")
    return (line["offset"], line["size"], line["sha256"]) == (record.offset, record.size, record.sha256) and (
        length in (None, record.length) or record.length is None
    )


def _difference(records: Sequence[SampleRecord], line: dict[str, object]) -> str:
    if not records:
        return "there is no further one"
    record = next((it for it in records if it.offset == line["offset"]), records[0])
    wanted = {"offset": record.offset, "length": record.length, "size": record.size, "sha256": record.sha256}
    for name, value in wanted.items():
        told = line.get(name)
        if told != value and (name != "length" or None not in (told, value)):
            return f"{name} is {str(told)[:SHOWN]} instead of {value}"
    return "it came before"


def _judge_range(
    manifest: Manifest, path: str, record: SampleRecord, wanted: SampleRange, ended: Ended
) -> tuple[Verdict, str]:
    output, size = ended.output, wanted.size
    if wanted.sha256 is None:
        if ended.status == REFUSED:
            return Verdict.RIGHT, ""
        return (
            Verdict.MUST_REFUSE,
            f"{counted(len(output), 'byte')} of a block that is damaged there, and no error",
        )
    is_whole = len(output) == size and hashlib.sha256(output).hexdigest() == wanted.sha256
    if not is_whole and not _bytes_of(manifest, path, record, wanted).startswith(output):
        return Verdict.WRONG, f"{counted(len(output), 'byte')}, and not those of the block"
    if ended.status == REFUSED:
        return Verdict.REFUSED, ended.message or "an error without a message"
    if is_whole:
        return Verdict.RIGHT, ""
    return Verdict.SHORT, f"only {len(output)} of {counted(size, 'byte')}, and no error"


def _judge_sidecar(record: SampleRecord, ended: Ended) -> tuple[Verdict, str] | None:
    """Return what is wrong with what an implementation says of a sidecar; None if nothing is."""
    told = ended.message.strip().rpartition("\n")[2].removeprefix(SIDECAR)
    if record.outcome in (None, "error", told):
        return None
    said = (
        f"it says of the sidecar {told!r}" if told else f"it does not say {SIDECAR + str(record.outcome)!r}"
    )
    return Verdict.MISTAKEN, f"{said}, which is to be {record.outcome}"


def _bytes_of(manifest: Manifest, path: str, record: SampleRecord, wanted: SampleRange) -> bytes:
    """Return the bytes of a range: from the manifest, or from a gzip member; none if neither has them."""
    known = manifest.contents.get(wanted.sha256 or "")
    if known is not None or not path.endswith(".gz") or wanted.stop > MAX_CONTENT:
        return known or b""
    with open(path, "rb") as file:
        file.seek(record.offset)
        try:
            content = zlib.decompressobj(GZIP).decompress(file.read(), MAX_HEADER + wanted.stop)
        except zlib.error:
            return b""
    header, end, _ = content.partition(HEADER_END)
    start = len(header) + len(end)
    data = content[start + wanted.start : start + wanted.stop]
    return data if hashlib.sha256(data).hexdigest() == wanted.sha256 else b""
