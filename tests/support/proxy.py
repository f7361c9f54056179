"""warcprox in a process of its own, and requests through it."""

from __future__ import annotations

import shutil
import socket
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from tests.support.processes import PATIENT, wait_until

START = """
from warcprox.main import main
from warcprox.warcproxy import WarcProxyHandler

WarcProxyHandler.allow_localhost = True
main()
"""
"""The server of a test is on this computer, which warcprox refuses to record unless it is told otherwise."""


@contextmanager
def recording_proxy(folder: Path) -> Iterator[str]:
    """Run warcprox, which writes its archives to a folder; they are complete when the block has ended."""
    program = shutil.which("warcprox")
    assert program is not None
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    # Without deduplication: a part that is asked for twice is stored twice.
    options = ["-p", str(port), "-b", "127.0.0.1", "-d", str(folder), "-j", "/dev/null", "-z"]
    command = [str(Path(program).with_name("python")), "-c", START, *options]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:

        def listens() -> bool:
            assert process.poll() is None
            with closing(socket.socket()) as tried:
                return tried.connect_ex(("127.0.0.1", port)) == 0

        wait_until(listens)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(60)


def fetched(uri: str, proxy: str, start: int, stop: int) -> bytes:
    """Return bytes [start, stop) of an object, requested through a proxy as players do."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({"http": proxy}))
    request = urllib.request.Request(uri, headers={"Range": f"bytes={start}-{stop - 1}"})
    with opener.open(request, timeout=PATIENT) as answer:
        assert answer.status == 206
        return answer.read()
