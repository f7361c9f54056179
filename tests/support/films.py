"""What a browser shows of a film, beside what ffmpeg decodes."""

from __future__ import annotations

import hashlib
import io
import math
import struct
import subprocess
from fractions import Fraction
from functools import cache
from pathlib import Path

import pytest

import seekwarc
from tests.support.writing import response

GRAB = """
async (seconds) => {
  const video = document.querySelector("video");
  const seeked = new Promise((done) => video.addEventListener("seeked", done, { once: true }));
  const shown = new Promise((done) => video.requestVideoFrameCallback((_, frame) => done(frame.mediaTime)));
  video.currentTime = seconds;
  await seeked;
  const time = await shown;
  const canvas = new OffscreenCanvas(video.videoWidth, video.videoHeight);
  const paint = canvas.getContext("2d");
  paint.drawImage(video, 0, 0);
  const pixels = paint.getImageData(0, 0, canvas.width, canvas.height).data;
  const grey = [];
  for (let at = 0; at < pixels.length; at += 4) grey.push(pixels[at + 1]);
  return { time, grey };
}
"""


def made_film(path: Path, seconds: int, rate: int) -> None:
    """Make a film of noise, of which no two places are alike: 170 kB a second at a rate of 5."""
    picture = f"testsrc2=size=320x180:rate={rate},noise=alls=24:allf=t"
    source = ["ffmpeg", "-v", "error", "-f", "lavfi", "-i", picture, "-t", str(seconds)]
    codec = ["-c:v", "libx264", "-preset", "ultrafast", "-qp", "24", "-g", "20", "-pix_fmt", "yuv420p"]
    subprocess.run([*source, *codec, "-movflags", "+faststart", path], check=True)


def assert_shows(page, film: Path, seconds: float, rate: int) -> None:
    """Seek to a frame, and compare it with the ones around it as ffmpeg decodes them."""
    got = page.evaluate(GRAB, seconds + 0.5 / rate)
    assert got["time"] == pytest.approx(seconds, abs=0.5 / rate)
    far = distances(bytes(got["grey"]), film, seconds, rate)
    assert min(far, key=far.get) == pytest.approx(seconds), f"at {seconds} s: {far}"
    assert far[min(far, key=far.get)] < 6, "the frame is not what ffmpeg decodes"


def distances(green: bytes, film: Path, seconds: float, rate: int) -> dict[float, float]:
    """Return how far a picture is from each of the frames around a place as ffmpeg decodes them."""
    return {at: _distance(frame, green) for at, frame in _frames_near(film, seconds, rate).items()}


def _frames_near(film: Path, seconds: float, rate: int) -> dict[float, bytes]:
    """Return the green of the frames around a place, as ffmpeg decodes them."""
    first = round(seconds * rate) - 2
    shown = {}
    for number in range(first, first + 5):
        at = number / rate
        command = ["ffmpeg", "-v", "error", "-ss", f"{at:.3f}", "-i", film, "-frames:v", "1"]
        raw = subprocess.run(
            [*command, "-f", "rawvideo", "-pix_fmt", "rgb24", "-"], capture_output=True, check=True
        ).stdout
        shown[at] = raw[1::3]
    return shown


def _distance(one: bytes, other: bytes) -> float:
    return sum(abs(a - b) for a, b in zip(one, other, strict=True)) / len(one)


WIDTH, HEIGHT, RATE, SAMPLES = 320, 180, 25, 48_000
FORMS = {
    "first.mp4": ("mp4", "libx264", "aac", {}),
    "last.mp4": ("mp4", "libx264", "aac", {}),
    "fragmented.mp4": (
        "mp4",
        "libx264",
        "aac",
        {"movflags": "frag_keyframe+empty_moov+default_base_moof"},
    ),
    "film.mkv": ("matroska", "libx264", "aac", {}),
    "film.webm": ("webm", "libvpx", "libopus", {}),
    "sound.mp3": ("mp3", None, "libmp3lame", {}),
    "sound.ogg": ("ogg", None, "libopus", {}),
    "sound.wav": ("wav", None, "pcm_s16le", {}),
    "sound.flac": ("flac", None, "flac", {}),
}
"""Small films of every kind: format, codecs, options."""
VIDEO_OPTIONS = {
    "libx264": {"preset": "ultrafast", "bf": "2", "sc_threshold": "0"},
    "libvpx": {"deadline": "realtime", "cpu-used": "16", "lag-in-frames": "0"},
}


@cache
def small_film(form: str, seconds: int = 6) -> bytes:
    """Make a film of a kind of FORMS: a keyframe every second, every picture and every sound different."""
    av = pytest.importorskip("av")
    if form == "first.mp4":
        return moved_to_front(small_film("last.mp4", seconds))
    muxer, video, audio, options = FORMS[form]
    target = io.BytesIO()
    with av.open(target, "w", format=muxer, options=options) as out:
        pictures = video and out.add_stream(video, rate=RATE, options=VIDEO_OPTIONS[video])
        if pictures:
            pictures.codec_context.thread_count = 1
            pictures.width, pictures.height, pictures.pix_fmt = WIDTH, HEIGHT, "yuv420p"
            pictures.codec_context.gop_size = RATE
            pictures.codec_context.time_base = Fraction(1, RATE)
        sound = out.add_stream(audio, rate=SAMPLES)
        sound.codec_context.layout = "mono"
        for second in range(seconds):
            for number in range(second * RATE, (second + 1) * RATE) if pictures else ():
                for packet in pictures.encode(_picture(av, number)):
                    out.mux(packet)
            for packet in sound.encode(_tone(av, second)):
                out.mux(packet)
        for stream in filter(None, (pictures, sound)):
            for packet in stream.encode(None):
                out.mux(packet)
    return target.getvalue()


def _picture(av, number: int):
    frame = av.VideoFrame(WIDTH, HEIGHT, "yuv420p")
    for place, plane in enumerate(frame.planes):
        plane.update(_pixels(number, place, plane.line_size, plane.height).ljust(plane.buffer_size, b"\0"))
    frame.pts, frame.time_base = number, Fraction(1, RATE)
    return frame


@cache
def _pixels(number: int, place: int, width: int, height: int) -> bytes:
    """Return stripes of which the upper third moves, and a brightness that grows with every picture."""
    row = bytes((column * (3 + place) + number) % 256 for column in range(width))
    moving = [row[shift:] + row[:shift] for shift in range(0, 64, 8)]
    third = height // 3
    return b"".join(moving[(line + number) % len(moving)] for line in range(third)) + row * (height - third)


def _tone(av, second: int):
    frame = av.AudioFrame("s16", "mono", SAMPLES)
    frame.planes[0].update(_wave(220 + 60 * second))
    frame.sample_rate, frame.pts, frame.time_base = SAMPLES, second * SAMPLES, Fraction(1, SAMPLES)
    return frame


@cache
def _wave(pitch: int) -> bytes:
    samples = (int(9000 * math.sin(2 * math.pi * pitch * at / SAMPLES)) for at in range(SAMPLES))
    return struct.pack(f"<{SAMPLES}h", *samples)


def moved_to_front(film: bytes) -> bytes:
    """Move the index of an MP4 from its end to its beginning, as `-movflags faststart` does."""
    boxes, at = {}, 0
    while at < len(film):
        size = int.from_bytes(film[at : at + 4])
        boxes[film[at + 4 : at + 8]] = film[at : at + size]
        at += size
    index = bytearray(boxes.pop(b"moov"))
    for table in range(len(index)):
        if index[table : table + 4] == b"stco":
            (count,) = struct.unpack_from(">I", index, table + 8)
            for entry in range(table + 12, table + 12 + 4 * count, 4):
                (offset,) = struct.unpack_from(">I", index, entry)
                struct.pack_into(">I", index, entry, offset + len(index))
    return b"".join([boxes.pop(b"ftyp"), index, *boxes.values()])


def packets_of(film: bytes) -> dict[str, list[str]]:
    """Return the hashes of the packets of each kind of stream."""
    av = pytest.importorskip("av")
    found: dict[str, list[str]] = {}
    with av.open(io.BytesIO(film)) as container:
        for packet in container.demux():
            if packet.size:
                found.setdefault(packet.stream.type, []).append(hashlib.sha256(bytes(packet)).hexdigest())
    return found


def span_of(film: bytes) -> dict[str, tuple[float, float]]:
    """Return when the first picture or sound of each stream is shown, and when the last one ends."""
    av = pytest.importorskip("av")
    found: dict[str, tuple[float, float]] = {}
    with av.open(io.BytesIO(film)) as container:
        for packet in container.demux():
            if packet.size:
                begin = float(packet.pts * packet.time_base)
                end = begin + float((packet.duration or 0) * packet.time_base)
                low, high = found.get(packet.stream.type, (begin, end))
                found[packet.stream.type] = min(low, begin), max(high, end)
    return found


def film_archive(path: Path, *forms: str, seconds: int = 6, frame_size: int = 64 << 10) -> dict[str, int]:
    """Write an archive of small films at http://example.org/FORM; return where their records are."""
    offsets = {}
    with seekwarc.open(path, "w", frame_size=frame_size, threads=1) as out:
        for form in forms:
            kind = "audio/x" if form.startswith("sound") else "video/mp4"
            block = response(small_film(form, seconds), kind)
            offsets[form] = out.write_response(f"http://example.org/{form}", block).offset
    return offsets
