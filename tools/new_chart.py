# SPDX-License-Identifier: Apache-2.0

"""The data of a new release of the chart.

``python3 -m tools.new_chart openstack-cluster-0.28.0.tgz --dependencies
dependencies.json --kubernetes 1.34 1.36`` writes

- the value paths that it reads, ``tests/data/value_paths.json``,
- the software that it was tested with, ``versions.yaml``,
- the effects of labels, ``doc/source/reference/label-changes.json``, with the
  helm that the contract tests use,

and prints the values that the driver would send and no template reads: each
needs a row of ``MOVED`` in ``model/paths.py``, or another range of charts at
its label. ``dependencies.json`` is that of the release's tag; the versions of
Kubernetes, the oldest and the newest, are in its release notes.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
import json
import pathlib
import sys
from typing import Any

from magnum_capi_helm.chart import values
from magnum_capi_helm.helm import charts
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import paths
from magnum_capi_helm.tests import value_paths
from magnum_capi_helm.tests.contract import label_effects
from magnum_capi_helm.tests.unit.features import rows
from tools import archives

VERSIONS = archives.CHECKOUT / archives.PACKAGE / "versions.yaml"
#: Field of ``versions.yaml`` -> key of ``dependencies.json``.
_COMPONENTS = {
    "cluster_api": "cluster-api",
    "provider": "cluster-api-provider-openstack",
    "resources": "openstack-resource-controller",
    "addons": "addon-provider",
    "janitor": "cluster-api-janitor-openstack",
    "cert_manager": "cert-manager",
    "helm": "helm",
}


def leaves(node: Mapping[str, Any], above: str = "") -> Iterator[str]:
    """Yield the paths of all default values; an empty mapping is one."""
    for key, value in node.items():
        path = f"{above}{key}"
        if isinstance(value, Mapping) and value:
            yield from leaves(value, f"{path}.")
        else:
            yield path


def unread(version: str) -> dict[str, list[str]]:
    """Return what the newest chart would ignore: path -> who sends it."""
    found: dict[str, list[str]] = {}
    for sender, sent in (("model/paths.py", _named()), *_samples(version)):
        told = paths.spelled(sent, version)
        for path in value_paths.unknown(told, version):
            found.setdefault(path, []).append(sender)
    return found


def _named() -> paths.Values:
    """Return values at all paths with a name that the chart before knows."""
    before = value_paths.chart_versions()[1]
    named: paths.Values = {}
    for path in vars(paths).values():
        if isinstance(path, str) and path in value_paths.known(before):
            paths.put(named, path, [])
    return named


def _samples(version: str) -> Iterator[tuple[str, paths.Values]]:
    """Yield the values of a cluster with each label."""
    for name, (value, needs) in rows.CHANGES.items():
        given = {**needs, name: value, "capi_helm_chart_version": version}
        try:
            yield name, values.build(rows.resolved(given))
        except errors.InvalidInput:
            continue


def write_paths(package: charts.Package) -> None:
    """Add the chart to ``value_paths.json``, unless it is there."""
    if package.version in value_paths.chart_versions():
        return
    table = value_paths.extended(package.version, {*leaves(package.values)})
    value_paths.DATA.write_text(json.dumps(table, indent=1))
    forget_paths()


def forget_paths() -> None:
    """Read ``value_paths.json`` anew next time."""
    for cached in (value_paths.table, value_paths.known, value_paths.is_known):
        cached.cache_clear()


def write_versions(
    version: str, dependencies: pathlib.Path, kubernetes: list[str]
) -> None:
    """Add the chart to ``versions.yaml``, unless it is there.

    :param kubernetes: first and last minor version
    """
    if f'"{version}"' in VERSIONS.read_text():
        return
    components = json.loads(dependencies.read_text())
    lines = [f'\n- charts: ["{version}"]']
    for field, key in _COMPONENTS.items():
        if key in components:
            lines.append(f'  {field}: "{components[key].removeprefix("v")}"')
    lines.append(f"  kubernetes: {json.dumps(kubernetes)}\n")
    with VERSIONS.open("a", encoding="utf-8") as sink:
        sink.write("\n".join(lines))


def write_effects(version: str, chart: pathlib.Path) -> None:
    """Write the effects of labels; those of encryption stay."""
    table = json.loads(label_effects.TABLE.read_text())
    table.update(label_effects.effects(version, chart))
    text = json.dumps(table, indent=2, sort_keys=True)
    label_effects.TABLE.write_text(f"{text}\n")


def main(words: list[str]) -> int:
    """Run the command; return 1 if the chart would ignore a value."""
    parser = argparse.ArgumentParser(prog="python3 -m tools.new_chart")
    parser.add_argument("chart", type=pathlib.Path, help="the packaged chart")
    parser.add_argument("--dependencies", type=pathlib.Path, required=True)
    parser.add_argument(
        "--kubernetes", nargs=2, metavar=("FIRST", "LAST"), required=True
    )
    asked = parser.parse_args(words)
    package = charts.read(asked.chart)
    version = package.version
    write_paths(package)
    write_versions(version, asked.dependencies, asked.kubernetes)
    found = unread(version)
    for path, (first, *more) in sorted(found.items()):
        by = f"{first} and {len(more)} labels" if more else first
        print(f"{path}: chart {version} does not read it ({by})")
    if not found:
        write_effects(version, asked.chart)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
