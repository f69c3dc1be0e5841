# SPDX-License-Identifier: Apache-2.0

"""With which labels and taints a group's kubelets register their nodes."""

from __future__ import annotations

from typing import Any

from magnum_capi_helm.features import nodes
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import labels
from magnum_capi_helm.model import node_types


def node_labels(row: Any, found: labels.Values) -> node_types.Pairs:
    """Labels of the nodes of workers; the row's beat those of the label.

    :raises InvalidInput: the row has one that is not allowed
    """
    if row.role == "master":
        return ()
    # Magnum before 23 has no such field.
    own = getattr(row, "node_labels", None) or {}
    try:
        checked = node_types.checked_labels(
            (str(key), str(value)) for key, value in own.items()
        )
    except ValueError as error:
        raise errors.InvalidInput(
            "node_labels: a label of a nodegroup is not allowed. It is "
            f"nodegroup {errors.shown(row.name)}: {error}"
        ) from error
    labelled = found[nodes.NODE_LABELS]
    return tuple({**dict(labelled), **dict(checked)}.items())


def taints(row: Any, found: labels.Values) -> node_types.Taints:
    """Taints of the nodes of workers; the row's beat those of the label.

    :raises InvalidInput: the row has one that is not allowed
    """
    if row.role == "master":
        return ()
    own = getattr(row, "node_taints", None) or []
    try:
        checked = node_types.checked_taints(
            cluster_spec.Taint(
                key=str(each.get("key", "")),
                effect=str(each.get("effect", "")),
                value=str(each.get("value") or ""),
            )
            for each in own
        )
    except ValueError as error:
        raise errors.InvalidInput(
            "node_taints: a taint of a nodegroup is not allowed. It is "
            f"nodegroup {errors.shown(row.name)}: {error}"
        ) from error
    merged = {
        (each.key, each.effect): each
        for each in (*found[nodes.NODE_TAINTS], *checked)
    }
    return tuple(merged.values())
