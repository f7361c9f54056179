"""Making CDXJ and columnar indexes: a sorted line for each capture in WARC files.

The lines are those of cdxj-indexer, for .warc.zst, .warc.gz and .warc. Only the HTTP head of large records is
decompressed, unless the header states no digest of the payload, or a columnar index needs the size of a body
in chunked transfer coding. Lines of large records have an additional field, which names the record's seek
table if that agrees with the frames, and says that none is to be trusted otherwise.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import BinaryIO, Final, TypeAlias, Unpack
from urllib.parse import urljoin

from seekwarc.cdx.lines import MAX_CELL_SIZE
from seekwarc.collection.record_index import with_next
from seekwarc.errors import FormatError
from seekwarc.format.cdxj import REVISIT, TABLE_FIELD, TYPE_FIELD, CdxjLine, is_capture
from seekwarc.format.chunked import ChunkedBody
from seekwarc.format.digest import Digest
from seekwarc.format.http import HttpHead
from seekwarc.format.post import MAX_BODY_SIZE, body_query, with_query
from seekwarc.format.seektable import TableTrust
from seekwarc.format.surt import surt
from seekwarc.read.options import ReadLimits
from seekwarc.read.reader import Reader
from seekwarc.read.record import Record
from seekwarc.read.resync import SHARED
from seekwarc.read.zstd_body import table_choice
from seekwarc.scale.rows import size_of
from seekwarc.storage.opening import open_source
from seekwarc.storage.source import RangeReadable
from seekwarc.tools.batch import base_name
from seekwarc.tools.progress import Progress, no_progress
from seekwarc.tools.sorting import MEMORY, sorted_lines
from seekwarc.tools.zipnum import index_output
from seekwarc.write.files import Existing, refuse_same_file
from seekwarc.write.output import Output, committed

__all__ = ["Indexing", "file_name", "index", "lines_of", "write_lines"]

METHODS_WITH_BODY: Final = ("POST", "PUT")
UNSTATED_BODY: Final = 8 << 10
"""Bytes of a request body that are used if there is no Content-Length."""
MAX_TEXT: Final = MAX_CELL_SIZE // 3
"""Characters of a text in a columnar index: escaped, as in a key, each may take three bytes."""
STEP: Final = 1 << 20
PAYLOAD_SIZE: Final = "payloadSize"
REDIRECTS: Final = (301, 302, 303, 307, 308)

_TYPE_END = re.compile(r"[;\s]")

Source: TypeAlias = str | os.PathLike[str] | bytes | BinaryIO | RangeReadable
OnProblem: TypeAlias = Callable[[FormatError], object]
"""Called with each problem that keeps records out of the index."""


@dataclass(frozen=True, slots=True)
class Indexing:
    """The result of indexing files.

    Example:
        >>> seekwarc.tools.index(["crawl.warc.zst"], "new.cdxj").lines
        3
    """

    lines: int
    """Number of lines of the index."""
    problems: int
    """Number of problems that kept records, or fields of their lines, out of it."""


def index(
    sources: Iterable[str | os.PathLike[str]] | Mapping[str, Source],
    target: str | os.PathLike[str] | BinaryIO | Output,
    *,
    on_problem: OnProblem | None = None,
    all_records: bool = False,
    post_append: bool = False,
    stated_digests: bool = False,
    parquet: bool = False,
    details: bool = False,
    existing: Existing = "error",
    memory: int = MEMORY,
    on_progress: Progress = no_progress,
    **limits: Unpack[ReadLimits],
) -> Indexing:
    """Write the sorted CDXJ index of files, for `seekwarc.Index`, pywb and others.

        done = tools.index(["a.warc.zst", "b.warc.gz"], "crawl.cdxj")
        print(done.lines, "captures")

    Args:
        sources: Paths or URLs of the files; the lines name them without their folders. A mapping gives them
            other names, and takes whatever a `Reader` opens.
        target: The index; a path that ends with ".idx" gets a ZipNum cluster, whose blocks are in a file
            beside it that ends with ".cdx.gz".
        on_problem: Called with each problem that keeps records out of the index; records before damage are
            indexed. Without it the first problem is raised, and no index is written.
        all_records: List all records that have a URI, not only responses, revisits and resources. Lines of
            others follow those of captures of the same URI and second, and have a field `warc-type`.
        post_append: Distinguish responses to POST and PUT requests by the body that was sent.
        stated_digests: List payload digests as the headers state them, and compute none.
        parquet: Write a columnar index in Parquet instead, with the columns of Common Crawl's. Needs pyarrow.
        details: Write lines that a columnar index can be made of.
        existing: Whether a file that has the target's name is refused ("error") or replaced ("overwrite").
        memory: Bytes of lines to hold in memory; more are sorted in temporary files.
        on_progress: Wraps each source that is read, to report progress.
        **limits: Limits of reading; see `Reader`.

    Raises:
        FormatError: A file is damaged, and `on_problem` is not given.
        SourceError: A file cannot be read.
        TargetError: The index cannot be written.
        TargetExistsError: The index exists.
        ValueError: Two files have the same base name.
    """
    named = sources if isinstance(sources, Mapping) else _by_name(sources)
    for source in named.values():
        if isinstance(source, str | os.PathLike):
            refuse_same_file(os.fspath(source), target)
    problems = 0

    def count(problem: FormatError) -> None:
        nonlocal problems
        problems += 1
        if on_problem is None:
            raise problem
        on_problem(problem)

    def lines() -> Iterator[bytes]:
        for name, source in named.items():
            with closing(Reader(on_progress(open_source(source), name), **limits)) as archive:
                found = lines_of(
                    archive,
                    name,
                    on_problem=count,
                    all_records=all_records,
                    post_append=post_append,
                    stated_digests=stated_digests,
                    details=details or parquet,
                )
                yield from (line.build() for line in found)

    with committed(index_output(target, existing=existing, parquet=parquet)) as output:
        written = write_lines(
            sorted_lines(lines(), memory=memory, folder=output.spool_directory), output, parquet=parquet
        )
    return Indexing(written, problems)


def _by_name(sources: Iterable[str | os.PathLike[str]]) -> dict[str, Source]:
    named: dict[str, Source] = {}
    for source in sources:
        name = file_name(os.fspath(source))
        if named.setdefault(name, source) is not source:
            raise ValueError(f"two files have the name {name}: index them one by one, or rename one")
    return named


def write_lines(lines: Iterable[bytes], output: Output, *, parquet: bool) -> int:
    """Write the sorted lines of an index, and return how many they are.

    Args:
        lines: The lines; with details, where they become a columnar index.
        output: Where they go. It is not committed.
        parquet: Write a columnar index, in Parquet.

    Raises:
        TargetError: They cannot be written.
    """
    if parquet:
        # Imported here: few indexes are columnar.
        from seekwarc.tools.parquet import write_parquet  # noqa: PLC0415

        return write_parquet(lines, output)
    written = 0
    for line in lines:
        output.write(line)
        written += 1
    return written


def file_name(source: str, root: str | None = None) -> str:
    """Return the name of a file in an index: its base name, or its path below a folder.

    Args:
        source: Path or URL of the file.
        root: The folder; None for the base name.

    Raises:
        ValueError: The file is not below the folder.
    """
    if root is None or "://" in source:
        return base_name(source)
    path = os.path.relpath(source, root)
    if path.startswith(os.pardir):
        raise ValueError(f"{source} is not below {root}")
    return path.replace(os.sep, "/")


def lines_of(
    archive: Reader,
    filename: str,
    *,
    on_problem: OnProblem,
    all_records: bool = False,
    post_append: bool = False,
    stated_digests: bool = False,
    details: bool = False,
) -> Iterator[CdxjLine]:
    """Yield the line of each response, revisit and resource record that has a URI, in file order.

    Resources of the type application/warc-fields are left out, since they are notes of crawlers. So are
    metadata, which most crawlers give the URI and date of their page: replay would show them for it.

    Args:
        archive: The file; may be a pipe.
        filename: The name of the file in the lines.
        on_problem: Called with each problem: damage, after which the file is not read further; records
            without a date, or without an offset of their own.
        all_records: Yield lines of all records that have a URI; see `CdxjLine.is_capture`.
        post_append: Add method and body of a POST or PUT request to the key of its response. They must be two
            consecutive records with the same URI, and the second must name the first in WARC-Concurrent-To.
        stated_digests: Omit the digest if the header states none. Otherwise it is computed by reading all of
            the payload: the SHA-1 of an HTTP body as it was transferred, as warcio does it.
        details: Add what a columnar index has besides: the record's ID and type, where a redirect leads,
            character set, size and place of the payload, number of frames, what a revisit refers to. The
            chunks of a body in chunked transfer coding are counted.

    Raises:
        SourceError: The file cannot be read.
    """
    reported: set[int] = set()

    def report(problem: FormatError) -> None:
        # Damage in a record is found twice: when it is described, and on the way to the next one.
        if problem.offset is None or problem.offset not in reported:
            on_problem(problem)
        if problem.offset is not None:
            reported.add(problem.offset)

    def described(record: Record) -> _Draft:
        draft = _Draft(record)
        draft.read(
            report,
            all_records=all_records,
            post_append=post_append,
            stated_digests=stated_digests,
            details=details,
        )
        return draft

    try:
        for draft, following, is_damaged in with_next(archive, described):
            if is_damaged and not draft.record.has_length:
                # The damage is within it.
                continue
            if following is not None and post_append:
                _join(draft, following)
            line = draft.line(filename, report)
            if line is not None:
                yield line
    except FormatError as damage:
        report(damage)


@dataclass(slots=True)
class _Draft:
    """A record, and the parts of its line that are known before the next record is read."""

    record: Record
    fields: dict[str, str] | None = None
    """None if the record gets no line."""
    request: tuple[str, str] | None = None
    """Method and body of a request; None for other records, and for other methods than POST and PUT."""
    key: str | None = None
    """Key of the line, if it is not that of the URI."""
    sent: dict[str, str] = field(default_factory=dict)
    """Fields of a response that describe its request."""
    is_paired: bool = False

    def read(
        self,
        on_problem: OnProblem,
        *,
        all_records: bool,
        post_append: bool,
        stated_digests: bool,
        details: bool,
    ) -> None:
        record = self.record
        try:
            if post_append and record.type == "request":
                self.request = _sent_by(record)
            if record.target_uri is None:
                return
            if all_records or is_capture(record.type, _media_type(record.content_type)):
                self.fields = dict(_described(record, stated_digests=stated_digests, details=details))
                if details:
                    self.fields |= _details(record)
                    self._check_lengths()
                    if PAYLOAD_SIZE not in self.fields:
                        self.fields[PAYLOAD_SIZE] = str(size_of(record))
        except FormatError as error:
            # Damage within the record; iteration shows whether the file can be read further.
            on_problem(error.located(record.source, record.offset))

    def _check_lengths(self) -> None:
        """Leave out what would be a cell too large for readers, who would refuse other rows with it.

        Raises:
            FormatError: It is too large.
        """
        texts = {"target URI": self.record.target_uri or "", **(self.fields or {})}
        name = max(texts, key=lambda it: len(texts[it]))
        if len(texts[name]) > MAX_TEXT:
            self.fields = None
            raise FormatError(
                f"the {name} of this record has {len(texts[name])} characters, so it gets no line in a "
                f"columnar index; the limit is {MAX_TEXT}"
            )

    def line(self, filename: str, on_problem: OnProblem) -> CdxjLine | None:
        record, uri = self.record, self.record.target_uri
        if self.fields is None or uri is None:
            return None
        try:
            if record.is_cut_off and record.problem is not None:
                raise FormatError(record.problem)
            if record.skip or not record.length or record.problem == SHARED:
                raise FormatError(
                    "this record shares its frame or gzip member with others, so it gets no line; "
                    "`seekwarc convert` mends that"
                )
            date = record.date
            if date is None:
                stated = record.header.get("WARC-Date")
                what = "no WARC-Date" if stated is None else f"a malformed WARC-Date, {stated[:40]!r}"
                raise FormatError(f"this record has {what}, so it gets no line")
            place = {"length": str(record.length), "offset": str(record.offset), "filename": filename}
            table = table_choice(record)
            if table is not TableTrust.CLAIMED:
                place[TABLE_FIELD] = str(table)
            return CdxjLine.make(uri, date, {**self.fields, **place, **self.sent}, key=self.key)
        except FormatError as error:
            on_problem(error.located(record.source, record.offset))
            return None


def _join(one: _Draft, other: _Draft) -> None:
    """If two records are a request and its response, give the response the request's method and body."""
    first, second = one.record, other.record
    if one.is_paired or first.target_uri != second.target_uri or second.concurrent_to[:1] != (first.id,):
        return
    drafts = {first.type: one, second.type: other}
    if set(drafts) == {"request", "response"}:
        one.is_paired = other.is_paired = True
        request, response = drafts["request"].request, drafts["response"]
        if request is not None:
            method, query = request
            one.key = other.key = surt(with_query(first.target_uri or "", method, query))
            response.sent = {"requestBody": query, "method": method.upper()}


def _media_type(content_type: str | None) -> str | None:
    return _TYPE_END.split(content_type, maxsplit=1)[0] if content_type is not None else None


def _described(record: Record, *, stated_digests: bool, details: bool) -> Iterator[tuple[str, str]]:
    """Yield the fields of a line that describe the record's content, and what was found out on the way."""
    head = record.http
    mime: str | None = REVISIT
    if record.type in ("response", "request"):
        mime = _media_type(head.get("Content-Type") if head is not None else None)
    elif record.type != "revisit":
        mime = _media_type(record.content_type)
    if not is_capture(record.type, mime):
        yield TYPE_FIELD, record.type or ""
    if mime is not None:
        yield "mime", mime
    if head is not None and head.status is not None:
        yield "status", str(head.status)
    digest = record.header.get("WARC-Payload-Digest")
    if digest is None and record.type not in ("revisit", "request"):
        digest, size = _made_digest(record, head, stated_only=stated_digests, details=details)
        if size is not None:
            yield PAYLOAD_SIZE, str(size)
    if digest is not None:
        yield "digest", digest


def _details(record: Record) -> dict[str, str]:
    """Return what a columnar index has besides, by the names that `cdx.columnar` knows."""
    head = record.http
    redirect = head.get("Location") if head is not None and head.status in REDIRECTS else None
    if redirect is not None and record.target_uri is not None:
        # A URL that cannot be parsed is kept as it stands.
        with contextlib.suppress(ValueError):
            redirect = urljoin(record.target_uri, redirect)
    detected = record.identified_payload_type
    charset = head.charset if head is not None else None
    frames = record.body.frames
    found: dict[str, object] = {
        "redirect": redirect,
        "mime-detected": detected.essence if detected is not None else None,
        "charset": charset.upper() if charset is not None else None,
        "truncated": record.truncated,
        "recordId": record.id,
        TYPE_FIELD: record.type,
        "payloadOffset": len(record.header.raw) + (head.size if head is not None else 0),
        "frames": len(frames) if frames is not None else None,
        "refersToUri": record.refers_to_target_uri,
        "refersToDate": record.header.get("WARC-Refers-To-Date"),
    }
    return {name: str(value) for name, value in found.items() if value is not None}


def _made_digest(
    record: Record, head: HttpHead | None, *, stated_only: bool, details: bool
) -> tuple[str | None, int | None]:
    """Return the digest of a payload, and, if its chunks were read for that, its size."""
    if head is None:
        # The payload is the block.
        stated = record.block_digest
        if stated is not None:
            raw = stated.raw if stated.name == "sha1" else None
            return str(Digest.of("sha1", raw) if raw is not None else stated), None
    if stated_only:
        return None, None
    hasher = hashlib.sha1(usedforsecurity=False)
    # Both come of one pass, for a pipe cannot be read twice.
    chunks = ChunkedBody() if details and head is not None and head.chunked else None
    size = 0
    with record.block.open() as file:
        file.seek(head.size if head is not None else 0)
        while data := file.read(STEP):
            hasher.update(data)
            if chunks is not None:
                size += sum(map(len, chunks.feed(data)))
    if chunks is not None:
        size += sum(map(len, chunks.finish()))
    return str(Digest.of("sha1", hasher.digest())), size if chunks is not None else None


def _sent_by(request: Record) -> tuple[str, str] | None:
    """Return method and body of a request, the body as a query; None for methods without a body."""
    head = request.http
    if head is None or head.method is None or head.method.upper() not in METHODS_WITH_BODY:
        return None
    # As in cdxj-indexer, only a method in capitals has a body.
    has_body = head.method in METHODS_WITH_BODY
    return head.method, body_query(head.get("Content-Type") or "", _body(request, head)) if has_body else ""


def _body(request: Record, head: HttpHead) -> bytes:
    stated = head.get("Content-Length")
    size = UNSTATED_BODY if stated is None else head.content_length or 0
    size = min(size, MAX_BODY_SIZE)
    try:
        with request.payload.open(decoded=True) as file:
            found = b""
            while len(found) < size and (data := file.read(size - len(found))):
                found += data
            return found
    except FormatError:
        # The content coding is damaged or unknown.
        return request.payload.pread(0, size)
