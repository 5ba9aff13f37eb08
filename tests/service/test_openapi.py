"""What the description of the API says is what the service answers: invented requests to every route, and examples."""

from __future__ import annotations

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from hypothesis.strategies import booleans, one_of
from schemathesis.checks import CHECKS
from tests.service.conftest import Running

SKIPPED = ("/v1/jobs/{job}/events",)
"""Followed until a job ends; ``test_access`` follows one."""

WANTED = ("not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance")


def problems_of(service: Running, key: str, examples: int) -> list[str]:
    """What is wrong with the answers to invented requests."""
    schema = schemathesis.openapi.from_asgi("/v1/openapi.json", service.web.app)
    checks = CHECKS.get_by_names(WANTED)
    found: dict[str, str] = {}
    for result in schema.get_all_operations():
        operation: Any = result.ok()  # type: ignore[union-attr]
        if operation.path in SKIPPED:
            continue

        @settings(
            max_examples=examples,
            derandomize=True,
            database=None,
            deadline=None,
            phases=[Phase.explicit, Phase.generate],
            suppress_health_check=tuple(HealthCheck),  # type: ignore[arg-type]
        )
        @given(case=_cases(operation), real=booleans())
        def ask(case: Any, real: bool) -> None:
            if real and case.method != "DELETE":
                _name_real_things(service, case)
            headers = {"Authorization": f"Bearer {key}"} if case.operation.path != "/v1/setup" else {}
            answer = case.call(headers=headers)
            try:
                case.validate_response(answer, checks=checks)
            except Exception as error:
                name = f"{case.method} {case.operation.path} {answer.status_code}"
                found.setdefault(name, f"{name}: {error} {answer.text[:200]}")

        ask()
    return list(found.values())


def _cases(operation: Any) -> Any:
    """Requests as the description wants them, and others where it can say what others are."""
    wrong = operation.as_strategy(generation_mode=schemathesis.GenerationMode.NEGATIVE)
    if operation.label not in _WITH_OTHERS:
        _WITH_OTHERS[operation.label] = _has_one(wrong)
    return one_of(operation.as_strategy(), wrong) if _WITH_OTHERS[operation.label] else operation.as_strategy()


_WITH_OTHERS: dict[str, bool] = {}
"""Whether a route can be asked what its description does not want. The routes are the same for every role."""


def _has_one(strategy: Any) -> bool:
    """Whether anything can be drawn. One is enough; of a strategy without any, hundreds of attempts are made."""

    @settings(
        max_examples=1,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=tuple(HealthCheck),  # type: ignore[arg-type]
    )
    @given(strategy)
    def drawn(_: Any) -> None:
        pass

    try:
        drawn()
    except Unsatisfiable:
        return False
    return True


def _name_real_things(service: Running, case: Any) -> None:
    """So that more than "not found" is met."""
    real = {"population": "viewers", "dataset": "films", "release": "nightly", "method": "weighted", "item": "film-3"}
    real |= {"job": service.get("/jobs")["entries"][0]["id"], "key": service.get("/keys")["entries"][-1]["id"]}
    parameters = case.path_parameters or {}
    parameters.update({name: value for name, value in real.items() if name in parameters})
    if isinstance(case.body, dict):
        case.body.update({name: real[name] for name in ("dataset", "population", "method") if name in case.body})


@pytest.mark.parametrize("role", ["curator", "analyst"])
def test_every_answer_to_invented_requests_is_documented(shared: Running, role: str) -> None:
    if role == "curator":
        key = shared.issue("curator")[1]
    else:
        name, key = shared.issue("analyst")
        shared.call("PUT", f"/populations/viewers/allowances/{name}", json={"epsilon": "1/4"})
    found = problems_of(shared, key, examples=12 if role == "curator" else 6)  # most routes are not for analysts
    assert not found, "\n\n".join(found)


def test_every_route_has_an_example(shared: Running) -> None:
    """Of what is sent, where something is: a body or parameters without an example leave a reader to guess."""
    described = shared.web.get("/v1/openapi.json").json()
    components = described["components"]["schemas"]
    missing = []
    for path, methods in described["paths"].items():
        for method, one in methods.items():
            for kind in one.get("requestBody", {}).get("content", {}).values():
                schema = kind.get("schema", {})
                schema = components[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
                properties = schema.get("properties", {}).values()
                known = "examples" in schema or "example" in schema or "example" in kind or "examples" in kind
                if not known and not any(_has_example(part, components) for part in properties):
                    missing.append(f"{method} {path}")
    assert not missing


def _has_example(schema: dict[str, Any], components: dict[str, Any]) -> bool:
    return any(name in schema for name in ("examples", "example", "const", "enum")) or any(
        _has_example(part, components) for part in schema.get("anyOf", ()) if isinstance(part, dict)
    )
