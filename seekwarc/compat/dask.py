"""Records as a Dask dataframe or bag, whose partitions are parts of files.

A file of 30 GB is many partitions: files are cut as `seekwarc.splits` does it. The dataframe has the columns
of `seekwarc.batches`; those that no later step uses are not read, which Dask finds out by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, Literal, Unpack, cast

import dask.bag
import dask.dataframe
import pandas as pd

from seekwarc.read.options import OpenOptions
from seekwarc.read.record import Record
from seekwarc.read.selection import Selection
from seekwarc.scale.batches import MAX_PAYLOAD, OnError, SelectOptions, batches
from seekwarc.scale.columns import checked_columns
from seekwarc.scale.split import Source, Split, files_of
from seekwarc.scale.splits import TARGET_BYTES, read_records, splits

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["read_warc", "records"]

LABEL: Final = "read-warc"
LARGE: Final = frozenset({"payload", "text"})
"""Columns that make rows large."""
PAYLOAD_TARGET_BYTES: Final = 64 << 20
"""Stored bytes of a partition that holds payloads: a worker needs some six times as much, 400 MiB."""


def read_warc(
    urls: Source | Iterable[Source],
    columns: Iterable[str] | None = None,
    *,
    target_bytes: int | None = None,
    max_payload: int = MAX_PAYLOAD,
    decoded: bool = False,
    main: bool = False,
    on_error: OnError = "row",
    **options: Unpack[SelectOptions],
) -> dask.dataframe.DataFrame:
    """Return the records of files as a dataframe, whose partitions are parts of files.

    Its columns have Arrow types. A worker holds in memory one partition of the columns that are used:
    about `target_bytes` if `payload` is among them, as it is stored, so choose less where it compresses well.

    Args:
        urls: Paths, URLs, folders, patterns (`s3://bucket/*.warc.zst`), or what `seekwarc.splits` made;
            one, or several.
        columns: Names of the columns wanted; if None all but those of text. See `seekwarc.Batches`.
        target_bytes: Stored bytes of a partition, about; by default 64 MiB if `payload` or `text` is among
            the columns, otherwise 256 MiB.
        max_payload: See `seekwarc.batches`, as for the following.
        decoded: Undo content codings of payloads.
        main: Leave menus and the like out of `text`.
        on_error: What becomes of what cannot be read: "row", "skip" or "raise".
        **options: Which records are wanted, see `seekwarc.Conditions`; and options of `seekwarc.open`.

    Raises:
        ValueError: Unknown column, or an argument that is out of range.
        FileNotFoundError: A file is not there, or nothing matches a pattern.

    Example:
        pages = read_warc("s3://bucket/*.warc.zst", type="response")
        pages[pages.http_status == 200].payload_size.sum().compute()
    """
    names = checked_columns(columns)
    reading: dict[str, Any] = {name: _sendable(value) for name, value in options.items()}
    wanted = {"max_payload": max_payload, "decoded": decoded, "main": main, "on_error": on_error, **reading}
    Selection.pop_from(reading)
    if target_bytes is None:
        target_bytes = PAYLOAD_TARGET_BYTES if LARGE.intersection(names) else TARGET_BYTES
    parts = _parts(urls, target_bytes, cast("OpenOptions", reading))
    # The types of no rows are those of any.
    meta = batches((), names, **wanted).to_pandas()
    made: dask.dataframe.DataFrame = dask.dataframe.from_map(
        _partition, parts, columns=list(names), meta=meta, enforce_metadata=False, label=LABEL, **wanted
    )
    return made


def _partition(part: Split, columns: Sequence[str] | None = None, **wanted: Any) -> pd.DataFrame:  # noqa: ANN401
    # The argument `columns` is how Dask says which columns are used.
    return batches(part, columns, **wanted).to_pandas()


def _sendable(value: Any) -> Any:  # noqa: ANN401
    """Return an argument so that each of many partitions can use it: a generator can be used once."""
    return list(value) if isinstance(value, Iterable) and not isinstance(value, str) else value


def _parts(urls: Source | Iterable[Source], target_bytes: int, options: OpenOptions) -> list[Split]:
    given = files_of(urls)
    made = [it for it in given if isinstance(it, Split)]
    names = [it for it in given if isinstance(it, str)]
    return [*made, *splits(names, target_bytes=target_bytes, **options)]


def records(
    urls: Source | Iterable[Source],
    *,
    target_bytes: int = TARGET_BYTES,
    on_error: Literal["raise", "skip"] = "raise",
    **options: Unpack[OpenOptions],
) -> dask.bag.Bag:
    """Return the records of files as a bag, whose partitions are parts of files.

    Its items are open records: use what you need of each in the bag's first step, `map`, `filter` or
    `map_partitions`, which reads one after the other. A record itself does not leave its worker well, since
    where it goes it opens its file again.

    Args:
        urls: As for `read_warc`.
        target_bytes: Stored bytes of a partition, about.
        on_error: Raise where a file is damaged, or go on at the next record that is found.
        **options: Options of `seekwarc.open`.

    Raises:
        FileNotFoundError: A file is not there, or nothing matches a pattern.

    Example:
        sizes = records("s3://bucket/*.warc.zst").map(lambda record: record.payload.size)
        sizes.sum().compute()
    """
    parts = dask.bag.from_sequence(_parts(urls, target_bytes, options), partition_size=1)
    made: dask.bag.Bag = parts.map_partitions(_records_of, on_error=on_error, **options)
    return made


def _records_of(parts: Iterable[Split], **options: Any) -> Iterator[Record]:  # noqa: ANN401
    for part in parts:
        yield from read_records(part, **options)
