"""A data source of Spark: records as rows, whose partitions are parts of files.

spark.dataSource.register(WarcDataSource)
pages = spark.read.format("warc").option("columns", "target_uri,http_status").load("s3://bucket/*.warc.zst")

Spark hands no list of the columns that a query uses to a source in Python, so they are named: by the option
`columns`, or by a schema (`spark.read.schema("target_uri string, http_status short")`). Filters on `type` and
`http_status`, and ranges of `date`, are handed over by Spark 4.1 and newer, if the
option `spark.sql.python.filterPushdown.enabled` is set: of records that they rule out, no more than the head
is read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import datasource as spark
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

from seekwarc.compat.targets import urls_of
from seekwarc.errors import SeekWarcError
from seekwarc.read.selection import date_bound
from seekwarc.scale.batches import batches
from seekwarc.scale.columns import checked_columns, schema_of
from seekwarc.scale.split import Split
from seekwarc.scale.splits import TARGET_BYTES, splits

__all__ = ["WarcDataSource"]

CONDITIONS: Final = {"type": "type", "http_status": "status"}
"""Columns whose filters save reading, and the arguments of `batches` that they become."""
DATE: Final = "date"
NUMBERS: Final = {"targetbytes": "target_bytes", "maxpayload": "max_payload", "minsize": "min_size"}
WORDS: Final = {"onerror": "on_error", "type": "type", "status": "status", "mime": "mime", "uri": "uri"}
"""Options, in lower case as Spark hands them over, and the arguments that they become."""
DATES: Final = ("since", "until")


class WarcDataSource(spark.DataSource):
    """The data source "warc".

    Options, in any case:

    - path: what `load` gives: a path, URL, or pattern of either; or paths, a JSON list of them;
    - columns: names of columns of `seekwarc.Batches`, separated by commas; all by default;
    - targetBytes: stored bytes of a partition, about (256 MiB);
    - maxPayload, decoded, onError: see `seekwarc.batches`;
    - type, status, mime, uri, minSize: see `seekwarc.Conditions`; several values are separated by commas;
    - since, until: the earliest and the latest WARC-Date, such as 2026-11-17T06:00:00Z, or 2026-11, which
      includes all of that month.

    Raises:
        SeekWarcError: An option is unknown, or its value.

    Example:
        spark.dataSource.register(WarcDataSource)
        spark.read.format("warc").load("crawls/*.warc.zst").groupBy("http_mime").count().show()
    """

    @classmethod
    def name(cls) -> str:
        """Return the name for `format`."""
        return "warc"

    def schema(self) -> StructType:
        """Return the types of the columns that the option `columns` names, or of all."""
        return _Schema.of(checked_columns(_Options.of(self.options).columns))

    def reader(self, schema: StructType) -> spark.DataSourceReader:
        """Return what reads these columns."""
        return _Reader(_Options.of(self.options), schema)


class _Schema(StructType):
    """A schema that Sail takes too, which converts those of Spark without the zone of times."""

    @classmethod
    def of(cls, columns: Sequence[str]) -> _Schema:
        return cls(from_arrow_schema(schema_of(columns)).fields)

    @classmethod
    def typeName(cls) -> str:  # noqa: N802 - Spark's name
        """Return the name that Spark has for the type; it would take that of the class."""
        return "struct"

    def __arrow_c_schema__(self) -> object:
        return to_arrow_schema(self, timezone="UTC").__arrow_c_schema__()


@dataclass(frozen=True, slots=True)
class _Options:
    """The options as arguments."""

    paths: tuple[str, ...]
    columns: tuple[str, ...] | None
    target_bytes: int
    wanted: dict[str, Any]
    """Arguments of `batches`."""

    @classmethod
    def of(cls, given: Mapping[str, str]) -> _Options:
        paths: tuple[str, ...] = ()
        columns = None
        wanted: dict[str, Any] = {}
        for written, value in given.items():
            name = written.lower()
            if name == "path":
                paths = (value,)
            elif name == "paths":
                paths = tuple(map(str, json.loads(value)))
            elif name == "columns":
                columns = tuple(it.strip() for it in value.split(","))
            elif name in NUMBERS:
                wanted[NUMBERS[name]] = _number(written, value)
            elif name in DATES:
                wanted[name] = _date(written, value, last=name == "until")
            elif name == "decoded":
                wanted[name] = value.lower() == "true"
            elif name in WORDS:
                several = [it.strip() for it in value.split(",")]
                wanted[WORDS[name]] = several if name != "onerror" else value
            else:
                raise SeekWarcError(f"the source warc has no option {written!r}")
        if not paths:
            raise SeekWarcError("the source warc needs a path: load(path)")
        return cls(paths, columns, wanted.pop("target_bytes", TARGET_BYTES), wanted)


def _number(name: str, value: str) -> int:
    try:
        return int(value)
    except ValueError as error:
        raise SeekWarcError(f"option {name} is {value!r}, not a number") from error


def _date(name: str, value: str, *, last: bool) -> datetime:
    try:
        return date_bound(value, last=last)
    except ValueError as error:
        raise SeekWarcError(f"option {name}: {error}") from error


class _Part(spark.InputPartition):
    def __init__(self, split: Split) -> None:
        self.split = split


class _Reader(spark.DataSourceReader):
    def __init__(self, options: _Options, schema: StructType | pa.Schema) -> None:
        self._options = options
        self._columns = checked_columns(schema.names)
        # Sail hands over the Arrow schema, where Spark has its own.
        is_arrow = isinstance(schema, pa.Schema)
        self._schema: pa.Schema = schema if is_arrow else to_arrow_schema(schema, timezone="UTC")
        self._wanted = dict(options.wanted)

    def pushFilters(self, filters: list[Any]) -> Iterable[Any]:  # noqa: N802 - Spark's name
        """Take what filters rule out as conditions of reading.

        All of them are returned, for Spark to apply them too: rows of errors have no type and no status.
        """
        for it in filters:
            column = ".".join(getattr(it, "attribute", ()))
            name = CONDITIONS.get(column)
            if column == DATE:
                self._limit_dates(it)
            elif name is not None and name not in self._wanted:
                if isinstance(it, spark.EqualTo) and it.value is not None:
                    self._wanted[name] = [it.value]
                elif isinstance(it, spark.In) and None not in it.value:
                    self._wanted[name] = list(it.value)
        return filters

    def _limit_dates(self, condition: Any) -> None:  # noqa: ANN401
        value = getattr(condition, "value", None)
        # For a column without a time zone in the schema, Spark passes no values that have one.
        if not isinstance(value, datetime) or value.tzinfo is None:
            return
        # "After" is taken as "not before": Spark rules out the rows between.
        if isinstance(condition, (spark.EqualTo, spark.GreaterThan, spark.GreaterThanOrEqual)):
            self._wanted["since"] = max(value, self._wanted.get("since", value))
        if isinstance(condition, (spark.EqualTo, spark.LessThan, spark.LessThanOrEqual)):
            self._wanted["until"] = min(value, self._wanted.get("until", value))

    def partitions(self) -> Sequence[spark.InputPartition]:
        names = [name for path in self._options.paths for name in urls_of(path)]
        return [_Part(split) for split in splits(names, target_bytes=self._options.target_bytes)]

    def read(self, partition: spark.InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, _Part)
        for batch in batches(partition.split, self._columns, **self._wanted):
            # Spark has 32-bit offsets only; a batch is far below 2 GiB.
            yield batch.cast(self._schema)
