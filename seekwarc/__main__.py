"""`python -m seekwarc` is the `seekwarc` command."""

from __future__ import annotations

import sys

from seekwarc.cli import main

if __name__ == "__main__":
    sys.exit(main())
