"""The judge of implementations: every kind of answer, and every kind of lie."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conformance.answers import Answer, Verdict, judged, meets, questions_about
from conformance.command import Ended
from conformance.manifest import read_manifest
from hypothesis import given
from hypothesis import strategies as st

import seekwarc
from tests.conftest import ROOT
from tests.support.conformance import BLOCKS, lines_of, make_samples, well_behaved


class Court:
    """The samples, and what becomes of an implementation that answers one question in its own way."""

    def __init__(self, folder: Path) -> None:
        self.json = make_samples(folder)
        self.manifest = read_manifest(folder)

    def answers(self, change: Callable[[Sequence[str], Ended], Ended]) -> list[Answer]:
        ask = well_behaved(self.json)
        return list(judged(self.manifest, lambda words, limit: change(words, ask(words, limit))))

    def records(self, ended: Ended, file: str = "sound.warc.zst") -> Answer:
        """Judge an answer to the question for the records of a file."""
        mine = self.answers(lambda w, right: ended if w[0] == "records" and w[1].endswith(file) else right)
        return next(it for it in mine if it.question == "records" and it.file == file)

    def range(self, ended: Ended, file: str = "sound.warc.zst", record: int = 1) -> Answer:
        mine = self.answers(lambda w, right: ended if w[0] == "range" and w[1].endswith(file) else right)
        return [it for it in mine if it.question == "range" and it.file == file][record]

    @property
    def lines(self) -> list[dict[str, Any]]:
        return self.json["files"][0]["records"]


@pytest.fixture(scope="module")
def court(tmp_path_factory) -> Court:
    return Court(tmp_path_factory.mktemp("samples"))


def test_right_answers_meet_both_classes(court: Court) -> None:
    answers = court.answers(lambda _, right: right)
    assert {it.verdict for it in answers} == {Verdict.RIGHT}
    assert len(answers) == sum(len(questions_about(it, "")) for it in court.manifest.samples) == 3 + 6
    assert [it.file for it in answers if it.question == "records"] == [
        it.file for it in court.manifest.samples
    ]
    assert meets(answers, "reads")
    assert meets(answers, "seeks")


def test_several_jobs_give_the_same_answers_in_order(court: Court) -> None:
    ask = well_behaved(court.json)
    assert list(judged(court.manifest, ask, jobs=4)) == list(judged(court.manifest, ask))


def test_unknown_length_is_no_mistake(court: Court) -> None:
    lines = lines_of([it | {"length": None} for it in court.lines])
    assert court.records(Ended(0, lines, "")).verdict == Verdict.RIGHT


@pytest.mark.parametrize("field", ["offset", "length", "size", "sha256"])
def test_each_wrong_field_of_a_record_is_named(court: Court, field: str) -> None:
    first = court.lines[0]
    wrong = first | {field: "ab" * 32 if field == "sha256" else first[field] + 1}
    answer = court.records(Ended(0, lines_of([wrong, *court.lines[1:]]), ""))
    assert (answer.verdict, answer.allowed) == (Verdict.WRONG, False)
    assert answer.message.startswith(f"record 1: {field} is ")


@pytest.mark.parametrize("kept", [[], [0], [0, 1]])
def test_silently_missing_records_are_short(court: Court, kept: list[int]) -> None:
    answer = court.records(Ended(0, lines_of([court.lines[i] for i in kept]), ""))
    assert answer.verdict == Verdict.SHORT
    assert f"only {len(kept)} of 3 records" in answer.message


def test_a_record_left_out_before_others_is_short(court: Court) -> None:
    answer = court.records(Ended(0, lines_of([court.lines[0], court.lines[2]]), ""))
    assert (answer.verdict, answer.message) == (
        Verdict.SHORT,
        f"the record at {court.lines[1]['offset']} is missing before others",
    )


@pytest.mark.parametrize("order", [[0, 0, 1, 2], [1, 0, 2], [0, 1, 2, 2]])
def test_records_twice_or_out_of_order_are_not_right(court: Court, order: list[int]) -> None:
    answer = court.records(Ended(0, lines_of([court.lines[i] for i in order]), ""))
    assert answer.verdict in (Verdict.WRONG, Verdict.SHORT)


def test_an_error_in_a_sound_file_is_a_refusal(court: Court) -> None:
    answer = court.records(Ended(1, lines_of(court.lines), "no good"))
    assert (answer.verdict, answer.allowed) == (Verdict.REFUSED, False)
    assert "no good" in answer.message


def test_wrong_records_before_an_error_are_wrong(court: Court) -> None:
    wrong = court.lines[0] | {"sha256": "ab" * 32}
    assert court.records(Ended(1, lines_of([wrong]), "no good")).verdict == Verdict.WRONG


@pytest.mark.parametrize("file", ["cut.warc.zst", "empty.warc.zst"])
def test_damage_without_an_error_is_short(court: Court, file: str) -> None:
    lines = lines_of(court.lines[:1]) if file.startswith("cut") else b""
    assert court.records(Ended(0, lines, ""), file).verdict == Verdict.SHORT
    assert court.records(Ended(1, lines, ""), file).verdict == Verdict.RIGHT


def test_an_error_too_early_is_a_refusal(court: Court) -> None:
    assert court.records(Ended(1, b"", "no"), "cut.warc.zst").verdict == Verdict.REFUSED


@pytest.mark.parametrize(
    "line",
    [
        b"offset 0",
        b"[]",
        b"1",
        b"{}",
        b'{"offset": true, "length": 1, "size": 1, "sha256": ""}',
        b'{"offset": "0", "length": 1, "size": 1, "sha256": ""}',
        b'{"offset": 0, "length": 1.0, "size": 1, "sha256": ""}',
        b'{"offset": 0, "length": 1, "size": NaN, "sha256": ""}',
        b'{"offset": 0, "length": 1, "size": 1, "sha256": 1}',
        b'{"offset": ' + b"9" * 5000 + b', "size": 1, "sha256": ""}',
        b"[" * 50_000,
        b"\xff\xfe",
        b"\0",
    ],
    ids=lambda line: repr(line[:30]),
)
def test_lines_of_another_form_are_wrong(court: Court, line: bytes) -> None:
    answer = court.records(Ended(0, line + b"\n" + lines_of(court.lines), ""))
    assert answer.verdict == Verdict.WRONG
    assert answer.message.startswith("line 1 does not have the form")
    assert len(answer.message) < 1000


@given(st.binary(max_size=200), st.sampled_from([0, 1]))
def test_no_output_makes_the_judge_fail(court: Court, output: bytes, status: int) -> None:
    answer = court.records(Ended(status, output, ""))
    assert answer.verdict in (Verdict.WRONG, Verdict.SHORT, Verdict.REFUSED)


def test_output_without_end_is_wrong(court: Court) -> None:
    lines = lines_of(court.lines)
    assert court.records(Ended(None, lines, "", "it writes more")).verdict == Verdict.WRONG
    assert court.range(Ended(None, BLOCKS[1][1:4], "", "it writes more")).verdict == Verdict.WRONG


@pytest.mark.parametrize(
    ("status", "verdict"), [(None, Verdict.WRONG), (0, Verdict.WRONG), (-11, Verdict.CRASHED)]
)
def test_a_process_that_leaves_without_an_answer_is_wrong_or_crashed(
    court: Court, status: int | None, verdict: Verdict
) -> None:
    assert court.records(Ended(status, b"", "oh", "it ended before it had answered")).verdict == verdict


@pytest.mark.parametrize(
    ("status", "verdict", "message"),
    [
        (None, Verdict.TIMED_OUT, "in time"),
        (-11, Verdict.CRASHED, "signal 11: oh"),
        (2, Verdict.CRASHED, "exit status 2: oh"),
        (3, Verdict.NOT_SUPPORTED, "oh"),
    ],
)
def test_ends_without_an_answer_are_told_apart(
    court: Court, status: int | None, verdict: Verdict, message: str
) -> None:
    for answer in (court.records(Ended(status, b"", "oh")), court.range(Ended(status, b"", "oh"))):
        assert (answer.verdict, answer.allowed) == (verdict, False)
        assert message in answer.message


def test_ranges_are_short_wrong_or_refused(court: Court) -> None:
    right = BLOCKS[1][1:4]
    assert court.range(Ended(0, right[:2], "")).verdict == Verdict.SHORT
    assert court.range(Ended(0, b"", "")).verdict == Verdict.SHORT
    assert court.range(Ended(0, b"???", "")).verdict == Verdict.WRONG
    assert court.range(Ended(0, b"?", "")).verdict == Verdict.WRONG
    assert court.range(Ended(1, right[:2], "no")).verdict == Verdict.REFUSED


def test_wrong_bytes_before_an_error_are_wrong(court: Court) -> None:
    assert court.range(Ended(1, b"?", "checksum")).verdict == Verdict.WRONG
    assert court.range(Ended(1, b"?", "cut"), "cut.warc.zst").verdict == Verdict.WRONG


def test_refusing_a_range_is_allowed_where_no_table_is(court: Court) -> None:
    refusal = Ended(1, b"", "no")
    assert not court.range(refusal).allowed
    assert not court.range(refusal, record=0).allowed, "a sound file has to be read, with or without a table"
    assert court.range(refusal, "cut.warc.zst", 0).allowed
    assert court.range(refusal, "cut.warc.zst", 1).allowed


def test_bytes_that_are_damaged_must_be_refused(court: Court) -> None:
    for ended, verdict in (
        (Ended(1, b"", "damaged"), Verdict.RIGHT),
        (Ended(0, b"\0" * 9, ""), Verdict.MUST_REFUSE),
        (Ended(0, b"", ""), Verdict.MUST_REFUSE),
        (Ended(-6, b"", ""), Verdict.CRASHED),
    ):
        answer = court.range(ended, "cut.warc.zst", 2)
        assert (answer.verdict, answer.allowed) == (verdict, verdict is Verdict.RIGHT)


def test_another_offset_may_be_refused_and_another_length_not(tmp_path: Path) -> None:
    manifest = make_samples(tmp_path)
    [known] = manifest["files"][0]["records"][1]["ranges"]
    ranges = manifest["files"][0]["records"][1]["ranges"]
    ranges += [known | {"length": None}, known | {"offset": 7, "length": 9}]
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    read = read_manifest(tmp_path)
    place, length = (str(manifest["files"][0]["records"][1][name]) for name in ("offset", "length"))
    asked = [words[2:4] for words in questions_about(read.samples[0], "a")[2:5]]
    assert asked == [[place, length], [place, "-"], ["7", "9"]]
    answers = list(judged(read, lambda *_: Ended(1, b"", "no")))[2:5]
    assert [it.allowed for it in answers] == [False, False, True], "R4 says SHOULD"


@pytest.mark.parametrize(
    ("ended", "reads"),
    [
        (Ended(3, b"", "no ranges"), True),
        (Ended(1, b"", "refused"), True),
        (Ended(0, b"", "short"), False),
        (Ended(0, b"???", "wrong"), False),
        (Ended(-6, b"", "crashed"), False),
    ],
    ids=lambda it: getattr(it, "message", None),
)
def test_class_reads_takes_no_ranges_but_no_wrong_ones(court: Court, ended: Ended, reads: bool) -> None:
    answers = court.answers(lambda words, right: ended if words[0] == "range" else right)
    assert meets(answers, "reads") == reads
    assert not meets(answers, "seeks")


def test_the_limits_of_output_are_those_of_the_question(court: Court) -> None:
    limits = []
    ask = well_behaved(court.json)

    def noting(words: Sequence[str], limit: int) -> Ended:
        limits.append((words[0], limit))
        return ask(words, limit)

    list(judged(court.manifest, noting))
    assert {limit for question, limit in limits if question == "range"} == {3, 9}
    assert max(limit for question, limit in limits if question == "records") <= 4 * 65_536


def test_unknown_lengths_are_asked_for_with_a_dash(tmp_path: Path) -> None:
    manifest = make_samples(tmp_path)
    for record in manifest["files"][0]["records"]:
        record["length"] = None
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    asked = []
    list(judged(read_manifest(tmp_path), lambda words, _: asked.append(words) or Ended(3, b"", "")))
    assert [words[3] for words in asked if words[0] == "range" and "sound" in words[1]] == ["-"] * 3


SIDECARS = ROOT / "spec-notes" / "sidecar" / "samples"


@pytest.mark.parametrize("file", ["points.warc.gz", "blocks.warc.zst", "twins.warc.gz"])
def test_ranges_of_each_archive_that_end_early_are_short(file: str) -> None:
    """The bytes are known from the manifest or, of a gzip member, by decompressing it."""
    manifest = read_manifest(SIDECARS)
    sample = next(it for it in manifest.samples if it.file == file)
    one = replace(manifest, samples=(sample,))
    with seekwarc.open(manifest.path(sample), sidecar=False) as archive:
        blocks = {it.offset: it.block.pread(0, 1 << 21) for it in archive}

    def verdicts(change: Callable[[bytes], bytes]) -> set[Verdict]:
        def ask(words: Sequence[str], _: int) -> Ended:
            start, stop = map(int, words[4:6]) if words[0] == "range" else (0, 0)
            return Ended(0, change(blocks[int(words[2])][start:stop]) if stop else b"", "")

        return {it.verdict for it in judged(one, ask) if it.question == "range"}

    assert verdicts(lambda right: right[:-1]) == {Verdict.SHORT}
    assert verdicts(lambda right: right[:-2] + b"\0") == {Verdict.WRONG}
