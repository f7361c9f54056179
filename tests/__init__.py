"""The tests; the conformance kit, which they import, is a script beside the specification."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "spec-notes"))
