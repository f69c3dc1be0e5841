# SPDX-License-Identifier: Apache-2.0

"""API versions: served by management clusters, and made by charts.

Of Cluster API: its migration guides (v1beta2 came with 1.11; 1.16 is planned
to be without v1beta1). Of CAPO: the custom resource definitions of its tags.
Of the chart: its templates, by tag.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
import dataclasses
import re
from typing import NamedTuple, TypeAlias

from magnum_capi_helm.model import errors
from magnum_capi_helm.model import versions


@dataclasses.dataclass(frozen=True)
class Served:
    """API versions that a product serves from a release on."""

    since: tuple[int, int]
    versions: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Product:
    """Software of a management cluster that serves API groups.

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
    (versions.Range(until="0.10.1"), "capo", "v1alpha7"),
    (versions.Range(since="0.11.0"), "capo", "v1beta1"),
    (versions.Range(), "capi", "v1beta1"),
)

_RELEASE = re.compile(r"v?(\d+)\.(\d+)(\.\d+.*)?")
_GROUP_VERSION = re.compile(r"([a-z0-9-]+(?:\.[a-z0-9-]+)+)/(v\d\w*)")
_ALLOWED = (
    "give capi=RELEASE, capo=RELEASE or GROUP/VERSION, with commas between "
    "them, such as capi=1.14,capo=0.14"
)


def target(text: str) -> dict[str, frozenset[str]]:
    """Parse the versions that a management cluster would serve, by group.

    The result has only the groups that the text names.

    :param text: ``capi=1.14,capo=0.14``, ``cluster.x-k8s.io/v1beta2``
    :raises InvalidInput: it is neither
    """
    served: dict[str, frozenset[str]] = {}
    for word in filter(None, map(str.strip, text.split(","))):
        name, _, release = word.partition("=")
        if name in PRODUCTS:
            versions = frozenset(_of_release(name, release))
            served |= dict.fromkeys(PRODUCTS[name].groups, versions)
        elif parts := _GROUP_VERSION.fullmatch(word):
            named = served.get(parts[1], frozenset())
            served[parts[1]] = named | {parts[2]}
        else:
            raise errors.InvalidInput(
                f"--target {errors.shown(word)} is no version: {_ALLOWED}"
            )
    if not served:
        raise errors.InvalidInput(f"--target is empty: {_ALLOWED}")
    return served


def _of_release(name: str, release: str) -> tuple[str, ...]:
    match = _RELEASE.fullmatch(release)
    served = PRODUCTS[name].served
    if not match:
        raise errors.InvalidInput(
            f"--target {name}={errors.shown(release)} is no release: "
            f"{_ALLOWED}"
        )
    number = (int(match[1]), int(match[2]))
    fitting = [each for each in served if each.since <= number]
    if not fitting:
        oldest = ".".join(map(str, served[0].since))
        raise errors.InvalidInput(
            f"--target {name}={release} is too old to be known: give "
            f"{oldest} or later, or GROUP/VERSION"
        )
    return fitting[-1].versions


def made_by(chart: str) -> dict[str, str]:
    """Return the API version of each group that a chart version makes."""
    return {
        group: version
        for charts, product, version in _MADE
        if chart in charts
        for group in PRODUCTS[product].groups
    }


def charts() -> Iterator[tuple[str, dict[str, str]]]:
    """Yield each known version of the chart with the API versions it makes."""
    for each in versions.known_charts():
        yield each, made_by(each)


#: Group and kind, and the versions in which it is served.
ServedKinds: TypeAlias = Mapping[tuple[str, str], Collection[str]]

UNAFFECTED = "ok"
REPAIRED = "repaired"
UPGRADE = "upgrade"
REFUSED = "refused"

#: The first step where a change has failed before.
_BACK = (
    "resize it back to the count that it had, since Magnum upgrades nothing "
    "that is UPDATE_FAILED; then "
)

_API_VERSION = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?")
_STAGES = {"alpha": 0, "beta": 1, None: 2}


class Api(NamedTuple):
    """API group, version and kind of an object.

    :param group: empty for the core group
    """

    group: str
    version: str
    kind: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"

    @property
    def name(self) -> str:
        """Return the ``apiVersion`` of the object."""
        return f"{self.group}/{self.version}".lstrip("/")


def api(version: str, kind: str) -> Api:
    """Return the API of an object.

    :param version: its ``apiVersion``
    """
    group, _, name = version.rpartition("/")
    return Api(group, name, kind)


@dataclasses.dataclass(frozen=True)
class Plan:
    """Changes that a manifest needs before helm can read it.

    :param moves: the served version of each API that is not served any more
    :param lost: of kinds that are served in no version at all
    """

    moves: Mapping[Api, str]
    lost: tuple[Api, ...] = ()

    def __str__(self) -> str:
        """Return the old and the new versions in words."""
        moves = {f"{old.name} to {new}" for old, new in self.moves.items()}
        return ", ".join(sorted(moves))


def plan_repair(named: Iterable[Api], served: ServedKinds) -> Plan:
    """Plan the changes of a manifest.

    :param named: what the objects of the manifest are of
    """
    moves = {}
    lost = []
    for each in sorted(set(named)):
        versions = served.get((each.group, each.kind), ())
        if each.version in versions:
            continue
        if versions:
            moves[each] = nearest(each.version, versions)
        else:
            lost.append(each)
    return Plan(moves, tuple(lost))


def nearest(version: str, served: Collection[str]) -> str:
    """Return the next newer version, else the newest of the older ones.

    That is what the next chart names, and two manifests should name the
    same: some releases of helm (3.17.1; not 3.20.2) take two versions for
    two objects, and delete the old one.

    :param served: not empty
    """
    ranked = sorted(served, key=_age)
    newer = [each for each in ranked if _age(each) > _age(version)]
    return newer[0] if newer else ranked[-1]


def _age(version: str) -> tuple[int, int, int, str]:
    """Sorts versions from old to new: v1alpha7, v1beta1, v1, v2alpha1."""
    match = _API_VERSION.fullmatch(version)
    if not match:
        return (0, 0, 0, version)
    return (int(match[1]), _STAGES[match[2]], int(match[3] or 0), version)


def refusal(lost: Iterable[Api]) -> str:
    """Return the advice for kinds that are served in no version."""
    groups = sorted({each.group for each in lost})
    look = ", ".join(
        f"kubectl api-resources --api-group={each}" for each in groups
    )
    kinds = ", ".join(str(each) for each in lost)
    return (
        f"no version is served of {kinds}: install the provider that has it "
        f'("{look}" shows what is there), and it goes on by itself'
    )


@dataclasses.dataclass(frozen=True)
class Outlook:
    """The effect of a change of the served versions on a release.

    :param state: :data:`UNAFFECTED`, :data:`REPAIRED`, :data:`UPGRADE` or
        :data:`REFUSED`
    :param detail: what to do first
    """

    state: str
    detail: str = ""


def forecast(
    named: Collection[Api],
    served: ServedKinds,
    makes: Mapping[str, str] | None,
    status: str = "",
) -> Outlook:
    """Predict the effect on a release if these versions are served.

    :param named: by the manifest that helm would read
    :param makes: version by group, of the chart that the next change would
        be made with; None: nothing but a deletion is to come
    :param status: of its cluster, as Magnum has it
    """
    needed = plan_repair(named, served)
    if needed.lost:
        return Outlook(REFUSED, refusal(needed.lost))
    if not needed.moves:
        return Outlook(UNAFFECTED)
    old = ", ".join(sorted({each.name for each in needed.moves}))
    if makes is None or _fits(needed, served, makes):
        return Outlook(
            REPAIRED, f"nothing: {old} is replaced by the next operation"
        )
    first = _BACK if status == "UPDATE_FAILED" else ""
    for version, made in charts():
        if _fits(needed, served, made):
            return Outlook(
                UPGRADE,
                f"{first}upgrade it to chart {version} or later: with its own "
                f"chart, which makes {old}, it can be deleted but not changed",
            )
    return Outlook(
        REFUSED,
        f"keep it served, or serve it again: no chart that the driver knows "
        f"makes anything but {old}; without it, clusters can be deleted but "
        "not changed",
    )


def _fits(needed: Plan, served: ServedKinds, makes: Mapping[str, str]) -> bool:
    """Return whether a chart makes served versions of all these objects."""
    return all(
        makes.get(each.group, "") in served[each.group, each.kind]
        for each in needed.moves
    )
