"""Compiles modules of the package in the current folder with mypyc, into the folder `made`; see hook.py."""

from __future__ import annotations

import ast
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from mypyc.build import mypycify
from setuptools import setup
from setuptools.command.build_ext import build_ext

OPTIONS = [
    # What is installed beside the package must not change what is compiled.
    "--no-site-packages",
    "--ignore-missing-imports",
    "--follow-imports=silent",
    "--config-file=",
    f"--python-version={sys.version_info.major}.{sys.version_info.minor}",
]


def main(modules: list[str]) -> None:
    """Compile them."""
    paths = [module.replace(".", "/") + ".py" for module in modules]
    for path in paths:
        _keep_docstrings(Path(path))
    extensions = mypycify(
        [*OPTIONS, *paths],
        # "2" takes a third longer to compile, and gains a few per cent.
        opt_level="1",
        multi_file=True,
        debug_level="0",
        strip_asserts=False,
        group_name="seekwarc",
        target_dir="work",
    )
    arguments = ["build_ext", "--build-lib", "made", "--build-temp", "work", "--parallel", "2"]
    command = {"build_ext": _BuildInParallel}
    setup(name="seekwarc", ext_modules=extensions, packages=[], script_args=arguments, cmdclass=command)


class _BuildInParallel(build_ext):
    """Compiles the files of an extension beside each other, as `--parallel` does only extensions."""

    def build_extensions(self) -> None:
        compile_files = self.compiler.compile

        def compile_each(sources: list[str], **options: object) -> list[str]:
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                made = pool.map(lambda source: compile_files([source], **options), sources)
                return [name for names in made for name in names]

        self.compiler.compile = compile_each
        super().build_extensions()


def _keep_docstrings(path: Path) -> None:
    """Have a module set the docstrings of its classes when it is imported: mypyc drops them."""
    code = path.read_text(encoding="utf-8")
    classes = [node for node in ast.parse(code).body if isinstance(node, ast.ClassDef)]
    docs = {node.name: ast.get_docstring(node) for node in classes}
    lines = [f"setattr({name}, '__doc__', {doc!r})\n" for name, doc in docs.items() if doc is not None]
    path.write_text(code + "".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
