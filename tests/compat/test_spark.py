"""The data source of Spark, on Sail, a server that needs no Java."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

import seekwarc
from tests.support.crawls import crawls

pytestmark = [
    pytest.mark.slow,
    pytest.mark.needs("module:pysail"),
    # Of pyspark, about new versions of pandas, and of records that share their frame.
    pytest.mark.filterwarnings("ignore"),
]
FILES = 8


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    made = tmp_path_factory.mktemp("crawls")
    for name, data in crawls(FILES):
        (made / name).write_bytes(data)
    return str(made)


def ordered(table: pa.Table) -> list[dict]:
    return sorted(table.to_pylist(), key=lambda row: (row["filename"], row["offset"] or -1))


def test_rows_are_those_of_a_plain_loop(folder, spark) -> None:
    frame = spark.read.format("warc").option("targetBytes", 30_000).load(f"{folder}/*.warc.*")
    paths = [f"{folder}/{name}" for name, _ in crawls(FILES)]
    plain = ordered(pa.table(seekwarc.batches(paths)))
    assert ordered(frame.toArrow()) == plain
    assert frame.groupBy("type").count().count() == len({row["type"] for row in plain})

    wanted = frame.filter("type = 'response' and http_status in (200, 404)").toArrow()
    assert wanted.num_rows == sum(row["http_status"] in (200, 404) for row in plain) == 30


def test_options_choose_columns_and_records(folder, spark) -> None:
    reader = spark.read.format("warc").option("columns", "type, payload_size").option("onError", "skip")
    frame = reader.option("type", "warcinfo").load(f"{folder}/001.warc.zst")
    assert frame.columns == ["type", "payload_size"]
    assert [row.type for row in frame.collect()] == ["warcinfo"]
    for option, told in (
        ("colour", "no option"),
        ("maxPayload", "not a size"),
        ("columns", "unknown column"),
    ):
        reader = spark.read.format("warc").option(option, "blue")
        with pytest.raises(Exception, match=told):
            reader.load(folder).collect()


def test_filters_that_are_handed_over_save_reading(folder) -> None:
    from pyspark.sql.datasource import EqualTo, In, IsNull  # noqa: PLC0415

    from seekwarc.compat.spark import WarcDataSource  # noqa: PLC0415

    source = WarcDataSource({"path": f"{folder}/00[12].warc.zst", "columns": "type,payload"})
    reader = source.reader(source.schema())
    filters = [EqualTo(("type",), "warcinfo"), In(("http_status",), (200, None)), IsNull(("error",))]
    assert list(reader.pushFilters(filters)) == filters, "Spark applies them too: errors are rows"
    rows = [row for part in reader.partitions() for batch in reader.read(part) for row in batch.to_pylist()]
    assert {row["type"] for row in rows} == {"warcinfo"}


DATES = ("2026-11-15T00:00:00Z", "2026-11-16T06:00:00.123456789Z", "2026-11-16T06:00:00.123457Z", "never")
INSTANT = datetime(2026, 11, 16, 6, 0, 0, 123456, tzinfo=UTC)
TICK = timedelta(microseconds=1)


def test_options_limit_the_dates_of_records(tmp_path) -> None:
    from seekwarc.compat.spark import WarcDataSource  # noqa: PLC0415

    path = str(tmp_path / "dated.warc.zst")
    with seekwarc.open(path, "w") as out:
        for date in ("2026-10-31T23:59:59Z", "2026-11-01T00:00:00Z", "2026-11-30T23:59:59Z", "2026-12-01"):
            out.write_resource("urn:example:a", b"", "text/plain", date=date)
    source = WarcDataSource({"path": path, "columns": "date", "Since": "2026-11", "until": "2026-11"})
    reader = source.reader(source.schema())
    found = [row for part in reader.partitions() for batch in reader.read(part) for row in batch.to_pylist()]
    assert [row["date"].day for row in found] == [1, 30]
    with pytest.raises(seekwarc.SeekWarcError, match="option since: 'soon' is not a date"):
        WarcDataSource({"path": path, "since": "soon"}).schema()


def test_ranges_of_dates_that_are_handed_over_save_reading(tmp_path) -> None:
    from pyspark.sql.datasource import (  # noqa: PLC0415
        EqualTo,
        GreaterThan,
        GreaterThanOrEqual,
        LessThan,
        LessThanOrEqual,
    )

    from seekwarc.compat.spark import WarcDataSource  # noqa: PLC0415

    head = "WARC/1.1\r\nWARC-Type: resource\r\nWARC-Date: {}\r\nContent-Length: 0\r\n\r\n\r\n\r\n"
    (tmp_path / "dated.warc").write_text("".join(map(head.format, DATES)), newline="")

    def read(*filters: object) -> list[datetime | None]:
        source = WarcDataSource({"path": str(tmp_path / "dated.warc"), "columns": "date"})
        reader = source.reader(source.schema())
        assert list(reader.pushFilters(list(filters))) == list(filters)
        parts = reader.partitions()
        return [row["date"] for part in parts for batch in reader.read(part) for row in batch.to_pylist()]

    day, *rest = dates = read()[:3]
    date = ("date",)
    assert rest == [INSTANT, INSTANT + TICK]
    assert read(GreaterThanOrEqual(date, INSTANT), LessThanOrEqual(date, INSTANT)) == [INSTANT]
    assert read(EqualTo(date, INSTANT)) == [INSTANT]
    assert read(LessThan(date, INSTANT), LessThanOrEqual(date, day), GreaterThan(date, day - TICK)) == [day]
    assert read(GreaterThan(date, INSTANT + TICK)) == [INSTANT + TICK], "Spark rules out the one"
    for spoken_otherwise in ("2026", None, INSTANT.replace(tzinfo=None)):
        assert read(EqualTo(date, spoken_otherwise)) == [*dates, None]
