"""S3 services, and their address where `seekwarc.open` looks for it.

`new_bucket` has moto in this process, which knows much of S3, but copies all of an object for each range of
it. `folder_as_bucket` has a process that knows no more than GET of ranges, and so serves files of gigabytes.
"""

from __future__ import annotations

import contextlib
import random
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from tests.support.rangeserver import Content, RangeServer

Failing = Callable[[str, str], int | None]
COMPLETE = b"<CompleteMultipartUploadResult><ETag>&quot;made&quot;</ETag></CompleteMultipartUploadResult>"


@contextlib.contextmanager
def new_bucket(failing: Failing | None = None, losing: Failing | None = None) -> Iterator[tuple[str, Any]]:
    """Make a bucket; yield its name, and a client of the service.

    Processes started meanwhile find it too, by their environment. `failing` is given each method and path
    with query, and returns the status to answer with, or None. So is `losing`, after the request was done.
    """
    import boto3  # noqa: PLC0415
    from moto.s3.models import FakeMultipart  # noqa: PLC0415
    from moto.server import DomainDispatcherApplication, create_backend_app  # noqa: PLC0415
    from werkzeug.serving import WSGIRequestHandler, make_server  # noqa: PLC0415

    class Quiet(WSGIRequestHandler):
        protocol_version = "HTTP/1.1"

        def log(self, *_: object) -> None:
            pass

    def dispose(upload: FakeMultipart) -> None:
        # As its own, which fails where another thread adds a part meanwhile; a store does not.
        for part in [*upload.parts.values()]:
            part.dispose()

    application = DomainDispatcherApplication(create_backend_app)

    def service(environ: dict[str, Any], start_response: Callable[..., object]) -> Iterable[bytes]:
        asked = environ["PATH_INFO"] + "?" + environ["QUERY_STRING"]
        wrong = failing(environ["REQUEST_METHOD"], asked) if failing is not None else None
        if wrong is None:
            wrong = losing(environ["REQUEST_METHOD"], asked) if losing is not None else None
            if wrong is None:
                return application(environ, start_response)
            list(application(environ, lambda *_: None))
        else:
            environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        body = COMPLETE if wrong == 200 else b""
        start_response(f"{wrong} Some", [("Content-Length", str(len(body))), ("ETag", '"made"')])
        return [body]

    server = make_server("127.0.0.1", 0, service, threaded=True, request_handler=Quiet)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FakeMultipart, "dispose", dispose)
        patch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.server_port}")
        patch.setenv("AWS_ACCESS_KEY_ID", "anyone")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "anything")
        patch.setenv("AWS_ALLOW_HTTP", "true")
        patch.setenv("AWS_REGION", "us-east-1")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        name = f"crawls-{random.randrange(10**9)}"
        client = boto3.client("s3")
        client.create_bucket(Bucket=name)
        yield name, client
    server.shutdown()
    thread.join()
    server.server_close()


@contextlib.contextmanager
def folder_as_bucket(folder: Path) -> Iterator[str]:
    """Serve the files of a folder; yield the URL of the bucket."""
    command = [sys.executable, "-m", "tests.support.s3", folder.parent]
    root = Path(__file__).parents[2]
    with (
        subprocess.Popen(
            command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as server,
        pytest.MonkeyPatch.context() as patch,
    ):
        assert server.stdin is not None
        assert server.stdout is not None
        patch.setenv("AWS_ENDPOINT_URL", server.stdout.readline().strip())
        patch.setenv("AWS_SKIP_SIGNATURE", "true")
        patch.setenv("AWS_ALLOW_HTTP", "true")
        patch.setenv("AWS_REGION", "us-east-1")
        yield f"s3://{folder.name}"
        server.stdin.close()


class FolderServer(RangeServer):
    """Serves the files below a folder, as they are when they are asked for."""

    def __init__(self, folder: Path) -> None:
        super().__init__(b"")
        self._folder = folder

    def content_of(self, target: str) -> Content | None:
        path = self._folder / unquote(target).lstrip("/")
        if not path.is_file():
            return None
        status = path.stat()
        return _File(b"", f'"{status.st_mtime_ns:x}-{status.st_size:x}"', int(status.st_mtime), path)


@dataclass(frozen=True)
class _File(Content):
    """A file, of which only ranges are in memory."""

    path: Path = Path()

    @property
    def size(self) -> int:
        return self.path.stat().st_size

    def cut(self, start: int, stop: int) -> bytes:
        with self.path.open("rb") as file:
            file.seek(start)
            return file.read(stop - start)


def _serve(folder: str) -> None:
    with FolderServer(Path(folder)) as server:
        print(server.root, flush=True)
        # Until the process that wants it closes the pipe, or is gone.
        sys.stdin.read()


if __name__ == "__main__":
    _serve(sys.argv[1])
