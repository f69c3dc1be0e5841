# SPDX-License-Identifier: Apache-2.0

"""A topic: its labels, its checks and its part of the chart values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias, TypeVar

from oslo_config import types

from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import labels
from magnum_capi_helm.model import paths
from magnum_capi_helm.model import versions

#: Dotted path -> the value there.
Leaves: TypeAlias = Mapping[str, Any]

T = TypeVar("T")

#: All machines of a cluster in the values.
MACHINES = (paths.CONTROL_PLANE, paths.GROUP_DEFAULTS)

#: Lists that several topics and the operator's overlays add to.
JOINED = frozenset(
    f"{machines}.{paths.KUBEADM}.{key}"
    for machines in MACHINES
    for key in ("files", "preKubeadmCommands", "postKubeadmCommands")
)

_EMPTY: tuple[Any, ...] = (None, "", (), [], {})


class TwoWritersError(Exception):
    """Two topics write the same leaf: a programming error."""


def merge(
    target: paths.Values, source: Mapping[str, object], path: str = ""
) -> None:
    """Add ``source`` to ``target`` in place.

    Files and commands of machines are added to those of other topics.

    :raises TwoWritersError: when both hold a value at the same path
    """
    for key, value in source.items():
        here = f"{path}.{key}" if path else key
        if key not in target:
            target[key] = paths.copied(value)
        elif isinstance(target[key], dict) and isinstance(value, Mapping):
            merge(target[key], value, here)
        elif here in JOINED:
            target[key] += paths.copied(value)
        else:
            raise TwoWritersError(here)


def nest(leaves: Leaves) -> paths.Values:
    """Return nested values; a leaf that is None or empty is left out."""
    values: paths.Values = {}
    for path, leaf in leaves.items():
        if leaf not in _EMPTY:
            leaf = None if leaf is paths.NULL else leaf
            for key in reversed(path.split(".")):
                leaf = {key: leaf}
            merge(values, leaf)
    return values


def below(path: str, leaves: Leaves) -> Leaves:
    """Return the leaves with a path in front of their own paths."""
    return {f"{path}.{key}": leaf for key, leaf in leaves.items()}


def changed(
    settings: labels.Values, *declared: labels.Label[Any]
) -> dict[str, Any]:
    """Return the leaves of labels that differ from their defaults."""
    return {
        path: settings[label]
        for label in declared
        if settings[label] != label.default
        for path in label.becomes
    }


def machine_file(path: str, content: str, permissions: str) -> paths.Values:
    """Return an item of ``files`` that root owns."""
    return {
        "path": path,
        "owner": "root:root",
        "permissions": permissions,
        "content": content,
    }


def on_all_machines(
    files: list[paths.Values], *commands: str
) -> dict[str, Any]:
    """Return the leaves of files, and of commands for before kubeadm.

    A list in one group would replace that of the defaults, so workers have
    theirs in the defaults alone.
    """
    return {
        f"{machines}.{paths.KUBEADM}.{key}": items
        for machines in MACHINES
        for key, items in (("files", files), ("preKubeadmCommands", commands))
    }


class Topic:
    """One feature of a cluster, declared in one file.

    :param name: the heading of its labels in the documentation
    """

    #: The topic's values for the whole cluster.
    leaves: Callable[[cluster_spec.Cluster], Leaves]
    #: The topic's values in one item of ``nodeGroups``.
    group_leaves: Callable[
        [cluster_spec.Cluster, cluster_spec.NodeGroup], Leaves
    ]
    #: Raises InvalidInput for settings that contradict each other.
    check: Callable[[cluster_spec.Cluster], None]

    def __init__(self, name: str) -> None:
        self.name = name
        self.labels: list[labels.Label[Any]] = []
        self.leaves = lambda _: {}
        self.group_leaves = lambda *_: {}
        self.check = lambda _: None

    def label(
        self,
        name: str,
        kind: Any,
        default: T = None,  # type: ignore[assignment]
        allowed: str = "",
        **more: Any,
    ) -> labels.Label[T]:
        """Declare a label of the topic.

        :param kind: its type
        :param allowed: the allowed values, if the type does not say them
        :param more: other fields of :class:`labels.Label`
        """
        label = labels.Label(
            name=name,
            type=kind,
            default=default,
            allowed=allowed or kind.allowed,
            **more,
        )
        self.labels.append(label)
        return label

    def switch(
        self, name: str, *, default: bool = False, **more: Any
    ) -> labels.Label[bool]:
        """Declare a label that is true or false."""
        kind = types.Boolean()
        return self.label(name, kind, default, allowed="true or false", **more)

    def choice(
        self,
        name: str,
        words: tuple[str, ...],
        default: str = "",
        *,
        allowed: str = "",
        ignore_case: bool = False,
        **more: Any,
    ) -> labels.Label[str]:
        """Declare a label whose value is one of several words.

        The empty text is allowed as well if it is the default.
        """
        choices = [*words] if default else ["", *words]
        kind = types.String(choices=choices, ignore_case=ignore_case)
        allowed = allowed or errors.one_of(words)
        return self.label(name, kind, default, allowed=allowed, **more)

    def text(
        self, name: str, allowed: str, *, regex: str | None = None, **more: Any
    ) -> labels.Label[str]:
        """Declare a label whose value is text, by default empty.

        :param regex: matches the empty text, too; None: any text
        """
        kind = types.String(regex=regex)
        return self.label(name, kind, "", allowed=allowed, **more)

    def listed(self, name: str, kind: Any, **more: Any) -> labels.Label[Any]:
        """Declare a label whose value is a list, by default empty.

        :param kind: its type, whose values are tuples
        """
        return self.label(name, kind, (), **more)

    def cluster(self, cluster: cluster_spec.Cluster) -> paths.Values:
        """Return the topic's values for the whole cluster."""
        return nest(self.leaves(cluster))

    def group(
        self, cluster: cluster_spec.Cluster, group: cluster_spec.NodeGroup
    ) -> paths.Values:
        """Return the topic's keys in one item of ``nodeGroups``."""
        return nest(self.group_leaves(cluster, group))


def check_dependents(
    settings: labels.Values,
    dependents: Iterable[labels.Label[Any]],
    *switches: labels.Label[Any],
) -> None:
    """Refuse labels of a feature that is off.

    Otherwise a user would believe that the feature is on. Defaults of the
    operator do not count, and an explicit "off" allows the labels.

    :param switches: one of them is enough
    :raises LabelError: for the first one
    """
    if any(settings[each] or settings.given(each) for each in switches):
        return
    wanted = errors.one_of(
        f"{each.name}=true" if isinstance(each.default, bool) else each.name
        for each in switches
    )
    for label in dependents:
        if is_given(settings, label):
            raise settings.refused(label, f"it together with {wanted}")


def is_given(settings: labels.Values, label: labels.Label[Any]) -> bool:
    """Return whether a user gave the label a value.

    Labels that the request can't change are no reason to refuse it.
    """
    setting = settings.given(label)
    return (
        setting is not None
        and not settings.is_fixed(label)
        and bool(setting[1].strip())
    )


def switches(
    cluster: cluster_spec.Cluster,
    *declared: labels.Label[bool],
    always: bool = False,
) -> dict[str, bool]:
    """Return the leaves of addons that can be switched on or off.

    A switch is sent if it was given or differs from its default, so that
    overlays of the operator win otherwise. It is never sent to a chart
    version that does not have the addon.

    :param always: send them whatever their values are
    """
    settings = cluster.labels
    return {
        label.becomes[0]: settings[label]
        for label in declared
        if versions.applies(label.charts, cluster.chart.version)
        and (
            always
            or settings.given(label) is not None
            or settings[label] != label.default
        )
    }
