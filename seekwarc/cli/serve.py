"""Serve archives to a browser on this computer: search records, view them, play films and scrub.

Prints the address to open, and the form of addresses for players: /payload?uri=...&date=... (see `seekwarc
lookup --url`). `--host 0.0.0.0` gives other computers access: there are no passwords, so everyone who can
reach the port can read everything in the archives. Ctrl-C stops the server.

`--allow https://example.org` lets pages of that origin embed payloads; nothing else, and no other origin.

With a search index of `seekwarc index --text`, the texts of pages can be searched, too. One that lies beside
what is named (FILE.fts, or index.fts in its folder) is used if it is of all of it as it is now.

A file with an index beside it (FILE.cdxj, or index.cdxj in its folder) is not scanned if that is of all of
it: what the index lists can be seen at once. That is captures alone, unless it was made with --all.

With --replay, archived pages are shown as they were: they run in the browser, on an address of their own,
which has no access to anything else. That takes a service worker, wabac.js: `npm pack @webrecorder/wabac`.

seekwarc serve crawl.warc.zst
seekwarc serve --port 8080 --open crawls/
seekwarc serve crawls/ --search crawls.fts
seekwarc serve --replay webrecorder-wabac-2.27.3.tgz crawl.warc.zst
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import importlib.util
import ipaddress
import logging
import signal
import socket
import threading
import time
import webbrowser
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from seekwarc.cdx.places import name_in_index
from seekwarc.cli.arguments import add_flag, add_value, number
from seekwarc.cli.beside import IndexesBeside, is_search_index, search_index_beside
from seekwarc.cli.options import (
    INDEXES,
    SEARCH_INDEXES,
    add_limit_arguments,
    add_no_index_argument,
    add_sidecar_argument,
    check_sidecar,
    limit_options,
    open_options,
)
from seekwarc.cli.printing import printable, say
from seekwarc.cli.progress import progress_bar, progress_is_seen
from seekwarc.cli.targets import open_archive
from seekwarc.errors import SeekWarcError, SourceError
from seekwarc.format.words import counted
from seekwarc.storage.expand import expand, index_ending

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from seekwarc.cdx.beside import IndexBeside
    from seekwarc.serve.library import Library
    from seekwarc.serve.text_search import TextSearch

__all__ = ["add_arguments", "run"]

DEFAULT_HOST: Final = "127.0.0.1"
DEFAULT_PORT: Final = 8090
PORT: Final = number("port", 0, 65535)
PORTS_TRIED: Final = 20
"""Ports tried, from the default one on, unless --port is given."""
BACKLOG: Final = 512
SEND_BUFFER: Final = 128 << 10
"""Bytes that the system buffers for a browser on this computer; its own default is megabytes."""
FOUND_BY_BROWSERS: Final = ("127.0.0.1", "::1")
"""Where browsers look for names that end in `.localhost`."""
EVERY_ADDRESS: Final = ("0.0.0.0", "::")  # noqa: S104


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files",
        metavar="FILE|FOLDER|URL|INDEX",
        nargs="*",
        help=".warc.zst, .warc.gz or .warc, a folder of them, a .cdxj for the files that it names, or a "
        ".fts to search them",
    )
    add_value(parser, "--host", "ADDRESS", "address to listen on (default: 127.0.0.1)", default=DEFAULT_HOST)
    text = f"port to listen on, 0 for any (default: the first free one from {DEFAULT_PORT} on)"
    add_value(parser, "--port", "N", text, PORT)
    text = "name under which browsers reach this server through a proxy (may be repeated)"
    add_value(parser, "--name", "HOST", text, repeat=True, default=[])
    text = "replay pages on another port by wabac.js: its npm package (.tgz), the folder of it, or sw.js"
    add_value(parser, "--replay", "WORKER", text, str, nargs="?", const="")
    text = (
        "let pages of this origin embed and read payloads: https://example.org, or '*' for all (may be "
        "repeated)"
    )
    add_value(parser, "--allow", "ORIGIN", text, _origin, repeat=True, default=[])
    text = (
        "offer each file as /wacz/NAME.wacz, and all as /chain.json, for players at this origin: "
        "https://replayweb.page"
    )
    add_value(parser, "--wacz", "ORIGIN", text, _origin, repeat=True, default=[])
    text = "search the texts of pages, too, in this index, which `seekwarc index --text` made"
    add_value(parser, "--search", "INDEX", text)
    add_flag(parser, "--open", "open the page in your browser")
    add_no_index_argument(parser, f"{INDEXES}, {SEARCH_INDEXES}")
    add_sidecar_argument(parser)
    add_limit_arguments(parser)


def _origin(text: str) -> str:
    from seekwarc.serve.origins import checked_origin

    return checked_origin(text)


def run(options: argparse.Namespace) -> int:
    missing = [name for name in ("starlette", "uvicorn") if importlib.util.find_spec(name) is None]
    if missing:
        raise SeekWarcError(f"`seekwarc serve` needs {' and '.join(missing)}: pip install 'seekwarc[serve]'")
    from seekwarc.serve.app import application
    from seekwarc.serve.hosts import LOCAL_HOSTS
    from seekwarc.serve.library import Library
    from seekwarc.serve.replay import REPLAY_HOST, ReplayPorts, replay_application
    from seekwarc.serve.replay_worker import HOW_TO_GET, read_worker
    from seekwarc.serve.server import Server, by_port
    from seekwarc.serve.text_search import TextSearch

    logging.basicConfig(format="seekwarc: %(message)s")
    if hasattr(signal, "SIGHUP"):
        # The terminal was closed: end as on SIGTERM.
        signal.signal(signal.SIGHUP, lambda *_: signal.raise_signal(signal.SIGTERM))
    if options.replay == "":
        raise SeekWarcError(f"--replay needs wabac.js, which is not part of seekwarc: {HOW_TO_GET}")
    worker = read_worker(options.replay) if options.replay is not None else None
    files, indexes = _named(options)
    check_sidecar(options, len(files))
    # Ctrl-C is the normal way to end it.
    with (
        contextlib.suppress(KeyboardInterrupt),
        Library(
            files,
            sidecar=options.sidecar or True,
            indexes=_indexes(options, files),
            **limit_options(options),
        ) as library,
        contextlib.ExitStack() as opened,
    ):
        listeners = [opened.enter_context(_listen(options, options.port or DEFAULT_PORT))]
        port = listeners[0].getsockname()[1]
        replay, hosts = None, _hosts(options, LOCAL_HOSTS)
        if worker is not None:
            _check_is_secure(options, listeners[0])
            listeners.append(opened.enter_context(_listen(options, port + 1)))
            own = (REPLAY_HOST, *map(str.lower, options.name))
            replay = ReplayPorts(port, listeners[1].getsockname()[1], own)
            hosts.append(REPLAY_HOST)
        search = TextSearch(library, indexes[0]) if indexes else _search_beside(options, files, library)
        app: ASGIApp = application(
            library,
            hosts=hosts,
            replay=replay,
            allow=options.allow,
            wacz_origins=options.wacz,
            search=search,
        )
        if worker is not None and replay is not None:
            frame = replay_application(library, worker, replay)
            app = by_port({replay.bar: app, replay.frame: frame})
        server = Server(app, *listeners, replayed=replay.hosts if replay is not None else ())
        library.start_reading()
        _announce(options, library, listeners[0], replay.address if replay is not None else None)
        server.run()
    return 0


def _named(options: argparse.Namespace) -> tuple[list[str], list[str]]:
    """Return the files to serve, and the search index of them, if one is named."""
    from seekwarc.serve.text_search import is_text_index

    if not options.files:
        raise SeekWarcError("name the files to serve: `seekwarc serve FILE`; see `seekwarc serve --help`")
    if "-" in options.files:
        raise SeekWarcError("standard input cannot be served: store it in a file")
    if options.search is not None and not is_search_index(options.search):
        raise SeekWarcError("is not a search index; `seekwarc index --text` makes one", source=options.search)
    names = [*expand(options.files)]
    files = [it for it in names if not is_text_index(it)]
    indexes = [*([options.search] if options.search is not None else []), *filter(is_text_index, names)]
    if len(indexes) > 1:
        raise SeekWarcError(f"{len(indexes)} search indexes are named: name one, which may be of many files")
    if not files:
        raise SeekWarcError("also name the archives: a search index does not contain them", source=indexes[0])
    return files, indexes


def _indexes(options: argparse.Namespace, files: Sequence[str]) -> dict[str, IndexBeside]:
    """Return the indexes beside files that are of all of these, and may be used."""
    if options.no_index:
        return {}
    archives = [it for it in files if index_ending(it) is None]
    names = {name_in_index(it) for it in archives}
    # A line of another file may be one of these whose name is damaged.
    beside = IndexesBeside(archives, lambda line: line.filename not in names)
    found = {}
    for name in archives:
        with open_archive(name, **open_options(options, len(files))) as archive:
            index = beside.of(archive)
        if index is not None:
            found[name] = index
    return found


def _search_beside(options: argparse.Namespace, files: Sequence[str], library: Library) -> TextSearch | None:
    from seekwarc.serve.text_search import TextSearch

    index = search_index_beside(options.files, files) if not options.no_index else None
    if index is None:
        return None
    with index:
        return TextSearch(library, index.name, index.files)


def _check_is_secure(options: argparse.Namespace, listener: socket.socket) -> None:
    if not options.name and listener.getsockname()[0] not in FOUND_BY_BROWSERS:
        raise SeekWarcError(
            f"--replay at {options.host}: browsers run service workers only on this computer (at 127.0.0.1 "
            "or ::1), or by https; leave out --host, or put a proxy with https before it and give the names "
            "of the proxy with --name"
        )


def _announce(
    options: argparse.Namespace, library: Library, listener: socket.socket, replay: str | None
) -> None:
    host, port = listener.getsockname()[:2]
    address = _web_address(host, port)
    files = counted(len(library.files), "file") if len(library.files) > 1 else library.files[0].name
    print(f"{printable(files)} at {address} (Ctrl-C stops it)")
    elsewhere = "" if port == DEFAULT_PORT else f" --server {address}"
    print(
        f"ffmpeg, ffprobe and mpv open {address}payload?uri=URI&date=DATE; "
        f"`seekwarc lookup FILE URI --url{elsewhere}` prints the address of a capture",
        flush=True,
    )
    if replay is not None:
        print(f"archived pages are replayed at {replay}web/DATE/URI", flush=True)
    if not ipaddress.ip_address(host).is_loopback:
        say(f"warning: everyone who can reach port {port} can read all of it: there are no passwords")
    if options.open:
        webbrowser.open(address)
    if progress_is_seen(options):
        threading.Thread(target=_show_progress, args=(library,), daemon=True).start()


def _hosts(options: argparse.Namespace, local: Sequence[str]) -> list[str]:
    """Return the host names that requests may have: pages of other sites must not reach the server."""
    if options.host in EVERY_ADDRESS and not options.name:
        return ["*"]
    return [*local, options.host, f"[{options.host}]", *options.name]


def _listen(options: argparse.Namespace, first: int) -> socket.socket:
    """Listen on the first free port, on that one if --port is given, or on any if that is 0."""
    ports = range(first, first + PORTS_TRIED) if options.port is None else (first if options.port else 0,)
    problem = None
    for port in ports:
        try:
            found = socket.getaddrinfo(options.host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
            family, _, _, _, address = found[0]
            listener = socket.create_server(address[:2], family=family, backlog=BACKLOG)
        except OSError as error:
            problem = error
            if error.errno != errno.EADDRINUSE:
                break
        else:
            if ipaddress.ip_address(listener.getsockname()[0]).is_loopback:
                # Bytes buffered here when a player seeks elsewhere were read in vain.
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
            return listener
    raise SourceError(
        f"cannot listen on {options.host}, port {ports[-1]}: {problem}; choose another with --port or --host"
    )


def _web_address(host: str, port: int) -> str:
    shown = {"0.0.0.0": DEFAULT_HOST, "::": "::1"}.get(host, host)  # noqa: S104
    return f"http://[{shown}]:{port}/" if ":" in shown else f"http://{shown}:{port}/"


def _show_progress(library: Library) -> None:
    """Show how far the files have been scanned, until they all are."""
    with progress_bar(sum(state.size for state in library.files), "reading") as bar:
        while not library.catalogue.complete:
            bar.update(sum(state.position for state in library.files) - bar.n)
            bar.set_postfix_str(counted(library.catalogue.rows, "record"))
            time.sleep(0.2)
