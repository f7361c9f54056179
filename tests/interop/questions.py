"""An adapter asked many questions without starting it for each: `python questions.py ADAPTER`.

Each line of standard input is a list of questions in JSON. A child is forked for it, which answers all of
them, with a line of JSON each, and has a time limit. So a reader that crashes or hangs costs the questions
of one list, for which there are no lines. An empty line follows each list.
"""

from __future__ import annotations

import base64
import gc
import importlib
import io
import json
import os
import signal
import sys
from pathlib import Path

import seekwarc.cli.cat
import seekwarc.cli.ls  # noqa: F401 - what the reader of this project imports when it is first used


def answer_all(adapter: object, asked: list[list[str]]) -> None:
    from protocol import answer  # noqa: PLC0415 - it is beside the adapter

    out = os.fdopen(os.dup(1), "w")
    for words in asked:
        stored = io.BytesIO()
        sys.stdout = io.TextIOWrapper(stored, encoding="utf-8")
        sys.stderr = io.StringIO()
        status = answer(adapter, words)
        sys.stdout.flush()
        output = base64.b64encode(stored.getvalue()).decode()
        print(json.dumps([status, output, sys.stderr.getvalue().strip()]), file=out, flush=True)


def main(path: Path, seconds: int) -> None:
    sys.path.insert(0, str(path.parent))
    adapter = importlib.import_module(path.stem).ADAPTER
    gc.freeze()
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            signal.alarm(seconds)
            answer_all(adapter, json.loads(line))
            os._exit(0)
        os.waitpid(child, 0)
        print(flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
