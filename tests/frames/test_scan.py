"""Frames found by their headers: where they are, and what finding them costs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seekwarc.errors import FormatError, SourceChangedError, TruncatedError
from seekwarc.frames.scan import UNSEEN, Frame, Window, frame_at, frame_start_at, frames_from, scan_run
from seekwarc.storage.fetch import Fetcher
from seekwarc.storage.opening import open_source
from seekwarc.storage.source import Stats
from tests.support import strategies
from tests.support.foreign import Foreign, checksum, skippable, text, zstd_frame
from tests.support.sources import Pipe, RecordingSource
from tests.support.writing import noise

DATA = noise(200_000, seed=21)


# The window.


@given(st.lists(st.tuples(st.integers(0, 110_000), st.integers(0, 30_000)), max_size=15))
def test_a_window_answers_as_the_source_would(steps: list[tuple[int, int]]) -> None:
    window = Window(RecordingSource(DATA[:100_000]))
    for start, size in steps:
        expected = DATA[:100_000][start : start + size]
        data, index = window.get(start, start + size)
        assert data[index : index + size] == expected
        assert window.take(start, size) == expected


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(0, 5000), st.integers(1, 5000)), max_size=25), st.integers(1, 5000))
def test_a_window_goes_forward_through_a_pipe(steps: list[tuple[int, int]], most: int) -> None:
    window = Window(open_source(Pipe(DATA, most=most)))
    start = 0
    for gap, size in steps:
        start += gap
        assert window.take(start, size) == DATA[start : start + size]


def test_small_steps_forward_cost_few_reads() -> None:
    source = RecordingSource(DATA)
    window = Window(source)
    for start in range(0, len(DATA), 50):
        assert window.take(start, 50) == DATA[start : start + 50]
    assert len(source.requests) < 10
    assert source.bytes_asked == len(DATA)


def test_jumps_read_little() -> None:
    source = RecordingSource(bytes(50 << 20))
    window = Window(source)
    for start in range(0, source.size, 1 << 20):
        window.take(start, 3)
    assert len(source.requests) == 50
    assert source.bytes_asked <= 52 * (16 << 10)


def test_what_a_window_leads_to() -> None:
    window = Window(RecordingSource(bytes(5 << 20)))
    assert not window.leads_to(0, 10), "nothing is at hand yet"
    window.take(1000, 10)
    end = window.end
    assert window.leads_to(1000, 1010)
    assert window.leads_to(end - 5, end + 100)
    assert window.leads_to(end, end + 100)
    assert not window.leads_to(end + 1, end + 2)
    assert not window.leads_to(999, 1010)
    assert not window.leads_to(end, end + (2 << 20)), "a long read is better read by itself"


def test_the_end_of_a_source() -> None:
    window = Window(RecordingSource(b"abc"))
    assert window.take(2, 10) == b"c"
    assert window.take(3, 10) == b""
    assert window.take(30, 10) == b""
    assert window.at_hand(0, 2) == b"ab"
    assert window.at_hand(0, 20) == b"abc"
    assert window.at_hand(3, 20) == b""


# Frames.


@given(strategies.layouts(), st.booleans())
def test_the_frames_of_a_file_are_those_that_were_put_in(made: Foreign, pipe: bool) -> None:
    source = open_source(Pipe(made.bytes()) if pipe else made.bytes())
    frames = list(frames_from(Window(source), 0))
    assert [frame.size for frame in frames] == [entry[0] for entry in made.entries]
    offset = 0
    for frame, (stored, content, _) in zip(frames, made.entries, strict=True):
        assert (frame.offset, frame.end) == (offset, offset + stored)
        assert frame.magic == int.from_bytes(made.data[offset : offset + 4], "little")
        assert frame.content_size in (content, None)
        offset += stored


def test_a_skippable_frame_has_no_header_and_no_content() -> None:
    frame = frame_at(Window(RecordingSource(b"..." + skippable(0x184D2A57, b"abc"))), 3)
    assert frame == Frame(3, 11, 0x184D2A57, None)
    assert frame.content_size == 0


def test_no_frame_starts_at_the_end() -> None:
    data = zstd_frame(b"abc")
    assert frame_at(Window(RecordingSource(data)), len(data)) is None
    assert frame_start_at(Window(RecordingSource(data)), len(data) + 5) is None


def test_a_large_frame_is_measured_without_being_read() -> None:
    data = zstd_frame(noise(12 << 20)) + zstd_frame(b"abc")
    source = RecordingSource(data)
    frames = list(frames_from(Window(source), 0))
    assert [frame.content_size for frame in frames] == [12 << 20, 3]
    assert source.bytes_asked < len(data) / 4


def test_a_large_skippable_frame_is_passed_without_being_read() -> None:
    data = skippable(0x184D2A50, bytes(30 << 20)) + zstd_frame(b"abc")
    source = RecordingSource(data)
    assert len(list(frames_from(Window(source), 0))) == 2
    assert source.bytes_asked < 100_000


@pytest.mark.parametrize("pipe", [False, True])
@pytest.mark.parametrize(
    "frame",
    [
        zstd_frame(text(500)),
        zstd_frame(text(500), content_size=False, checksum=False),
        zstd_frame(noise(300_000)),
        zstd_frame(b"", checksum=False),
    ],
)
def test_a_frame_that_is_cut_is_truncated_at_its_offset(frame: bytes, pipe: bool) -> None:
    front = zstd_frame(b"front")
    for cut in {*range(1, 20), len(frame) // 2, *range(len(frame) - 8, len(frame))}:
        if not 0 < cut < len(frame):
            continue
        data = front + frame[:cut]
        source = open_source(Pipe(data)) if pipe else RecordingSource(data)
        with pytest.raises(TruncatedError, match=f"offset {len(front)}: .* ends inside") as caught:
            list(frames_from(Window(source), 0))
        assert caught.value.offset == len(front)
        assert caught.value.source == source.name


def test_a_skippable_frame_that_is_cut_is_truncated() -> None:
    frame = skippable(0x184D2A50, bytes(100))
    for cut in range(1, len(frame)):
        with pytest.raises(TruncatedError, match="offset 0"):
            list(frames_from(Window(RecordingSource(frame[:cut])), 0))


def test_what_is_no_frame_is_named_with_its_place() -> None:
    data = zstd_frame(b"abc") + b"something else"
    with pytest.raises(FormatError, match=rf"offset {len(data) - 14}: .*b'somethin'") as caught:
        list(frames_from(Window(RecordingSource(data)), 0))
    assert not isinstance(caught.value, TruncatedError)


def test_a_damaged_block_header_is_reported_at_the_frame() -> None:
    frame = bytearray(zstd_frame(text(500)))
    position = frame_start_at(Window(RecordingSource(bytes(frame))), 0)[2]
    frame[position] |= 0b110
    with pytest.raises(FormatError, match=r"recorded.*offset 0: .*block header"):
        frame_at(Window(RecordingSource(bytes(frame))), 0)


def test_the_start_of_a_frame_tells_what_it_is() -> None:
    frame = zstd_frame(text(500))
    window = Window(RecordingSource(frame + skippable(0x184D2A5E, b"abc")))
    magic, header, size = frame_start_at(window, 0)
    assert magic == 0xFD2FB528
    assert header.content_size == 500
    assert size == header.size
    assert frame_start_at(window, len(frame)) == (0x184D2A5E, None, 11)


# Runs of frames.

FRAME_KINDS = st.one_of(
    # Of what does not compress, one frame begins as the other does.
    st.builds(
        lambda seed, check: zstd_frame(noise(300, seed=seed), checksum=check),
        st.integers(0, 9),
        st.booleans(),
    ),
    st.builds(lambda size: zstd_frame(text(size)), st.integers(0, 900)),
    st.builds(lambda size: zstd_frame(bytes(size)), st.integers(0, 400_000)),
    st.builds(lambda size: zstd_frame(noise(size, seed=3)), st.integers(0, 300_000)),
    st.builds(lambda size: skippable(0x184D2A5E, bytes(size)), st.integers(0, 90)),
    st.builds(lambda size: zstd_frame(text(size), content_size=False), st.integers(1, 900)),
)


def stepped(data: bytes, offset: int, size: int) -> list[tuple[int, int]] | str:
    """Find what `scan_run` should, by measuring one frame after the other."""
    found = []
    content = 0
    try:
        for frame in frames_from(Window(RecordingSource(data)), offset):
            if frame.content_size is None:
                break
            found.append((frame.size, frame.content_size))
            content += frame.content_size
            if content >= size:
                break
    except FormatError as error:
        return f"{type(error).__name__} {error.offset}"
    return found


def scanned(source: Fetcher, offset: int, size: int) -> list[tuple[int, int]] | str:
    try:
        run = scan_run(source, offset, size)
    except FormatError as error:
        return f"{type(error).__name__} {error.offset}"
    assert run.content_size == sum(run.content_sizes)
    return list(zip(run.stored_sizes, run.content_sizes, strict=True))


@given(
    st.lists(FRAME_KINDS, min_size=1, max_size=12),
    st.integers(0, 2_000_000),
    st.sampled_from((0, 0, 1, 3, 4, 5, 20, 30)),
    st.integers(0, 40),
)
def test_a_run_is_what_stepping_finds(tmp_path_factory, frames, size, cut, garbage) -> None:
    data = b"".join(frames)
    data = data[: max(len(data) - cut, 0)] + noise(garbage, seed=1)
    path = tmp_path_factory.mktemp("run") / "run.zst"
    path.write_bytes(data)
    expected = stepped(data, 0, size) if size else []
    for source in (open_source(path), open_source(data), RecordingSource(data)):
        fetcher = Fetcher(source, Stats())
        assert scanned(fetcher, 0, size) == expected
        fetcher.close()


def test_a_run_has_the_checksums_that_its_frames_state(tmp_path) -> None:
    contents = [noise(1000, seed=number) for number in range(50)]
    frames = [zstd_frame(content, checksum=number % 7 > 0) for number, content in enumerate(contents)]
    (tmp_path / "run.zst").write_bytes(b"".join(frames))
    fetcher = Fetcher(open_source(tmp_path / "run.zst"), Stats())
    run = scan_run(fetcher, 0, 50_000)
    fetcher.close()
    wanted = [checksum(content) if number % 7 else UNSEEN for number, content in enumerate(contents)]
    assert list(run.checksums) == wanted
    assert not run.is_at_end


@pytest.mark.parametrize("error", [SourceChangedError("it has changed"), TimeoutError("too late")])
def test_errors_of_a_source_come_as_they_are(error: OSError) -> None:
    class Failing(RecordingSource):
        def read(self, start: int, stop: int) -> bytes:
            raise error

    with pytest.raises(type(error)) as caught:
        scan_run(Fetcher(Failing(zstd_frame(DATA)), Stats()), 0, len(DATA))
    assert caught.value is error


def test_a_frame_that_does_not_compress_costs_one_small_read(tmp_path) -> None:
    frame = zstd_frame(noise(128 << 10, seed=5))
    (tmp_path / "run.zst").write_bytes(frame * 64)
    stats = Stats()
    fetcher = Fetcher(open_source(tmp_path / "run.zst"), stats)
    assert len(scan_run(fetcher, 0, 64 * (128 << 10)).stored_sizes) == 64
    fetcher.close()
    assert stats.requests <= 66
    assert stats.bytes_fetched < 70 * 64
