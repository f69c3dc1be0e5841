# SPDX-License-Identifier: Apache-2.0

"""Names of the driver and of its objects on the management cluster.

Contract: every function is valid for every input that Magnum's API lets
through, deterministic, and (but for :func:`chart_object`) injective, so two
clusters or two nodegroups never share an object. Lengths are chosen such
that the chart, which cuts every name at 63 characters, has nothing to cut.
"""

from __future__ import annotations

from collections.abc import Iterable
import hashlib
import re

#: The driver's entry point, which setup.cfg declares. Templates of Magnum,
#: and images by their property magnum_driver, name the driver by it.
DRIVER = "k8s_capi_helm_v1"

#: The driver serves images with these values of the property ``os_distro``.
#: ``osDistro`` of the chart for each: the chart knows flatcar alone by its
#: name, and all others start by cloud-init.
DISTROS = {
    "ubuntu": "ubuntu",
    "debian": "debian",
    "rocky": "rocky",
    # As magnum-cluster-api names it.
    "rockylinux": "rocky",
    "flatcar": "flatcar",
    # An Ubuntu, by the documentation of 1.4.0 and before.
    "capi-kubeadm-cloudinit": "ubuntu",
}

#: Kubernetes' limit for labels and DNS labels.
LIMIT = 63

#: Kubernetes' limit for names of most objects, a StorageClass among them.
_CLASS_LIMIT = 253

#: Longest component that a chart of 0.11.0 to 0.27.0 appends to a release
#: name ("-intel-device-plugin-operator-config").
_LONGEST_COMPONENT = 36

#: Characters of the cluster's UUID in a release name, as in 1.4.0.
_UUID_CHARACTERS = 12

_RELEASE = re.compile(f"[a-z0-9-]+-[a-z0-9]{{{_UUID_CHARACTERS}}}")

RELEASE_LIMIT = LIMIT - _LONGEST_COMPONENT

#: Names of node groups that the chart accepts since 0.15.0.
_NODE_GROUP = re.compile(r"[a-z][a-z0-9-]+[a-z0-9]")

#: The chart's name of the control plane, among those of node groups.
CONTROL_PLANE = "control-plane"

#: Names that the chart gives to something else.
_RESERVED = frozenset({CONTROL_PLANE, "autoscaler"})

#: Separates a slug's readable part from its hash. A name that holds it is
#: never taken as it is: that keeps slugs and untouched names apart.
_MARK = "--"


def namespace(prefix: str, project_id: str) -> str:
    """Return the namespace ``<prefix>-<project id>`` (as in 1.4.0)."""
    return f"{prefix}-{re.sub('[^a-z0-9]', '', project_id.lower())}"


def project_of(name: str, prefix: str) -> str:
    """Return the project of a namespace, or "" if it is another cloud's.

    Another cloud on the same management cluster may have a prefix that
    begins with this one's.

    :param prefix: of this cloud's namespaces
    """
    project = name.removeprefix(namespace(prefix, ""))
    return project if name == namespace(prefix, project) else ""


def release(cluster_name: str | None, uuid: str) -> str:
    """Return the release name of a new cluster; existing ones keep theirs.

    1.4.0's form ``<slug>-<12 characters>``, with characters of the UUID in
    place of random ones: a create that is repeated finds its own release.
    """
    slug = _words(cluster_name or "")
    slug = slug[: RELEASE_LIMIT - _UUID_CHARACTERS - 1].strip("-")
    return f"{slug or 'cluster'}-{_unique(uuid)}"


def made_for(release_name: str, uuid: str) -> bool:
    """Return whether :func:`release` made the name, and not 1.4.0."""
    return release_name.endswith(f"-{_unique(uuid)}")


def made_like(release_name: str) -> bool:
    """Return whether :func:`release` or 1.4.0 may have made the name."""
    return _RELEASE.fullmatch(release_name) is not None


def _unique(uuid: str) -> str:
    return uuid.replace("-", "")[-_UUID_CHARACTERS:]


def node_group(name: str, release_name: str) -> str:
    """Return the chart's name for the nodegroup ``name`` of a release.

    A name that the chart accepts stays as it is. Any other becomes its
    readable part and a hash of the whole, so ``worker_1`` and ``worker-1``
    do not meet in one MachineDeployment.
    """
    limit = LIMIT - len(release_name) - 1
    if (
        _NODE_GROUP.fullmatch(name)
        and len(name) <= limit
        and name not in _RESERVED
        and _MARK not in name
    ):
        return name
    return _with_hash(_words(name).lstrip("0123456789-"), name, limit)


def _with_hash(slug: str, text: str, limit: int) -> str:
    """Return the readable part of a name and a hash of the whole text."""
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    readable = slug[: limit - len(digest) - len(_MARK)].strip("-")
    return f"{readable or 'group'}{_MARK}{digest}"


def legacy_node_group(name: str) -> str:
    """Return 1.4.0's name of a nodegroup, which two groups may share."""
    return _words(name)


def _words(text: str) -> str:
    return re.sub("[^a-z0-9]+", "-", text.lower()).strip("-")


def chart_object(release_name: str, component: str) -> str:
    """Return the chart's name of an object, cut as the chart cuts it."""
    return f"{release_name}-{component}"[:LIMIT].removesuffix("-")


def control_plane(release_name: str) -> str:
    """Name the KubeadmControlPlane."""
    return chart_object(release_name, CONTROL_PLANE)


def machine_deployment(release_name: str, group: str) -> str:
    """Name the MachineDeployment of a node group.

    :param group: the chart's name of the group
    """
    return chart_object(release_name, group)


def autoscaler(release_name: str) -> str:
    """Name the Deployment of the autoscaler."""
    return chart_object(release_name, "autoscaler")


def credentials(release_name: str) -> str:
    """Name the Secret with clouds.yaml that Cluster API's provider reads."""
    return f"{release_name}-cloud-credentials"


def desired_state(release_name: str) -> str:
    """Name the Secret with the desired state."""
    return f"{release_name}-intent"


def original(release_name: str, revision: int) -> str:
    """Name the Secret with the original of a changed helm record."""
    return f"{release_name}-revision-{revision}"


def etcd_key(release_name: str) -> str:
    """Name the Secret with the key for etcd's data; the chart reads it."""
    return f"{release_name}-etcd-key"


def delivery(release_name: str) -> str:
    """Name the Secret with the record of the kubeconfig's delivery."""
    return f"{release_name}-delivery"


def server_groups(release_name: str) -> str:
    """Name the Secret with the IDs of its Nova server groups."""
    return f"{release_name}-server-groups"


def server_group(release_name: str, group: str) -> str:
    """Name the Nova server group of a node group.

    :param group: the chart's name of the group
    """
    return f"{release_name}-{group}"


def helm_record(release_name: str, version: int) -> str:
    """Name the Secret in which helm records a revision."""
    return f"sh.helm.release.v1.{release_name}.v{version}"


def certificate(release_name: str, purpose: str) -> str:
    """Name the Secret of a CA.

    :param purpose: as Cluster API calls it: ca, etcd, proxy or sa
    """
    return f"{release_name}-{purpose}"


def kubeconfig(release_name: str) -> str:
    """Name the Secret with the kubeconfig that Cluster API makes."""
    return f"{release_name}-kubeconfig"


def storage_class(volume_type: str) -> str:
    """Name the StorageClass of a Cinder volume type (as in 1.4.0)."""
    return _words(volume_type) or "default"


def storage_classes(volume_types: Iterable[str]) -> dict[str, str]:
    """Return the StorageClass of each volume type, no two the same.

    Types whose names differ only in what a class can't be called, such as
    ``SSD_1`` and ``ssd-1``, get a hash; not so the one that is named like
    the class. A name too long for Kubernetes is shortened likewise.
    """
    slugs = {each: storage_class(each) for each in volume_types}
    taken = list(slugs.values())
    return {
        each: slug
        if len(slug) <= _CLASS_LIMIT
        and (slug == each or taken.count(slug) == 1)
        else _with_hash(slug, each, _CLASS_LIMIT)
        for each, slug in slugs.items()
    }


def label_value(text: str) -> str:
    """Return a text as a label's value, cut at 63 characters as in 1.4.0."""
    return text[:LIMIT]
