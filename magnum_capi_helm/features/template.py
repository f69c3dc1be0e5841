# SPDX-License-Identifier: Apache-2.0

"""Labels that only a template has: chart, profiles, management cluster."""

from __future__ import annotations

from collections.abc import Iterable
import re

from magnum_capi_helm.features import topic
from magnum_capi_helm.model import label_types
from magnum_capi_helm.model import labels

VERSION = labels.Label(
    name="capi_helm_chart_version",
    type=label_types.VERSION,
    default="",
    allowed="a chart version",
    details="an example is 0.27.0",
    help="Version of the openstack-cluster chart, read from the template "
    "alone. Default: [capi_helm] default_helm_chart_version.",
    scope=labels.Scope.TEMPLATE,
)

TOPIC = topic.Topic(name="Chart", labels=(VERSION,))


#: Annotation of the Cluster that says which profiles it was made with.
PROFILES_ANNOTATION = "magnum.openstack.org/values-profiles"

_PROFILE = re.compile(r"[a-z0-9][a-z0-9_-]*")


def is_profile_name(text: str) -> bool:
    """Return whether a profile may have this name, which is a file name."""
    return _PROFILE.fullmatch(text) is not None


class _Names(label_types.TextType):
    """Names of profiles between commas or spaces."""

    kind = "names of profiles"

    def __call__(self, value: str | Iterable[str]) -> tuple[str, ...]:
        if not isinstance(value, str):
            return tuple(value)
        # Magnum's client takes a comma for the end of a label: spaces too.
        names = tuple(name for name in re.split(r"[\s,]+", value) if name)
        if not all(map(is_profile_name, names)) or len(set(names)) < len(
            names
        ):
            raise ValueError(f"{value!r} are not different names of profiles")
        return names


PROFILE_NAMES: labels.Label[tuple[str, ...]] = labels.Label(
    name="capi_helm_values_profiles",
    type=_Names(),
    default=(),
    allowed="different names of the operator's profiles between commas or "
    "spaces",
    help="Profiles of chart values that clusters of this template get, the "
    "last one on top.",
    scope=labels.Scope.TEMPLATE,
    becomes=(f'clusterAnnotations."{PROFILES_ANNOTATION}"',),
)


def profile_annotations(settings: labels.Values) -> topic.Values:
    """Return the annotation of the Cluster that names its profiles."""
    names = settings[PROFILE_NAMES]
    if not names:
        return {}
    return {"clusterAnnotations": {PROFILES_ANNOTATION: ",".join(names)}}


PROFILES = topic.Topic(
    name="Profiles",
    labels=(PROFILE_NAMES,),
    leaves=lambda cluster: profile_annotations(cluster.labels),
)


MANAGEMENT_CLUSTER = label_types.text(
    "capi_management_cluster",
    "the name of a management cluster of this cloud",
    help="Management cluster that new clusters of this template are made on, "
    "read from the template alone. Default: any that takes them. A cluster "
    "that exists stays where it is.",
    scope=labels.Scope.TEMPLATE,
)

MANAGEMENT_CLUSTER_TOPIC = topic.Topic(
    name="Management cluster", labels=(MANAGEMENT_CLUSTER,)
)
