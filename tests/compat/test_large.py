"""200 files, one of 2 GiB, read by the workers of Dask and Spark from a server that speaks as S3 does."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Self

import pytest

import seekwarc
from tests.support.crawls import crawls, kill_once
from tests.support.foreign import Foreign
from tests.support.s3 import folder_as_bucket
from tests.support.writing import MIB, Repeated, noise

pytestmark = [
    pytest.mark.large,
    pytest.mark.slow,
    pytest.mark.needs("module:obstore"),
    pytest.mark.filterwarnings("ignore"),
]
FILES = 200
FILM = 1536 * MIB
PAGES = 512 * MIB
PAGE = 100_000
TARGET = 32 * MIB
"""Dask has a partition in memory, payloads included, up to twice."""
MAX_MEMORY = 400 * MIB
ROWS = ["filename", "offset", "length", "record_id", "type", "payload_size", "payload", "error"]


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[seekwarc.Split]]:
    """Write the files, plan them, and replace one afterwards."""
    folder = tmp_path_factory.mktemp("bucket")
    for name, data in crawls(FILES - 1):
        (folder / name).write_bytes(data)
    with seekwarc.open(folder / "large.warc.zst", "w") as out:
        for number in range(PAGES // PAGE):
            if number == PAGES // PAGE // 3:
                out.write(
                    "resource", target_uri="urn:film", block=Repeated(noise(4 * MIB), FILM), length=FILM
                )
            out.write_resource(f"urn:{number}", noise(PAGE, seed=number), "text/plain")
    with folder_as_bucket(folder) as bucket:
        urls = [f"{bucket}/{path.name}" for path in sorted(folder.iterdir())]
        planned = list(seekwarc.splits(urls, target_bytes=TARGET))
        (folder / "010.warc.zst").write_bytes(Foreign().record(b"replaced").bytes())
        yield planned
    # Else the last three runs of pytest keep theirs.
    (folder / "large.warc.zst").unlink()


def digest(payload: bytes | None) -> str | None:
    return hashlib.sha256(payload).hexdigest() if payload is not None else None


def row(values: Iterable[Any]) -> tuple[Any, ...]:
    """Return the values of a row in the order of `ROWS`, without what engines have instead of None."""
    return tuple(value if isinstance(value, str | int) else None for value in values)


@pytest.fixture(scope="module")
def plain(parts: list[seekwarc.Split]) -> Counter[tuple[Any, ...]]:
    """Read all of it with a loop, in which payloads become digests."""
    rows: Counter[tuple[Any, ...]] = Counter()
    with Reported("a plain loop"):
        for batch in seekwarc.batches(parts, ROWS):
            for it in batch.to_pylist():
                rows[row({**it, "payload": digest(it["payload"])}.values())] += 1
    assert max(rows.values()) == 1, "each record once"
    assert rows.total() > 3 * FILES + PAGES // PAGE
    wrong = {it[0].rpartition("/")[2][:3] for it in rows if it[-1] is not None}
    assert wrong == {"003", "004", "005", "010"}
    (film,) = (it for it in rows if it[5] == FILM)
    assert film[6:] == (None, None)
    return rows


def peak(*, forget: bool = False) -> int:
    """Return the most memory that this process had at a time since it last forgot."""
    with open("/proc/self/status") as status:
        found = next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) << 10
    if forget:
        Path("/proc/self/clear_refs").write_text("5")
    return found


class Reported:
    """Tells how long something took, and the peak memory of this process."""

    def __init__(self, what: str, peaks: Callable[[], Iterable[int]] = lambda: [peak()]) -> None:
        self._what = what
        self._peaks = peaks
        self.memory = 0

    def __enter__(self) -> Self:
        peak(forget=True)
        return self

    def __exit__(self, *_: object) -> None:
        peaks = list(self._peaks())
        self.memory = max(peaks)
        print(f"{self._what}: peak memory {[it // MIB for it in peaks]} MiB")


def with_digests(frame: Any) -> Any:
    """Replace payloads by digests; a module's function, for workers must find it."""
    return frame.assign(payload=[digest(it) if isinstance(it, bytes) else None for it in frame.payload])


@pytest.mark.needs("module:distributed")
def test_dask_finds_the_rows_of_a_plain_loop(parts, plain, tmp_path) -> None:
    from distributed import Client, LocalCluster  # noqa: PLC0415

    from seekwarc.compat.dask import read_warc  # noqa: PLC0415

    marker = tmp_path / "killed"
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as made,
        Client(made) as client,
        Reported("Dask, two workers, one of them killed", lambda: client.run(peak).values()) as spent,
    ):
        frame = read_warc(parts, ROWS).map_partitions(kill_once, str(marker)).map_partitions(with_digests)
        found = frame.compute()
    assert marker.exists()
    assert Counter(map(row, found.itertuples(index=False))) == plain
    assert spent.memory < MAX_MEMORY


@pytest.mark.needs("module:pysail")
def test_spark_finds_the_rows_of_a_plain_loop(parts, plain, spark) -> None:
    import json  # noqa: PLC0415

    urls = sorted({part.filename for part in parts})
    reader = spark.read.format("warc").option("targetBytes", TARGET).option("columns", ",".join(ROWS))
    with Reported("Spark (Sail), in this process"):
        columns = [f"sha2(payload, 256) as {name}" if name == "payload" else name for name in ROWS]
        found = reader.option("paths", json.dumps(urls)).load().selectExpr(*columns).toArrow()
    # It planned the file that was replaced when it had been.
    same = Counter({it: count for it, count in plain.items() if "/010." not in it[0]})
    rows = Counter(row(it.values()) for it in found.to_pylist())
    assert Counter({it: count for it, count in rows.items() if "/010." not in it[0]}) == same
    assert rows.total() == same.total() + 1
