"""What a browser shows of a film, beside what ffmpeg decodes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

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
    near = _frames_near(film, seconds, rate)
    far = {at: _distance(frame, bytes(got["grey"])) for at, frame in near.items()}
    assert min(far, key=far.get) == pytest.approx(seconds), f"at {seconds} s: {far}"
    assert far[min(far, key=far.get)] < 6, "the frame is not what ffmpeg decodes"


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
