# SPDX-License-Identifier: Apache-2.0

"""Every metric, declared once: its name, kind, labels and meaning.

Names and units follow Prometheus' own rules: a time is a moment in seconds
since 1970, from which a rule takes an age, so a file that is not written any
more does not say that all is young. What changes often is no label: a series
belongs to a cluster by its UUID alone, and ``cluster_info`` has the rest.
"""

from __future__ import annotations

import dataclasses
from typing import TypeAlias

GAUGE = "gauge"
SUMMARY = "summary"

#: In the order of a family's labels.
Values: TypeAlias = tuple[str, ...]

_PREFIX = "magnum_capi_helm_"


@dataclasses.dataclass(frozen=True)
class Family:
    """A metric.

    :param kind: ``gauge``, or ``summary``: of how many seconds in all, and
        how often
    :param help: what it is, in one sentence
    """

    name: str
    help: str
    labels: Values = ()
    kind: str = GAUGE


@dataclasses.dataclass(frozen=True)
class Sample:
    """A value of a metric.

    :param value: of a summary, the sum
    :param count: of a summary
    """

    family: Family
    labels: Values
    value: float
    count: int = 0


def _family(name: str, text: str, *labels: str, kind: str = GAUGE) -> Family:
    return Family(_PREFIX + name, text, labels, kind)


UP = _family(
    "management_cluster_up",
    "Whether the management cluster answered.",
    "management_cluster",
)
READ = _family(
    "read_success",
    "Whether that part of a management cluster could be read; where it could "
    "not, its metrics are missing or incomplete.",
    "management_cluster",
    "part",
)
CLUSTERS = _family("clusters", "How many clusters have that status.", "status")
OLDEST = _family(
    "clusters_oldest_timestamp_seconds",
    "Of the clusters with that status, when the row was written that nobody "
    "has written since for the longest time.",
    "status",
)
INFO = _family(
    "cluster_info",
    "1; what is known of a cluster, to be joined by its UUID.",
    "uuid",
    "name",
    "project_id",
    "management_cluster",
    "release",
    "chart",
    "version",
)
STATUS = _family(
    "cluster_status_timestamp_seconds",
    "When Magnum's row of a cluster was last written, and the status that it "
    "has since then.",
    "uuid",
    "status",
)
STATE = _family(
    "cluster_state",
    "1; how rows and management cluster compare: ok, drift, absent or "
    "unreachable, as the command list says.",
    "uuid",
    "state",
)
ORPHANS = _family(
    "orphans",
    "How many releases or Cluster objects Magnum has no cluster for; missing "
    "where nobody could look.",
    "management_cluster",
)
ADDONS = _family(
    "cluster_addons",
    "How many addons of a cluster are in that phase.",
    "uuid",
    "phase",
)
CERTIFICATE = _family(
    "cluster_certificate_expiry_timestamp_seconds",
    "When a certificate ends: ca, the cluster's CA; kubeconfig, by which "
    "Cluster API reaches it; control-plane, the first of the control plane's "
    "machines whose certificates end.",
    "uuid",
    "certificate",
)
CREDENTIAL = _family(
    "cluster_credential_refused",
    "1: a health poll found the cluster's application credential refused, or "
    "gone; 0: none has; missing where none tries.",
    "uuid",
)
LEASE = _family(
    "lease_renewed_timestamp_seconds",
    "When the Lease of a release was last renewed by who holds it; missing "
    "where nobody does.",
    "management_cluster",
    "namespace",
    "release",
    "uuid",
)

#: What the command ``metrics`` finds.
OF_CLOUD = (
    UP,
    READ,
    CLUSTERS,
    OLDEST,
    INFO,
    STATUS,
    STATE,
    ORPHANS,
    ADDONS,
    CERTIFICATE,
    CREDENTIAL,
    LEASE,
)

POLL = _family(
    "poll_seconds",
    "Polls of clusters, status or health, and whether they came to a verdict "
    "(ok) or not (failed).",
    "process",
    "poll",
    "outcome",
    kind=SUMMARY,
)
HELM = _family(
    "helm_seconds",
    "Runs of helm, and how they ended: ok, busy, unreachable, refused; "
    "stopped, before it began; absent, with nothing to uninstall.",
    "process",
    "command",
    "outcome",
    kind=SUMMARY,
)
HELM_RUNNING = _family(
    "helm_running", "How many turns with helm are taken.", "process"
)
HELM_TURNS = _family(
    "helm_turns", "How many turns with helm there are.", "process"
)
HELM_WAITING = _family(
    "helm_waiting", "How many clusters are in line for helm.", "process"
)
SNAPSHOT = _family(
    "snapshot_timestamp_seconds",
    "When the last reading of a management cluster began that did not fail; "
    "until the first one, when the process began to use it.",
    "process",
    "management_cluster",
    "poll",
)
ATTEMPT = _family(
    "snapshot_attempt_timestamp_seconds",
    "When the last reading of a management cluster began, failed or not.",
    "process",
    "management_cluster",
    "poll",
)
DELIVERY = _family(
    "delivery_seconds",
    "Kubeconfigs that were sent, and whether the receiver accepted them (ok) "
    "or not (failed).",
    "process",
    "outcome",
    kind=SUMMARY,
)
DELIVERIES_PENDING = _family(
    "deliveries_pending",
    "How many clusters have a kubeconfig that is still to be delivered, as "
    "far as the process knows; missing where none is delivered.",
    "process",
    "management_cluster",
)

#: What each process of a conductor measures.
OF_PROCESS = (
    POLL,
    HELM,
    HELM_RUNNING,
    HELM_TURNS,
    HELM_WAITING,
    SNAPSHOT,
    ATTEMPT,
    DELIVERY,
    DELIVERIES_PENDING,
)
