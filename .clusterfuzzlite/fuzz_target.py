"""Runs one target of tests/fuzz, which build.sh names, as libFuzzer does."""

import sys

import atheris

with atheris.instrument_imports(include=["seekwarc"]):
    import seekwarc

    # Now, for what a function imports when it first needs it would not be instrumented.
    for public in seekwarc.__all__:
        getattr(seekwarc, public)
    from tests.fuzz.targets import TARGETS

atheris.Setup(sys.argv, TARGETS["@TARGET@"])
atheris.Fuzz()
