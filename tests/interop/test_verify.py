"""A sound file of a common tool is called sound, however many rules its writer bends."""

from __future__ import annotations

import gc
import io
import subprocess
import threading
import warnings
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from seekwarc.check.verifying import ProblemSeverity, Verification, Verifier

BROKEN = {
    "warcio-example-bad-non-chunked.warc.gz",
    "warcio-example-digest.warc",
    "warcio-example-trunc.warc",
    "warcio-example-wrong-chunks.warc.gz",
}
"""Test files that were damaged on purpose: wrong digests, bytes cut out."""
SAMPLES = [
    "iipc-20130729-heritrix-original.warc.gz",
    "iipc-20141124-heritrix-server-not-modified.warc.gz",
    "iipc-hello-world.warc",
    "pywb-dupes.warc.gz",
    "pywb-example-url-agnostic-orig.warc.gz",
    "pywb-example-url-agnostic-revisit.warc.gz",
    "pywb-example-wpull.warc.gz",
    "pywb-iana.warc.gz",
    "replayweb-netpreserve-twitter.warc",
    "warcio-example-iana.org-chunked.warc",
    "warcio-example-resource.warc.gz",
    "warcio-example-space-in-target-uri.warc.gz",
    "warcio-example-wget-bad-target-uri.warc.gz",
    "warcio-example.warc.gz",
    "warcio-post-test.warc.gz",
    *sorted(BROKEN),
]


def verified(target: Path | bytes) -> Verification:
    verifier = Verifier(target)
    for _ in verifier:
        pass
    return verifier.result


@pytest.mark.needs("samples")
@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.filterwarnings("ignore::seekwarc.FormatWarning")
def test_only_what_is_broken_is_called_damaged(samples: Path, name: str) -> None:
    result = verified(samples / name)
    assert result.is_sound is (name not in BROKEN)
    assert len(result.of(ProblemSeverity.DEVIATION)) <= 2


@pytest.mark.needs("samples")
def test_revisits_of_pywb_are_one_kind_of_deviation(samples: Path) -> None:
    result = verified(samples / "pywb-iana.warc.gz")
    [kind] = result.of(ProblemSeverity.DEVIATION)
    assert (kind.first.rule, kind.count) == ("WARC-Truncated condition", 123)


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def site(tmp_path: Path) -> Iterator[str]:
    folder = tmp_path / "site"
    folder.mkdir()
    links = "".join(f"<a href='{number}.html'>{number}</a>" for number in range(8))
    for number in range(8):
        (folder / f"{number}.html").write_text(f"<!doctype html><title>{number}</title>{links}")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=folder))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/0.html"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.needs("wget")
@pytest.mark.parametrize("plain", [False, True])
def test_a_crawl_by_wget_with_revisits_is_sound(tmp_path: Path, site: str, plain: bool) -> None:
    more = ["--no-warc-compression"] if plain else []
    for name, options in (("one", ["--warc-cdx"]), ("two", ["--warc-dedup=one.cdx"])):
        command = ["wget", "-q", "-r", "-P", "out", f"--warc-file={name}", *options, *more, site]
        subprocess.run(command, cwd=tmp_path, check=False, timeout=60)
    for name in ("one", "two"):
        result = verified(tmp_path / (name + (".warc" if plain else ".warc.gz")))
        assert result.records > 16
        assert result.is_sound
        assert len(result.of(ProblemSeverity.DEVIATION)) <= 2


@pytest.mark.needs("module:warcio")
@pytest.mark.parametrize("gzip", [True, False])
def test_what_warcio_writes_is_sound(gzip: bool) -> None:
    from warcio.statusandheaders import StatusAndHeaders  # noqa: PLC0415
    from warcio.warcwriter import WARCWriter  # noqa: PLC0415

    out = io.BytesIO()
    # It leaves its temporary files to the garbage collector.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        writer = WARCWriter(out, gzip=gzip)
        chunked = b"5\r\nhello\r\n0\r\n\r\n"
        for number in range(30):
            fields = [("Transfer-Encoding", "chunked")] if number % 2 else [("Content-Type", "text/plain")]
            head = StatusAndHeaders("200 OK", fields, protocol="HTTP/1.1")
            uri = f"http://example.org/{number}"
            record = writer.create_warc_record(
                uri, "response", payload=io.BytesIO(chunked if number % 2 else b"hello"), http_headers=head
            )
            writer.write_record(record)
            digest = record.rec_headers.get_header("WARC-Payload-Digest")
            writer.write_record(
                writer.create_revisit_record(uri, digest, uri, "2026-01-01T00:00:00Z", http_headers=head)
            )
        del record
        gc.collect()
    result = verified(out.getvalue())
    assert result.records == 60
    assert result.is_sound
    assert result.deviations >= 30
    assert len(result.of(ProblemSeverity.DEVIATION)) <= 3
