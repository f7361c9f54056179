"""nginx on a folder of its own, as one process."""

from __future__ import annotations

import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.processes import is_open, settles

CONFIGURATION = """\
daemon off;
master_process off;
pid {folder}/pid;
error_log {folder}/error.log;
events {{ worker_connections 256; }}
http {{
  {lines}
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  server {{ listen 127.0.0.1:{port}; root {root}; }}
}}
"""


def nginx_command(folder: Path, port: int, lines: str = "access_log off;", *, root: Path) -> list[str]:
    """Write the configuration, with further lines, and return what starts nginx."""
    path = folder / "nginx.conf"
    path.write_text(CONFIGURATION.format(folder=folder, port=port, root=root, lines=lines))
    program = shutil.which("nginx") or "nginx"
    return [program, "-p", str(folder), "-c", str(path), "-e", str(folder / "error.log")]


@contextmanager
def nginx(folder: Path, lines: str = "access_log off;", *, root: Path) -> Iterator[int]:
    """Start nginx, wait until it listens, and yield its port."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = nginx_command(folder, port, lines, root=root)
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            assert settles(lambda: is_open(port)), (folder / "error.log").read_text()
            yield port
        finally:
            process.terminate()
