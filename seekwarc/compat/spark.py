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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import datasource as spark
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

from seekwarc.errors import SeekWarcError
from seekwarc.format.conditions import date_bound, parse_size
from seekwarc.scale.batches import batches
from seekwarc.scale.columns import checked_columns, schema_of
from seekwarc.scale.split import Split
from seekwarc.scale.splits import TARGET_BYTES, splits

__all__ = ["WarcDataSource"]

CONDITIONS: Final = {"type": "type", "http_status": "status"}
"""Columns whose filters save reading, and the arguments of `batches` that they become."""
DATE: Final = "date"


class WarcDataSource(spark.DataSource):
    """The data source "warc".

    Options, in any case:

    - path: what `load` gives: a path, URL, or pattern of either; or paths, a JSON list of them;
    - columns: names of columns of `seekwarc.Batches`, separated by commas; by default all but those of
      text;
    - targetBytes: stored bytes of a partition, about (256 MiB);
    - maxPayload, decoded, main, onError: see `seekwarc.batches`;
    - type, status, mime, uri, host, minSize: see `seekwarc.Conditions`; several values are separated by
      commas;
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
        return _Schema.of(checked_columns(_arguments(self.options)["columns"]))

    def reader(self, schema: StructType) -> spark.DataSourceReader:
        """Return what reads these columns."""
        return _Reader(_arguments(self.options), schema)


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


def _several(value: str) -> list[str]:
    return [it.strip() for it in value.split(",")]


OPTIONS: Final[dict[str, tuple[str, Callable[[str], Any]]]] = {
    "path": ("paths", lambda path: [path]),
    "paths": ("paths", json.loads),
    "columns": ("columns", _several),
    "targetbytes": ("target_bytes", parse_size),
    "maxpayload": ("max_payload", parse_size),
    "decoded": ("decoded", lambda value: value.lower() == "true"),
    "main": ("main", lambda value: value.lower() == "true"),
    "onerror": ("on_error", str),
    "type": ("type", _several),
    "status": ("status", _several),
    "mime": ("mime", _several),
    "uri": ("uri", _several),
    "host": ("host", _several),
    "minsize": ("min_size", parse_size),
    "since": ("since", partial(date_bound, last=False)),
    "until": ("until", partial(date_bound, last=True)),
}
"""Options, in lower case as Spark hands them over: the arguments that they become, and how."""


def _arguments(given: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {"columns": None, "target_bytes": TARGET_BYTES}
    for option, value in given.items():
        if option.lower() not in OPTIONS:
            raise SeekWarcError(f"the source warc has no option {option!r}")
        name, parse = OPTIONS[option.lower()]
        try:
            found[name] = parse(value)
        except ValueError as error:
            raise SeekWarcError(f"option {option}: {error}") from error
    if not found.get("paths"):
        raise SeekWarcError("the source warc needs a path: load(path)")
    return found


class _Part(spark.InputPartition):
    def __init__(self, split: Split) -> None:
        self.split = split


class _Reader(spark.DataSourceReader):
    def __init__(self, arguments: dict[str, Any], schema: StructType | pa.Schema) -> None:
        self._paths: list[str] = arguments.pop("paths")
        self._target_bytes: int = arguments.pop("target_bytes")
        del arguments["columns"]
        self._wanted = arguments
        self._columns = checked_columns(schema.names)
        # Sail hands over the Arrow schema, where Spark has its own.
        is_arrow = isinstance(schema, pa.Schema)
        self._schema: pa.Schema = schema if is_arrow else to_arrow_schema(schema, timezone="UTC")

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
        return [_Part(split) for split in splits(self._paths, target_bytes=self._target_bytes)]

    def read(self, partition: spark.InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, _Part)
        for batch in batches(partition.split, self._columns, **self._wanted):
            # Spark has 32-bit offsets only; a batch is far below 2 GiB.
            yield batch.cast(self._schema)
