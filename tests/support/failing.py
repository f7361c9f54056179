"""Interruptions and full disks while a file is written, and the records that are found afterwards."""

from __future__ import annotations

import dis
import errno
import gc
import os
import sys
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Self

import pytest

import seekwarc
from seekwarc.write import output
from tests.support.durability import IGNORED

PACKAGE = f"{Path(seekwarc.__file__).parent}{os.sep}"


class Interrupter:
    """Raises before the `place`-th line of the package that this thread executes."""

    def __init__(self, place: int | None) -> None:
        self.passed = 0
        self._place = place

    def __enter__(self) -> Self:
        # What others left behind may be collected at any line, and lets no exception out.
        gc.collect()
        gc.disable()
        sys.settrace(self._enter)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)
        gc.enable()

    def _enter(self, frame: FrameType, event: str, argument: object) -> Any:
        code = frame.f_code
        is_ours = code.co_filename.startswith(PACKAGE) and code.co_name not in IGNORED
        return self._line if is_ours else None

    def _line(self, frame: FrameType, event: str, argument: object) -> Any:
        if event == "line":
            self.passed += 1
            if self.passed == self._place:
                raise KeyboardInterrupt
        return self._line


@cache
def handler(code: CodeType, place: int) -> int | None:
    """Return where an exception at an instruction is handled."""
    entries = getattr(dis.Bytecode(code), "exception_entries", ())
    return next((entry.target for entry in entries if entry.start <= place < entry.end), None)


class SignalPlaces(Interrupter):
    """Raises at the `place`-th point where Python looks for signals: a function begins, a call or turn ends.

    `where` is then the function, and whether it had only begun. Python raises after a call as if within it;
    this class raises at the instruction after it, and so not at the end of a `try`, where the two differ.
    """

    where = "", False

    def __init__(self, place: int | None) -> None:
        super().__init__(place)
        self.functions: list[str] = []
        """The function of each point that was passed."""

    def _enter(self, frame: FrameType, event: str, argument: object) -> Any:
        local = super()._enter(frame, event, argument)
        if local is not None:
            self._pass(frame, begins=True)
            frame.f_trace_opcodes = True
            code = frame.f_code
            before = 0

            def opcode(frame: FrameType, event: str, argument: object) -> Any:
                nonlocal before
                if event == "opcode":
                    name, here = dis.opname[code.co_code[before]], frame.f_lasti
                    if name.startswith(("CALL", "JUMP_BACKWARD")) and handler(code, before) == handler(
                        code, here
                    ):
                        self._pass(frame, begins=False)
                    before = here
                return opcode

            return opcode
        return local

    def _pass(self, frame: FrameType, *, begins: bool) -> None:
        self.passed += 1
        self.functions.append(frame.f_code.co_qualname)
        if self.passed == self._place:
            self.where = frame.f_code.co_qualname, begins
            raise KeyboardInterrupt


class Disk:
    """A disk that takes `room` bytes more."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.room = 1 << 60
        module = "seekwarc.write.output"
        original = output.write_all

        def write_all(file: Any, data: bytes) -> None:
            if len(data) > self.room:
                original(file, data[: self.room])
                self.room = 0
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            self.room -= len(data)
            original(file, data)

        monkeypatch.setattr(f"{module}.write_all", write_all)


def found_in(folder: Path) -> list[bytes]:
    """The blocks of all records, those in segments joined."""
    blocks: list[bytes] = []
    for name in sorted(os.listdir(folder)):
        with seekwarc.open(folder / name) as archive:
            for record in archive:
                if record.type == "continuation":
                    blocks[-1] += record.block.read()
                elif record.type != "warcinfo":
                    blocks.append(record.block.read())
    return blocks
