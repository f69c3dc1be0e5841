# SPDX-License-Identifier: Apache-2.0

"""Chart values that the operator keeps under a name.

The values themselves are laid on top by
:mod:`magnum_capi_helm.chart.overlays`; here is the label that picks them.
"""

from __future__ import annotations

from collections.abc import Iterable
import re

from oslo_config import types

from magnum_capi_helm.features import topic
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import labels

#: Annotation of the Cluster that says which profiles it was made with.
ANNOTATION = "magnum.openstack.org/values-profiles"

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")


def is_name(text: str) -> bool:
    """Whether a profile may be called so; such a name leaves no folder."""
    return _NAME.fullmatch(text) is not None


class _Names(types.ConfigType):
    """Names of profiles between commas or spaces."""

    def __init__(self) -> None:
        super().__init__(type_name="names of profiles")

    def __call__(self, value: str | Iterable[str]) -> tuple[str, ...]:
        if not isinstance(value, str):
            return tuple(value)
        # Magnum's client takes a comma for the end of a label: spaces too.
        names = tuple(name for name in re.split(r"[\s,]+", value) if name)
        if not all(map(is_name, names)) or len(set(names)) < len(names):
            raise ValueError(f"{value!r} are not different names of profiles")
        return names

    def __repr__(self) -> str:
        return "ProfileNames"

    def _formatter(self, value: Iterable[str]) -> str:
        return ",".join(value)


NAMES: labels.Label[tuple[str, ...]] = labels.Label(
    name="capi_helm_values_profiles",
    type=_Names(),
    default=(),
    allowed="different names of the operator's profiles between commas or "
    "spaces",
    help="Profiles of chart values that clusters of this template get, the "
    "last one on top.",
    scope=labels.Scope.TEMPLATE,
    becomes=(f'clusterAnnotations."{ANNOTATION}"',),
)


def values(found: labels.Values) -> topic.Values:
    """What tells, on the live Cluster, which profiles the labels pick."""
    names = found[NAMES]
    if not names:
        return {}
    return {"clusterAnnotations": {ANNOTATION: ",".join(names)}}


def _values(cluster: cluster_spec.Cluster) -> topic.Values:
    return values(cluster.labels)


TOPIC = topic.Topic(name="Profiles", labels=(NAMES,), cluster=_values)
