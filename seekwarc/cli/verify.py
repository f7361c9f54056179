"""Check files: their grammar, every checksum, every seek table, the rules of WARC, every digest.

Damage (bytes that are lost, wrong or hidden) is printed as it is found, with its offset and what to do about
it, and makes the exit status 1. So does what a limit, such as --max-window, keeps from being read, which is
no damage. Deviations break a rule of the standards but harm no reader: they are counted by kind, with the
first of each, and leave the exit status 0 unless --strict is given. `-` is standard input, which is first
stored in a temporary file. A folder means all WARC files in and below it.

With --profile, each .warc.zst is also compared with the specification of seekable records: which class of
writers it meets ("large", "every" or "none"), and each numbered requirement that it breaks, how often and
where first. The exit status is then 0 if it meets a class and is not damaged, else 1.

With --closed, all FILEs are read once more, together with what a WACZ requires and has beside it, to see
whether each revisit has its original among them, and where it says. Those without are counted by the file
that should have them, and make the exit status 1; so does a required file that is missing, or another.

With --report, what was found about each file is added to a report as soon as it is known. The same command
with the same report skips files that it says are sound and that have not changed since: so it continues after
an interruption, and checks what is new or was damaged.

seekwarc verify crawl.warc.zst
seekwarc verify --strict --json *.warc.gz
seekwarc verify crawls/ --jobs 4 --keep-going --report checked.jsonl
seekwarc verify --profile crawl.warc.zst
seekwarc verify --closed april.wacz may.wacz
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import partial
from typing import Self

from seekwarc.check.profile import ProfileCheck
from seekwarc.check.requirements import Broken, Profile
from seekwarc.check.verifying import Problem, ProblemKind, ProblemSeverity, Verification, Verifier
from seekwarc.cli.arguments import add_flag, add_value
from seekwarc.cli.batch import Printer, add_batch_arguments, run_batch
from seekwarc.cli.options import add_limit_arguments, limit_options
from seekwarc.cli.printing import picked, printable
from seekwarc.cli.progress import watch
from seekwarc.cli.sizes import human_size
from seekwarc.cli.targets import absolute, input_target
from seekwarc.errors import TargetExistsError
from seekwarc.format.json_text import json_text
from seekwarc.format.words import counted
from seekwarc.frames.pieces import detect
from seekwarc.jobs.outcome import Job, Status
from seekwarc.jobs.pipes import searchable
from seekwarc.jobs.work import JobContext
from seekwarc.storage.expand import expand
from seekwarc.storage.opening import open_source
from seekwarc.write.files import unwritable

__all__ = ["add_arguments", "run"]

PROBLEM_FIELDS = ("code", "rule", "offset", "message", "remedy")
_SEVERITIES = {
    "damage": ProblemSeverity.DAMAGE,
    "deviations": ProblemSeverity.DEVIATION,
    "limits": ProblemSeverity.LIMIT,
}
FIRST = b'{"file":'
"""How each line of a report begins."""
MAX_FIRST = 4096
"""Bytes of the first line of a file that show whether it is one."""
MAX_OF_A_KIND = 10
"""Problems of one kind that are printed for a file, without --all."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", metavar="FILE|FOLDER", nargs="+")
    add_flag(parser, "--strict", "exit with status 1 for deviations too")
    text = "tell which class of writers of seekable records a file meets, and which requirements it breaks"
    add_flag(parser, "--profile", text)
    add_flag(parser, "--closed", "check that all FILEs have the originals of their revisits")
    add_flag(parser, "--all", "print every problem: all damage of a kind, each deviation")
    text = "add a line of JSON about each file to FILE; skip files that it says are sound, unless changed"
    add_value(parser, "--report", "FILE", text)
    add_flag(parser, "--json", "print a JSON object for each problem and each file, one a line")
    add_batch_arguments(parser, looks=True)
    add_limit_arguments(parser)


def run(options: argparse.Namespace) -> int:
    jobs = [Job(name) for name in expand(options.files)]
    with ExitStack() as opened:
        report = opened.enter_context(_Report(options)) if options.report is not None else None
        printer = Printer(
            partial(_result_text, options),
            partial(_fields, options),
            partial(_print_problem, options),
            keep=report.add if report is not None else None,
            skipped=f"sound, as {options.report} says",
            is_listing=True,
        )
        work = partial(_verify, options, report.passed if report is not None else None)
        status = run_batch(options, jobs, work, printer)
    return max(status, _check_closed(options)) if options.closed else status


def _check_closed(options: argparse.Namespace) -> int:
    # Without --closed, a start takes a seventh less without what looks records up.
    from seekwarc.check.chain import check_chain

    report = check_chain(options.files, on_progress=watch(options), **limit_options(options))
    if options.json:
        for finding in report.findings:
            print(json_text({"code": f"chain-{finding.kind}", **asdict(finding)}))
        print(json_text({"revisits": report.revisits, "closed": report.is_closed, "missing": report.missing}))
        return int(not report.is_closed)
    for finding in report.findings:
        print(printable(str(finding)))
    for name, count in report.missing.items():
        where = f"should be in {name}" if name else "name no file"
        print(printable(f"{counted(count, 'revisit')} without an original {where}"))
    if not options.quiet:
        verdict = (
            "each has its original" if report.is_closed else "not all have their originals where they say"
        )
        print(f"{counted(report.revisits, 'revisit')}: {verdict}")
    return int(not report.is_closed)


class _Report:
    """A file of results, one a line, which a later run reads and continues."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        try:
            self._file = open(options.report, "a+b")  # noqa: SIM115 - closed by __exit__
        except OSError as error:
            raise unwritable(error, options.report) from error
        self.passed: dict[str, str] = {}
        """The version of each file that was found to be sound, by its absolute name."""
        self._file.seek(0)
        first = self._file.readline(MAX_FIRST)
        # Half a line may be of a run that was killed.
        if not first.startswith(FIRST) and (first.endswith(b"\n") or not first.isascii()):
            self._file.close()
            text = "exists and is not a report of `verify`, so nothing is added to it; name another file"
            raise TargetExistsError(text, source=options.report)
        self._file.seek(0)
        line = b"\n"
        for line in self._file:
            self._read(line)
        if not line.endswith(b"\n"):
            # A run was killed while it wrote this.
            self._file.write(b"\n")

    def _read(self, line: bytes) -> None:
        try:
            told = json.loads(line)
            name, version = told["file"], told["version"]
            passes = told["sound"] is True
            passes &= not (self._options.strict and told["deviations"])
            passes &= not self._options.profile or (told["profile"] or {}).get("class") is not None
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return
        if isinstance(name, str):
            self.passed.pop(name, None)
            if passes and isinstance(version, str):
                self.passed[name] = version

    def add(self, job: Job, checked: _Checked) -> None:
        told = {"file": absolute(job.source), "version": checked.version}
        try:
            self._file.write(json_text(told | _fields(self._options, checked)).encode() + b"\n")
            self._file.flush()
        except OSError as error:
            raise unwritable(error, self._options.report) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


@dataclass(frozen=True, slots=True)
class _Checked:
    verification: Verification
    profile: Profile | None
    """None without --profile, and of a file that is no .warc.zst."""
    version: str | None
    """Which version of the file was checked, if versions can be told apart."""


def _verify(
    options: argparse.Namespace, passed: dict[str, str] | None, job: Job, context: JobContext
) -> tuple[Status, _Checked | None]:
    """Verify a file, unless the report of an earlier run says that it passed then."""
    stored = open_source(input_target(job.source))
    with searchable(stored, check_head=lambda head: detect(head, stored.name)) as source:
        if passed is not None:
            # The version of an object is known when something of it was read.
            source.read_end(1)
        version = source.version
        if version is not None and passed and passed.get(absolute(job.source)) == version:
            return Status.SKIPPED, None
        check = ProfileCheck() if options.profile else None
        verifier = Verifier(
            source,
            on_progress=context.on_progress,
            listener=check,
            processes=context.processes,
            **limit_options(options),
        )
        for problem in verifier:
            context.emit((problem, verifier.result.codes[problem.code]))
    result = verifier.result
    profile = check.profile if check is not None else None
    found = not result.is_sound or (options.strict and result.deviations > 0)
    found |= options.profile and (profile is None or profile.mode is None)
    return Status.PROBLEMS if found else Status.DONE, _Checked(result, profile, version)


def _print_problem(options: argparse.Namespace, found: tuple[Problem, int]) -> None:
    """Print damage and limits, and with --all deviations."""
    problem, count = found
    if problem.severity is ProblemSeverity.DEVIATION and not options.all:
        return
    if options.json:
        fields = picked(problem, *PROBLEM_FIELDS, "severity", "requirement", file="source", id="record_id")
        print(json_text({"kind": "problem", **fields}))
    elif options.all or count <= MAX_OF_A_KIND:
        more = "; more of this kind is not printed (--all prints it)" if count == MAX_OF_A_KIND else ""
        of = f" {printable(problem.record_id)}" if problem.record_id is not None else ""
        where = f"{printable(problem.source)}: {problem.offset}{of}"
        print(f"{where}: {problem.severity}: {printable(problem.message)}")
        print(f"    {problem.remedy}{'' if options.all else more}")
    # People watch a long run.
    sys.stdout.flush()


def _fields(options: argparse.Namespace, checked: _Checked | None) -> dict[str, object]:
    result = checked.verification if checked is not None else None
    names = ("compression", "records", "digests", "tables", "stored_size", "lost")
    data: dict[str, object] = {"kind": "file", **picked(result, *names, sound="is_sound")}
    for name, severity in _SEVERITIES.items():
        kinds = result.of(severity) if result is not None else None
        data[name] = [_kind_json(kind) for kind in kinds] if kinds is not None else None
    if options.profile:
        profile = checked.profile if checked is not None else None
        data["profile"] = _profile_json(profile) if profile is not None else None
    return data


def _profile_json(profile: Profile) -> dict[str, object]:
    return {
        "class": profile.mode,
        "judged_by": profile.judged_by,
        "broken": [_broken_json(broken) for broken in profile.broken],
        "advice": [_broken_json(broken) for broken in profile.advice],
    }


def _broken_json(broken: Broken) -> dict[str, object]:
    named = picked(broken.requirement, "section", "text", requirement="number")
    return named | picked(broken, "count", "offset", "message")


def _kind_json(kind: ProblemKind) -> dict[str, object]:
    """Describe all problems of a kind by their number and the first of them."""
    return {"count": kind.count, **picked(kind.first, *PROBLEM_FIELDS, id="record_id")}


def _result_text(options: argparse.Namespace, checked: _Checked) -> str | None:
    result = checked.verification
    name = printable(result.source)
    of = f"{name}: " if options.quiet else "    "
    deviations = result.of(ProblemSeverity.DEVIATION)
    lines = [] if options.quiet else [f"{name}: {_summary(result, len(deviations))}"]
    if options.profile:
        lines += [f"{of}{line}" for line in _profile_lines(checked.profile)]
    for kind in [] if options.all else deviations:
        if options.profile and kind.first.requirement:
            continue  # It is told by its number.
        rule = f" ({kind.first.rule})" if kind.first.rule else ""
        first = f"{kind.first.code}{rule}, first at {kind.first.offset}: {printable(kind.first.message)}"
        lines.append(f"{of}{counted(kind.count, 'deviation')}: {first}")
        lines.append(f"        {kind.first.remedy}")
    return "\n".join(lines) or None


def _profile_lines(profile: Profile | None) -> Iterator[str]:
    if profile is None:
        yield "class of writers: none, since only a .warc.zst has one"
        return
    if profile.mode is not None:
        yield f'class of writers: "{profile.mode}"'
    elif profile.broken:
        numbers = ", ".join(broken.requirement.number for broken in profile.broken)
        yield f'class of writers: none; as "{profile.judged_by}" it breaks {numbers}'
    else:
        yield "class of writers: none, since part of the file could not be read"
    for broken in (*profile.broken, *profile.advice):
        requirement = broken.requirement
        word = "" if requirement.is_must else " (only a SHOULD)"
        yield f"{requirement.number}, section {requirement.section}{word}: {requirement.text}"
        places = counted(broken.count, "place")
        yield f"    broken in {places}, first at {broken.offset}: {printable(broken.message)}"


def _summary(result: Verification, kinds: int) -> str:
    found = "sound" if result.is_sound else "damaged" if result.damages else "not read in full"
    if result.compression == "-" and not result.codes["limit"]:
        found = "not an archive"
    elif result.damages:
        codes = [f"{kind.count} {kind.first.code}" for kind in result.of(ProblemSeverity.DAMAGE)]
        found += f" ({', '.join(codes)})"
    if count := result.codes["limit"]:
        found += f", {counted(count, 'place')} above a limit"
    if result.deviations:
        found += f", {counted(result.deviations, 'deviation')} of {counted(kinds, 'kind')}"
    text = (
        f"{found}: {counted(result.records, 'record')}, {human_size(result.stored_size)}, "
        f"{counted(result.digests, 'digest')} and {counted(result.tables, 'seek table')} right"
    )
    return text + (f"; {human_size(result.lost)} lost" if result.lost else "")
