# SPDX-License-Identifier: Apache-2.0

"""What 1.4.0 would break of nodegroups, the control plane among them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from magnum_capi_helm.model import names
from magnum_capi_helm.swap import case as case_of
from magnum_capi_helm.swap import changes
from magnum_capi_helm.swap import finding
from magnum_capi_helm.swap import settings

#: Paths of a group that say which Kubernetes its nodes run.
_IMAGE = ("kubernetesVersion", "machineImage", "machineImageId")
#: Of which it is enough to say that something in them differs.
_MAPS = (
    "additionalBlockDevices",
    "kubeadmConfigSpec",
    "machineMetadata",
    "nodeLabels",
    "registryAuth",
    "registryMirrors",
    "trustedCAs",
)


def images(case: case_of.Case) -> Iterator[finding.Finding]:
    """It knows one image and one version, those of the template."""
    found = []
    after = case.after() or {}
    for name, paths in case.changes().groups.items():
        if any(each in _IMAGE for each in paths):
            old = changes.group(case.live.values, name)
            new = changes.group(after, name)
            found.append(f"{name} ({_made_of(old)}, then {_made_of(new)})")
    if found:
        yield case_of.act(
            "image",
            "machines are replaced by those of the template's image: "
            f"{finding.listed(found)}",
            "before you go back, upgrade these nodegroups with this driver "
            "to the template's image",
        )


def _made_of(leaves: changes.Leaves) -> str:
    version = leaves.get("kubernetesVersion", "no version")
    return f"{version} of image {leaves.get('machineImageId', 'unknown')}"


def machines(case: case_of.Case) -> Iterator[finding.Finding]:
    """What else machines are made from."""
    found, lost = [], set()
    for name, paths in case.changes().groups.items():
        others = [each for each in paths if each not in _IMAGE]
        if others:
            short = dict.fromkeys(map(_short, others))
            found.append(f"{name} ({finding.listed(short, 3)})")
            lost |= {(name, each) for each in others}
    if found:
        yield case_of.act(
            "machines",
            f"machines are replaced: {finding.listed(found)}",
            settings.that_keep(case.subject, case.options, case.live, lost)
            or case_of.LEAVE_ALONE,
        )


def _short(path: str) -> str:
    """A path, without the keys that users chose."""
    first = path.partition(".")[0]
    return first if first in _MAPS else path


def groups(case: case_of.Case) -> Iterator[finding.Finding]:
    """Names that it makes otherwise, and rows that it does not tell apart."""
    found = case.changes()
    for each in case.subject.groups:
        name = names.legacy_node_group(each.name)
        if each.leaving and name in found.new:
            yield case_of.act(
                "nodegroup",
                f"nodegroup {each.name}, which is being deleted, comes back",
                "let the deletion end before you go back",
            )
        elif each.refused and name in found.new:
            yield case_of.act(
                "nodegroup",
                f"nodegroup {each.name}, which was refused, is made",
                "delete that nodegroup before you go back",
            )
        elif each.chart_name in found.gone and each.chart_name != name:
            yield case_of.act(
                "nodegroup",
                f"nodegroup {each.name} is called {name} in place of "
                f"{each.chart_name}: all its machines are replaced, or it "
                "meets another group of that name",
                "before you go back, move its work to a nodegroup whose "
                "name is of lower case letters, digits and hyphens",
            )


def autoscaled(case: case_of.Case) -> Iterator[finding.Finding]:
    """Groups that the autoscaler owns, and their bounds."""
    after = case.after()
    if after is None:
        return
    new = {each["name"]: each for each in after["nodeGroups"]}
    for item in case.live.values.get("nodeGroups") or []:
        name = str(item["name"])
        if name not in new or _bounds(item) == _bounds(new[name]):
            continue
        yield case_of.act(
            "autoscaling",
            f"nodegroup {name}: {_scaled(item)}, then {_scaled(new[name])}",
            settings.of_scaling(case.subject, item),
        )


def _bounds(item: Any) -> tuple[Any, ...]:
    if not item.get("autoscale"):
        return ()
    return item.get("machineCountMin"), item.get("machineCountMax")


def _scaled(item: Any) -> str:
    if not item.get("autoscale"):
        return f"{item.get('machineCount')} nodes without autoscaling"
    return "autoscaled from {} to {}".format(*_bounds(item))
