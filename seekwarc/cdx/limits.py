"""Limits of indexes; the command has options for them, and does not load what reads indexes."""

from __future__ import annotations

from typing import Final

from seekwarc.options import SIZES, Options, option

__all__ = ["MAX_BLOCK_SIZE", "MAX_CELL_SIZE", "MAX_GROUP_SIZE", "IndexLimits"]

MAX_BLOCK_SIZE: Final = 8 << 20
"""Blocks of clusters usually have 300 to 3000 lines, which is 0.1 to 1.5 MiB."""
MAX_CELL_SIZE: Final = 1 << 20
"""URLs have some hundred bytes, and the longest that crawlers keep some ten thousand."""
MAX_GROUP_SIZE: Final = 256 << 20
"""The row groups of Common Crawl's index have some 100 MB."""


class IndexLimits(Options):
    """How much memory an index may take, in bytes; see `Index`."""

    max_block_size: int = option(
        default=MAX_BLOCK_SIZE,
        values=SIZES,
        flag="--max-block",
        metavar="SIZE",
        help="largest block of a ZipNum cluster to decompress (default: 8M)",
    )
    max_cell_size: int = option(
        default=MAX_CELL_SIZE,
        values=SIZES,
        flag="--max-cell",
        metavar="SIZE",
        help="longest text in a row of a Parquet index (default: 1M)",
    )
    max_group_size: int = option(
        default=MAX_GROUP_SIZE,
        values=SIZES,
        flag="--max-group",
        metavar="SIZE",
        help="largest row group of a Parquet index to decompress (default: 256M)",
    )
