# SPDX-License-Identifier: Apache-2.0

"""What the findings of a swap go by: plain data, read once for all clusters.

Absent, unreadable and there are three answers: what nobody could say is in
``silences``, and no finding is made of it.
"""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
from typing import Any

from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import stranded

#: What the certificates of control plane machines are called.
MACHINES = "control plane"

_SERVED = stranded.Outlook(stranded.OK)


@dataclasses.dataclass(frozen=True)
class Group:
    """The row of a nodegroup.

    :param chart_name: what its release calls it; empty: it has none there
    :param minimum: None: not set
    :param leaving: whether it is being deleted
    :param refused: whether it never became part of the cluster
    """

    name: str
    chart_name: str
    control_plane: bool = False
    default: bool = True
    count: int = 1
    flavor: str = ""
    minimum: int | None = None
    maximum: int | None = None
    leaving: bool = False
    refused: bool = False


@dataclasses.dataclass(frozen=True)
class Template:
    """The cluster template, as far as it says what machines are made of.

    :param unread: fields that 1.4.0 does not read, with what they say
    """

    name: str
    labels: Mapping[str, str] = dataclasses.field(default_factory=dict)
    image: str = ""
    network_driver: str = ""
    unread: Mapping[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Certificate:
    """A certificate of a cluster.

    :param until: end of its validity, seconds since 1970
    :param day: the same for people
    """

    name: str
    until: float
    day: str


@dataclasses.dataclass(frozen=True)
class Credential:
    """The application credential that a cluster has.

    :param since: when the cluster was given it, seconds since 1970
    :param works: None: Keystone did not say
    """

    since: float
    day: str
    works: bool | None = None


@dataclasses.dataclass(frozen=True)
class Live:
    """What a management cluster has of a cluster.

    :param reason: why this driver would not call it complete; empty: it would
    :param chart: version of the chart of the deployed revision; empty: helm
        has deployed none
    :param values: what helm was given then
    :param versions: group versions of the objects in its manifest
    :param outlook: what becomes of it, by those that are served
    :param damaged: why something of it can't be read
    :param reachable: whether the kubeconfig that 1.4.0 reads leads here
    """

    reason: str = ""
    chart: str = ""
    values: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    versions: frozenset[str] = frozenset()
    outlook: stranded.Outlook = _SERVED
    credential: Credential | None = None
    certificates: tuple[Certificate, ...] = ()
    damaged: tuple[str, ...] = ()
    reachable: bool = True


@dataclasses.dataclass(frozen=True)
class Subject:
    """A cluster of Magnum.

    :param release: empty: nothing was ever made for it
    :param user: who owns it, and its keypair
    :param live: None: nothing is there
    :param silence: why that is not known; empty: it is
    """

    name: str
    uuid: str
    project: str
    status: str
    template: Template
    release: str = ""
    user: str = ""
    keypair: str = ""
    labels: Mapping[str, str] = dataclasses.field(default_factory=dict)
    groups: tuple[Group, ...] = ()
    live: Live | None = None
    silence: str = ""


@dataclasses.dataclass(frozen=True)
class Surroundings:
    """What is the same for all clusters.

    :param now: seconds since 1970
    :param charts: version -> why it can't be had; empty: it can
    :param images: by reference; None: Glance has none that makes nodes
    :param flavors: names and UUIDs; None: Nova did not say
    :param keypairs: (user, name) -> whether it exists
    :param silences: why something is not known
    """

    now: float
    charts: Mapping[str, str] = dataclasses.field(default_factory=dict)
    images: Mapping[str, cluster_spec.Image | None] = dataclasses.field(
        default_factory=dict
    )
    flavors: frozenset[str] | None = None
    keypairs: Mapping[tuple[str, str], bool] = dataclasses.field(
        default_factory=dict
    )
    silences: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Options:
    """The operator's, as 1.4.0 would read them.

    :param labels: defaults of labels, by name
    :param chart: ``[capi_helm] default_helm_chart_version``; empty: not set
    :param chart_at_path: version of the chart that ``helm_chart_name`` is a
        path of; empty: it is none
    :param boot_volume_type: Magnum's own default, in ``[cinder]``
    """

    labels: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    chart: str = ""
    chart_at_path: str = ""
    boot_volume_type: str = ""
    boot_volume_size: int = 0
