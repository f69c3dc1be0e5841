# SPDX-License-Identifier: Apache-2.0

"""API versions: served by management clusters, and made by charts.

Sources: Cluster API's migration guides (v1beta2 came with 1.11; 1.16 is
planned to be without v1beta1), the custom resource definitions of CAPO's tags,
and the templates of the chart's tags.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
import dataclasses
import re
from typing import NamedTuple, TypeAlias

from magnum_capi_helm.model import errors
from magnum_capi_helm.model import versions

#: API groups of a product, which has the name that ``clusterctl`` gives it.
_GROUPS: Mapping[str, tuple[str, ...]] = {
    "capi": (
        "cluster.x-k8s.io",
        "controlplane.cluster.x-k8s.io",
        "bootstrap.cluster.x-k8s.io",
    ),
    "capo": ("infrastructure.cluster.x-k8s.io",),
}
#: Versions that a product serves from a release on, the oldest first.
_SERVED: Mapping[str, Mapping[tuple[int, int], tuple[str, ...]]] = {
    "capi": {
        (1, 8): ("v1beta1",),
        (1, 11): ("v1beta1", "v1beta2"),
        (1, 16): ("v1beta2",),
    },
    "capo": {
        (0, 10): ("v1alpha7", "v1beta1"),
        (0, 12): ("v1beta1",),
        (0, 15): ("v1beta1", "v1beta2"),
    },
}
#: Charts that make objects of CAPO's v1alpha7; later ones make v1beta1.
_V1ALPHA7 = versions.Range(until="0.10.1")

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
        if name in _GROUPS:
            served |= dict.fromkeys(_GROUPS[name], _served_by(name, release))
        elif parts := _GROUP_VERSION.fullmatch(word):
            group, version = parts.groups()
            served[group] = served.get(group, frozenset()) | {version}
        else:
            raise errors.InvalidInput(
                f"--target {errors.shown(word)} is no version: {_ALLOWED}"
            )
    if not served:
        raise errors.InvalidInput(f"--target is empty: {_ALLOWED}")
    return served


def _served_by(product: str, release: str) -> frozenset[str]:
    match = _RELEASE.fullmatch(release)
    if not match:
        raise errors.InvalidInput(
            f"--target {product}={errors.shown(release)} is no release: "
            f"{_ALLOWED}"
        )
    number = (int(match[1]), int(match[2]))
    since = [each for each in _SERVED[product] if each <= number]
    if not since:
        oldest = ".".join(map(str, min(_SERVED[product])))
        raise errors.InvalidInput(
            f"--target {product}={release} is too old to be known: give "
            f"{oldest} or later, or GROUP/VERSION"
        )
    return frozenset(_SERVED[product][since[-1]])


def made_by(chart: str) -> dict[str, str]:
    """Return the API version of each group that a chart version makes."""
    made = dict.fromkeys((*_GROUPS["capi"], *_GROUPS["capo"]), "v1beta1")
    if chart in _V1ALPHA7:
        made |= dict.fromkeys(_GROUPS["capo"], "v1alpha7")
    return made


#: Group and kind, and the versions in which it is served.
ServedKinds: TypeAlias = Mapping[tuple[str, str], Collection[str]]

UNAFFECTED = "ok"
REPAIRED = "repaired"
UPGRADE = "upgrade"
REFUSED = "refused"

#: The first step where a change has failed before.
_BACK = (
    "resize it back to its old count, because Magnum upgrades no cluster "
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
    """Plan the changes of a manifest whose versions are not all served.

    :param named: the APIs of its objects
    """
    moves = {}
    lost = []
    for each in sorted(set(named)):
        others = served.get((each.group, each.kind), ())
        if not others:
            lost.append(each)
        elif each.version not in others:
            moves[each] = nearest(each.version, others)
    return Plan(moves, tuple(lost))


def nearest(version: str, served: Collection[str]) -> str:
    """Return the next newer version, else the newest of the older ones.

    The next chart names that version, and two manifests should name the
    same one: some releases of helm (3.17.1; not 3.20.2) take two versions
    for two objects, and delete the old one.

    :param served: not empty
    """
    ranked = sorted(served, key=_age)
    newer = [each for each in ranked if _age(each) > _age(version)]
    return newer[0] if newer else ranked[-1]


def _age(version: str) -> tuple[int, int, int, str]:
    """Return a key that sorts v1alpha7, v1beta1, v1, v2alpha1 like this."""
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
        f"the management cluster serves no version of {kinds}: install the "
        f'provider that has it ("{look}" shows the served kinds), and the '
        "driver continues"
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
    converts: Callable[[Api, str], bool] = lambda *_: False,
) -> Outlook:
    """Predict the effect on a release if these versions are served.

    :param named: by the manifest that helm would read
    :param makes: version by group, of the chart that the next change would
        be made with; None: nothing but a deletion is to come
    :param status: of its cluster, as Magnum has it
    :param converts: whether the driver converts an API to a version
    """
    needed = plan_repair(named, served)
    if needed.lost:
        return Outlook(REFUSED, refusal(needed.lost))
    if not needed.moves:
        return Outlook(UNAFFECTED)
    old = ", ".join(sorted({each.name for each in needed.moves}))
    if makes is None or _fits(needed, served, makes, converts):
        return Outlook(REPAIRED, f"nothing: the next operation replaces {old}")
    first = _BACK if status == "UPDATE_FAILED" else ""
    for version in versions.known_charts():
        if _fits(needed, served, made_by(version), converts):
            return Outlook(
                UPGRADE,
                f"{first}upgrade it to chart {version} or later: its own "
                f"chart makes {old}, so the driver can delete the cluster "
                "but not change it",
            )
    return Outlook(
        REFUSED,
        f"keep serving {old}: no chart that the driver knows makes another "
        "version, so the driver could delete clusters but not change them",
    )


def _fits(
    needed: Plan,
    served: ServedKinds,
    makes: Mapping[str, str],
    converts: Callable[[Api, str], bool],
) -> bool:
    """Return whether served versions of all these objects can be applied.

    A chart makes them, or the driver converts what the chart makes.
    """
    for each in needed.moves:
        made = each._replace(version=makes.get(each.group, ""))
        others = served[each.group, each.kind]
        if made.version not in others and not any(
            converts(made, version) for version in others
        ):
            return False
    return True
