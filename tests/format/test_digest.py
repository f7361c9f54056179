"""Digests are the same however they are spelt, and never more than they say."""

from __future__ import annotations

import base64
import hashlib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from seekwarc.errors import FormatError
from seekwarc.format.digest import Digest
from tests.support.headers import SPELLINGS

SIZES = {
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
NAMES = {
    "md5": "md5",
    "MD-5": "md5",
    "sha1": "sha1",
    "SHA1": "sha1",
    "sha-1": "sha1",
    "Sha_1": "sha1",
    "sha256": "sha256",
    "SHA-256": "sha256",
    "sha224": "sha224",
    "SHA-384": "sha384",
    "sha-512": "sha512",
    "sha3-256": "sha3_256",
    "SHA3_512": "sha3_512",
    "BLAKE2b": "blake2b",
    "blake2s": "blake2s",
    "BLAKE3": "blake3",
}


@st.composite
def digests(draw: st.DrawFn) -> tuple[str, bytes, str]:
    """Draw the name of an algorithm as hashlib has it, a digest of it, and how both may be written."""
    label = draw(st.sampled_from(sorted(NAMES)))
    name = NAMES[label]
    raw = draw(st.binary(min_size=SIZES[name], max_size=SIZES[name]))
    spelt = SPELLINGS[draw(st.sampled_from(sorted(SPELLINGS)))](raw).decode()
    return name, raw, f"{label}:{spelt}"


@given(digests())
# All characters of these are in each alphabet: the size that the algorithm has must decide.
@example(("blake2b", bytes(64), "blake2b:" + "A" * 86))
@example(("blake2s", bytes(32), "blake2s:" + "A" * 52))
@example(("sha256", bytes(32), "sha256:" + "A" * 43))
def test_a_digest_is_the_same_in_every_spelling(drawn: tuple[str, bytes, str]) -> None:
    name, raw, text = drawn
    digest = Digest.parse(text)
    assert digest.name == name
    assert digest.is_known
    assert digest.raw == raw
    assert digest.key == (name, raw)
    assert str(digest) == text


@pytest.mark.parametrize(
    "label",
    [
        pytest.param(label, marks=pytest.mark.needs("module:blake3") if name == "blake3" else ())
        for label, name in NAMES.items()
    ],
)
def test_the_hasher_computes_the_same_digest(label: str) -> None:
    name = NAMES[label]
    if name == "blake3":
        from blake3 import blake3  # noqa: PLC0415

        raw = blake3(b"some content").digest()
    else:
        raw = hashlib.new(name, b"some content", usedforsecurity=False).digest()
    for spell in SPELLINGS.values():
        digest = Digest.parse(f"{label}:{spell(raw).decode()}")
        hasher = digest.hasher()
        assert hasher is not None
        hasher.update(b"some ")
        hasher.update(memoryview(b"content"))
        assert hasher.digest() == raw == digest.raw


@pytest.mark.parametrize("size", [1, 20, 32, 48, 64])
@pytest.mark.parametrize("label", ["blake2b-{bits}", "BLAKE2b_{bits}", "blake2b{bits}", "blake2b"])
def test_digests_of_blake2_may_be_shorter(label: str, size: int) -> None:
    raw = hashlib.blake2b(b"some content", digest_size=size).digest()
    digest = Digest.parse(f"{label.format(bits=8 * size)}:{raw.hex()}")
    assert digest.name == "blake2b"
    assert digest.raw == raw
    hasher = digest.hasher()
    assert hasher is not None
    hasher.update(b"some content")
    assert hasher.digest() == raw


@pytest.mark.parametrize("size", [0, 65, 124])
@pytest.mark.parametrize("label", ["blake2b-{bits}", "blake2s-{bits}"])
def test_no_digest_of_blake2_is_longer_than_it_can_be(label: str, size: int) -> None:
    digest = Digest.parse(f"{label.format(bits=8 * size)}:{'00' * size or '='}")
    assert digest.raw is None
    assert digest.hasher() is None


def test_no_digest_of_blake2s_has_more_than_32_bytes() -> None:
    for text in ("blake2s-512:" + "00" * 64, "blake2s:" + "00" * 33):
        assert Digest.parse(text).raw is None
        assert Digest.parse(text).hasher() is None


@given(digests(), st.data())
def test_a_damaged_value_is_no_digest(drawn: tuple[str, bytes, str], data: st.DataObject) -> None:
    name, _, text = drawn
    label, _, value = text.partition(":")
    value = value.rstrip("=")
    where = data.draw(st.integers(0, len(value)))
    broken = value[:where] + data.draw(st.sampled_from("!@#%*{\u00e9\u0662")) + value[where + 1 :]
    digest = Digest.parse(f"{label}:{broken}")
    assert digest.is_known
    assert digest.raw is None
    assert digest.hasher() is None
    assert digest.key == (name, broken.encode())


def test_a_letter_outside_ascii_is_not_base32() -> None:
    # "\u0131".upper() is "I", and "\u017f".upper() is "S".
    for letter in "\u0131\u017f":
        assert Digest.parse("sha1:" + letter + "a" * 31).raw is None


@pytest.mark.parametrize("value", ["", "0", "0" * 39, "0" * 41, "A" * 31, "A" * 33, "A" * 26, "A" * 28])
def test_a_value_of_the_wrong_length_is_no_digest(value: str) -> None:
    digest = Digest("sha1", value)
    assert digest.is_known
    assert digest.raw is None
    assert digest.hasher() is None


@pytest.mark.parametrize("text", ["tiger:ABC", "crc32:00000000", "sha9:AA", "urn:sha1:ABC", "\u00e9:x"])
def test_an_unknown_algorithm_is_kept(text: str) -> None:
    digest = Digest.parse(text)
    assert str(digest) == text
    assert digest.raw is None
    assert digest.hasher() is None
    label, _, value = text.partition(":")
    assert not digest.is_known
    assert digest.key == (label.lower(), value.encode())


@pytest.mark.parametrize(
    "text",
    ["", ":", "sha1", "sha1:", ":ABC", "sha1: ABC", "sha1:AB C", "sha1:ABC ", " sha1:ABC", "sha 1:ABC"],
)
def test_what_is_not_a_labelled_digest_is_refused(text: str) -> None:
    with pytest.raises(FormatError, match="is not a digest"):
        Digest.parse(text)


labels = st.one_of(
    st.sampled_from([*NAMES, "blake2b-8", "blake2s-999", "blake2b-0", "blake2b-\u0663"]), st.text(max_size=12)
)


@given(labels, st.one_of(st.text(max_size=140), st.text("0123456789abcdefABCDEF=", max_size=140)))
@example("blake2b-999", "00" * 124)
@example("blake2b-0", "=")
def test_any_text_is_a_digest_or_a_format_error(label: str, value: str) -> None:
    try:
        digest = Digest.parse(f"{label}:{value}")
    except FormatError:
        return
    assert str(digest) == f"{label}:{value}"
    hasher, raw = digest.hasher(), digest.raw
    assert digest.key[0] == digest.name
    # What can be computed can be compared with, and the other way round.
    assert (hasher is None) == (raw is None)
    if hasher is not None and raw is not None:
        assert len(hasher.digest()) == len(raw)


@given(st.binary(min_size=20, max_size=20), st.binary(min_size=32, max_size=32))
def test_digests_are_written_as_others_write_them(short: bytes, long: bytes) -> None:
    sha1, sha256 = Digest.of("sha1", short), Digest.of("sha256", long)
    assert str(sha1) == "sha1:" + base64.b32encode(short).decode()
    assert str(sha256) == "sha256:" + long.hex()
    assert Digest.parse(str(sha1)) == sha1
    assert (sha1.raw, sha256.raw) == (short, long)


def test_the_digest_of_an_empty_payload_by_wget_and_heritrix() -> None:
    assert Digest.parse("sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ").raw == hashlib.sha1().digest()
    assert Digest.parse("md5:d41d8cd98f00b204e9800998ecf8427e").raw == hashlib.md5().digest()
