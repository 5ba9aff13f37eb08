"""The OpenAPI document of the service as something to read."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["reference"]

METHODS = ("get", "post", "put", "delete")


def reference(document: dict[str, Any]) -> list[dict[str, Any]]:
    """The routes by subject: what each does, takes and answers, with an example of its body."""
    schemas = document.get("components", {}).get("schemas", {})
    groups: dict[str, list[dict[str, Any]]] = {}
    for path, ways in document["paths"].items():
        for method in METHODS:
            if method in ways:
                route = _route(path, method, ways[method], schemas)
                groups.setdefault((ways[method].get("tags") or ["other"])[0], []).append(route)
    return [{"name": name, "routes": routes} for name, routes in groups.items()]


def _route(path: str, method: str, given: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    summary, _, more = (given.get("description") or given.get("summary") or "").partition("\n\n")
    return {
        "path": path,
        "method": method.upper(),
        "anchor": f"{method}-{path.strip('/').replace('/', '-').replace('{', '').replace('}', '')}",
        "summary": summary.replace("\n", " "),
        "more": more.replace("\n", " "),
        "parameters": [_parameter(one, schemas) for one in given.get("parameters", [])],
        "body": _body(given.get("requestBody"), schemas),
        "answers": [(status, one.get("description", "")) for status, one in sorted(given.get("responses", {}).items())],
    }


def _parameter(given: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": given["name"],
        "where": given["in"],
        "kind": _kind(given.get("schema", {}), schemas),
        "required": given.get("required", False),
        "words": given.get("description") or given.get("schema", {}).get("description", ""),
    }


def _body(given: dict[str, Any] | None, schemas: dict[str, Any]) -> dict[str, Any] | None:
    if not given:
        return None
    media, content = next(iter(given["content"].items()))
    schema = _resolved(content.get("schema", {}), schemas)
    required = schema.get("required", ())
    fields = [
        {
            "name": name,
            "kind": _kind(one, schemas),
            "required": name in required,
            "words": one.get("description", ""),
        }
        for name, one in schema.get("properties", {}).items()
    ]
    example = {
        name: found for name, one in schema.get("properties", {}).items() if (found := _example(one)) is not None
    }
    text = json.dumps(example, indent=2, ensure_ascii=False) if example else ""
    return {"media": media, "fields": fields, "example": text}


def _resolved(schema: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    name = schema.get("$ref", "").rpartition("/")[2]
    return schemas.get(name, {}) if name else schema


def _example(schema: dict[str, Any]) -> Any:
    if examples := schema.get("examples"):
        return examples[0]
    inner = [found for one in schema.get("anyOf", ()) if (found := _example(one)) is not None]
    return schema["default"] if schema.get("default") not in (None, "", [], {}) else next(iter(inner), None)


def _kind(schema: dict[str, Any], schemas: dict[str, Any]) -> str:
    """The type of a value in words."""
    if "$ref" in schema:
        return schema["$ref"].rpartition("/")[2]
    if "enum" in schema:
        return " or ".join(map(str, schema["enum"]))
    if "const" in schema:
        return str(schema["const"])
    if options := schema.get("anyOf"):
        kinds = dict.fromkeys(_kind(one, schemas) for one in options)
        return " or ".join(one for one in kinds if one not in ("null", "nothing"))
    kind = schema.get("type", "anything")
    return f"list of {_kind(schema.get('items', {}), schemas)}" if kind == "array" else str(kind)
