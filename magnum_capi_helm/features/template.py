# SPDX-License-Identifier: Apache-2.0

"""Labels of the operator: chart, profiles, management cluster, channel."""

from __future__ import annotations

from collections.abc import Iterable
import re

from magnum_capi_helm.features import topic
from magnum_capi_helm.model import label_types
from magnum_capi_helm.model import labels
from magnum_capi_helm.model import paths

TOPIC = topic.Topic("Chart")
PROFILES = topic.Topic("Profiles")
MANAGEMENT_CLUSTER_TOPIC = topic.Topic("Management cluster")
UPGRADES = topic.Topic("Upgrades")

VERSION = TOPIC.label(
    "capi_helm_chart_version",
    label_types.VERSION,
    "",
    details="an example is 0.27.0",
    help="Version of the openstack-cluster chart. Default: [capi_helm] "
    "default_helm_chart_version.",
    scope=labels.Scope.TEMPLATE,
)
MANAGEMENT_CLUSTER = MANAGEMENT_CLUSTER_TOPIC.text(
    "capi_management_cluster",
    "the name of a management cluster of this cloud",
    help="Management cluster of new clusters. A change of the label moves no "
    "existing cluster. Default: the first one of [capi_helm] "
    "management_clusters that answers and is not frozen.",
    scope=labels.Scope.TEMPLATE,
)
CHANNEL = UPGRADES.text(
    "upgrade_channel",
    "a name of lower-case letters, digits and hyphens, or an empty value",
    regex=r"\A([a-z0-9][a-z0-9-]{0,62})?\Z",
    help="Channel of the operator's upgrades, such as stable. A cluster moves "
    "to the newest public template with the same label. An empty value opts "
    "a cluster out.",
)
_UPGRADE_IMAGE = re.compile(r"v?1\.[0-9]{1,3}(?:\.[0-9]{1,3})?=[^,\s]+")
UPGRADE_IMAGES: labels.Label[tuple[str, ...]] = UPGRADES.listed(
    "upgrade_images",
    label_types.Listed(
        "images",
        _UPGRADE_IMAGE.fullmatch,
        "VERSION=IMAGE, separated by commas, with a minor version of "
        "Kubernetes and the UUID or name of its image",
    ),
    details="an example is 1.34=ubuntu-v1.34.6; an image without the property "
    "kube_version needs the whole version, as in 1.34.6=my-image",
    help="Images of the minor versions that an upgrade to the template "
    "passes. Default: images of other templates that the user sees, then "
    "public images.",
    scope=labels.Scope.TEMPLATE,
)

#: Annotation of the Cluster that says which profiles it was made with.
PROFILES_ANNOTATION = "magnum.openstack.org/values-profiles"

_PROFILE = re.compile(r"[a-z0-9][a-z0-9_-]*")


def is_profile_name(text: str) -> bool:
    """Return whether a profile may have this name, which is a file name."""
    return _PROFILE.fullmatch(text) is not None


class _Names(label_types.TextType):
    """Names of profiles between commas or spaces."""

    kind = "names of profiles"
    allowed = (
        "different names of the operator's profiles between commas or spaces"
    )

    def __call__(self, value: str | Iterable[str]) -> tuple[str, ...]:
        if not isinstance(value, str):
            return tuple(value)
        names = tuple(label_types.split(value))
        if not all(map(is_profile_name, names)) or len(set(names)) < len(
            names
        ):
            raise ValueError(f"{value!r} are not different names of profiles")
        return names


PROFILE_NAMES: labels.Label[tuple[str, ...]] = PROFILES.listed(
    "capi_helm_values_profiles",
    _Names(),
    help="The operator's profiles of chart values for clusters of the "
    "template. A later profile overrides an earlier one.",
    scope=labels.Scope.TEMPLATE,
    becomes=(f'clusterAnnotations."{PROFILES_ANNOTATION}"',),
)
GROUP_PROFILE_NAMES: labels.Label[tuple[str, ...]] = PROFILES.listed(
    "capi_helm_nodegroup_profiles",
    _Names(),
    help="The operator's profiles of chart values for one worker group. A "
    "later profile overrides an earlier one.",
    scope=labels.Scope.NODEGROUP,
)


def profile_annotations(settings: labels.Values) -> paths.Values:
    """Return the annotation of the Cluster that names its profiles."""
    names = settings[PROFILE_NAMES]
    if not names:
        return {}
    return {paths.ANNOTATIONS: {PROFILES_ANNOTATION: ",".join(names)}}


PROFILES.leaves = lambda cluster: profile_annotations(cluster.labels)
