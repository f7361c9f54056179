"""Labelled digests, such as `sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ`.

Source: WARC 1.1, clause 5.8 (`labelled-digest = algorithm ":" digest-value`). The standard prescribes
neither algorithm nor encoding. Most tools write SHA-1 in base32; base16 and both alphabets of base64 occur as
well, in either case, with and without padding.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Final, Literal, Protocol, cast

from seekwarc.compiling import Buffer, mypyc_attr
from seekwarc.errors import FormatError
from seekwarc.format.words import quoted

__all__ = ["Digest", "Hasher", "WrittenAlgorithm", "is_digest_of", "labelled", "usual_sha1"]

WrittenAlgorithm = Literal["sha1", "sha256"]
"""Algorithms that the writer can compute."""

_SIZES: Final = {
    "md5": 16,
    "sha1": 20,
    "sha224": 28,
    "sha256": 32,
    "sha384": 48,
    "sha512": 64,
    "sha3_256": 32,
    "sha3_512": 64,
    "blake2s": 32,
    "blake2b": 64,
    "blake3": 32,
}
"""Bytes of a digest by each algorithm; those of BLAKE2 may be shorter."""
_COMMON: Final = {name: (name, size) for name, size in _SIZES.items() if not name.startswith("blake2")}
_BLAKE2 = re.compile(r"(blake2[bs])_?(\d{1,3})")
_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_BASE32: Final = (_ALPHABET + _ALPHABET[:26].lower()).encode()
_OTHERS: Final = bytes(set(range(256)) - set(_BASE32))
_BASE32_TO_DIGITS: Final = bytes.maketrans(
    _BASE32 + _OTHERS,
    b"0123456789abcdefghijklmnopqrstuv" + b"0123456789abcdefghijklmnop" + b"!" * len(_OTHERS),
)
_PAIRS: Final = [first + second for first in _ALPHABET for second in _ALPHABET]
"""The two digits of base32 for each 10 bits."""
_LABELLED = re.compile(r"([^\s:]+):(\S+)")


class Hasher(Protocol):
    """An object such as `hashlib.new` returns."""

    def update(self, data: Buffer, /) -> object:
        """Add bytes; BLAKE3's method returns itself."""

    def digest(self) -> bytes:
        """Return the digest of all bytes so far."""

    def copy(self) -> Hasher:
        """Return another one that has seen the same bytes."""


@mypyc_attr(native_class=False)
@dataclass(frozen=True, slots=True)
class Digest:
    """A digest as a record header states it, of a known algorithm or not.

    Attributes:
        algorithm: Name of the algorithm, as written.
        value: The digest, as written.

    Example:
        >>> digest = seekwarc.Digest.parse("sha1:2JMJ7L5RSW3YVVLMLQCJ6YXKYVWU4QQY")
        >>> digest.algorithm, digest.raw[:4].hex()
        ('sha1', 'd2589faf')
        >>> digest.key == seekwarc.Digest.parse(f"SHA1:{digest.raw.hex()}").key
        True
    """

    algorithm: str
    value: str

    @classmethod
    def parse(cls, text: str) -> Digest:
        """Parse a labelled digest.

        Raises:
            FormatError: The label or the value is missing.
        """
        match = _LABELLED.fullmatch(text)
        if match is None:
            raise FormatError(
                f"{quoted(text[:40])} is not a digest such as sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"
            )
        return cls(match[1], match[2])

    @classmethod
    def of(cls, algorithm: WrittenAlgorithm, raw: bytes) -> Digest:
        """Label a digest and encode it as other tools do: SHA-1 in base32, SHA-256 in base16."""
        return cls(algorithm, _encoded(algorithm, raw))

    def __str__(self) -> str:
        return f"{self.algorithm}:{self.value}"

    def __reduce__(self) -> tuple[type[Digest], tuple[str, str]]:
        return Digest, (self.algorithm, self.value)

    @property
    def name(self) -> str:
        """The name that `hashlib` has for the algorithm; an unknown name in lower case."""
        return self._name_and_size()[0]

    @property
    def is_known(self) -> bool:
        """Whether the algorithm is known, so that its digests can be decoded."""
        return self.name in _SIZES

    @property
    def raw(self) -> bytes | None:
        """The bytes of the digest; None if the algorithm is unknown or the value malformed."""
        name, size = self._name_and_size()
        return _decoded(self.value, size) if name in _SIZES else None

    @property
    def key(self) -> tuple[str, bytes]:
        """A key that is equal for all spellings of the same digest."""
        name, size = self._name_and_size()
        raw = _decoded(self.value, size) if name in _SIZES else None
        return name, raw if raw is not None else self.value.encode("utf-8", "surrogatepass")

    def hasher(self) -> Hasher | None:
        """Return a new hasher that computes digests of this algorithm and length.

        Returns:
            None if the algorithm is unknown, its package (`blake3`) is not installed, or the value is not
            one of its digests.
        """
        raw = self.raw
        if raw is None:
            return None
        import hashlib

        name = self.name
        if name == "sha1":
            return hashlib.sha1(usedforsecurity=False)
        if name == "blake3":
            return _blake3()
        if name.startswith("blake2"):
            new = hashlib.blake2b if name == "blake2b" else hashlib.blake2s
            return new(digest_size=len(raw))
        # Digests find damage and duplicates here; MD5 is good enough where a file was written with it.
        return hashlib.new(name, usedforsecurity=False)

    def _name_and_size(self) -> tuple[str, int]:
        known = _COMMON.get(self.algorithm)
        if known is not None:
            return known
        name = self.algorithm.lower().replace("-", "_")
        shorter = _BLAKE2.fullmatch(name)
        if shorter:
            bits = int(shorter[2])
            fits = 0 < bits <= _SIZES[shorter[1]] * 8 and bits % 8 == 0
            return (shorter[1], bits // 8) if fits else (name, 0)
        if name not in _SIZES:
            name = name.replace("_", "")
        size = _SIZES.get(name, 0)
        if name.startswith("blake2"):
            # BLAKE2 digests may have any size: the full one, by far the most common, is tried first.
            sizes = (size, *range(1, size))
            size = next((it for it in sizes if _decoded(self.value, it) is not None), size)
        return name, size


# One digest is decoded several times in a row.
@lru_cache(4)
def _decoded(value: str, size: int) -> bytes | None:
    """Decode a value of `size` bytes; base16, base32 and base64 differ in length."""
    value = value.rstrip("=")
    if len(value) == 2 * size:
        decode: Callable[[str], bytes] = bytes.fromhex
    elif len(value) == -(-size * 8 // 5):
        decode = _base32
    elif len(value) == -(-size * 8 // 6):
        value = value.replace("-", "+").replace("_", "/") + "=" * (-len(value) % 4)
        decode = partial(base64.b64decode, validate=True)
    else:
        return None
    try:
        raw = decode(value)
    except (ValueError, binascii.Error):
        return None
    return raw if len(raw) == size else None


def usual_sha1(text: str) -> bytes | None:
    """Return a digest that is written as nearly all are, `sha1:` and base32; None for any other text."""
    if len(text) != 37 or not text.startswith("sha1:"):
        return None
    try:
        return _base32(text[5:])
    except ValueError:
        return None


def is_digest_of(text: str, parts: Iterable[Buffer]) -> bool:
    """Return whether a labelled digest, in any spelling, is known to be that of some bytes."""
    try:
        digest = Digest.parse(text)
    except FormatError:
        return False
    hasher = digest.hasher()
    if hasher is None:
        return False
    for part in parts:
        hasher.update(part)
    return hasher.digest() == digest.raw


def labelled(algorithm: WrittenAlgorithm, raw: bytes) -> str:
    """Return the text of `Digest.of`."""
    return f"{algorithm}:{_encoded(algorithm, raw)}"


def _encoded(algorithm: WrittenAlgorithm, raw: bytes) -> str:
    return _sha1_in_base32(raw) if algorithm == "sha1" else raw.hex()


def _sha1_in_base32(raw: bytes) -> str:
    # Each record has two, and base64.b32encode takes several times as long: it is also written in Python.
    text = ""
    for index in range(0, 20, 5):
        b, c, d = raw[index + 1], raw[index + 2], raw[index + 3]
        first, second = _PAIRS[raw[index] << 2 | b >> 6], _PAIRS[(b & 63) << 4 | c >> 4]
        text += f"{first}{second}{_PAIRS[(c & 15) << 6 | d >> 2]}{_PAIRS[(d & 3) << 8 | raw[index + 4]]}"
    return text


def _base32(value: str) -> bytes:
    # Six times as fast as base64.b32decode, which is written in Python. Other characters make it fail.
    number = int(value.encode("ascii").translate(_BASE32_TO_DIGITS), 32) >> len(value) * 5 % 8
    return number.to_bytes(len(value) * 5 // 8, "big")


def _blake3() -> Hasher | None:
    try:
        from blake3 import blake3
    except ImportError:
        return None
    return cast("Hasher", blake3())
