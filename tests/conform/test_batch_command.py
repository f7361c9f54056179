"""A program that is asked many questions: what one of them does to it is not counted against others."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from conformance.batch_command import BatchCommand
from conformance.command import MAX_MESSAGE, Ended
from conformance.manifest import KitError
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.processes import PATIENT, wait_until, wait_until_gone
from tests.support.rounds import rounds

READER = """\
import json, os, sys, time
assert sys.argv[1:] == ["batch"]
out = sys.stdout.buffer
def answer(output, status=0, message=""):
    out.write(f"{status} {len(output)} {message}".strip().encode() + b"\\n" + output)
    out.flush()
def write(data):
    out.write(data)
    out.flush()
for line in sys.stdin:
    words = json.loads(line)
    exec(words[0])
"""
"""It does whatever a question says."""
PID = "answer(str(os.getpid()).encode())"


@contextmanager
def reader(timeout: float = PATIENT) -> Iterator[BatchCommand]:
    command = BatchCommand([sys.executable, "-Sc", READER], timeout=timeout)
    try:
        yield command
    finally:
        command.stop()


def asked(questions: Sequence[str], *, limit: int = 100) -> list[Ended]:
    with reader() as command:
        return [command.run([question], limit) for question in questions]


def test_one_process_answers_all_questions() -> None:
    answers = asked([PID] * 20)
    assert len({it.output for it in answers}) == 1
    assert {(it.status, it.message, it.broken) for it in answers} == {(0, "", "")}


def test_status_output_and_message_are_those_of_the_answer() -> None:
    questions = ["answer(b'\\n1 2 x\\n', 1, 'at 12')", "answer(b'', 3)", "answer(bytes(range(64)))"]
    refused, empty, strange = asked(questions)
    assert refused == Ended(1, b"\n1 2 x\n", "at 12")
    assert empty == Ended(3, b"", "")
    assert strange == Ended(0, bytes(range(64)), "")


def test_words_of_any_kind_arrive() -> None:
    words = ["answer(json.dumps(words[1:]).encode())", "a b", "", '"\n\\', "\u00e9\U0001f600"]
    with reader() as command:
        assert command.run(words, 1000).output.decode() == json.dumps(words[1:])


@pytest.mark.posix
@pytest.mark.parametrize(
    ("question", "ended"),
    [
        ("os.kill(os.getpid(), 11)", Ended(-11, b"", "", "it ended before it had answered")),
        ("sys.exit('oh')", Ended(1, b"", "oh", "it ended before it had answered")),
        ("os._exit(0)", Ended(0, b"", "", "it ended before it had answered")),
        ("write(b'0 5\\nhal'); os._exit(2)", Ended(2, b"", "", "it ended before it had answered")),
        ("write(b'0 1'); os._exit(2)", Ended(2, b"", "", "it ended before it had answered")),
        ("os.close(1); time.sleep(600)", Ended(None, b"", "", "it ended before it had answered")),
        ("answer(bytes(101))", Ended(None, b"", "", "it writes more than 100 bytes")),
        (
            "write(b'progress\\n'); time.sleep(600)",
            Ended(None, b"", "", "its answer begins with 'progress', not with STATUS SIZE"),
        ),
        ("time.sleep(600)", Ended(None, b"", "")),
        ("write(b'0 5\\nhal'); time.sleep(600)", Ended(None, b"", "")),
    ],
)
def test_only_the_question_that_breaks_the_process_fails(question: str, ended: Ended) -> None:
    with reader() as command:
        before = command.run([PID], 100)
        # Only a question that is never answered ends with the time, however busy the machine is.
        command.timeout = 0.2 if "sleep" in question and not ended.broken else PATIENT
        broken = command.run([question], 100)
        command.timeout = PATIENT
        after, last = (command.run([PID], 100) for _ in range(2))
    assert broken == ended
    assert [it.status for it in (before, after, last)] == [0, 0, 0]
    assert before.output != after.output == last.output, "another process went on"


def test_a_first_line_without_end_is_bounded() -> None:
    [ended] = asked(["while True: write(b'9' * 1000)"])
    assert ended.broken.startswith("its answer begins with '999")
    assert len(ended.broken) < 200 < MAX_MESSAGE


ANSWERS = st.lists(st.sampled_from([b"0", b"1 ", b" 5", b"\n", b"\r\n", b"12", b"ab", b"\0", b"\xff", b" "]))


@pytest.mark.slow
@settings(max_examples=rounds(30), deadline=None)
@given(ANSWERS.map(b"".join))
def test_whatever_comes_is_an_answer_or_breaks_the_protocol(written: bytes) -> None:
    [ended] = asked([f"write({written!r}); os._exit(2)"])
    line, _, rest = written.partition(b"\n")
    status, _, size = line.partition(b" ")
    if ended.broken:
        assert ended.output == b""
        assert ended.status in (None, 2)
    else:
        assert ended.status == int(status)
        assert ended.output == rest[: int(size.split()[0])]


def test_a_process_that_an_earlier_question_broke_is_replaced() -> None:
    """It answers, and ends before it is asked again: no question is to blame."""
    answers = asked([PID, "answer(b'last'); os._exit(1)", PID])
    assert [it.status for it in answers] == [0, 0, 0]
    assert answers[0].output != answers[2].output


def test_each_thread_has_a_process_of_its_own(tmp_path: Path) -> None:
    def ask(number: int) -> bytes:
        come = f"open({str(tmp_path)!r} + '/{number}', 'w').close(); "
        both_came = f"list(iter(lambda: len(os.listdir({str(tmp_path)!r})), 2)); "
        return command.run([come + both_came + PID], 100).output

    with reader() as command, ThreadPoolExecutor(2) as pool:
        assert len(set(pool.map(ask, range(2)))) == 2


@pytest.mark.posix
def test_stopping_ends_idle_and_busy_processes() -> None:
    with reader() as command, ThreadPoolExecutor(1) as pool:
        busy = pool.submit(command.run, ["time.sleep(600)"], 100)
        wait_until(lambda: command._running)
        idle = int(command.run([PID], 100).output)
        command.stop()
        assert busy.result(PATIENT).status != 0
        wait_until_gone(idle)
        with pytest.raises(KitError, match="stopped"):
            command.run([PID], 100)


def test_what_cannot_be_started_is_an_error() -> None:
    with pytest.raises(KitError, match="cannot be run"):
        BatchCommand(["no-such-program-here"], timeout=1).run([], 100)
