# SPDX-License-Identifier: Apache-2.0

"""Which API versions are served, and which ones charts make.

Of Cluster API: its migration guides (v1beta2 came with 1.11; 1.16 is planned
to be without v1beta1). Of CAPO: the custom resource definitions of its tags.
Of the chart: its templates, by tag.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
import dataclasses
import re

from magnum_capi_helm.model import chart_versions
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import supported


@dataclasses.dataclass(frozen=True)
class Served:
    """What a product serves from a release on, until the next one here."""

    since: tuple[int, int]
    versions: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Product:
    """What is installed on a management cluster.

    :param served: the oldest release first
    """

    groups: tuple[str, ...]
    served: tuple[Served, ...]


#: As users of ``clusterctl`` call them.
PRODUCTS: Mapping[str, Product] = {
    "capi": Product(
        (
            "cluster.x-k8s.io",
            "controlplane.cluster.x-k8s.io",
            "bootstrap.cluster.x-k8s.io",
        ),
        (
            Served((1, 8), ("v1beta1",)),
            Served((1, 11), ("v1beta1", "v1beta2")),
            Served((1, 16), ("v1beta2",)),
        ),
    ),
    "capo": Product(
        ("infrastructure.cluster.x-k8s.io",),
        (
            Served((0, 10), ("v1alpha7", "v1beta1")),
            Served((0, 12), ("v1beta1",)),
            Served((0, 15), ("v1beta1", "v1beta2")),
        ),
    ),
}

#: What charts make: versions of the chart, product, API version.
_MADE = (
    (chart_versions.Range(until="0.10.1"), "capo", "v1alpha7"),
    (chart_versions.Range(since="0.11.0"), "capo", "v1beta1"),
    (chart_versions.Range(), "capi", "v1beta1"),
)

_RELEASE = re.compile(r"v?(\d+)\.(\d+)(\.\d+.*)?")
_GROUP_VERSION = re.compile(r"([a-z0-9-]+(?:\.[a-z0-9-]+)+)/(v\d\w*)")
_ALLOWED = (
    "give capi=RELEASE, capo=RELEASE or GROUP/VERSION, with commas between "
    "them, such as capi=1.14,capo=0.14"
)


def target(text: str) -> dict[str, frozenset[str]]:
    """What a management cluster would serve: versions by group.

    Of groups that are not named, nothing is said.

    :param text: ``capi=1.14,capo=0.14``, ``cluster.x-k8s.io/v1beta2``
    :raises InvalidInput: it is neither
    """
    found: dict[str, frozenset[str]] = {}
    for word in filter(None, map(str.strip, text.split(","))):
        name, _, release = word.partition("=")
        if name in PRODUCTS:
            versions = frozenset(_of_release(name, release))
            found |= dict.fromkeys(PRODUCTS[name].groups, versions)
        elif parts := _GROUP_VERSION.fullmatch(word):
            named = found.get(parts[1], frozenset())
            found[parts[1]] = named | {parts[2]}
        else:
            raise errors.InvalidInput(
                f"--target {errors.shown(word)} is no version: {_ALLOWED}"
            )
    if not found:
        raise errors.InvalidInput(f"--target is empty: {_ALLOWED}")
    return found


def _of_release(name: str, release: str) -> tuple[str, ...]:
    found = _RELEASE.fullmatch(release)
    served = PRODUCTS[name].served
    if not found:
        raise errors.InvalidInput(
            f"--target {name}={errors.shown(release)} is no release: "
            f"{_ALLOWED}"
        )
    number = (int(found[1]), int(found[2]))
    fitting = [each for each in served if each.since <= number]
    if not fitting:
        oldest = ".".join(map(str, served[0].since))
        raise errors.InvalidInput(
            f"--target {name}={release} is too old to be known: give "
            f"{oldest} or later, or GROUP/VERSION"
        )
    return fitting[-1].versions


def made_by(chart: str) -> dict[str, str]:
    """Version by group, of what a version of the chart makes."""
    return {
        group: version
        for charts, product, version in _MADE
        if chart in charts
        for group in PRODUCTS[product].groups
    }


def charts() -> Iterator[tuple[str, dict[str, str]]]:
    """Each version of the chart that is known, and what it makes."""
    for each in supported.versions():
        yield each, made_by(each)
