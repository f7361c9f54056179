"""Compiles modules of the package in the current folder with mypyc, into the folder `made`; see hook.py."""

from __future__ import annotations

import sys

from mypyc.build import mypycify
from setuptools import setup

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
    extensions = mypycify(
        [*OPTIONS, *paths],
        opt_level="2",
        debug_level="0",
        strip_asserts=False,
        group_name="seekwarc",
        target_dir="work",
    )
    arguments = ["build_ext", "--build-lib", "made", "--build-temp", "work", "--parallel", "2"]
    setup(name="seekwarc", ext_modules=extensions, packages=[], script_args=arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
