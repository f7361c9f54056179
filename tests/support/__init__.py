"""What tests share: files made by hand, ways to read them, sources that remember, series, strategies."""

import pytest

pytest.register_assert_rewrite("tests.support.reading", "tests.support.series")
