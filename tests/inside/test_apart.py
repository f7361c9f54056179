"""`seekwarc.inside.apart`."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading

import pytest

from seekwarc import LimitError, UnsupportedError
from seekwarc.inside import apart
from seekwarc.inside.apart import run_apart
from seekwarc.inside.parsing import parse_html, parse_pdf
from tests.support.pages import html, pdf, shown
from tests.support.processes import wait_until_gone
from tests.support.work import watchdog

OPTIONS = {"charset": None, "main": False, "max_text": 1000, "is_cut": False}


HURRIED = (
    "import sys; sys.path[:] = {path!r}; from seekwarc.inside import apart, parsing; "
    "apart.MAX_SECONDS = parsing.MAX_SECONDS = 4; apart.serve()"
)
"""Starts a process whose limit of time is lower."""


def in_process(code: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )


def test_results_and_errors_are_those_of_this_process() -> None:
    page = html("text &amp; more\ufeff\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16"))
    assert run_apart("html", page, **OPTIONS) == parse_html(page, **OPTIONS)
    document = pdf([shown("x")], title=b"Title")
    assert run_apart("pdf", document, **OPTIONS) == parse_pdf(document, max_text=1000)
    with pytest.raises(ValueError, match="cannot be read"):
        run_apart("pdf", b"%PDF-", **OPTIONS)


def test_the_process_is_used_again_and_ends_with_this_one() -> None:
    found = in_process(
        "from seekwarc.inside import apart\n"
        f"for _ in range(3): apart.run_apart('html', b'x', **{OPTIONS})\n"
        "print(len(apart._idle), apart._idle[0]._process.pid)"
    )
    count, pid = found.stdout.split()
    assert (count, found.stderr) == ("1", "")
    wait_until_gone(int(pid))


def test_a_process_that_was_killed_is_not_used_again() -> None:
    found = in_process(
        "from seekwarc.inside import apart\n"
        f"parse = lambda: apart.run_apart('html', b'tea', **{OPTIONS})\n"
        "before = parse()\n"
        "apart._idle[0]._process.kill()\n"
        "apart._idle[0]._process.wait()\n"
        "print(parse() == before)"
    )
    assert (found.stdout, found.stderr) == ("True\n", "")


def test_threads_have_a_process_each() -> None:
    pages = [html(f"page {number}") for number in range(8)]
    found = {}
    threads = [
        threading.Thread(target=lambda it=it: found.update({it: run_apart("html", pages[it], **OPTIONS)}))
        for it in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[it].text for it in range(8)] == [f"page {it}" for it in range(8)]
    assert len(apart._idle) <= apart.MAX_IDLE


@pytest.mark.parametrize("ending", ["time.sleep(60)", "os._exit(1)", "os.abort()"])
def test_a_process_that_hangs_or_dies_is_replaced(monkeypatch, ending) -> None:
    code = (
        "import sys; sys.path[:] = {path!r}; import os, time; from seekwarc.inside import apart; "
        f"apart.MAX_SECONDS = 1; apart.parse_html = lambda *_, **__: {ending}; apart.serve()"
    )
    with monkeypatch.context() as changed:
        changed.setattr(apart, "_START", code)
        changed.setattr(apart, "_idle", [])
        with pytest.raises(LimitError, match="the HTML takes more than 20 seconds, or too much memory"):
            run_apart("html", b"x", **OPTIONS)
    assert run_apart("html", b"<p>x", **OPTIONS).text == "x"


@pytest.mark.posix
def test_memory_is_limited(monkeypatch) -> None:
    code = (
        "import sys; sys.path[:] = {path!r}; from seekwarc.inside import apart; apart.MAX_MEMORY = 1 << 30; "
        "apart.parse_pdf = lambda *_, **__: bytearray(2 << 30); apart.serve()"
    )
    with monkeypatch.context() as changed:
        changed.setattr(apart, "_START", code)
        changed.setattr(apart, "_idle", [])
        with pytest.raises(LimitError, match="takes too much memory"):
            run_apart("pdf", b"x", **OPTIONS)
        apart._end_all()


def test_a_python_that_cannot_be_started_is_said(monkeypatch) -> None:
    monkeypatch.setattr(apart, "_idle", [])
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    with pytest.raises(UnsupportedError, match="another process, which cannot be started"):
        run_apart("html", b"x", **OPTIONS)


@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    [
        lambda: b"".join(b"<b id=%d>" % it for it in range(30_000)) + b"<p>x" * 30_000,
        lambda: b"<p " + b" ".join(b"a%d=1" % it for it in range(300_000)) + b">x",
        lambda: b"<div>" * 1_000_000 + b"x",
        lambda: b"<form><div>" * 200_000,
    ],
    ids=["formatting", "attributes", "deep", "forms"],
)
def test_html_that_takes_forever_is_given_up(page, monkeypatch) -> None:
    monkeypatch.setattr(apart, "_START", HURRIED)
    monkeypatch.setattr(apart, "_idle", [])
    with watchdog(waiting=True), contextlib.suppress(LimitError):
        run_apart("html", page(), **OPTIONS)
    apart._end_all()


@pytest.mark.slow
@pytest.mark.parametrize(
    "content",
    [
        lambda: b" " * (300 << 20),
        lambda: b"q " * 5_000_000,
        lambda: b"[" * 5_000_000,
        lambda: b"BT /F1 9 Tf " + b"(x) Tj " * 1_000_000 + b"ET",
    ],
    ids=["spaces", "operators", "arrays", "text"],
)
def test_bombs_of_pdf_are_given_up(content, monkeypatch) -> None:
    monkeypatch.setattr(apart, "_START", HURRIED)
    monkeypatch.setattr(apart, "_idle", [])
    with watchdog(waiting=True), contextlib.suppress(LimitError):
        run_apart("pdf", pdf([content(), shown("x")]), **OPTIONS)
    apart._end_all()
