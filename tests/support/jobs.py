"""Every verb that writes files, on small sources: what it is to make, and whether that is whole."""

from __future__ import annotations

import io
import os
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import zstandard

import seekwarc
from tests.support.durability import APPEND
from tests.support.foreign import Foreign, some_dictionary, text
from tests.support.partial import PartsWriter
from tests.support.writing import noise

BEFORE = b"what was there before"
SIZE = "--frame-size=64K"


@dataclass(frozen=True)
class Job:
    """A verb at work.

    Attributes:
        words: What it is told, the folder of its sources as {}; and --force, where its files may be there.
        made: The files that it makes, in the order in which they get their names.
        status: How it ends.
        replaces: Whether they may be there before.
        together: Whether there are all of them or none.
    """

    words: str
    made: tuple[str, ...]
    status: int = 0
    replaces: bool = True
    together: bool = False

    def begin(self, folder: Path, sources: Path) -> tuple[str, ...]:
        """Prepare a folder; return the words."""
        folder.mkdir(parents=True)
        for name in self.made:
            if self.words.startswith(APPEND):
                shutil.copy(sources / "a.warc.zst", folder / name)
            elif self.replaces:
                (folder / name).parent.mkdir(exist_ok=True)
                (folder / name).write_bytes(BEFORE)
        return self.arguments(sources)

    def arguments(self, sources: Path) -> tuple[str, ...]:
        """Return its arguments, for sources in a folder."""
        force = ["--force"] * (self.replaces and not self.words.startswith(APPEND))
        return tuple(word.format(sources) for word in [*self.words.split(), *force])


JOBS = {
    "convert": Job(f"convert {{}}/a.warc.zst new.warc.zst {SIZE}", ("new.warc.zst",)),
    "convert to gz": Job("convert {}/a.warc.zst new.warc.gz", ("new.warc.gz",)),
    "convert to warc": Job("convert {}/a.warc.zst new.warc", ("new.warc",)),
    "convert with train": Job("convert {}/pages.warc new.warc.zst --dictionary train", ("new.warc.zst",)),
    "pack": Job(f"pack {{}}/things -o new.warc.zst {SIZE}", ("new.warc.zst",)),
    "recover": Job("recover {}/damaged.warc.zst new.warc.zst --partial", ("new.warc.zst",), status=1),
    "concat": Job(
        "concat {}/a.warc.zst {}/b.warc.gz -o new.warc.zst".replace("{}", "{0}"), ("new.warc.zst",)
    ),
    "split": Job(
        "split {}/a.warc.zst -o part --records 1",
        tuple(f"part-{number:05}.warc.zst" for number in range(4)),
        replaces=False,
        together=True,
    ),
    "dedupe": Job(
        "dedupe {}/a.warc.zst {}/twice.warc.gz -o new.warc.zst".replace("{}", "{0}"), ("new.warc.zst",)
    ),
    "dedupe each": Job(
        "dedupe {}/a.warc.zst {}/twice.warc.gz --to-dir new".replace("{}", "{0}"),
        ("new/a.warc.zst", "new/twice.warc.zst"),
        replaces=False,
        together=True,
    ),
    "filter": Job(
        "filter {}/a.warc.zst --not-ids {}/ids.txt -o new.warc.zst".replace("{}", "{0}"), ("new.warc.zst",)
    ),
    "filter to a series": Job(
        "filter {}/a.warc.zst --type resource --max-size 151700 -o part",
        tuple(f"part-{number:05}.warc.zst" for number in range(2)),
        replaces=False,
        together=True,
    ),
    "redact": Job(
        "redact {}/a.warc.zst --ids {}/ids.txt -o new.warc.zst".replace("{}", "{0}"), ("new.warc.zst",)
    ),
    "redact each": Job(
        "redact {}/a.warc.zst {}/b.warc.gz --ids {}/ids.txt --to-dir new".replace("{}", "{0}"),
        ("new/a.warc.zst", "new/b.warc.zst"),
        replaces=False,
        together=True,
    ),
    "join": Job("join {}/parts.warc.zst -o new.warc.zst", ("new.warc.zst",)),
    "train": Job("dictionary train {}/pages.warc -o new.dict", ("new.dict",)),
    "dictionary extract": Job("dictionary extract {}/with.warc.zst -o new.dict", ("new.dict",)),
    "demo": Job("demo new --size 100K", ("new/demo.warc.zst", "new/demo.warc.gz")),
    "append": Job("append old.warc.zst", ("old.warc.zst",)),
}


def make_sources(folder: Path) -> None:
    """Make what the jobs read."""
    made = Foreign().record(noise(500)).record(b"a page")
    made.record(noise(150_000), cuts=64 << 10, table=True).record(text(3000))
    first, last = made.records[1].offset, made.records[-1].offset
    data = bytearray(made.file_table().bytes())
    (folder / "a.warc.zst").write_bytes(data)
    data[first + 40] ^= 1
    data[last - 20_000] ^= 1
    (folder / "damaged.warc.zst").write_bytes(data)
    (folder / "b.warc.gz").write_bytes(Foreign().record(b"1").record(noise(100_000)).gzip().bytes())
    (folder / "twice.warc.gz").write_bytes(captured_twice())
    made = Foreign()
    for seed in range(150):
        made.record(text(400 + seed, seed=seed))
    (folder / "pages.warc").write_bytes(made.plain().bytes())
    made = Foreign().dictionary(compressed=True, dictionary=some_dictionary())
    (folder / "with.warc.zst").write_bytes(made.record(b"x").bytes())
    made = Foreign()
    for number in range(600):
        made.record(b"%d" % number, checksum=False)
    (folder / "many.warc.zst").write_bytes(made.bytes())
    with seekwarc.open(folder / "a.warc.zst") as archive:
        (folder / "ids.txt").write_text(next(iter(archive)).id or "")
    parts = PartsWriter(noise(200_000))
    for start in (0, 90_000):
        parts.part(start, start + 110_000)
    (folder / "parts.warc.zst").write_bytes(parts.done())
    (folder / "things").mkdir()
    (folder / "things" / "large").write_bytes(noise(150_000))
    (folder / "things" / "small").write_bytes(text(200))


def captured_twice() -> bytes:
    """Return a file whose large record has the payload of the one in a.warc.zst, and one of its own."""
    stored = io.BytesIO()
    with seekwarc.open(stored, "w", compression="gz") as out:
        for number, size in enumerate((150_000, 150_000, 30_000)):
            out.write_resource(
                f"http://example.org/{number}",
                noise(size, number // 2),
                "text/plain",
                record_id=f"urn:x:{number}",
                date="2026-11-16T06:00:00Z",
            )
    return stored.getvalue()


def contents(path: Path, *, cut: bool = False) -> list[object]:
    """Everything that is in a file, but for what is never the same twice; it must be whole unless `cut`."""
    if path.suffix == ".dict":
        dictionary = path.read_bytes()
        return [len(dictionary) // 1024, zstandard.ZstdCompressionDict(dictionary).dict_id() > 0]
    found: list[object] = []
    with seekwarc.open(path) as archive, suppress(*[seekwarc.FormatError] * cut):
        found.extend((record.type, record.target_uri, record.block.read()) for record in archive)
    return found


def names_below(folder: Path) -> set[str]:
    """Name all files below a folder, and the folders that are empty."""
    return {
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if not (path.is_dir() and any(path.iterdir()))
    }


def files_made(job: Job, folder: Path, whole: Path, sources: Path, *, killed: bool = False) -> int:
    """Assert that each file is what the verb makes or what was there before, and that there is nothing else.

    Args:
        job: The verb.
        folder: Where it ran.
        whole: Where it ran undisturbed.
        sources: What it read.
        killed: It could take nothing away: hidden files may be there, and what was appended may be cut off.

    Returns:
        How many files were made.
    """
    names = {name for name in names_below(folder) if not (killed and ".partial" in name)}
    if not job.replaces:
        # The folder for new files is made first.
        names -= {os.path.dirname(name) for name in job.made}
    assert names <= {*job.made}, f"{names - {*job.made}} should not be there"
    assert names == {*job.made} or not job.replaces, f"{ {*job.made} - names } is gone"
    made = []
    for name in sorted(names):
        data = (folder / name).read_bytes()
        if job.words.startswith(APPEND):
            old, found = contents(sources / "a.warc.zst"), contents(folder / name, cut=killed)
            assert found[: len(old)] == old, "records that were there are gone"
            if killed or data == (sources / "a.warc.zst").read_bytes():
                continue
        elif data == BEFORE:
            continue
        assert contents(folder / name) == contents(whole / name), f"{name} is not whole"
        made.append(name)
    # No two files get their names at once: killed between them, it leaves the first ones.
    possible = range(len(job.made) + 1) if killed else (0, len(job.made))
    assert not job.together or {*made} in [{*job.made[:count]} for count in possible], "some were made"
    return len(made)
