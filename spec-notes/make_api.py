"""Makes api.md, the page of everything public, from the docstrings of the package.

    python make_api.py            write api.md beside this file
    python make_api.py --check    exit with 1 unless api.md is what would be written

The source is parsed, not imported, so that the page does not depend on what is installed.
"""

# ruff: noqa: E501 - the rows of a table are not broken

from __future__ import annotations

import ast
import re
import sys
import textwrap
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

HERE = Path(__file__).parent
PACKAGE = HERE.parent / "seekwarc"
PAGE = HERE / "api.md"

HEAD = """\
# The public interface

Made from the docstrings by [make_api.py](make_api.py); `python spec-notes/make_api.py` makes it again after a change.
Everything here is imported from `seekwarc`, the functions at the end from `seekwarc.tools`.

## For those who know warcio or FastWARC

| | warcio | FastWARC | seekwarc |
|---|---|---|---|
| iterate | `for record in ArchiveIterator(file)` | `for record in ArchiveIterator(stream)` | \
`for record in seekwarc.open(path)` |
| compressions | .warc, .warc.gz | .warc, .warc.gz, .warc.zst, .warc.lz4 | .warc, .warc.gz, .warc.zst |
| type | `record.rec_type` | `record.record_type` (an enum) | `record.type` |
| target URI | `record.rec_headers.get_header("WARC-Target-URI")` | `record.headers["WARC-Target-URI"]` | \
`record.target_uri` |
| any field of the header | `record.rec_headers.get_header(name)` | `record.headers.get(name)` | \
`record.header.get(name)` |
| status | `record.http_headers.get_statuscode()` (text) | `record.http_headers.status_code` | `record.http.status` |
| field of the HTTP head | `record.http_headers.get_header(name)` | `record.http_headers.get(name)` | \
`record.http[name]`, `.get(name)` |
| payload, content codings undone | `record.content_stream().read()` | `record.reader.read()` | \
`record.payload.read(decoded=True)` |
| payload as it was sent | `record.raw_stream.read()` (with chunks) | `record.reader.read()` (by `auto_decode`) | \
`record.payload.read()` (without chunks) |
| some bytes of the payload | read up to them | read up to them | `record.payload.pread(start, length)` |
| several records at the same time | no: one after the other | no, but `record.freeze()` | yes, in any order, from any \
thread |
| offset, length | `it.get_record_offset()`, `it.get_record_length()` | `record.stream_pos` | `record.offset`, \
`record.length` |
| the record at an offset | `file.seek(offset)`, `next(iter(ArchiveIterator(file)))` | the same | \
`archive.record_at(offset, length)` |
| check digests | `ArchiveIterator(file, check_digests=True)` | `record.verify_block_digest()`, \
`.verify_payload_digest()` | `record.check_digests()` |
| write | `WARCWriter(file)`, `.create_warc_record(...)`, `.write_record(record)` | `record.write(stream)` | \
`seekwarc.open(path, "w")`, `.write_response(uri, message)` |
| copy a record as it is | `writer.write_record(record)` | `record.write(stream)` | \
`writer.write_raw(record.header, record.block.open())` |
| the original of a revisit | - | - | `Collection.open_record(record)`, `Index.lookup(uri)` |
| from a URI to a record | - (cdxj-indexer makes an index) | - | `Index("crawl.cdxj").lookup(uri)` |
| remote files | any file object | any file object | `seekwarc.open("https://...")`, s3, gs, az, by range |
| record one's own HTTP traffic | `capture_http()` | - | \
`seekwarc.compat.warcio.capture_http.capture_http("new.warc.zst")`, for `http.client` |
| damaged files | `warcio check`, `warcio recompress` | `fastwarc check` | `tools.verify`, `tools.recover` |
"""

SECTIONS = {"Args:", "Attributes:", "Returns:", "Yields:", "Raises:"}
ENTRY = re.compile(r"\*{0,2}[\w, .`]+:(\s|$)")

Node = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


class Module:
    """One parsed module: what it defines, and where its imports come from."""

    def __init__(self, name: str) -> None:
        path = PACKAGE.joinpath(*name.split(".")[1:])
        self.tree = ast.parse(
            (path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text()
        )
        self.defined = {node.name: node for node in self.tree.body if isinstance(node, Node)}
        self.imported = {
            alias.asname or alias.name: node.module
            for node in ast.walk(self.tree)
            if isinstance(node, ast.ImportFrom) and node.module
            for alias in node.names
        }
        # What a package offers of its modules is imported `as` what it is called.
        self.offered = {
            alias.name: node.module
            for node in ast.walk(self.tree)
            if isinstance(node, ast.ImportFrom) and node.module
            for alias in node.names
            if alias.asname
        }


MODULES: dict[str, Module] = {}


def module(name: str) -> Module:
    if name not in MODULES:
        MODULES[name] = Module(name)
    return MODULES[name]


def find(home: str, name: str) -> tuple[str, Node] | None:
    """Return the module that defines a name of the package, and the definition."""
    if not home.startswith("seekwarc"):
        return None
    here = module(home)
    if name in here.defined:
        return home, here.defined[name]
    return find(here.imported[name], name) if name in here.imported else None


def bases(home: str, node: ast.ClassDef) -> Iterator[tuple[str, ast.ClassDef]]:
    """Yield the class itself and those of the package that it derives from."""
    yield home, node
    for base in node.bases:
        name = base.value if isinstance(base, ast.Subscript) else base
        found = find(home, ast.unparse(name))
        if found is not None and isinstance(found[1], ast.ClassDef):
            yield from bases(found[0], found[1])


def decorators(node: Node) -> set[str]:
    return {ast.unparse(it).partition("(")[0] for it in node.decorator_list}


class Constants(ast.NodeTransformer):
    """Puts the values of a module's constants where their names are."""

    def __init__(self, home: str) -> None:
        self._home = home

    def visit_Name(self, node: ast.Name) -> ast.AST:
        here = self._home
        while node.id.isupper() and here.startswith("seekwarc"):
            for it in module(here).tree.body:
                if (
                    isinstance(it, ast.AnnAssign)
                    and ast.unparse(it.target) == node.id
                    and it.value is not None
                ):
                    return it.value
            here = module(here).imported.get(node.id, "")
        return node


def arguments(home: str, node: Node, *, method: bool) -> str:
    """Return the parameters of a function as one writes a call, without `self` and types."""
    if isinstance(node, ast.ClassDef):
        return ""
    found = ast.parse(f"def f({ast.unparse(node.args)}): pass").body[0]
    assert isinstance(found, ast.FunctionDef)
    args = found.args
    for argument in [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]:
        if argument is not None:
            argument.annotation = None
    text = ast.unparse(Constants(home).visit(args))
    if method and "staticmethod" not in decorators(node):
        text = re.sub(r"^\w+(, /)?(, |$)", "", text)
    return text


def is_public(name: str) -> bool:
    return not name.startswith("_")


def described(node: Node) -> str:
    """Return a docstring as Markdown."""
    text, example, after = (ast.get_docstring(node) or "").partition("\nExample:\n")
    out: list[str] = []
    section = False
    # Sections may follow the example.
    code = re.match(r"(?: +.*\n?|\n)*", after)
    rest = after[code.end() :] if code else ""
    for line in [*text.splitlines(), "", *rest.splitlines()]:
        if line in SECTIONS:
            section = True
            out += ["", f"**{line[:-1]}**", ""]
        elif not section or not line.strip():
            out.append(line)
            section = section and not (line and not line.startswith(" "))
        elif not line.startswith(" "):
            section = False
            out.append(line)
        elif ENTRY.match(line[4:]) and not line.startswith(" " * 5):
            name, _, text = line.strip().partition(":")
            out.append(f"- `{name}`:{text}")
        else:
            out.append("  " + line.strip())
    if example and code:
        out += ["", "```pycon", textwrap.dedent(code[0]).strip(), "```"]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(out)).strip()


def first_paragraph(node: Node) -> str:
    return " ".join((ast.get_docstring(node) or "").partition("\n\n")[0].split())


def members(home: str, node: ast.ClassDef) -> Iterator[str]:
    """Yield a paragraph for each public member of a class, inherited ones of the package too."""
    seen: set[str] = set()
    for where, owner in bases(home, node):
        body = owner.body
        for position, item in enumerate(body):
            if isinstance(item, ast.AnnAssign | ast.Assign):
                target = item.target if isinstance(item, ast.AnnAssign) else item.targets[0]
                name = ast.unparse(target)
                after = body[position + 1] if position + 1 < len(body) else None
                text = ""
                if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
                    text = " ".join(textwrap.dedent(str(after.value.value)).split())
                if is_public(name) and name not in seen and (text or isinstance(item, ast.AnnAssign)):
                    yield f"- `{name}`" + (f": {text}" if text else "")
            elif isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef):
                name = item.name
                if not is_public(name) or name in seen or "overload" in decorators(item):
                    continue
                yields = any(isinstance(it, ast.Yield) for it in ast.walk(item))
                is_async = isinstance(item, ast.AsyncFunctionDef)
                prefix = "" if not is_async else "async for ... in " if yields else "await "
                is_property = decorators(item) & {"property", "cached_property"}
                call = name if is_property else f"{prefix}{name}({arguments(where, item, method=True)})"
                yield f"- `{call}`: {first_paragraph(item)}"
            else:
                continue
            seen.add(name)


def alias(name: str, home: str, *, prefix: str) -> Iterator[str]:
    """Yield the paragraphs of another name for a type."""
    body = module(home).tree.body
    for item, after in pairwise(body):
        if isinstance(item, ast.Assign) and ast.unparse(item.targets[0]) == name:
            assert isinstance(after, ast.Expr)
            yield f"### `{prefix}{name}`"
            yield f"`{ast.unparse(item.value)}`. {ast.literal_eval(after.value)}"
            return
    raise LookupError(f"{home}.{name}")


def entry(name: str, home: str, *, prefix: str = "") -> Iterator[str]:
    """Yield the paragraphs of one public name."""
    found = find(home, name)
    if found is None:
        yield from alias(name, home, prefix=prefix)
        return
    home, node = found
    if isinstance(node, ast.ClassDef):
        init = next(
            (it for it in node.body if isinstance(it, ast.FunctionDef) and it.name == "__init__"), None
        )
        parents = [ast.unparse(base) for base in node.bases]
        # Some are made by others only.
        made = init is not None and not re.search("(?i)made by", ast.get_docstring(node) or "")
        call = f"({arguments(home, init, method=True)})" if init is not None and made else ""
        yield f"### `{prefix}{name}{call}`"
        is_error = name.endswith(("Error", "Warning"))
        if is_error:
            yield f"Derives from {', '.join(f'`{parent}`' for parent in parents)}."
    else:
        yield f"### `{prefix}{name}({arguments(home, node, method=False)})`"
        is_error = False
    yield described(node)
    if isinstance(node, ast.ClassDef) and not is_error:
        found_members = "\n".join(members(home, node))
        if found_members:
            yield found_members


def page() -> str:
    face = module("seekwarc")
    where = {**face.offered, "open": "seekwarc"}
    names = sorted(where)
    errors = [name for name in names if where[name] == "seekwarc.errors"]
    functions = [name for name in names if name[0].islower()]
    classes = [name for name in names if name not in {*errors, *functions}]
    parts = [HEAD.rstrip()]
    for title, some in (("Functions", functions), ("Classes", classes), ("Errors and warnings", errors)):
        parts.append(f"## {title}")
        for name in some:
            parts += entry(name, where[name])
    tools = module("seekwarc.tools")
    parts += ["## seekwarc.tools", ast.get_docstring(tools.tree) or ""]
    for name in tools.offered:
        parts += entry(name, "seekwarc.tools", prefix="tools.")
    results = [
        "check.verifying.Verification",
        "check.verifying.ProblemKind",
        "check.verifying.Problem",
        "check.verifying.ProblemSeverity",
    ]
    results += [
        "make.converting.Conversion",
        "make.indexing.Indexing",
        "check.recovering.Recovery",
        "check.recovering.Loss",
        "edit.concatenating.Concatenation",
        "edit.deduplicating.Deduplication",
        "check.describe.FileSummary",
        "make.extracting.Extraction",
        "make.extracting.Extracted",
        "make.packing.NamedStream",
        "edit.splitting.Splitting",
        "edit.splitting.Piece",
        "make.training.Training",
    ]
    for result in results:
        home, _, name = result.rpartition(".")
        parts += entry(name, f"seekwarc.{home}")
    return "\n\n".join(part for part in parts if part) + "\n"


def main() -> int:
    made = page()
    if "--check" in sys.argv[1:]:
        if PAGE.read_text() != made:
            print("api.md is not what the docstrings say: run python spec-notes/make_api.py", file=sys.stderr)
            return 1
        return 0
    PAGE.write_text(made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
