"""`seekwarc serve`."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from urllib.parse import urlsplit

import pytest

from tests.cli.conftest import assert_well_behaved, when_complete
from tests.support.films import film_archive
from tests.support.foreign import Foreign
from tests.support.processes import PATIENT, children_of, wait_until, wait_until_gone


def fetch(address: str) -> bytes:
    # Browsers find names that end in .localhost by themselves; not every system does.
    at = re.sub(r"//replay\.localhost(:[0-9]+)", r"//127.0.0.1\1", address)
    request = urllib.request.Request(at, headers={"Host": address.split("/")[2]})
    with urllib.request.urlopen(request, timeout=PATIENT) as response:
        return response.read()


def stop(process: subprocess.Popen, number: int = signal.SIGINT) -> tuple[int, str]:
    process.send_signal(number)
    _, err = process.communicate(timeout=PATIENT)
    assert_well_behaved(process.returncode, err)
    return process.returncode, err.decode()


def test_it_says_where_and_serves_page_and_records(serve, crawl) -> None:
    process, address, port = serve("--port", 0, crawl.zst)
    assert address == f"http://127.0.0.1:{port}/"
    hint = process.stdout.readline().decode()
    assert f"mpv open {address}payload?uri=URI&date=DATE" in hint
    assert f"`seekwarc lookup FILE URI --url --server http://127.0.0.1:{port}/`" in hint
    assert b"<title>seekwarc" in fetch(address)
    summary = when_complete(address)
    assert summary["records"] == len(crawl.made["warc.zst"].records)
    rows = json.loads(fetch(address + "api/records?q=film&type=response"))["records"]
    assert fetch(f"{address}api/records/{rows[0]['id']}/payload") == crawl.film
    assert stop(process) == (0, "")


@pytest.mark.one_in(3)
@pytest.mark.parametrize("form", ["warc", "warc.gz"])
def test_other_forms_are_served_too(serve, crawl, form) -> None:
    _, address, _ = serve("--port", 0, crawl.path(form))
    when_complete(address)
    row = json.loads(fetch(address + "api/records?q=film&type=response"))["records"][0]
    request = urllib.request.Request(
        f"{address}api/records/{row['id']}/payload", headers={"Range": "bytes=1000-1999"}
    )
    with urllib.request.urlopen(request, timeout=PATIENT) as response:
        assert (response.status, response.read()) == (206, crawl.film[1000:2000])


def test_it_ends_though_clients_are_still_there(serve, crawl) -> None:
    process, _, port = serve("--port", 0, crawl.zst)
    idle = http.client.HTTPConnection("127.0.0.1", port)
    idle.connect()
    assert stop(process)[0] == 0
    idle.close()


@pytest.mark.slow
def test_a_player_that_is_paused_does_not_keep_it(serve, crawl) -> None:
    process, address, port = serve("--port", 0, crawl.zst)
    when_complete(address)
    row = json.loads(fetch(address + "api/records?q=film&type=response"))["records"][0]
    with socket.create_connection(("127.0.0.1", port)) as player:
        player.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        player.sendall(f"GET /api/records/{row['id']}/payload HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        assert player.recv(12) == b"HTTP/1.1 200"
        assert stop(process) == (0, "")


@pytest.mark.one_in(3)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_no_client_keeps_it_whatever_it_is_in(serve, crawl, number) -> None:
    process, address, port = serve("--port", 0, crawl.zst)
    when_complete(address)
    row = json.loads(fetch(address + "api/records?q=film&type=response"))["records"][0]
    host = b"Host: 127.0.0.1\r\n"
    film = f"GET /api/records/{row['id']}/payload HTTP/1.1\r\n".encode() + host + b"\r\n"
    sent = [
        b"",
        b"GET / HT",
        b"GET /" + b"x" * 100_000,
        b"\x16\x03\x01\x00",
        film,
        film * 500,
        b"POST /x HTTP/1.1\r\n" + host + b"Content-Length: 1000000\r\n\r\nabc",
        b"POST /x HTTP/1.1\r\n" + host + b"Transfer-Encoding: chunked\r\n\r\n5\r\nab",
        b"GET /x HTTP/1.1\r\n" + host + b"Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
    ]
    clients = []
    for request in sent:
        clients.append(socket.create_connection(("127.0.0.1", port), 10))
        clients[-1].setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        clients[-1].sendall(request)
    assert clients[4].recv(12) == clients[5].recv(12) == b"HTTP/1.1 200"
    assert stop(process, number)[0] == (0 if number == signal.SIGINT else 128 + number)
    for client in clients:
        client.close()


@pytest.mark.slow
def test_ctrl_c_ends_work_that_takes_long(serve, tmp_path) -> None:
    body = b"01\r\nx\r\n" * 20_000_000 + b"0\r\n\r\n"
    head = b"HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\nTransfer-Encoding: chunked\r\n\r\n"
    path = tmp_path / "tiny.warc.zst"
    header = b"\r\n".join(
        [
            b"WARC/1.1",
            b"WARC-Type: response",
            b"WARC-Date: 2026-11-21T09:30:00Z",
            b"WARC-Target-URI: http://example.org/tiny.mp4",
            b"Content-Type: application/http; msgtype=response",
            b"Content-Length: %d" % len(head + body),
            b"",
            b"",
        ]
    )
    path.write_bytes(Foreign().record(head + body, header=header, cuts=1 << 20, table=True).bytes())
    process, address, port = serve("--port", 0, path)
    clients = [socket.create_connection(("127.0.0.1", port)) for _ in range(6)]
    for client in clients:
        target = "/payload?uri=http://example.org/tiny.mp4"
        client.sendall(f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1\r\nRange: bytes=-1\r\n\r\n".encode())
    # One that came later is answered.
    assert json.loads(fetch(address + "api/summary"))
    assert stop(process) == (0, "")
    for client in clients:
        client.close()


@pytest.mark.one_in(3)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_however_it_is_ended_no_file_of_it_stays(serve, crawl, tmp_path, monkeypatch, number) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    process, _, _ = serve("--port", 0, crawl.zst)
    assert stop(process, number)[0] == (0 if number == signal.SIGINT else 128 + signal.SIGTERM)
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(os.name != "posix", reason="files in use are not deleted on other systems")
def test_no_file_of_it_stays_if_it_is_killed(serve, crawl, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    process, address, _ = serve("--port", 0, crawl.zst)
    when_complete(address)
    process.kill()
    process.communicate(timeout=PATIENT)
    assert os.listdir(tmp_path) == []


LOST = """
import signal, sys
import seekwarc.cli.serve as verb
from seekwarc import cli

class Lost:
    def __del__(self):
        signal.raise_signal(signal.SIGTERM)

announce, cli.SOON = verb._announce, 0.5
verb._announce = lambda *arguments: (announce(*arguments), Lost())
sys.exit(cli.main(sys.argv[1:]))
"""


@pytest.mark.slow
def test_a_signal_whose_exception_was_lost_ends_it_when_the_event_loop_runs(crawl) -> None:
    arguments = [sys.executable, "-c", LOST, "serve", "--port", "0", crawl.zst]
    done = subprocess.run(arguments, check=False, capture_output=True, timeout=PATIENT)
    assert_well_behaved(done.returncode, done.stderr)
    assert done.returncode == 128 + signal.SIGTERM


def test_only_this_computer_is_let_in_and_more_is_warned_of(serve, crawl) -> None:
    process, address, _ = serve("--port", 0, "--host", "0.0.0.0", crawl.zst)
    assert address.startswith("http://127.0.0.1:")
    fetch(address)
    _, err = stop(process)
    assert "warning" in err
    assert "no passwords" in err


@pytest.mark.slow
def test_another_port_is_taken_where_the_usual_one_is_in_use(serve, crawl) -> None:
    _, _, first = serve(crawl.zst)
    _, _, second = serve(crawl.zst)
    assert first != second


def test_a_port_that_was_asked_for_and_is_in_use_is_an_error(command, crawl) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        answer = command("serve", "--port", port, crawl.zst, status=2)
    assert f"port {port}" in answer.stderr
    assert "--port" in answer.stderr


@pytest.mark.parametrize("arguments", [("--port", "70000"), ("--port", "x"), ("--port", "-1"), ()])
def test_wrong_usage(command, crawl, arguments) -> None:
    files = [crawl.zst] if arguments else []
    command("serve", *arguments, *files, status=2)


def test_a_host_that_is_not_this_computer(command, crawl) -> None:
    assert "cannot listen" in command("serve", "--host", "192.0.2.1", crawl.zst, status=2).stderr
    assert "cannot listen" in command("serve", "--host", "no.such.host.invalid", crawl.zst, status=2).stderr


def test_a_file_that_is_not_there(command, tmp_path) -> None:
    assert "gone.warc" in command("serve", tmp_path / "gone.warc", status=2).stderr


def test_a_file_that_is_invalid_is_reported_on_the_page(serve, tmp_path) -> None:
    path = tmp_path / "photo.jpg"
    path.write_bytes(os.urandom(5000))
    _, address, _ = serve("--port", 0, path)
    summary = when_complete(address)
    assert "photo.jpg" in summary["files"][0]["problem"]


def test_a_pipe_is_refused(command) -> None:
    answer = command("serve", "/dev/stdin", stdin=b"WARC/1.1\r\n", status=1)
    assert "store it in a file first" in answer.stderr


def test_without_the_extra_it_says_what_to_install(tmp_path, crawl, command) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import importlib.util as u\n"
        "find = u.find_spec\n"
        "u.find_spec = lambda name, *more: None if name in ('uvicorn', 'starlette') else find(name, *more)\n"
    )
    answer = command("serve", crawl.zst, status=2, env={**os.environ, "PYTHONPATH": str(tmp_path)})
    assert "pip install 'seekwarc[serve]'" in answer.stderr


@pytest.mark.slow
def test_nothing_is_opened_unless_asked_for(serve, crawl, tmp_path, monkeypatch) -> None:
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {tmp_path}/opened\n')
    browser.chmod(0o755)
    monkeypatch.setenv("BROWSER", str(browser))
    process, _, _ = serve("--port", 0, crawl.zst)
    stop(process)
    assert not (tmp_path / "opened").exists()
    process, address, _ = serve("--port", 0, "--open", crawl.zst)
    fetch(address)
    stop(process)
    assert (tmp_path / "opened").read_text().strip() == address


WABAC = b"/*! sw.js (wabac.js 2.27.3) */"


def test_archived_pages_are_replayed_at_a_port_of_their_own(serve, crawl, tmp_path) -> None:
    (tmp_path / "sw.js").write_bytes(WABAC)
    process, address, _ = serve("--port", 0, "--replay", tmp_path / "sw.js", crawl.zst)
    process.stdout.readline()
    said = process.stdout.readline().decode()
    bar = said.split()[-1].removesuffix("DATE/URI")
    assert bar == f"{address}web/".replace("127.0.0.1", "replay.localhost")
    origin = re.search(
        r'<meta name="origin" content="(http://replay.localhost:[0-9]+)">', fetch(bar).decode()
    )[1]
    assert not bar.startswith(origin)
    assert fetch(f"{origin}/wabac.js") == WABAC
    for wrong in (f"{origin}/api/summary", f"{address}sw.js"):
        with pytest.raises(urllib.error.HTTPError, match="404"):
            fetch(wrong)
    with pytest.raises(urllib.error.HTTPError, match="400"):
        fetch(origin.replace("replay.localhost", "127.0.0.1"))
    when_complete(address, "progress")
    row = json.loads(fetch(address + "api/records?q=film&type=response"))["records"][0]
    assert fetch(f"{origin}/raw/id_/{row['uri']}") == crawl.film
    assert stop(process) == (0, "")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["a.warc.zst", "--replay"],
            "--replay needs wabac.js, which is not part of seekwarc: get",
        ),
        (["--replay", "--port", "0", "a.warc.zst"], "npm pack @webrecorder/wabac"),
        (
            ["--replay", __file__],
            "does not have the script sw.js of wabac.js; get the service worker by `npm",
        ),
        ([], "name the files to serve: `seekwarc serve FILE`"),
        (["a.warc.zst", "--allow", "https://e.org/page"], "is not an origin: expected https://example.org"),
    ],
)
def test_what_is_missing_is_said(command, words, message) -> None:
    assert message in command("serve", *words, status=2).stderr


@pytest.mark.slow
def test_a_replay_needs_its_worker_and_this_computer(command, crawl, tmp_path) -> None:
    missing = command("serve", "--replay", tmp_path / "none.tgz", crawl.zst, status=2)
    assert "npm pack @webrecorder/wabac" in missing.stderr
    (tmp_path / "sw.js").write_bytes(WABAC)
    words = ("serve", "--port", 0, "--host", "0.0.0.0", "--replay", tmp_path / "sw.js", crawl.zst)
    assert "service workers only on this computer" in command(*words, status=2).stderr
    words = ("serve", "--port", 0, "--host", "127.0.0.5", "--replay", tmp_path / "sw.js", crawl.zst)
    assert "at 127.0.0.1 or ::1" in command(*words, status=2).stderr


@pytest.mark.slow
def test_cookies_of_archived_pages_lock_neither_port(serve, crawl, tmp_path) -> None:
    (tmp_path / "sw.js").write_bytes(WABAC)
    process, _, port = serve(
        "--port", 0, "--replay", tmp_path / "sw.js", "--name", "Pages.Example", crawl.zst
    )
    page = fetch(f"http://replay.localhost:{port}/web/").decode()
    other = int(re.search(r'<meta name="origin" content="http://replay.localhost:([0-9]+)">', page)[1])
    for host, at, clears in (
        ("replay.localhost", port, '"cookies"'),
        ("replay.localhost", other, '"cookies"'),
        ("pages.example", other, '"cookies"'),
        ("127.0.0.1", port, None),
    ):
        fields = {"Host": f"{host}:{at}", "Cookie": "; ".join(["a=" + "b" * 3900] * 60)}
        client = http.client.HTTPConnection("127.0.0.1", at, timeout=PATIENT)
        client.request("GET", "/", headers=fields)
        answer = client.getresponse()
        client.close()
        assert (answer.status, answer.headers["Clear-Site-Data"]) == (431, clears)
    assert stop(process) == (0, "")


HANGING = """
import os, sys
from seekwarc.cli import main
from seekwarc.inside import apart
apart._START = '''
import os, sys, time
sys.path[:] = {path!r}
from seekwarc.inside import apart, films
films.kind_of = lambda _: [open(os.environ["BEGUN"], "w").close(), time.sleep(60)]
apart.serve()
'''
sys.exit(main())
"""
"""Runs the command with films whose opening does not end; the file BEGUN says that one has begun."""


@pytest.mark.one_in(5)
@pytest.mark.posix
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("verb", ["serve", "clip"])
def test_a_film_that_is_being_opened_does_not_delay_the_end(tmp_path, number, verb) -> None:
    pytest.importorskip("av")
    path, cut, begun = tmp_path / "film.warc.zst", tmp_path / "cut.mp4", tmp_path / "begun"
    film_archive(path, "first.mp4", seconds=1)
    words = {"serve": ["--port", "0"], "clip": ["0", "--from", "0", "--to", "1", "-o", cut]}[verb]
    command = [sys.executable, "-c", HANGING, verb, path, *words]
    environment = {**os.environ, "BEGUN": str(begun)}
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as process,
        contextlib.ExitStack() as opened,
    ):
        if verb == "serve":
            address = re.search(r"http://\S+:\d+/", process.stdout.readline().decode())[0]
            while not (rows := json.loads(fetch(address + "api/records?type=response"))["records"]):
                pass
            host, port = urlsplit(address)[1].split(":")
            client = opened.enter_context(socket.create_connection((host, int(port))))
            asked = f"/api/records/{rows[0]['id']}/pictures"
            client.sendall(f"GET {asked} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
        wait_until(begun.exists)
        (other,) = children_of(process.pid)
        # Without a way to stop it, its limit of time would have to end it.
        status, err = stop(process, number)
        wait_until_gone(other)
    assert status == (0 if verb == "serve" and number == signal.SIGINT else 128 + number)
    assert err in ("", "seekwarc: stopped\n")
    assert sorted(it.name for it in tmp_path.iterdir()) == ["begun", "film.warc.zst"]
