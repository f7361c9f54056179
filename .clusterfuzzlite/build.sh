#!/bin/bash -eu
# Makes a program of each target of tests/fuzz, with the stored inputs as its corpus. It runs in the folder of the sources.
pip3 install '.[zstandard,brotli]'

for corpus in tests/fuzz/corpus/*; do
  name=fuzz_$(basename "$corpus")
  # The programs find the modules beside their script.
  sed "s/@TARGET@/$(basename "$corpus")/" .clusterfuzzlite/fuzz_target.py >"$name.py"
  compile_python_fuzzer "$name.py" --hidden-import=_cffi_backend
  rm "$name.py"
  python3 -m zipfile -c "$OUT/${name}_seed_corpus.zip" "$corpus"/*
done
