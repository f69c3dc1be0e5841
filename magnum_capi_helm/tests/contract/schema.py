"""Checks objects against the schemas of CustomResourceDefinitions.

Stricter than an API server, which silently drops fields that it doesn't
know: here each is a problem, for what is dropped has no effect. Rules in CEL
(x-kubernetes-validations) are left to a real API server.
"""

import pathlib
import re
from typing import Any

from magnum_capi_helm.tests.contract import rendering

Schema = dict[str, Any]

_TYPES: dict[str, tuple[type, ...]] = {
    "array": (list,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "object": (dict,),
    "string": (str,),
}
# Limit -> which values break it.
_LIMITS: dict[str, Any] = {
    "enum": lambda value, limit: value not in limit,
    "maxItems": lambda value, limit: len(value) > limit,
    "maxLength": lambda value, limit: len(value) > limit,
    "maxProperties": lambda value, limit: len(value) > limit,
    "maximum": lambda value, limit: value > limit,
    "minItems": lambda value, limit: len(value) < limit,
    "minLength": lambda value, limit: len(value) < limit,
    "minProperties": lambda value, limit: len(value) < limit,
    "minimum": lambda value, limit: value < limit,
    "pattern": lambda value, limit: not re.search(limit, value),
}
_EMBEDDED = ("apiVersion", "kind", "metadata")


class Schemas:
    """The served schemas of all definitions in a folder."""

    def __init__(self, folder: pathlib.Path) -> None:
        self._schemas: dict[tuple[str, str], Schema] = {}
        for path in sorted(folder.glob("crd-*.yaml")):
            for definition in rendering.load(path.read_text()):
                self._add(definition["spec"])
        if not self._schemas:
            raise RuntimeError(
                f"no crd-*.yaml in {folder}: bring up the lab, which writes "
                "them, or set LAB_DIR"
            )

    def _add(self, spec: dict[str, Any]) -> None:
        for version in spec["versions"]:
            api = f"{spec['group']}/{version['name']}"
            schema = version["schema"]["openAPIV3Schema"]
            self._schemas[api, spec["names"]["kind"]] = schema

    def problems(self, item: rendering.Object) -> list[str]:
        """What is wrong with an object; each text begins with the path."""
        kind = item["kind"]
        schema = self._schemas.get((item["apiVersion"], kind))
        if schema is None:
            return [f"{kind}: {item['apiVersion']} is not defined"]
        return check({**schema, "x-kubernetes-embedded-resource": True}, item)


def check(schema: Schema, value: Any, path: str = "") -> list[str]:
    """What is wrong with a value; each text begins with the path."""
    if value is None:
        # Nulls are dropped in favour of a default.
        fine = schema.get("nullable") or "default" in schema
        return [] if fine else [f"{path}: null"]
    if not _has_type(schema, value):
        wanted = schema.get("type", "integer or string")
        return [f"{path}: {value!r} is not of type {wanted}"]
    found = [
        f"{path}: {value!r} breaks {name} {schema[name]!r}"
        for name, broken in _LIMITS.items()
        if name in schema and broken(value, schema[name])
    ]
    if isinstance(value, dict):
        found += _check_fields(schema, value, path)
    if isinstance(value, list) and "items" in schema:
        for index, item in enumerate(value):
            found += check(schema["items"], item, f"{path}[{index}]")
    return found


def _has_type(schema: Schema, value: Any) -> bool:
    if schema.get("x-kubernetes-int-or-string"):
        return isinstance(value, int | str) and not isinstance(value, bool)
    if "type" not in schema:
        return True
    if isinstance(value, bool):
        return bool(schema["type"] == "boolean")
    return isinstance(value, _TYPES[schema["type"]])


def _check_fields(
    schema: Schema, value: dict[str, Any], path: str
) -> list[str]:
    properties = schema.get("properties", {})
    embedded = schema.get("x-kubernetes-embedded-resource")
    found = [
        f"{path}.{name}: missing"
        for name in schema.get("required", [])
        if name not in value and "default" not in properties.get(name, {})
    ]
    for name, item in value.items():
        here = f"{path}.{name}"
        if embedded and name in _EMBEDDED:
            continue
        if name in properties:
            found += check(properties[name], item, here)
        elif isinstance(schema.get("additionalProperties"), dict):
            found += check(schema["additionalProperties"], item, here)
        elif not _open(schema):
            found.append(f"{here}: unknown, would be dropped")
    return found


def _open(schema: Schema) -> bool:
    """Whether fields without a schema are kept."""
    return bool(
        schema.get("x-kubernetes-preserve-unknown-fields")
        or schema.get("additionalProperties")
    )
