"""The checker notices what an API server would refuse or drop."""

from __future__ import annotations

from typing import Any

from oslotest import base

from magnum_capi_helm.tests.contract import schema

_STRING = {"type": "string"}
_CLOSED = {"type": "object", "properties": {"a": _STRING}}
_MAP = {"type": "object", "additionalProperties": _STRING}
_EITHER = {"x-kubernetes-int-or-string": True}
_KEPT = {"x-kubernetes-preserve-unknown-fields": True}
_EMBEDDED = {**_CLOSED, "x-kubernetes-embedded-resource": True}
_RESOURCE = {"apiVersion": "v1", "kind": "K", "metadata": {"name": "n"}}
_DEEP = {
    "type": "object",
    "properties": {"a": {"type": "array", "items": _CLOSED}},
}
_DEFAULT = {
    "type": "object",
    "properties": {"a": {**_STRING, "default": "x"}},
    "required": ["a"],
}
#: Schema, value, and what is wrong with it.
ROWS: tuple[tuple[schema.Schema, Any, str], ...] = (
    (_CLOSED, {"a": "x", "b": 1}, ".b: unknown, would be dropped"),
    ({**_CLOSED, **_KEPT}, {"a": "x", "b": 1}, ""),
    (_MAP, {"a": "x"}, ""),
    (_MAP, {"a": 1}, ".a: 1 is not of type string"),
    (_EMBEDDED, _RESOURCE, ""),
    ({**_CLOSED, "required": ["a"]}, {}, ".a: missing"),
    (_DEFAULT, {}, ""),
    (_EITHER, 1, ""),
    (_EITHER, "100%", ""),
    (_EITHER, True, ": True is not of type integer or string"),
    (_STRING, None, ": null"),
    ({**_STRING, "nullable": True}, None, ""),
    (_DEEP, {"a": [{}, {"a": 1}]}, ".a[1].a: 1 is not of type string"),
    *(
        ({"type": kind}, value, f": {value!r} is not of type {kind}")
        for kind, value in (
            ("integer", True),
            ("integer", 1.5),
            ("boolean", 1),
            ("string", 1),
            ("array", {}),
            ("object", []),
        )
    ),
    *(
        ({name: limit, **_KEPT}, value, f": {value!r} breaks {name} {limit!r}")
        for name, limit, value in (
            ("enum", ["a"], "b"),
            ("pattern", "^a$", "ab"),
            ("maxLength", 1, "ab"),
            ("minLength", 1, ""),
            ("maximum", 1, 2),
            ("minimum", 1, 0),
            ("maxItems", 0, [1]),
            ("minItems", 1, []),
            ("maxProperties", 0, {"a": 1}),
            ("minProperties", 1, {}),
        )
    ),
)


class CheckTest(base.BaseTestCase):
    def test_each_value_has_its_problem(self) -> None:
        for rule, value, problem in ROWS:
            found = schema.check(rule, value)
            wanted = [problem] if problem else []
            self.assertEqual(wanted, found, f"{rule} {value!r}")
