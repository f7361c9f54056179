"""Content codings are undone however the payload comes, and what is wrong with it shows where it is."""

from __future__ import annotations

import gzip
import io
import json
import random
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from seekwarc.errors import FormatError, LimitError, SourceError, TruncatedError, UnsupportedError
from seekwarc.format.zstd import FRAME_MAGIC, PADDING_MAGIC, skippable_frame
from seekwarc.frames.codings import KNOWN_CODINGS, MAX_CODINGS, MAX_OUTPUT, DecodedFile
from seekwarc.frames.decoder import MAX_WINDOW_SIZE
from tests.support.sources import Pipe
from tests.support.work import at_most_calls, watchdog

ROOT = Path(__file__).parents[2]
MIB = 1 << 20
MAX = 1 << 40


def brotli_stream(content: bytes) -> bytes:
    import brotli  # noqa: PLC0415 - may not be there

    return brotli.compress(content, quality=5)


def raw_deflate(content: bytes) -> bytes:
    return zlib.compress(content, wbits=-zlib.MAX_WBITS)


def zstd_stream(content: bytes) -> bytes:
    codec = zstandard.ZstdCompressor(write_checksum=True).compressobj()
    return codec.compress(content) + codec.flush()


ENCODE: dict[str, Callable[[bytes], bytes]] = {
    "gzip": lambda content: gzip.compress(content, mtime=0),
    "deflate": zlib.compress,
    "raw deflate": raw_deflate,
    "zstd": zstd_stream,
    "br": brotli_stream,
}
"""Every form of coding; the last word of its name is what Content-Encoding says."""

BROTLI = pytest.mark.needs("module:brotli")
every_form = pytest.mark.parametrize(
    "form", [pytest.param(form, marks=BROTLI if form == "br" else ()) for form in ENCODE]
)


def name_of(form: str) -> str:
    return form.rpartition(" ")[2]


def encode(content: bytes, forms: list[str]) -> bytes:
    for form in forms:
        content = ENCODE[form](content)
    return content


def words(size: int, seed: int = 0) -> bytes:
    """Text with long matches and literals, as pages have."""
    rng = random.Random(seed)
    known = [rng.randbytes(rng.randint(1, 9)).hex().encode() for _ in range(60)]
    return b" ".join(rng.choices(known, k=size // 8 + 1))[:size]


def decoded(body: bytes, *codings: str, most: int = 70_000, **options: bool) -> bytes:
    with DecodedFile(Pipe(body, most=most), codings, limit=MAX, **options) as file:
        return file.readall()


def outcome(
    body: bytes, *codings: str, most: int = 70_000, size: int = 8192, **options: bool
) -> tuple[bytes, type[Exception] | None]:
    """Return all that can be read, and the error that reading ends with, which then does not go away."""
    found = bytearray()
    with DecodedFile(Pipe(body, most=most), codings, limit=MAX, **options) as file:
        try:
            while data := file.read(size):
                found += data
        except FormatError as error:
            with pytest.raises(type(error)):
                file.read(1)
            return bytes(found), type(error)
        assert file.read(1) == b""
        return bytes(found), None


CONTENT = words(400)

# What is whole.


@every_form
@given(content=st.binary(max_size=3000), repeats=st.integers(1, 200), data=st.data())
def test_the_content_comes_back_in_pieces_of_any_size(
    form: str, content: bytes, repeats: int, data: st.DataObject
) -> None:
    content *= repeats
    body = ENCODE[form](content)
    most = data.draw(st.sampled_from([1, 2, 7, 1000, 100_000]))
    sizes = data.draw(st.lists(st.integers(1, 300_000), max_size=20))
    found = bytearray()
    with DecodedFile(Pipe(body, most=most), [name_of(form)], limit=MAX) as file:
        for size in sizes:
            found += file.read(size)
        found += file.readall()
    assert found == content


@BROTLI
@given(st.binary(max_size=2000), st.lists(st.sampled_from(list(ENCODE)), max_size=5), st.integers(1, 9999))
def test_codings_over_each_other_are_undone_from_last_to_first(
    content: bytes, forms: list[str], most: int
) -> None:
    body = encode(content, forms)
    assert decoded(body, *map(name_of, forms), most=most) == content


@BROTLI
def test_gzip_then_brotli() -> None:
    body = brotli_stream(gzip.compress(CONTENT))
    assert decoded(body, "gzip", "br") == CONTENT


@pytest.mark.parametrize("name", ["x-gzip", "GZip", " gzip\t", "X-GZIP"])
def test_names_are_read_as_http_reads_them(name: str) -> None:
    assert decoded(gzip.compress(CONTENT), name) == CONTENT


@pytest.mark.parametrize("codings", [(), ("identity",), ("",), (" Identity ", "")])
def test_no_coding_changes_nothing(codings: tuple[str, ...]) -> None:
    body = gzip.compress(CONTENT)
    assert outcome(body, *codings) == (body, None)


def test_the_codings_known_are_those_of_the_web() -> None:
    assert set(KNOWN_CODINGS) == {"gzip", "x-gzip", "deflate", "br", "zstd", "identity"}


@every_form
def test_an_empty_body_holds_nothing(form: str) -> None:
    assert outcome(b"", name_of(form)) == (b"", None)


@every_form
def test_empty_content_is_no_error(form: str) -> None:
    assert outcome(ENCODE[form](b""), name_of(form)) == (b"", None)


@pytest.mark.parametrize("form", ["gzip", "zstd"])
@pytest.mark.parametrize("most", [1, 5, 100_000])
def test_all_members_are_decoded(form: str, most: int) -> None:
    parts = [CONTENT, b"", b"x", words(50_000), CONTENT]
    body = b"".join(map(ENCODE[form], parts))
    assert outcome(body, form, most=most) == (b"".join(parts), None)


def test_very_many_members_cost_a_few_calls_each() -> None:
    with at_most_calls(100 * 5000):
        assert decoded(gzip.compress(b"", mtime=0) * 5000, "gzip") == b""
        assert decoded(zstd_stream(b"") * 5000, "zstd") == b""


@pytest.mark.parametrize("block", [b"\0\0\0", b"\2\0\0x"])
def test_millions_of_empty_blocks_cost_no_call_each(block: bytes) -> None:
    frame = FRAME_MAGIC.to_bytes(4, "little") + b"\0\x58" + block * 4_000_000 + b"\1\0\0"
    with at_most_calls(100_000):
        assert decoded(frame, "zstd") == b""


@pytest.mark.one_in(3)
@pytest.mark.parametrize("most", [1, 2, 3, 5, 100_000])
def test_empty_blocks_lie_before_between_and_after_others(most: int) -> None:
    empty, content = b"\0\0\0\2\0\0\2\2\0\0\0", b"\x18\0\0\0\0\0\x1a\0\0y"
    head = FRAME_MAGIC.to_bytes(4, "little") + b"\0\x58"
    body = head + empty * 3 + content + empty + content + empty * 7000
    assert outcome(body + b"\1\0\0", "zstd", most=most) == (b"\0\0\0yyy" * 2, None)
    assert outcome(body + b"\3\0\0z", "zstd", most=most) == (b"\0\0\0yyy" * 2, None)
    assert outcome(body + b"\7\0\0", "zstd", most=most) == (b"\0\0\0yyy" * 2, FormatError)
    assert outcome(body, "zstd", most=most) == (b"\0\0\0yyy" * 2, TruncatedError)


@pytest.mark.one_in(5)
@pytest.mark.parametrize(
    "garbage", [bytes(600), b"\r\n", b"<!-- served in 3 ms -->", b"\x1e", b"\xff" * 99_999]
)
@every_form
@pytest.mark.parametrize("most", [1, 100_000])
def test_what_follows_the_end_is_ignored(form: str, garbage: bytes, most: int) -> None:
    content = words(9000)
    assert outcome(ENCODE[form](content) + garbage, name_of(form), most=most) == (content, None)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("most", [1, 100_000])
def test_zstd_has_skippable_frames_before_between_and_after(most: int) -> None:
    skip = skippable_frame(PADDING_MAGIC, bytes(5000))
    body = b"".join([skip, skip, zstd_stream(CONTENT), skip, zstd_stream(b"end"), skip])
    assert outcome(body, "zstd", most=most) == (CONTENT + b"end", None)
    assert outcome(body[:-1], "zstd", most=most) == (CONTENT + b"end", TruncatedError)


@pytest.mark.parametrize("level", range(10))
def test_deflate_with_any_header_of_zlib(level: int) -> None:
    for window in range(9, 16):
        encoder = zlib.compressobj(level, wbits=window)
        assert decoded(encoder.compress(CONTENT) + encoder.flush(), "deflate") == CONTENT


# What was decoded before it was stored.

UNDECODED = [
    b"<!DOCTYPE html><html><head><title>x</title></head><body>" + CONTENT,
    b"\n\n<div>" + CONTENT,
    json.dumps({"items": [1, 2, 3], "text": CONTENT.decode()}).encode(),
    json.dumps([{"id": 1, "name": CONTENT.decode()}], indent=2).encode(),
    b"body{margin:0;padding:0}" + CONTENT,
    b"(function(){var a=1;" + CONTENT,
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + CONTENT,
    b"\xff" * 100_000,
    "\ufeffé".encode() + CONTENT,
]


@pytest.mark.slow
@pytest.mark.parametrize("body", UNDECODED, ids=lambda body: repr(body[:9]))
@every_form
@pytest.mark.parametrize("most", [1, 100_000])
def test_a_body_that_is_not_of_its_coding_is_passed_on(form: str, body: bytes, most: int) -> None:
    assert outcome(body, name_of(form), most=most) == (body, None)


@BROTLI
@pytest.mark.parametrize("body", UNDECODED, ids=lambda body: repr(body[:9]))
def test_a_body_is_passed_on_through_all_its_codings(body: bytes) -> None:
    assert outcome(body, "deflate", "gzip", "br", "zstd") == (body, None)
    body += CONTENT
    assert outcome(gzip.compress(body), "deflate", "gzip", "zstd") == (body, None)


def test_json_is_hardly_ever_taken_for_raw_deflate() -> None:
    rng = random.Random(3)
    bodies = [
        json.dumps({rng.randbytes(rng.randint(1, 5)).hex(): rng.random() for _ in range(30)}).encode()
        for _ in range(300)
    ]
    assert sum(outcome(body, "deflate") == (body, None) for body in bodies) >= 299


# What is damaged.


def most_of(form: str, body: bytes) -> bytes:
    """Return what another way of decoding gets out of the beginning of a body."""
    if form == "br":
        import brotli  # noqa: PLC0415 - may not be there

        return brotli.Decompressor().process(body)
    if form == "zstd":
        return zstandard.ZstdDecompressor().decompressobj().decompress(body)
    wbits = {"gzip": 31, "deflate": 15, "raw deflate": -15}[form]
    return zlib.decompressobj(wbits).decompress(body)


@pytest.mark.slow
@every_form
@pytest.mark.parametrize("most", [1, 7, 100_000])
def test_a_body_cut_anywhere_gives_what_it_holds(form: str, most: int) -> None:
    body = ENCODE[form](CONTENT)
    name = name_of(form)
    with watchdog():
        for size in range(1, len(body)):
            expected = most_of(form, body[:size])
            assert CONTENT.startswith(expected)
            assert outcome(body[:size], name, most=most, size=50) == (expected, TruncatedError)
            assert outcome(body[:size], name, most=most, truncated=True) == (expected, None)


@pytest.mark.parametrize("form", ["gzip", "zstd"])
def test_a_member_cut_after_others_is_cut(form: str) -> None:
    first, second = ENCODE[form](CONTENT), ENCODE[form](words(300, seed=1))
    for size in range(1, len(second)):
        found, error = outcome(first + second[:size], form)
        assert (found[: len(CONTENT)], error) == (CONTENT, TruncatedError)


@BROTLI
@pytest.mark.parametrize("forms", [["gzip", "br"], ["br", "zstd"], ["raw deflate", "gzip"]])
def test_a_cut_shows_through_all_codings(forms: list[str]) -> None:
    names = [name_of(form) for form in forms]
    body = encode(CONTENT, forms)
    for size in range(1, len(body)):
        found, error = outcome(body[:size], *names)
        assert CONTENT.startswith(found)
        assert error is TruncatedError
        assert outcome(body[:size], *names, truncated=True) == (found, None)


@pytest.mark.slow
@every_form
def test_a_body_damaged_anywhere_ends_in_one_of_the_known_ways(form: str) -> None:
    body = ENCODE[form](CONTENT)
    checked = form in ("gzip", "deflate", "zstd")
    with watchdog():
        for index in range(len(body)):
            for bits in (0x01, 0x10, 0x80, 0xFF):
                damaged = bytearray(body)
                damaged[index] ^= bits
                ends = {outcome(bytes(damaged), name_of(form), most=most) for most in (1, 100_000)}
                assert len(ends) == 1, "how the body is cut must not matter"
                found, error = ends.pop()
                if checked and error is None:
                    assert found in (CONTENT, damaged)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("form", ["gzip", "deflate", "zstd"])
@pytest.mark.parametrize("size", [10, 400, 300_000, 3 * MIB])
def test_all_content_is_given_before_a_wrong_checksum_is_told(form: str, size: int) -> None:
    content = words(size)
    body = ENCODE[form](content)
    at = -8 if form == "gzip" else -1
    damaged = body[:at] + bytes([body[at] ^ 1]) + (body[at + 1 :] if at + 1 else b"")
    found, error = outcome(damaged, form)
    assert (found == content, error) == (True, FormatError)
    assert outcome(gzip.compress(damaged), form, "gzip")[1] is FormatError
    with pytest.raises(FormatError, match=f"the {form} coding of the payload is damaged: .*c"):
        decoded(damaged, form)


def open_end(form: str, content: bytes) -> bytes:
    """Return a body that holds some content and could go on, up to a byte that cannot follow."""
    if form == "br":
        import brotli  # noqa: PLC0415 - may not be there

        encoder = brotli.Compressor(quality=5)
        return encoder.process(content) + encoder.flush() + b"\x0e"
    if form == "zstd":
        codec = zstandard.ZstdCompressor().compressobj()
        flushed = codec.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
        return (
            codec.compress(content) + codec.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK) + flushed + b"\x07\0\0"
        )
    deflate = zlib.compressobj(wbits={"gzip": 31, "deflate": 15, "raw deflate": -15}[form])
    return deflate.compress(content) + deflate.flush(zlib.Z_FULL_FLUSH) + b"\x07"


@pytest.mark.slow
@every_form
@pytest.mark.parametrize("most", [10, 100_000])
@pytest.mark.parametrize(
    "content", [words(3000), words(700_000), bytes(5 * MIB)], ids=["short", "long", "zeros"]
)
def test_all_that_comes_before_the_damage_is_given(form: str, content: bytes, most: int) -> None:
    body = open_end(form, content)
    for behind in (b"", bytes(40_000), b"more"):
        found, error = outcome(body + behind, name_of(form), most=most)
        assert (found == content, error) == (True, FormatError)


@every_form
@given(body=st.binary(max_size=2000), start=st.booleans())
def test_any_bytes_end_in_one_of_the_known_ways(form: str, body: bytes, start: bool) -> None:
    if start:
        body = ENCODE[form](CONTENT)[:12] + body
    with watchdog():
        outcome(body, name_of(form))


# What is not taken.


def test_an_unknown_coding_is_named_and_the_file_stays_open() -> None:
    file = Pipe(CONTENT)
    with pytest.raises(UnsupportedError, match="'compress'"):
        DecodedFile(file, ["gzip", " Compress"], limit=MAX)
    assert file.read(10)


@pytest.mark.parametrize("module", [None, object()])
def test_without_brotli_it_is_told_what_to_install(module: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "brotli", module)
    with pytest.raises(UnsupportedError, match=r"pip install 'seekwarc\[brotli\]'"):
        DecodedFile(Pipe(b""), ["br"], limit=MAX)


def test_more_codings_than_anybody_means_are_refused() -> None:
    assert decoded(CONTENT, *["gzip"] * MAX_CODINGS, *["identity"] * 99) == CONTENT
    with pytest.raises(LimitError, match="5000 content codings"):
        DecodedFile(Pipe(CONTENT), ["gzip"] * 5000, limit=MAX)


def test_a_window_beyond_the_limit_is_refused() -> None:
    def frame(window_log: int) -> bytes:
        descriptor = bytes([0, (window_log - 10) << 3])
        return FRAME_MAGIC.to_bytes(4, "little") + descriptor + b"\x09\0\0A"

    assert outcome(frame(27), "zstd") == (b"A", None)
    assert MAX_WINDOW_SIZE == 1 << 27
    assert outcome(zstd_stream(CONTENT) + frame(28), "zstd") == (CONTENT, LimitError)


# A file as others are.


class Failing(Pipe):
    """A file whose storage fails where its data ends."""

    def readinto(self, buffer: object) -> int:
        count = super().readinto(buffer)
        if not count:
            raise SourceError("the server is gone")
        return count


@every_form
@pytest.mark.parametrize("size", [1, 3, 60, None])
@pytest.mark.parametrize("truncated", [False, True])
def test_a_failure_below_is_told_as_what_it_is(form: str, size: int | None, truncated: bool) -> None:
    body = ENCODE[form](CONTENT)[:size]
    found = bytearray()

    def read_all(file: io.RawIOBase) -> None:
        while data := file.read(7):
            found.extend(data)

    with DecodedFile(Failing(body), [name_of(form)], limit=MAX, truncated=truncated) as file:
        for _ in range(2):
            with pytest.raises(SourceError):
                read_all(file)
    assert found == most_of(form, body)


def test_it_is_a_raw_file_that_goes_forward_only() -> None:
    below = Pipe(gzip.compress(CONTENT))
    file = DecodedFile(below, ["gzip"], limit=MAX)
    assert file.readable()
    assert not file.seekable()
    assert not file.writable()
    with pytest.raises(OSError, match="seek"):
        file.seek(0)
    buffer = bytearray(10)
    assert file.readinto(buffer) == 10
    assert buffer == CONTENT[:10]
    assert io.BufferedReader(file).read() == CONTENT[10:]
    file.close()
    file.close()
    assert below.closed
    for use in (lambda: file.read(1), file.readall, lambda: file.readinto(buffer)):
        with pytest.raises(ValueError, match="closed"):
            use()


def test_lines_and_text_can_be_read() -> None:
    text = "".join(f"line {number}\n" for number in range(20_000))
    file = DecodedFile(Pipe(gzip.compress(text.encode()), most=50), ["gzip"], limit=MAX)
    assert io.TextIOWrapper(io.BufferedReader(file), encoding="ascii", newline="").read() == text


# Bombs.

SCRIPT = """
import resource, sys
from seekwarc.frames.codings import DecodedFile

MAX = 1 << 40
path, *codings = sys.argv[1:]
with open(path, "rb", buffering=0) as file:
    DecodedFile(file, codings, limit=MAX).read(1)  # whatever is loaded late is loaded now


def peak():
    # Linux lets a process inherit the ru_maxrss of the one that started it, but not its VmHWM.
    try:
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) * 1024
    except OSError:
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


before = peak()
file = DecodedFile(open(path, "rb", buffering=0), codings, limit=1 << 62)
buffer = bytearray(1 << 16)
total = 0
early = None
while count := file.readinto(buffer):
    total += count
    if early is None and total >= 1 << 20:
        early = peak() - before
print(total, early, peak() - before)
"""


def zeros(encoder: object, step: str) -> Iterator[bytes]:
    for _ in range(1024):
        yield getattr(encoder, step)(bytes(MIB))


def bomb(form: str) -> bytes:
    """A GiB of zeros."""
    if form == "gzip":
        return gzip.compress(bytes(64 * MIB), compresslevel=1) * 16
    if form == "zstd":
        # Blocks of 128 KiB that take four bytes each: no input is smaller for what it holds.
        block = (128 << 10 << 3 | 1 << 1).to_bytes(3, "little") + b"\0"
        return FRAME_MAGIC.to_bytes(4, "little") + b"\0\x40" + block * 8192 + b"\x01\0\0"
    if form == "br":
        import brotli  # noqa: PLC0415 - may not be there

        encoder = brotli.Compressor(quality=1)
        return b"".join(zeros(encoder, "process")) + encoder.finish()
    encoder = zlib.compressobj(1, wbits=-zlib.MAX_WBITS)
    return b"".join(zeros(encoder, "compress")) + encoder.flush()


@pytest.mark.slow
@pytest.mark.parametrize("form", ["gzip", "raw deflate", "zstd", pytest.param("br", marks=BROTLI)])
def test_a_bomb_takes_no_memory(form: str, tmp_path: Path) -> None:
    path = tmp_path / "bomb"
    path.write_bytes(gzip.compress(bomb(form)))
    command = [sys.executable, "-c", SCRIPT, str(path), name_of(form), "gzip"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    total, early, late = map(int, done.stdout.split())
    assert total == 1 << 30
    assert early < 40 * MIB
    assert late < 40 * MIB


# Limits.


def nested_bomb(forms: list[str], chance: random.Random) -> bytes:
    """A small body whose codings, one or all of them, give 80 MiB."""
    content = bytes(80 * MIB)
    if forms[-1] == "zstd" and len(forms) > 1 and chance.random() < 0.5:
        content = skippable_frame(PADDING_MAGIC, bytes(70 * MIB)) + zstd_stream(b"end")
        forms = forms[:-1]
    return encode(content, list(reversed(forms)))


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", range(8))
def test_no_decoder_gives_more_than_its_limit(seed: int) -> None:
    chance = random.Random(seed)
    forms = [chance.choice(["gzip", "deflate", "zstd"]) for _ in range(chance.randint(1, 3))]
    body = nested_bomb(forms, chance)
    limit = chance.choice([1, 1000, MIB])
    names = [name_of(form) for form in reversed(forms)]
    given = 0
    with DecodedFile(Pipe(body), names, limit=limit) as file, pytest.raises(LimitError):
        while data := file.read(MIB):
            given += len(data)
    assert given <= limit + 2 * MAX_OUTPUT


def test_a_reader_that_takes_no_more_than_the_limit_has_no_error() -> None:
    with DecodedFile(Pipe(gzip.compress(bytes(MIB))), ["gzip"], limit=1000) as file:
        assert file.read(1000) == bytes(1000)
        with pytest.raises(LimitError, match="more than 1000 bytes"):
            while file.read(MIB):
                pass


@pytest.mark.slow
def test_a_coding_that_is_hidden_in_another_is_limited() -> None:
    hidden = gzip.compress(skippable_frame(PADDING_MAGIC, bytes(70 * MIB)) + zstd_stream(b"end"))
    with DecodedFile(Pipe(hidden), ["zstd", "gzip"], limit=MAX) as file, pytest.raises(LimitError):
        file.read(1)


def test_zstd_codings_share_the_limit_of_windows() -> None:
    window = zstandard.ZstdCompressionParameters(window_log=27, enable_ldm=False)
    codec = zstandard.ZstdCompressor(compression_params=window).compressobj()
    body = codec.compress(zstd_stream(b"hello")) + codec.flush()
    with DecodedFile(Pipe(body), ["zstd"], limit=MAX) as file:
        assert file.read() == zstd_stream(b"hello")
    with (
        DecodedFile(Pipe(body), ["zstd", "zstd"], limit=MAX) as file,
        pytest.raises(LimitError, match="window"),
    ):
        file.read()


@pytest.mark.parametrize("word", ["UTF-8", "none", "binary", "8bit", "text/html", "aws-chunked"])
def test_a_word_that_names_no_coding_is_passed_over(word: str) -> None:
    with DecodedFile(Pipe(gzip.compress(b"tea")), ["gzip", word], limit=MAX) as file:
        assert file.read() == b"tea"
