# SPDX-License-Identifier: Apache-2.0

"""Set fields of rendered objects for which a chart has no value.

``patches.yaml`` has these fields, and others are for the autoscaler.
Their values are in the release's values like all others, at a path that the
chart ignores, so the desired state, an upgrade to another chart and a rollback
need to know nothing of patches.

The autoscaler plans with a node of the group. Without one it reads annotations
of the MachineDeployment, and then the group's machine template. The chart
gives it no permission for the template: it waits for ever, and scales no group
any more. Source: ``InstanceCapacity``, ``Labels`` and ``Taints`` in
``clusterapi_unstructured.go``, ``getInfrastructureResource`` in
``clusterapi_controller.go`` of kubernetes/autoscaler.

Cluster API copies these annotations to MachineSets and replaces no machine for
them: they are no part of the template of machines.

The chart leaves the count out, and Cluster API then starts a group with its
minimum. It keeps the count that a group has when helm takes the field away
again (``calculateMachineDeploymentReplicas`` in its webhook).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
import functools
from typing import Any, NamedTuple

from magnum_capi_helm.features import autoscaling
from magnum_capi_helm.model import encoding
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import paths
from magnum_capi_helm.model import versions


class Patch(NamedTuple):
    """A field of objects of one kind.

    :param field: dotted path in the object
    :param label: ``key=value`` of the objects; empty: all of the kind
    :param text: the part of the field that the value replaces. Without it the
        value is added to what objects with the label have; a number, and what
        is for all of a kind, replaces it
    :param old: dotted path of what moves to the field, if it is there, in
        place of the value
    """

    kind: str
    field: str
    value: Any
    label: str = ""
    text: str = ""
    old: str = ""

    def fits(self, kind: str, labels: Collection[str]) -> bool:
        """Return whether an object gets the field."""
        return kind == self.kind and (not self.label or self.label in labels)


class Row(NamedTuple):
    """An entry of ``patches.yaml``, which explains the fields.

    :param key: of the value in the map that the field becomes, or empty
    :param patch: its value is that of ``by``, or None
    """

    value: str
    charts: versions.Range
    key: str
    patch: Patch


def identity(obj: Mapping[str, Any]) -> tuple[str, frozenset[str]]:
    """Return kind and labels of an object, for ``check``."""
    labels = paths.value_at(obj, "metadata.labels") or {}
    pairs = (f"{key}={text}" for key, text in labels.items())
    return str(obj.get("kind")), frozenset(pairs)


@functools.cache
def table() -> tuple[Row, ...]:
    """Return the content of ``patches.yaml``."""
    entries = encoding.package_data("patches.yaml")
    return tuple(_row(**entry) for entry in entries)


def _row(
    value: str,
    charts: Mapping[str, str],
    by: Any = None,
    key: str = "",
    **more: str,
) -> Row:
    return Row(value, versions.Range(**charts), key, Patch(value=by, **more))


def wanted(
    values: Mapping[str, Any],
    version: str,
    counts: Mapping[str, int] | None = None,
) -> tuple[Patch, ...]:
    """Return the patches of a release.

    :param version: of its chart
    :param counts: of autoscaled groups whose count helm sets, by their names
    """
    of_table = (
        row.patch._replace(
            value={row.key: value} if row.key else row.patch.value or value
        )
        for row in table()
        if version in row.charts
        and (value := paths.value_at(values, row.value))
    )
    return (*of_table, *_for_autoscaler(values, counts or {}))


def _for_autoscaler(
    values: Mapping[str, Any], counts: Mapping[str, int]
) -> Iterator[Patch]:
    groups = scaled(values)
    if groups:
        label = "capi.stackhpc.com/component=autoscaler"
        yield Patch("Role", "rules", _RULES, label)
    for each in groups:
        label = f"{_GROUP_LABEL}={each['name']}"
        fields = {
            "metadata.annotations": _capacity(each) or None,
            "spec.replicas": counts.get(each["name"]),
        }
        for field, value in fields.items():
            if value is not None:
                yield Patch("MachineDeployment", field, value, label)


def applied(
    objects: Iterable[dict[str, Any]], patches: Sequence[Patch]
) -> tuple[dict[str, Any], ...]:
    """Return all objects that a chart renders, with their patches.

    :raises Unconvertible: there is nothing to patch
    """
    objects = tuple(objects)
    check(patches, {identity(each) for each in objects})
    return tuple(patched(each, patches) or each for each in objects)


def patched(
    obj: Mapping[str, Any], patches: Iterable[Patch]
) -> dict[str, Any] | None:
    """Return a copy of an object with its patches, or None without any.

    :raises Unconvertible: a field can't be there
    """
    own = [each for each in patches if each.fits(*identity(obj))]
    if not own:
        return None
    result: dict[str, Any] = paths.copied(obj)
    for patch in own:
        if patch.old:
            result = paths.moved(result, patch.old, patch.field)
            continue
        parent, _, _ = patch.field.rpartition(".")
        above = paths.value_at(result, parent)
        before = paths.value_at(result, patch.field)
        missing = "" if isinstance(above, dict) else parent
        if patch.text and patch.text not in str(before):
            missing = patch.text
        if missing:
            raise errors.Unconvertible(
                f"{patch.kind} can't get {patch.field}: the chart renders no "
                f"{missing}"
            )
        paths.put(result, patch.field, _value(patch, before))
    return result


def _value(patch: Patch, before: Any) -> Any:
    """Return what a field has with its patch.

    :param before: what the chart renders
    """
    new = patch.value
    if patch.text:
        return str(before).replace(patch.text, new)
    if not patch.label or isinstance(new, int):
        return new
    if isinstance(new, Mapping):
        return {**(before or {}), **new}
    return [*(before or ()), *new]


def check(
    patches: Iterable[Patch],
    objects: Collection[tuple[str, frozenset[str]]],
) -> None:
    """Refuse patches of an object that is not there.

    :param objects: identities of all objects that the chart renders
    :raises Unconvertible: naming kind and field
    """
    for each in patches:
        # What is only added may be without its object.
        wanted = each if each.text else each._replace(label="")
        if not any(wanted.fits(*identity) for identity in objects):
            raise errors.Unconvertible(
                f"{each.kind} can't get {each.field}: the chart renders no "
                "such object"
            )


# The autoscaler: nodes and counts of groups

_PREFIX = "capacity.cluster-autoscaler.kubernetes.io/"

#: Label of a MachineDeployment: the chart's name of its group.
_GROUP_LABEL = "capi.stackhpc.com/node-group"

#: What the autoscaler's Role lacks.
_RULES = (
    {
        "apiGroups": ["infrastructure.cluster.x-k8s.io"],
        "resources": ["openstackmachinetemplates"],
        "verbs": ["get", "list", "watch"],
    },
)


def scaled(values: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the items of ``nodeGroups`` whose count the autoscaler owns."""
    groups = values.get(paths.GROUPS) or ()
    return [each for each in groups if each.get(paths.AUTOSCALE)]


def set_count(
    group: Mapping[str, Any], asked: int | None, live: int | None
) -> int | None:
    """Return the count that helm has to set; None: the autoscaler decides.

    The autoscaler leaves a group alone whose count is outside its bounds.

    :param group: an item of ``nodeGroups`` that is scaled
    :param asked: the count that the user asked for; None: it is refused
    :param live: the count of its MachineDeployment; None: there is none
    """
    count = asked if live is None else live
    if count is None:
        return None
    least, most = group[paths.MINIMUM], group[paths.MAXIMUM]
    within = min(max(int(least), count), int(most))
    return None if within == live else within


def _capacity(group: Mapping[str, Any]) -> dict[str, str]:
    """Return the annotations that describe an empty node of a group.

    :param group: an item of ``nodeGroups``
    :returns: nothing for a group of an older driver, without its capacity
    """
    own = group.get(autoscaling.CAPACITY)
    if not own:
        return {}
    registration = paths.value_at(group, paths.REGISTRATION) or {}
    arguments = registration.get("kubeletExtraArgs") or {}
    texts = {
        **own,
        "maxPods": arguments.get("max-pods"),
        "labels": ",".join(sorted(_labels(group))),
        "taints": ",".join(_taints(registration.get("taints") or ())),
    }
    return {_PREFIX + key: text for key, text in texts.items() if text}


def _labels(group: Mapping[str, Any]) -> Iterator[str]:
    """Yield the labels of a node; the last two are the cloud provider's."""
    labels = {
        _GROUP_LABEL: group["name"],
        **(group.get(paths.NODE_LABELS) or {}),
        "node.kubernetes.io/instance-type": group.get(paths.FLAVOR),
        "topology.kubernetes.io/zone": group.get(paths.ZONE),
    }
    for key, text in labels.items():
        if text is not None:
            yield f"{key}={text}"


def _taints(taints: Iterable[Mapping[str, str]]) -> Iterator[str]:
    for each in taints:
        value = f"={each['value']}" if each.get("value") else ""
        yield f"{each['key']}{value}:{each['effect']}"
