"""The house: what may import what, what a file may weigh, and where its tests are."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import seekwarc
from tests.conftest import ROOT, SAME_IN_ANY_BUILD
from tests.support.extras import skip_if_missing
from tests.support.repository import MODULES, PACKAGE

TESTS = Path(__file__).parent


FLOOR = {
    "closing": 0,
    "deprecating": 0,
    "compiling": 0,
    "errors": 0,
    "options": 0,
    "stopping": 0,
    "system": 0,
    "format": 1,
    "inside": 2,
    "storage": 2,
    "frames": 3,
    "read": 4,
    "collection": 5,
    "cdx": 6,
    "write": 6,
    "aio": 7,
    "scale": 7,
    "": 8,
    "jobs": 9,
    "make": 10,
    "check": 11,
    "edit": 11,
    "tools": 12,
    "compat": 13,
    "serve": 13,
    "cli": 14,
}
"""How high each part of the package is; "" is the public face, `seekwarc/__init__.py`."""
EDGES = {"seekwarc.__main__": {"cli"}}
"""Modules outside all floors, and what they may import."""

CODECS = {"backports", "compression", "xxhash", "zstandard"}
HEAVY = {
    "asyncio",
    "concurrent.futures.process",
    "http.client",
    "http.server",
    "multiprocessing",
    "numpy",
    "obstore",
    "pyarrow",
    "sqlite3",
    "ssl",
    "starlette",
    "tqdm",
    "unittest",
    "urllib.request",
    "uvicorn",
    "xml",
}
"""What `import seekwarc` must not cost."""

STORE_NOTHING = {"ABC", "Generic", "Mapping", "Protocol", "dict", "io.RawIOBase"}
STORE_NOTHING |= {"IntEnum", "NamedTuple", "StrEnum"}
"""Bases of compiled classes whose constructors store nothing in attributes."""

MAY_ASSERT = {
    "seekwarc.compat.spark": "Spark hands back the partition that it was given",
    "seekwarc.inside.apart": "the process was started with pipes",
    "seekwarc.inside.clips": "packets without times were given times, or refused",
    "seekwarc.inside.exact_clips": "the kind was chosen for its codecs; frames without times are left out",
    "seekwarc.inside.search_file": "a key is written after its page, by this package",
    "seekwarc.jobs.parts": "jobs that the module makes have a part",
    "seekwarc.make.sinks": "files that the module makes have entries",
    "seekwarc.jobs.workers": "only workers with a job send messages",
}
"""Modules with assertions that type checkers need, and why nothing that a file holds can make them fail."""

MAKE_JSON = {
    "seekwarc.collection.record_table": "texts come back as they were",
    "seekwarc.format.json_text": "the others use it",
    "seekwarc.inside.apart": "what a process of the same program reads",
}
"""Modules that make JSON without `json_text`, and why no one else reads it."""

MAX_LINES = 500
"""A longer file cannot be read in one sitting."""

NO_TESTS_OF_THEIR_OWN = {
    "seekwarc": "the public face: used by nearly every test",
    "seekwarc.__main__": "one call; every test of the command goes through it",
    "seekwarc.compiling": "a type, and decorators that do nothing; tests of the compiled package need it",
    "seekwarc.errors": "classes that the tests of what raises them use",
    "seekwarc.format": "a docstring",
    "seekwarc.format.field_views": "tested by tests/format/test_warc.py and read/test_let_go.py",
    "seekwarc.format.header_fields": "tested by tests/format/test_warc.py and test_http.py",
    "seekwarc.inside": "a docstring",
    "seekwarc.storage": "a docstring",
    "seekwarc.frames": "a docstring",
    "seekwarc.frames.stdlib_codec": "tested by tests/frames/test_codec.py",
    "seekwarc.frames.zstandard_codec": "tested by tests/frames/test_codec.py",
    "seekwarc.frames.verify": "tested by tests/frames/test_run.py",
    "seekwarc.read": "a docstring",
    "seekwarc.serve.protocol_httptools": "tested by tests/serve/test_protocol.py, with each parser",
    "seekwarc.read.stream_body": "tested by tests/read/test_sequential.py",
    "seekwarc.collection": "a docstring",
    "seekwarc.cdx": "a docstring",
    "seekwarc.write": "a docstring",
    "seekwarc.write.record_file": "tested by tests/write/test_series.py and test_interrupted.py",
    "seekwarc.cdx.limits": "tested by tests/cdx/test_zipnum.py and test_parquet.py",
    "seekwarc.aio": "a docstring",
    "seekwarc.aio.background": "tested by tests/aio/test_reading.py",
    "seekwarc.compat": "a docstring",
    "seekwarc.compat.warcio": "names of its modules, which their tests use",
    "seekwarc.compat.warcio.__main__": "tested as tests/compat/warcio/test_main.py",
    "seekwarc.jobs": "a docstring",
    "seekwarc.make": "a docstring",
    "seekwarc.check": "a docstring",
    "seekwarc.edit": "a docstring",
    "seekwarc.tools": "tested as tests/tools/test_init.py",
    "seekwarc.make.index_lines": "tested by tests/make/test_indexing.py",
    "seekwarc.check.wacz_lines": "tested by tests/check/test_wacz_validating.py",
    "seekwarc.check.wacz_pages": "tested by tests/check/test_wacz_validating.py",
    "seekwarc.check.wacz_rules": "tested by tests/check/test_wacz_validating.py",
    "seekwarc.check.wacz_zip": "tested by tests/check/test_wacz_validating.py",
    "seekwarc.edit.originals": "tested by tests/edit/test_closure.py and test_promoting.py",
    "seekwarc.scale": "a docstring",
    "seekwarc.serve": "a docstring",
    "seekwarc.cli": "tested as tests/cli/test_main.py",
    "seekwarc.cli.options": "tested by tests/cli/test_convert.py and test_train.py",
    "seekwarc.cli.verbs": "tested by tests/cli/test_main.py and test_promises.py",
    "seekwarc.cli.passing": "tested by tests/agreement/test_keep_going.py",
    "seekwarc.cli.payloads": "tested by tests/cli/test_cat.py and test_clip.py",
    "seekwarc.cli.records": "tested by tests/cli/test_cat.py and test_info.py",
}


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """Return the nodes of a file, the file itself first."""
    return tuple(ast.walk(ast.parse(path.read_text())))


def imports_of(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (line, module) of everything that a file imports, wherever in it."""
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}, line {node.lineno}: imports say where from in full"
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield node.lineno, whole if whole in MODULES else str(node.module)


def part_of(module: str) -> str:
    """Return the floor of a module of the package: its first name below seekwarc."""
    return [*module.split("."), ""][1]


PARTS = {
    part: {module: path for module, path in MODULES.items() if part_of(module) == part}
    for part in [*FLOOR, "__main__"]
}
each_part = pytest.mark.parametrize("part", PARTS)


def test_there_is_something_to_look_at() -> None:
    assert len(MODULES) > 25
    assert {part_of(module) for module in MODULES} - {"__main__"} <= set(FLOOR)


@each_part
def test_imports_never_go_up(part: str) -> None:
    ours = (
        (module, f"{path}, line {line}: {module} imports {imported}, which is higher", part_of(imported))
        for module, path in PARTS[part].items()
        for line, imported in imports_of(path)
        if imported.partition(".")[0] == "seekwarc"
    )
    for module, message, imported in ours:
        if module in EDGES:
            assert imported in EDGES[module], message
        else:
            assert FLOOR[imported] < FLOOR[part] or imported == part, message


def test_the_public_face_shows_the_lower_floors_only() -> None:
    imported = {part_of(name) for _, name in imports_of(MODULES["seekwarc"]) if name.startswith("seekwarc")}
    assert imported <= {
        "errors",
        "format",
        "inside",
        "storage",
        "frames",
        "read",
        "collection",
        "cdx",
        "write",
        "aio",
        "scale",
    }


def test_imports_of_the_floor_itself_go_round_in_no_circle() -> None:
    edges = {
        module: {name for _, name in imports_of(path) if name in MODULES} for module, path in MODULES.items()
    }
    done: set[str] = set()

    def visit(module: str, way: tuple[str, ...]) -> None:
        assert module not in way, " -> ".join([*way, module])
        if module not in done:
            for imported in edges[module]:
                visit(imported, (*way, module))
            done.add(module)

    for module in edges:
        visit(module, ())


def packages_of(modules: dict[str, Path]) -> dict[str, set[str]]:
    """Return what is imported of others, and by which modules."""
    found: dict[str, set[str]] = {}
    for module, path in modules.items():
        for _, name in imports_of(path):
            found.setdefault(name.partition(".")[0], set()).add(module)
    return found


@pytest.mark.parametrize("part", [part for part in PARTS if part != "frames"])
def test_only_frames_know_the_codec(part: str) -> None:
    found = packages_of(PARTS[part])
    assert not {name: found[name] for name in CODECS & found.keys()}


@pytest.mark.parametrize("part", ["jobs", "make", "check", "edit", "inside", "scale", "serve", "collection"])
def test_what_works_on_whole_archives_limits_what_it_decodes(part: str) -> None:
    """A small payload may hold any number of bytes: `open_decoded` has a limit, `open` has none."""
    assert not [
        (module, node.lineno)
        for module, path in PARTS[part].items()
        for node in nodes_of(path)
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith((".open", ".read", ".pread"))
        for it in node.keywords
        if it.arg == "decoded"
    ]


def test_the_format_floor_is_pure() -> None:
    impure = {"io", "os", "threading", "concurrent", "socket", "pathlib", "tempfile", "subprocess"}
    found = packages_of(PARTS["format"])
    assert not {name: found[name] for name in impure & found.keys()}


def loaded_by(code: str) -> set[str]:
    script = f"import sys\nbefore = set(sys.modules)\n{code}\nprint(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True)
    return set(done.stdout.split())


def test_importing_the_package_is_light() -> None:
    assert loaded_by("import seekwarc") & HEAVY == set()


def test_the_tools_are_there_once_the_package_is_imported() -> None:
    assert "seekwarc.tools" in loaded_by("import seekwarc; seekwarc.tools.verify")


def test_the_command_starts_as_light() -> None:
    code = "import seekwarc.cli, seekwarc.cli.ls, seekwarc.cli.cat, seekwarc.cli.convert, seekwarc.cli.info"
    assert loaded_by(code) & HEAVY == set()


@pytest.mark.parametrize("verb", ["verify", "index"])
def test_a_verb_that_looks_nothing_up_loads_nothing_for_that(tmp_path, verb) -> None:
    with seekwarc.open(tmp_path / "a.warc.zst", "w") as out:
        out.write_resource("http://example.org/", b"", "text/plain")
    loaded = loaded_by(f"import seekwarc.cli; seekwarc.cli.main({[verb, str(tmp_path / 'a.warc.zst')]})")
    # These and what they import are 26 modules, a seventh of the time that such a verb takes to start.
    assert loaded & {"seekwarc.cdx.index", "seekwarc.collection.revisits", "seekwarc.inside.search"} == set()


def test_printing_a_range_loads_little(tmp_path) -> None:
    with seekwarc.open(tmp_path / "a.warc.zst", "w") as out:
        out.write_resource("http://example.org/", b"", "text/plain")
    command = ["cat", str(tmp_path / "a.warc.zst"), "0", "--range", "0-9"]
    loaded = loaded_by(f"import seekwarc.cli; seekwarc.cli.main({command})")
    # Each module takes about half a millisecond, and dataclasses with inspect thirty times that: bounds that
    # grow only with a reason.
    slow = {
        "calendar",
        "copy",
        "dataclasses",
        "datetime",
        "glob",
        "hashlib",
        "inspect",
        "json",
        "queue",
        "select",
        "shlex",
        "urllib.parse",
        "zipfile",
        "zlib",
    }
    assert not loaded & slow
    assert len([name for name in loaded if name.startswith("seekwarc")]) <= 68


def test_one_verb_does_not_load_the_others() -> None:
    loaded = loaded_by("import seekwarc.cli; seekwarc.cli.main(['ls', '/dev/null'])")
    assert {name for name in loaded if name.startswith("seekwarc.cli.")} == {
        "seekwarc.cli.advice",
        "seekwarc.cli.arguments",
        "seekwarc.cli.ls",
        "seekwarc.cli.options",
        "seekwarc.cli.printing",
        "seekwarc.cli.selecting",
        "seekwarc.cli.sizes",
        "seekwarc.cli.targets",
        "seekwarc.cli.verbs",
    }


def test_assertions_are_for_type_checkers_alone() -> None:
    asserting = {
        module
        for module, path in MODULES.items()
        if any(isinstance(node, ast.Assert) for node in nodes_of(path))
    }
    assert asserting == set(MAY_ASSERT), "raise a typed error for what a file may hold"


WITH_SIDECAR = {"Reader", "Collection", "SidecarOptions"}
"""What opens files so that ranges may be read by a sidecar."""


POSSESSIVE_GROUP = re.compile(r"\)(?:[*+?]|\{[^}]*\})\+")


def test_no_pattern_repeats_a_group_possessively() -> None:
    # Python 3.11.0 to 3.11.4 go on after the bytes of a repetition that failed.
    # `(?>(?:...)*)` means the same, and is right everywhere.
    found = []
    for name, path in MODULES.items():
        for call in nodes_of(path):
            if isinstance(call, ast.Call) and ast.unparse(call.func) == "re.compile":
                for part in ast.walk(call):
                    text = part.value if isinstance(part, ast.Constant) else ""
                    text = text.decode("latin-1") if isinstance(text, bytes) else str(text)
                    found += [(name, text)] if POSSESSIVE_GROUP.search(text) else []
    assert found == []


def test_json_that_is_written_has_no_surrogates() -> None:
    found = {name for name, path in MODULES.items() if re.search(r"json\.dumps?\(", path.read_text("utf-8"))}
    assert found == MAKE_JSON.keys()


@pytest.mark.parametrize("part", ["jobs", "make", "check", "edit", "write"])
def test_rooms_that_write_open_no_file_with_a_sidecar(part: str) -> None:
    for module, path in PARTS[part].items():
        # Which records of a file can be read by range is what it tells.
        if module == "seekwarc.check.describe":
            continue
        for node in nodes_of(path):
            if isinstance(node, ast.Call):
                name = ast.unparse(node.func).rpartition(".")[2]
                assert name not in WITH_SIDECAR, f"{path}, line {node.lineno}: WholeReader has no sidecar"
            if isinstance(node, ast.ClassDef):
                assert not WITH_SIDECAR & {ast.unparse(base) for base in node.bases}, (path, node.lineno)


def test_no_file_is_too_long_to_read() -> None:
    lines = {module: len(path.read_text().splitlines()) for module, path in MODULES.items()}
    assert not {module: count for module, count in lines.items() if count > MAX_LINES}


@each_part
def test_every_file_says_what_it_is_and_what_it_offers(part: str) -> None:
    for module, path in PARTS[part].items():
        assert_says_what_it_offers(module, path)


def assert_says_what_it_offers(module: str, path: Path) -> None:
    tree = nodes_of(path)[0]
    assert isinstance(tree, ast.Module)
    assert ast.get_docstring(tree), f"{module} has no docstring"
    public = [
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        and not node.name.startswith("_")
    ]
    if module in LAZY:
        return
    offered = [
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["__all__"]
    ]
    if public:
        assert offered, f"{module} has public names and no __all__"
        assert set(public) & set(offered[0]), f"{module} offers nothing of its own"
    for names in offered:
        assert names == sorted(names, key=sort_key), f"{module}: __all__ is not sorted"


LAZY = ("seekwarc", "seekwarc.tools")
"""Packages that import a name when it is first used."""


@pytest.mark.parametrize("module", LAZY)
def test_type_checkers_and_programs_see_the_same_names(module: str) -> None:
    package = importlib.import_module(module)
    checked = [node for node in nodes_of(MODULES[module]) if isinstance(node, ast.If)]
    imports = [it for node in checked for it in node.body if isinstance(it, ast.ImportFrom)]
    seen = {name.asname: it.module for it in imports for name in it.names if name.asname == name.name}
    assert seen == package._HOMES
    assert set(package.__all__) - set(seen) <= {"open"}


def test_the_package_shows_its_public_names_only() -> None:
    package = importlib.import_module("seekwarc")
    assert {name for name in dir(package) if not name.startswith("__")} == set(package.__all__)


def sort_key(name: str) -> tuple[int, str]:
    """As ruff sorts: constants, classes, the rest."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2), name


OF_ENGINES = {
    "seekwarc.compat.cluster": "module:distributed",
    "seekwarc.compat.dask": "module:dask",
    "seekwarc.compat.spark": "module:pyspark",
}
"""What is needed to import a module, and is not in the extra `test`."""


@each_part
def test_what_files_offer_is_there(part: str) -> None:
    for module in PARTS[part].keys() - EDGES.keys() - OF_ENGINES.keys():
        assert_offers_what_it_names(module)


@pytest.mark.slow
@pytest.mark.parametrize(
    "module",
    [pytest.param(name, marks=pytest.mark.needs(component)) for name, component in OF_ENGINES.items()],
)
def test_what_a_file_for_an_engine_offers_is_there(module: str) -> None:
    assert_offers_what_it_names(module)


def assert_offers_what_it_names(module: str) -> None:
    try:
        loaded = importlib.import_module(module)
    except ImportError as error:
        skip_if_missing(error)
        raise
    for name in getattr(loaded, "__all__", []):
        assert hasattr(loaded, name), f"{module}.{name}"


def test_every_file_has_tests_where_one_looks_for_them() -> None:
    for module in MODULES.keys() - NO_TESTS_OF_THEIR_OWN.keys():
        *folders, name = module.split(".")[1:]
        path = TESTS.joinpath(*folders, f"test_{name}.py")
        assert path.is_file(), f"{path} would test {module}"


def test_exceptions_are_still_needed() -> None:
    stale = [name for name in NO_TESTS_OF_THEIR_OWN if name not in MODULES and name != "seekwarc.serve"]
    assert stale == []


# The pages that tell what each room is for.

ROOMS = sorted(path.parent for path in PACKAGE.glob("*/__init__.py"))


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.name)
def test_each_room_says_what_it_is_for(room: Path) -> None:
    text = (room / "README.md").read_text()
    assert text.startswith(f"# {room.name}: ")
    assert "\n## Working on it\n" in text
    assert len(text.split()) <= 400, "what users need is in a chapter in spec-notes/"
    assert f"| `{room.name}/` |" in (PACKAGE / "README.md").read_text()


@pytest.mark.parametrize("page", sorted(PACKAGE.rglob("README.md")), ids=lambda page: page.parent.name)
def test_files_that_a_page_names_are_there(page: Path) -> None:
    for name in re.findall(r"[\w/]+\.py\b", page.read_text()):
        places = [page.parent, PACKAGE, PACKAGE.parent]
        # In the drawing of how a record is written, a room is named once a line.
        places += [room for room in ROOMS if page.parent == PACKAGE]
        assert any((place / name).is_file() for place in places), name


def test_no_test_imports_another() -> None:
    test = re.compile(r"^ *(?:from|import) +(tests[\w.]*(?:\.| import )test_\w+)", re.MULTILINE)
    imported = {str(path.relative_to(TESTS)): test.findall(path.read_text()) for path in TESTS.rglob("*.py")}
    assert not any(imported.values()), "what tests share is in tests/support or a conftest"


def test_every_constant_is_used() -> None:
    texts = [path.read_text() for path in MODULES.values()]
    words = Counter(word for text in texts for word in re.findall(r"\w+", text))
    constant = re.compile(r"^([A-Z_][A-Z0-9_]+)(?:: Final\S*)? =", re.MULTILINE)
    defined = {name for text in texts for name in constant.findall(text)}
    assert {name for name in defined if words[name] == 1} == set()


USED_BY_OTHERS = {
    "EachRecord": "decides for verbs of other programs, and for those to come: see tests/support/tenth.py",
    "from_index": "a way to make the public `payload_app`",
    "from_json": "of the public `Split`, for programs that send it",
    "payload_app": "the public face of serve/: answers ranges in other applications",
    "readall": "called by `io.RawIOBase`",
    "send_400_response": "called by uvicorn",
    "serve": "named in the command line of the process that inside/apart starts",
    "to_json": "of the public `Split`, for programs that send it",
    "to_polars": "of the public `Batches`",
    "warc_fields": "of the public `Record`",
    "writable": "called by pyarrow",
}
"""Names that nothing in the package uses, and who does."""


def used_names(path: Path) -> Iterator[str]:
    """Yield the names that the code of a file uses, not those that it defines or lists in `__all__`."""
    for node in nodes_of(path):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.keyword(arg=str(name)):
                yield name
            case ast.alias(name=name):
                yield name.rpartition(".")[2]


def test_functions_classes_and_methods_are_used() -> None:
    """Of the package itself: what is for other programs is in its public names, or listed above."""
    public = {*seekwarc.__all__, *importlib.import_module("seekwarc.tools").__all__}
    used = {name for path in MODULES.values() for name in used_names(path)} | public
    defined = {
        (node.name, module)
        for module, path in MODULES.items()
        if part_of(module) not in ("aio", "compat")
        for node in nodes_of(path)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        and not node.name.startswith("_")
    }
    unused = {(name, module) for name, module in defined if name not in used}
    assert {name for name, _ in unused} == USED_BY_OTHERS.keys(), sorted(unused)


@pytest.mark.parametrize("name", SAME_IN_ANY_BUILD)
def test_tests_that_run_with_one_build_are_there(name: str) -> None:
    path, _, function = name.partition("::")
    assert (TESTS.parent / path).exists()
    assert not function or f"def {function}" in (TESTS.parent / path).read_text()


def compiled_modules() -> list[str]:
    hook = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]
    modules: list[str] = hook["wheel"]["hooks"]["custom"]["modules"]
    return modules


def test_generators_of_compiled_modules_are_used_up_at_once() -> None:
    """mypyc makes a list of a generator expression: it may only be what a call consumes."""
    for name in compiled_modules():
        nodes = nodes_of(MODULES[name])
        consumed = {id(it) for node in nodes if isinstance(node, ast.Call) for it in node.args}
        for node in nodes:
            assert not isinstance(node, ast.GeneratorExp) or id(node) in consumed, (name, node.lineno)


def test_compiled_classes_let_go_of_all_that_they_hold() -> None:
    """mypyc frees the attributes of its own classes, and not those that another base's constructor stores."""
    nodes = {name: nodes_of(MODULES[name]) for name in compiled_modules()}
    classes = [(name, it) for name, found in nodes.items() for it in found if isinstance(it, ast.ClassDef)]
    known = STORE_NOTHING | {it.name for _, it in classes}
    for name, it in classes:
        for base in it.bases:
            assert ast.unparse(base).partition("[")[0] in known, (name, it.name)


def test_what_a_compiled_module_found_to_be_none_is_not_read_again_as_that() -> None:
    """mypyc still takes it for None, and raises TypeError if another thread has set it meanwhile."""
    for name in compiled_modules():
        for test in nodes_of(MODULES[name]):
            if isinstance(test, ast.If) and (found := attribute_found_none(test.test)) is not None:
                assert not is_read_first(found, test.body), (name, test.lineno, found)


def attribute_found_none(test: ast.expr) -> str | None:
    """Return the attribute that a condition finds to be None."""
    match test:
        case ast.Compare(left=ast.Attribute(), ops=[ast.Is()], comparators=[ast.Constant(value=None)]):
            return ast.unparse(test.left)
    return None


def is_read_first(attribute: str, body: list[ast.stmt]) -> bool:
    """Return whether an attribute is read in a body before it is set there."""
    for statement in body:
        uses = [it for it in ast.walk(statement) if isinstance(it, ast.Attribute)]
        contexts = [type(it.ctx) for it in uses if ast.unparse(it) == attribute]
        if contexts:
            return ast.Load in contexts
    return False


def test_compiled_classes_derive_from_compiled_ones() -> None:
    compiled = set(compiled_modules())
    assert compiled <= set(MODULES)
    home = {node.name: module for module, path in MODULES.items() for node in classes_of(path)}
    nodes = [node for path in MODULES.values() for node in classes_of(path)]
    open_to_all = {node.name for node in nodes if MARK in ",".join(map(ast.unparse, node.decorator_list))}
    for node in nodes:
        # What the bases are called there is enough.
        for base in {it.id for it in node.bases if isinstance(it, ast.Name)} & set(home):
            is_compiled, is_base_compiled = (home[name] in compiled for name in (node.name, base))
            assert is_compiled == is_base_compiled or (not is_compiled and base in open_to_all), (
                f"{home[node.name]}: {node.name} derives from {base}"
            )


MARK = "allow_interpreted_subclasses=True"
"""Of a compiled class that others may derive from which are not."""


def classes_of(path: Path) -> list[ast.ClassDef]:
    return [node for node in nodes_of(path) if isinstance(node, ast.ClassDef)]


# Clocks.

CLOCK = re.compile(r"\b(?:process_time|thread_time|perf_counter|monotonic)(?:_ns)?\b|\btime\.time\b")
MAY_HAVE_CLOCKS = {
    "cli/test_progress.py": "a clock that the test moves stands for that of the package",
    "fuzz/__main__.py": "a program that runs as long as it is asked to",
    "interop/test_remote.py": "which requests were under way together",
    "read/test_soak.py": "threads that run as long as --soak says",
    "support/film_mutants.py": "a program that shows how far it is",
    "support/firefox.py": "the end of a wait for a condition",
    "support/mutants.py": "a program that shows how far it is",
    "support/mutations.py": "a limit, from what the tests of the original code took",
    "support/processes.py": "the end of every wait for a condition",
    "support/rangeserver.py": "which requests were under way together",
}
"""Files beside benchmarks that read a clock, and why. Tests bound work by `tests.support.work`."""
SHORT_WAIT = re.compile(
    r"(?:timeout ?= ?|TIMEOUT = |settimeout\(|\.(?:join|result)\(|\bwait\()(?:[2-9]|[1-5]\d)(?:\.\d+)?\b"
)


def test_no_test_compares_seconds() -> None:
    texts = {path.relative_to(TESTS).as_posix(): path.read_text() for path in sorted(TESTS.rglob("*.py"))}
    tests = {path: text for path, text in texts.items() if path != "test_architecture.py"}
    have = {path for path, text in tests.items() if CLOCK.search(text) and not path.startswith("benchmarks/")}
    assert sorted(have) == sorted(MAY_HAVE_CLOCKS)


def test_waits_for_others_end_after_a_minute() -> None:
    """A wait of a second or less is to see that nothing happens, or what happens after a limit."""
    for path in sorted(TESTS.rglob("*.py")):
        found = SHORT_WAIT.findall(path.read_text())
        assert not found, f"{path}: {found}: wait PATIENT seconds (tests.support.processes) for others"
