"""The kinds of films and sound that are read and written, recognized by how they begin.

libav would find the format of anything by itself, playlists included, and open the files and addresses that
these name. So the format is chosen here, by the first bytes, from a list without such formats.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Final

from seekwarc.errors import UnsupportedError
from seekwarc.inside.film_file import SeekableFile

__all__ = [
    "KINDS",
    "MP4",
    "WAV",
    "FilmKind",
    "has_constant_rate",
    "kind_of",
    "kind_of_name",
]

BEGINNING: Final = 4096
ID3_HEADER: Final = 10
MAX_MP3_HEAD: Final = 64
"""Where the first frame of an MP3 says what follows."""


@dataclass(frozen=True, slots=True)
class FilmKind:
    """A format of films or sound."""

    name: str
    demuxer: str
    """Name of libav's reader."""
    muxer: str
    """Name of libav's writer."""
    suffixes: tuple[str, ...]
    """Endings of file names; the first one for files that have no name yet."""
    video_codec: str | None = None
    """Encoder of pictures for exact cuts; None if they cannot be encoded into this."""
    audio_codec: str = "aac"
    """Encoder of sound for exact cuts."""
    is_encoded_again: bool = False
    """Whether its head describes all samples, so that a part is encoded again, which loses nothing."""


MP4: Final = FilmKind("mp4", "mov", "mp4", (".mp4", ".m4v", ".m4a", ".mov"), "libx264")
MATROSKA: Final = FilmKind("mkv", "matroska", "matroska", (".mkv", ".mka"), "libx264")
WEBM: Final = FilmKind("webm", "matroska", "webm", (".webm",), "libvpx-vp9", "libopus")
MP3: Final = FilmKind("mp3", "mp3", "mp3", (".mp3",), None, "libmp3lame")
OGG: Final = FilmKind("ogg", "ogg", "ogg", (".ogg", ".oga", ".ogv", ".opus"), None, "libopus")
WAV: Final = FilmKind("wav", "wav", "wav", (".wav",), None, "pcm_s16le")
FLAC: Final = FilmKind("flac", "flac", "flac", (".flac",), None, "flac", is_encoded_again=True)
KINDS: Final = (MP4, MATROSKA, WEBM, MP3, OGG, WAV, FLAC)

_BY_MAGIC: Final = {
    b"\x1aE\xdf\xa3": MATROSKA,
    b"OggS": OGG,
    b"RIFF": WAV,
    b"RF64": WAV,
    b"fLaC": FLAC,
}
_BOXES: Final = frozenset(
    (b"ftyp", b"moov", b"mdat", b"free", b"skip", b"wide", b"styp", b"sidx", b"moof", b"pnot")
)
_LISTS: Final = (
    (b"#EXTM3U", "an HLS playlist"),
    (b"ffconcat", "a list of files"),
    (b"v=0", "a session description"),
    (b"[playlist]", "a playlist"),
)
_NAMES: Final = ", ".join(kind.name for kind in KINDS)


def kind_of(file: SeekableFile) -> FilmKind:
    """Return the kind of film that a file holds, by its first bytes.

    Raises:
        UnsupportedError: It is not of one of `KINDS`.
    """
    head = _read(file, 0, BEGINNING)
    is_tagged = head.startswith(b"ID3")
    start = _read(file, _id3_length(head), 4) if is_tagged else head[:4]
    kind = _BY_MAGIC.get(start)
    if kind is MATROSKA and b"\x42\x82\x84webm" in head:
        kind = WEBM
    elif head[4:8] in _BOXES:
        kind = MP4
    elif is_tagged or (len(start) > 1 and start[0] == 0xFF and start[1] & 0xE6 == 0xE2):
        kind = kind or MP3
    if kind is None or (kind is WAV and head[8:12] != b"WAVE"):
        raise UnsupportedError(f"is {_what(head)}, not a film or sound in one of the formats {_NAMES}")
    return kind


def has_constant_rate(kind: FilmKind, file: SeekableFile) -> bool:
    """Tell whether an MP3 says that all its frames have the same size, as LAME and libav write it."""
    if kind is not MP3:
        return False
    head = _read(file, 0, ID3_HEADER)
    return b"Info" in _read(file, _id3_length(head) if head.startswith(b"ID3") else 0, MAX_MP3_HEAD)


def _read(file: SeekableFile, start: int, size: int) -> bytes:
    file.seek(start)
    return file.read(size) or b""


def _id3_length(head: bytes) -> int:
    """Return where the sound begins after ID3 tags: their length has 7 bits a byte (id3v2.4.0, 3.1)."""
    return ID3_HEADER + sum(
        (byte & 127) << shift for byte, shift in zip(head[6:10], (21, 14, 7, 0), strict=False)
    )


def _what(head: bytes) -> str:
    """Say what something is that is not a film."""
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    for beginning, what in _LISTS:
        if start.startswith(beginning):
            return f"{what}, which may name films but holds none"
    if b"<MPD" in head:
        return "a DASH manifest, which may name films but holds none"
    if not head:
        return "empty"
    if start.startswith(b"<"):
        return "HTML or XML"
    return "data of another kind"


def kind_of_name(name: str, default: FilmKind) -> FilmKind:
    """Return the kind that the ending of a file name asks for; a name without an ending takes `default`.

    Raises:
        UnsupportedError: Nothing is written under such an ending.
    """
    suffix = os.path.splitext(name)[1].lower()
    if not suffix or suffix in default.suffixes:
        return default
    for kind in KINDS:
        if suffix in kind.suffixes:
            return kind
    endings = " ".join(suffix for kind in KINDS for suffix in kind.suffixes)
    raise UnsupportedError(f"no clip can be written as {suffix}; name a file with one of {endings}")
