"""Trained dictionaries, and the measurement of what they save."""

from __future__ import annotations

import io
import random
import tracemalloc
from collections import Counter

import pytest

import seekwarc
from seekwarc.errors import FormatError, LimitError, SourceError, TruncatedError, UnsupportedError
from seekwarc.make.converting import convert
from seekwarc.make.training import Gain, GainMeter, Training, train
from tests.support.foreign import Foreign
from tests.support.sources import Pipe, RecordingSource
from tests.support.writing import noise

SIZE = 4096
SENTENCES = [
    b"<p class='note'>The archive keeps what the web forgets.</p>",
    b"<a href='/index.html'>Home</a> <a href='/about.html'>About us</a>",
    b"<script>window.dataLayer = window.dataLayer || [];</script>",
    b"<footer>Copyright 2026 by Example. All rights reserved.</footer>",
]


def page(number: int, most: int = 3) -> bytes:
    """A page similar to all others of the site, but not equal to any."""
    chance = random.Random(number)
    own = b"".join(b"<li>%d</li>" % chance.randrange(10**9) for _ in range(chance.randint(1, 20)))
    return b"<html>" + b"".join(chance.choices(SENTENCES, k=most)) + b"<ul>" + own + b"</ul>"


def header(kind: str, number: int, length: int, content_type: str = "application/http") -> bytes:
    return (
        f"WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Record-ID: <urn:uuid:{number:032x}>\r\n"
        f"WARC-Target-URI: http://example.org/{number}\r\nWARC-Date: 2026-01-02T03:04:05Z\r\n"
        f"Content-Type: {content_type}\r\nContent-Length: {length}\r\n\r\n"
    ).encode()


def response(made: Foreign, payload: bytes, mime: str = "text/html", kind: str = "response") -> None:
    block = f"HTTP/1.1 200 OK\r\nServer: nginx\r\nContent-Type: {mime}\r\n\r\n".encode() + payload
    made.record(block, header=header(kind, len(made.records), len(block)))


def pages(count: int, first: int = 0) -> Foreign:
    made = Foreign()
    for number in range(first, first + count):
        response(made, page(number))
    return made


def content_of(training: Training) -> bytes:
    """The dictionary without its four random bytes."""
    data = training.dictionary.data
    return data[:4] + data[8:]


# What is made.


@pytest.mark.slow
def test_a_dictionary_helps_with_what_it_was_not_trained_on() -> None:
    data = pages(1000).bytes()
    training = train([data], size=SIZE)
    assert len(training.dictionary.data) <= SIZE
    sizes = {}
    for name, dictionary in (("without", None), ("with", training.dictionary)):
        target = io.BytesIO()
        convert(pages(1000, first=5000).bytes(), target, "zst", dictionary=dictionary)
        sizes[name] = len(target.getvalue())
    assert sizes["with"] < sizes["without"] * 0.75


def test_ids_are_in_the_range_of_the_standard() -> None:
    ids = {train([pages(100, first).bytes()], size=SIZE).dictionary.id for first in range(5)}
    assert len(ids) == 5
    assert all(32_768 <= number <= 2_147_483_647 for number in ids)


@pytest.mark.slow
def test_the_same_files_make_the_same_dictionary() -> None:
    first, second = pages(500).bytes(), pages(500, first=900).bytes()
    made = {content_of(train([first, second], size=SIZE)) for _ in range(3)}
    assert len(made) == 1
    assert content_of(train([first], size=SIZE)) not in made


def test_a_folder_is_trained_on_as_its_files_are(tmp_path) -> None:
    for number in range(2):
        (tmp_path / f"{number}.warc").write_bytes(pages(300, 400 * number).bytes())
    files = [str(tmp_path / f"{number}.warc") for number in range(2)]
    expected = content_of(train(files, size=SIZE))
    assert content_of(train(tmp_path, size=SIZE)) == expected
    assert content_of(train([tmp_path / "*.warc", files[0]], size=SIZE)) == expected


@pytest.mark.slow
@pytest.mark.parametrize("form", ["plain", "gzip", "pipe", "source", "with a dictionary", "many frames"])
def test_the_compression_of_the_records_does_not_matter(form) -> None:
    made = pages(300)
    stored = {
        "plain": made.plain().bytes(),
        "gzip": made.gzip().bytes(),
        "pipe": Pipe(made.gzip().bytes()),
        "source": RecordingSource(made.bytes()),
    }.get(form)
    if stored is None:
        other = Foreign()
        if form == "with a dictionary":
            other.dictionary(compressed=True)
        for put in made.records:
            other.record(put.block, header=put.header, cuts=100 if form == "many frames" else ())
        stored = other.bytes()
    training, wanted = train([stored], size=SIZE), train([made.bytes()], size=SIZE)
    assert content_of(training) == content_of(wanted)
    assert training.strata == wanted.strata
    assert training.gains[0].size_with == wanted.gains[0].size_with


def test_a_file_is_read_once() -> None:
    source = RecordingSource(pages(800).gzip().bytes())
    train([source], size=SIZE)
    assert source.bytes_asked <= source.size * 1.01 + 1000


def test_few_samples_make_a_small_dictionary() -> None:
    training = train([pages(60).bytes()])
    assert len(training.dictionary.data) <= training.sample_size // 10


@pytest.mark.slow
def test_gains_are_measured_at_the_given_level() -> None:
    data = pages(400).bytes()
    low, high = (train([data], size=SIZE, level=level).gains[0] for level in (-7, 19))
    assert high.size_without < low.size_without
    assert high.size_with < low.size_with


# What is trained on.


def test_images_do_not_crowd_out_pages() -> None:
    made = Foreign()
    for number in range(3000):
        if number % 30:
            response(made, noise(1500, seed=number), "image/jpeg")
        else:
            response(made, page(number, most=20))
    training = train([made.bytes()], size=512)
    samples = {stratum.mime: stratum for stratum in training.strata}
    assert training.sample_size <= 200 * 512
    assert samples["image/jpeg"].records > 20 * samples["text/html"].records
    assert samples["text/html"].sample_size > training.sample_size * 0.45


def test_only_heads_of_incompressible_payloads_are_samples() -> None:
    made = Foreign()
    for number in range(400):
        response(made, noise(5000, seed=number), "video/mp4" if number % 2 else "font/woff2")
    training = train([made.bytes()], size=SIZE)
    for stratum in training.strata:
        head = len(made.records[0].header) + len("HTTP/1.1 200 OK\r\nServer: nginx\r\nContent-Type: \r\n\r\n")
        assert stratum.sample_size <= stratum.samples * (head + 20)
    assert noise(5000)[:12] not in training.dictionary.data


def test_types_and_media_types_are_strata() -> None:
    made = pages(40)
    for number in range(40):
        response(made, page(number), "Text/CSS; charset=utf-8")
        response(made, b"", "text/html", kind="revisit")
        request = b"GET /%d HTTP/1.1\r\nHost: example.org\r\nContent-Type: text/html\r\n\r\n" % number
        made.record(request, header=header("request", number, len(request)))
        made.record(b"via: /\r\n", header=header("metadata", number, 8, "application/warc-fields"))
    training = train([made.bytes()], size=SIZE)
    assert {(stratum.type, stratum.mime) for stratum in training.strata} == {
        ("response", "text/html"),
        ("response", "text/css"),
        ("revisit", "application/http"),
        ("request", "application/http"),
        ("metadata", "application/warc-fields"),
    }
    assert sum(stratum.samples for stratum in training.strata) == training.samples
    assert sum(stratum.sample_size for stratum in training.strata) == training.sample_size


def test_continuations_are_left_out() -> None:
    made = pages(100)
    for number in range(100):
        made.record(page(number), header=header("continuation", number, len(page(number)), "text/html"))
    training = train([made.bytes()], size=SIZE)
    assert {stratum.type for stratum in training.strata} == {"response"}
    assert training.gains[0].records == 200


def test_records_without_a_type_are_samples_too() -> None:
    made = Foreign()
    for number in range(100):
        block = page(number)
        made.record(block, header=b"WARC/1.0\r\nContent-Length: %d\r\n\r\n" % len(block))
    [stratum] = train([made.bytes()], size=SIZE).strata
    assert (stratum.type, stratum.mime) == ("-", "-")


def test_hostile_media_types_cannot_fill_the_memory() -> None:
    made = Foreign()
    for number in range(600):
        response(made, page(number), f"x/{number}" + "y" * 500)
    strata = train([made.bytes()], size=SIZE).strata
    assert len(strata) < 100
    assert max(len(stratum.mime) for stratum in strata) < 100
    assert sum(stratum.records for stratum in strata) > 500


def test_the_number_of_samples_can_be_limited() -> None:
    training = train([pages(500).bytes()], size=SIZE, samples=40)
    assert training.samples == 40
    assert training.strata[0].records > 400


class _Endless:
    """An uncompressed WARC file of very many records that is generated as it is read."""

    name = "endless.warc"

    def __init__(self, records: int) -> None:
        block = (b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + page(0, 3000))[:20_000]
        self._record = header("response", 1, len(block)) + block + b"\r\n\r\n"
        self.size = len(self._record) * records

    def read(self, start: int, stop: int) -> bytes:
        first, last = start // len(self._record), -(-stop // len(self._record))
        data = self._record * (last - first)
        return data[start - first * len(self._record) : min(stop, self.size) - first * len(self._record)]

    def close(self) -> None:
        pass


@pytest.mark.slow
def test_memory_is_bounded_for_any_file() -> None:
    source = _Endless(15_000)
    assert source.size > 250 << 20
    tracemalloc.start()
    try:
        training = train([source], size=SIZE)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert training.sample_size <= 200 * SIZE
    assert training.gains[0].records == 15_000
    assert peak < 16 << 20


# What it saves.


def test_the_gain_is_measured_on_other_records() -> None:
    training = train([pages(500).bytes()], size=1 << 20)
    [gain] = training.gains
    assert gain.records == 500
    assert gain.measured == 50
    assert training.samples + gain.measured == 500


@pytest.mark.slow
def test_the_gain_is_that_of_the_whole_file() -> None:
    data = pages(2000).bytes()
    training = train([data], size=SIZE)
    without, with_it = io.BytesIO(), io.BytesIO()
    convert(data, without, "zst")
    convert(data, with_it, "zst", dictionary=training.dictionary)
    saved = len(without.getvalue()) - len(with_it.getvalue()) + len(training.dictionary.frame())
    assert training.gains[0].saving == pytest.approx(saved, rel=0.1)
    assert 0 < training.gains[0].share < 1


def test_every_file_has_a_gain_of_its_own() -> None:
    other = Foreign()
    for number in range(300):
        other.record(noise(3000, seed=number), header=header("resource", number, 3000, "x/y"))
    named = {"pages.warc": pages(600), "noise.warc": other, "one.warc": pages(1, first=9999)}
    files = [RecordingSource(made.bytes(), name) for name, made in named.items()]
    gains = {gain.name: gain for gain in train(files, size=SIZE).gains}
    assert list(gains) == list(named)
    assert [gain.records for gain in gains.values()] == [600, 300, 1]
    assert gains["pages.warc"].share < 0.8 < gains["noise.warc"].share
    assert gains["one.warc"].measured in (0, 1)


def test_nothing_measured_means_no_gain() -> None:
    gain = Gain("some.warc", 3, 0, 0, 0)
    assert gain.share is None
    assert gain.saving == 0


def test_a_meter_takes_any_dictionary() -> None:
    dictionary = train([pages(300, first=5000).bytes()], size=SIZE).dictionary
    meter = GainMeter()
    target = io.BytesIO()
    convert(Pipe(pages(200).gzip().bytes()), target, "none", on_record=meter.add)
    assert target.getvalue() == pages(200).plain().bytes(), "looking at records does not change them"
    [gain] = meter.gains(dictionary, 3)
    assert (gain.records, gain.measured) == (200, 200)
    assert gain.size_with < gain.size_without * 0.8


@pytest.mark.parametrize("form", ["bytes", "gzip", "plain"])
def test_sampling_does_not_change_the_records(form) -> None:
    made = (
        Foreign().record(b"").record(page(1, 9000), cuts=5000).record(noise(2_500_000)).record(b"x" * 65_536)
    )
    data, target = (made if form == "bytes" else getattr(made, form)()).bytes(), io.BytesIO()
    done = convert(data, target, "none", on_record=GainMeter().add)
    assert target.getvalue() == made.plain().bytes()
    assert done.records == 4


# What is refused.


@pytest.mark.parametrize("count", [0, 1, 2, 6])
def test_too_few_records_are_refused(count) -> None:
    made = Foreign().record(b"only this")
    for number in range(count):
        response(made, page(number))
    with pytest.raises(FormatError, match=r"too little to train a dictionary on: \d samples?"):
        train([made.bytes()])


def test_continuations_alone_are_refused() -> None:
    made = Foreign()
    for number in range(50):
        made.record(b"x", header=header("continuation", number, 1, "x/y"))
    with pytest.raises(FormatError, match="0 samples of 0 bytes"):
        train([made.bytes()])


def test_a_useless_dictionary_is_refused() -> None:
    made = Foreign()
    for number in range(300):
        block = noise(4000, seed=number)
        made.record(block, header=b"WARC/1.0\r\nContent-Length: %d\r\n\r\n" % len(block))
    with pytest.raises(FormatError, match="does not help here"):
        train([made.bytes()])


@pytest.mark.parametrize(
    ("name", "value"),
    [("size", 255), ("size", 1 << 40), ("level", 23), ("level", -8), ("samples", 0), ("samples", -1)],
)
def test_an_invalid_option_is_refused_before_reading(name, value) -> None:
    source = RecordingSource(pages(10).bytes())
    with pytest.raises(ValueError, match=f"{name} is {value}, not within"):
        train([source], **{name: value})
    assert source.bytes_asked == 0


def test_an_unreadable_file_is_named(tmp_path) -> None:
    good, cut, text = pages(50).bytes(), pages(50).bytes()[:-9], b"no WARC file at all"
    with pytest.raises(SourceError, match=r"not-there\.warc"):
        train([good, tmp_path / "not-there.warc"])
    with pytest.raises(TruncatedError, match=r"^cut\.warc, offset \d+: "):
        train([good, RecordingSource(cut, "cut.warc")])
    with pytest.raises(UnsupportedError, match=r"^text\.warc, offset 0: "):
        train([RecordingSource(text, "text.warc")])


def test_limits_are_those_of_the_reader() -> None:
    made = Foreign().dictionary(compressed=False)
    for number in range(50):
        response(made, page(number))
    with pytest.raises(LimitError, match="limit of 1000"):
        train([made.bytes()], max_dictionary_size=1000)


def test_progress_is_reported() -> None:
    watched = Counter()

    def watch(source, label):
        watched[label] += 1
        return source

    train([pages(30).bytes(), pages(30, first=70).bytes()], size=SIZE, on_progress=watch)
    assert watched == {"sampling": 2}


def test_a_trained_dictionary_writes_and_reads() -> None:
    training = train([pages(100).bytes()], size=SIZE)
    target = io.BytesIO()
    with seekwarc.Writer(target, dictionary=training.dictionary) as writer:
        writer.write("resource", target_uri="http://example.org/", block=page(7777))
    with seekwarc.open(target.getvalue()) as archive:
        assert archive.dictionary == training.dictionary
        assert [record.block.read() for record in archive] == [page(7777)]
