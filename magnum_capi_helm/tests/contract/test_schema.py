"""The checker notices what an API server would refuse or drop."""

from typing import Any

from oslotest import base

from magnum_capi_helm.tests.contract import schema

CLOSED = {"type": "object", "properties": {"a": {"type": "string"}}}


class CheckTest(base.BaseTestCase):
    def assert_problems(
        self, expected: list[str], rule: schema.Schema, value: Any
    ) -> None:
        self.assertEqual(expected, schema.check(rule, value))

    def test_unknown_field(self) -> None:
        problem = ".b: unknown, would be dropped"
        self.assert_problems([problem], CLOSED, {"a": "x", "b": 1})

    def test_unknown_field_where_all_are_kept(self) -> None:
        rule = {**CLOSED, "x-kubernetes-preserve-unknown-fields": True}
        self.assert_problems([], rule, {"a": "x", "b": 1})

    def test_map(self) -> None:
        rule = {"type": "object", "additionalProperties": {"type": "string"}}
        self.assert_problems([], rule, {"a": "x"})
        problem = ".a: 1 is not of type string"
        self.assert_problems([problem], rule, {"a": 1})

    def test_embedded_resource(self) -> None:
        rule = {**CLOSED, "x-kubernetes-embedded-resource": True}
        value = {"apiVersion": "v1", "kind": "K", "metadata": {"name": "n"}}
        self.assert_problems([], rule, value)

    def test_missing_field(self) -> None:
        rule = {**CLOSED, "required": ["a"]}
        self.assert_problems([".a: missing"], rule, {})

    def test_missing_field_with_default(self) -> None:
        properties = {"a": {"type": "string", "default": "x"}}
        rule = {"type": "object", "properties": properties, "required": ["a"]}
        self.assert_problems([], rule, {})

    def test_type(self) -> None:
        for kind, value in (
            ("integer", True),
            ("integer", 1.5),
            ("boolean", 1),
            ("string", 1),
            ("array", {}),
            ("object", []),
        ):
            problem = f": {value!r} is not of type {kind}"
            self.assert_problems([problem], {"type": kind}, value)

    def test_int_or_string(self) -> None:
        rule = {"x-kubernetes-int-or-string": True}
        self.assert_problems([], rule, 1)
        self.assert_problems([], rule, "100%")
        problem = ": True is not of type integer or string"
        self.assert_problems([problem], rule, True)

    def test_null(self) -> None:
        self.assert_problems([": null"], {"type": "string"}, None)
        self.assert_problems([], {"type": "string", "nullable": True}, None)

    def test_limits(self) -> None:
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
        ):
            rule = {name: limit, "x-kubernetes-preserve-unknown-fields": True}
            problem = f": {value!r} breaks {name} {limit!r}"
            self.assert_problems([problem], rule, value)

    def test_path(self) -> None:
        rule = {
            "type": "object",
            "properties": {"a": {"type": "array", "items": CLOSED}},
        }
        value = {"a": [{}, {"a": 1}]}
        problem = ".a[1].a: 1 is not of type string"
        self.assert_problems([problem], rule, value)
