"""The manifest of the sample files: what is in each of them, and what a reader has to make of it.

Source: spec-notes/warc-zstd-seekable/samples/README.md; for sidecars spec-notes/sidecar.md, section 5. A
manifest may come from anywhere: every field is checked before it is used, and an error names its place in the
file.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Literal, TypeVar, cast

__all__ = [
    "KitError",
    "Manifest",
    "Sample",
    "SampleRange",
    "SampleRecord",
    "SampleSidecar",
    "counted",
    "read_manifest",
]

MANIFEST: Final = "manifest.json"
SPECIFICATIONS: Final = "warc-zstd-seekable", "warc-sidecar"
MAX_MANIFEST: Final = 16 << 20
MAX_RANGE: Final = 64 << 20
"""A longer range, which would be held in memory, is refused."""
MAX_NUMBER: Final = 1 << 63
STEP: Final = 1 << 20

Mode = Literal["large", "every", "none"]
Readable = Literal["all", "some", "none"]
Outcome = Literal["used", "refused", "error"]
T = TypeVar("T")


class KitError(Exception):
    """The samples or the reader cannot be used; the message begins with the name of the file, if any."""

    def __init__(
        self, message: str, path: str | None = None, *, kind: Literal["io", "usage"] = "usage"
    ) -> None:
        super().__init__(message if path is None else f"{path}: {message}")
        self.kind = kind


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: "1 record", "2 records"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


@dataclass(frozen=True, slots=True)
class SampleRange:
    """A range [start, stop) of a record's block."""

    start: int
    stop: int
    """It may lie beyond the end of the block, with which the bytes end then."""
    size: int
    """Of the bytes."""
    sha256: str | None
    """None if a reader must refuse it: the bytes are damaged or missing."""
    offset: int
    """The offset that is given; not always the record's."""
    length: int | None
    """The length that is given, if any; not always the record's."""


@dataclass(frozen=True, slots=True)
class SampleRecord:
    """A record that a reader which ignores tables delivers."""

    offset: int
    length: int | None
    size: int
    """Bytes of the block."""
    sha256: str
    """SHA-256 of the block."""
    complete: bool
    """False if it is cut off or damaged: an error must be reported."""
    has_table: bool
    """Whether a reader may seek in it by a table."""
    ranges: tuple[SampleRange, ...]
    outcome: Outcome | None
    """What becomes of the sidecar in a range of it; None without one."""


@dataclass(frozen=True, slots=True)
class SampleSidecar:
    """A sidecar, sound or not, with which ranges of a sample are to be read."""

    file: str
    """Its name in the folder of the manifest."""
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Sample:
    """A sample file, or one together with a sidecar."""

    file: str
    """Its name in the folder of the manifest."""
    size: int
    sha256: str
    title: str
    valid: bool
    """Whether it, and the sidecar, meet all requirements on files."""
    mode: Mode | None
    """The writer's conformance class that it meets."""
    breaks: tuple[str, ...]
    """The requirements that it breaks, such as "W7"."""
    readable: Readable
    """What of it can be read in order, without tables."""
    records: tuple[SampleRecord, ...]
    sidecar: SampleSidecar | None

    @property
    def name(self) -> str:
        """The name of the file that it is a sample of."""
        return self.file if self.sidecar is None else self.sidecar.file


@dataclass(frozen=True, slots=True)
class Manifest:
    """Sample files and where they are."""

    folder: str
    version: str
    """Version of the specification that the samples are of."""
    samples: tuple[Sample, ...]
    contents: dict[str, bytes]
    """The bytes of ranges by their SHA-256, to judge answers that end early."""

    def path(self, sample: Sample | SampleSidecar) -> str:
        """Return the absolute path of a sample or sidecar."""
        return os.path.join(self.folder, sample.file)

    def check_files(self) -> None:
        """Check that each file is there, and is the one that the manifest describes."""
        for sample in (it for one in self.samples for it in (one, one.sidecar) if it is not None):
            path = self.path(sample)
            try:
                with open(path, "rb") as file:
                    size, digest = os.fstat(file.fileno()).st_size, hashlib.sha256()
                    while size == sample.size and (data := file.read(STEP)):
                        digest.update(data)
            except OSError as error:
                raise KitError(f"cannot be read: {error.strerror or error}", path, kind="io") from error
            if size != sample.size or digest.hexdigest() != sample.sha256:
                raise KitError(
                    "this sample is not the one that its manifest describes: get both again", path=path
                )


def read_manifest(path: str | os.PathLike[str]) -> Manifest:
    """Read a manifest, or that of a folder, and check it and the samples beside it."""
    name = os.path.abspath(path)
    if os.path.isdir(name):
        name = os.path.join(name, MANIFEST)
    try:
        with open(name, "rb") as file:
            data = file.read(MAX_MANIFEST + 1)
    except OSError as error:
        raise KitError(f"cannot be read: {error.strerror or error}", name, kind="io") from error
    if len(data) > MAX_MANIFEST:
        raise KitError(f"a manifest has at most {MAX_MANIFEST} bytes, and this file more", path=name)
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise KitError(f"not a manifest, which is a JSON object: {error}", path=name) from error
    try:
        manifest = _manifest(_Place(value), os.path.dirname(name))
    except KitError as error:
        raise KitError(str(error), name) from None
    manifest.check_files()
    return manifest


class _Place:
    def __init__(self, value: object, name: str = "") -> None:
        self._value = value
        self._name = name

    def wrong(self, what: str) -> KitError:
        """Return the error that this value is not what it has to be."""
        shown = json.dumps(self._value)
        shown = shown if len(shown) <= 60 else f"{shown[:57]}..."
        return KitError(f"the manifest is not valid: {self._name or 'it'} is not {what}, but {shown}")

    def member(self, key: str) -> _Place:
        if not isinstance(self._value, dict):
            raise self.wrong("an object")
        name = f"{self._name}.{key}" if self._name else key
        if key not in self._value:
            raise KitError(f"the manifest is not valid: {name} is missing")
        return _Place(self._value[key], name)

    def has(self, key: str) -> bool:
        """Return whether an object has a member that may be left out."""
        return isinstance(self._value, dict) and key in self._value

    def items(self) -> Iterator[_Place]:
        if not isinstance(self._value, list):
            raise self.wrong("an array")
        for number, item in enumerate(self._value):
            yield _Place(item, f"{self._name}[{number}]")

    def items_by_digest(self) -> dict[str, bytes]:
        """Return what an object has in Base64, each under its SHA-256."""
        if not isinstance(self._value, dict):
            raise self.wrong("an object")
        found = {}
        for digest in self._value:
            place = self.member(digest)
            try:
                found[digest] = base64.b64decode(place.text("[ -~]*"), validate=True)
            except ValueError:
                raise place.wrong("Base64") from None
            if hashlib.sha256(found[digest]).hexdigest() != digest:
                raise place.wrong("what has this SHA-256")
        return found

    def text(self, form: str = ".+", what: str = "a string") -> str:
        """Return a string of the given form, a regular expression."""
        if not isinstance(self._value, str) or not re.fullmatch(form, self._value, re.DOTALL):
            raise self.wrong(what)
        return self._value

    def number(self, least: int = 0, most: int = MAX_NUMBER) -> int:
        value = self._value
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise self.wrong(f"an integer from {least} to {most}")
        return value

    def flag(self) -> bool:
        if not isinstance(self._value, bool):
            raise self.wrong("true or false")
        return self._value

    def one_of(self, *values: str) -> str:
        if self._value not in values:
            raise self.wrong(f"one of {', '.join(values)}")
        return self._value

    def optional(self, read: Callable[[_Place], T]) -> T | None:
        """Return what `read` makes of the value, None of null."""
        return None if self._value is None else read(self)

    def sha256(self) -> str:
        return self.text("[0-9a-f]{64}", "a SHA-256, 64 hexadecimal digits in lower case")


def _manifest(place: _Place, folder: str) -> Manifest:
    place.member("specification").one_of(*SPECIFICATIONS)
    samples = tuple(map(_sample, place.member("files").items()))
    if not samples:
        raise KitError("the manifest is not valid: files is empty")
    seen: set[str] = set()
    for number, sample in enumerate(samples):
        if sample.name in seen:
            raise KitError(f"the manifest is not valid: files[{number}].file is named before")
        seen.add(sample.name)
    contents = place.member("contents").items_by_digest() if place.has("contents") else {}
    return Manifest(folder, place.member("version").text(), samples, contents)


def _sample(place: _Place) -> Sample:
    mode = place.member("mode").optional(lambda it: it.one_of("large", "every", "none"))
    file, size, sha256 = _file(place)
    return Sample(
        file=file,
        size=size,
        sha256=sha256,
        title=place.member("title").text(),
        valid=place.member("valid").flag(),
        mode=cast("Mode | None", mode),
        breaks=tuple(it.text("W[0-9]+", "a requirement") for it in place.member("breaks").items()),
        readable=cast("Readable", place.member("readable").one_of("all", "some", "none")),
        records=tuple(map(_record, place.member("records").items())),
        sidecar=SampleSidecar(*_file(place.member("sidecar"))) if place.has("sidecar") else None,
    )


def _outcome(place: _Place) -> Outcome:
    return cast("Outcome", place.one_of("used", "refused", "error"))


def _file(place: _Place) -> tuple[str, int, str]:
    name = r"[\w+-][\w.+-]*"  # In the folder of the manifest, and nowhere else.
    return (
        place.member("file").text(name, "the name of a file beside the manifest"),
        place.member("size").number(),
        place.member("sha256").sha256(),
    )


def _record(place: _Place) -> SampleRecord:
    table = place.member("table").optional(lambda it: it.member("offset").number())
    size = place.member("size").number()
    offset, length = place.member("offset").number(), place.member("length").optional(_Place.number)
    return SampleRecord(
        offset=offset,
        length=length,
        size=size,
        sha256=place.member("sha256").sha256(),
        complete=place.member("complete").flag(),
        has_table=table is not None,
        ranges=tuple(_range(it, size, offset, length) for it in place.member("ranges").items()),
        outcome=_outcome(place.member("outcome")) if place.has("outcome") else None,
    )


def _range(place: _Place, size: int, offset: int, length: int | None) -> SampleRange:
    digest = place.member("sha256").optional(_Place.sha256)
    limit = MAX_NUMBER - MAX_RANGE if digest is None else size
    start = place.member("start").number(0, limit)
    stop = place.member("end").number(start, start + MAX_RANGE)
    size = stop - start if digest is None else min(stop, size) - start
    if place.has("offset"):
        offset = place.member("offset").number()
    if place.has("length"):
        length = place.member("length").optional(_Place.number)
    return SampleRange(start, stop, size, digest, offset, length)
