"""The description itself."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from seekwarc.serve.openapi import DESCRIPTION
from tests.support.rounds import rounds

METHODS = {"get", "head"}


def test_it_is_valid_openapi() -> None:
    assert DESCRIPTION["openapi"].startswith("3.1")
    assert {"title", "version"} <= set(DESCRIPTION["info"])
    for path, item in DESCRIPTION["paths"].items():
        assert path.startswith("/")
        for method, operation in item.items():
            assert method in METHODS
            assert operation["summary"]
            named = {it["name"] for it in operation["parameters"] if it["in"] == "path"}
            assert all(f"{{{name}}}" in path for name in named)
            assert path.count("{") == len(named)
            assert all(answer["description"] for answer in operation["responses"].values())


@pytest.mark.slow
@pytest.mark.needs("module:schemathesis")
def test_a_tool_of_others_finds_no_answer_that_is_not_described(server, found) -> None:
    import schemathesis  # noqa: PLC0415
    from schemathesis.checks import not_a_server_error  # noqa: PLC0415
    from schemathesis.specs.openapi.checks import (  # noqa: PLC0415
        content_type_conformance,
        response_schema_conformance,
        status_code_conformance,
    )

    record_id = found(q="film.mp4")
    schema = schemathesis.openapi.from_dict(DESCRIPTION)
    labels = set()
    for operation in (found.ok() for found in schema.get_all_operations()):
        labels.add(operation.label)

        @settings(max_examples=rounds(25), database=None, suppress_health_check=list(HealthCheck))
        @given(operation.as_strategy())
        def answers_are_described(case) -> None:
            for wanted in (case.path_parameters.get("record_id"), record_id):
                if wanted is None:
                    continue
                case.path_parameters["record_id"] = wanted
                case.call_and_validate(
                    base_url=f"http://127.0.0.1:{server.port}/api",
                    checks=[
                        not_a_server_error,
                        status_code_conformance,
                        content_type_conformance,
                        response_schema_conformance,
                    ],
                )

        answers_are_described()
    assert {"GET /records", "HEAD /records/{record_id}/payload"} <= labels
