# SPDX-License-Identifier: Apache-2.0

"""The conversion to v1beta2 fits the definitions of Cluster API and CAPO."""

from __future__ import annotations

from collections.abc import Iterator
import functools
import pathlib
from typing import Any

from oslotest import base
import yaml

from magnum_capi_helm.chart import conversion
from magnum_capi_helm.tests.contract import rendering
from magnum_capi_helm.tests.contract import schema
from magnum_capi_helm.tests.contract import test_templates

#: No chart renders them.
_REFUSED = {
    ("Cluster", "topology"),
    ("OpenStackCluster", "bastion.spec.flavorID"),
    ("OpenStackMachineTemplate", "template.spec.flavorID"),
}
CAPO = "infrastructure.cluster.x-k8s.io"


@functools.cache
def _definitions() -> dict[tuple[str, str, str], schema.Schema]:
    """Group, kind and version -> the schema of its ``spec``."""
    found = {}
    for path in (rendering.LAB_DIR / "manifests").glob("crd-*.yaml"):
        for each in rendering.load(path.read_text()):
            spec = each["spec"]
            for version in spec["versions"]:
                key = spec["group"], spec["names"]["kind"], version["name"]
                fields = version["schema"]["openAPIV3Schema"]["properties"]
                found[key] = fields.get("spec", {})
    for kind, fields in _of_capo().items():
        found[CAPO, kind, conversion.NEW] = fields
    return found


@functools.cache
def _of_capo() -> dict[str, schema.Schema]:
    """Kind of CAPO -> the schema of its ``spec`` in v1beta2."""
    path = pathlib.Path(__file__).with_name("capo_v1beta2.yaml")
    found = yaml.safe_load(path.read_text())["kinds"]
    return {kind: _schema(fields) for kind, fields in found.items()}


def _schema(fields: Any) -> schema.Schema:
    """The schema of a type's name, of a list's item or of a map's fields."""
    if isinstance(fields, str):
        return {"type": fields}
    if isinstance(fields, list):
        return {"type": "array", "items": _schema(fields[0])}
    properties = {key: _schema(each) for key, each in fields.items()}
    return {"type": "object", "properties": properties}


def rendered() -> Iterator[rendering.Object]:
    """Objects of charts, of each kind that the driver converts."""
    manifests = test_templates.rendered().values()
    for each in (item for manifest in manifests for item in manifest):
        api = conversion.api_of(each)
        if conversion.converts(api, conversion.NEW):
            yield each


class DefinitionsTest(base.BaseTestCase):
    def test_each_field_of_v1beta1_has_a_row(self) -> None:
        for (group, kind), rows in conversion.TABLES.items():
            defined = _definitions()[group, kind, conversion.OLD]
            missing = {
                path
                for path in _without_row(defined, rows)
                if (kind, path) not in _REFUSED
            }
            self.assertEqual(set(), missing, kind)

    def test_each_new_path_is_a_field_of_v1beta2(self) -> None:
        for (group, kind), rows in conversion.TABLES.items():
            old, new = (
                _definitions()[group, kind, version]
                for version in (conversion.OLD, conversion.NEW)
            )
            self.assertEqual([], list(_undefined(old, new, rows)), kind)

    def test_what_charts_render_is_allowed_in_v1beta2(self) -> None:
        schemas = schema.Schemas(rendering.LAB_DIR / "manifests")
        problems = {
            f"{each['kind']} {problem}"
            for each in map(conversion.convert, rendered())
            for problem in (
                schema.check(_of_capo()[each["kind"]], each["spec"])
                if each["apiVersion"].startswith(CAPO)
                else schemas.problems(each)
            )
        }
        self.assertEqual(set(), problems)


def _without_row(
    defined: schema.Schema, rows: conversion.Rows, prefix: str = ""
) -> Iterator[str]:
    for name, inner in defined.get("properties", {}).items():
        path = f"{prefix}{name}"
        if path in rows:
            if (items := rows[path].rows) is not None:
                here = inner.get("items", inner)
                yield from (
                    f"{path}.{each}" for each in _without_row(here, items)
                )
        elif any(each.startswith(f"{path}.") for each in rows):
            yield from _without_row(inner, rows, f"{path}.")
        else:
            yield path


def _undefined(
    old: schema.Schema, new: schema.Schema, rows: conversion.Rows
) -> Iterator[str]:
    """New paths without a definition; newer Cluster APIs have more rows."""
    for path, field in rows.items():
        before = _at(old, path)
        for to in field.to if before else ():
            after = _at(new, to)
            if not after:
                yield to
            elif field.rows is not None:
                inner = _undefined(
                    before.get("items", before),
                    after.get("items", after),
                    field.rows,
                )
                yield from (f"{to}.{each}" for each in inner)


def _at(defined: schema.Schema, path: str) -> schema.Schema:
    for each in path.split("."):
        defined = defined.get("properties", {}).get(each, {})
    return defined
