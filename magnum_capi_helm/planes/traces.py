# SPDX-License-Identifier: Apache-2.0

"""What a management cluster has to have of a release that is gone on with.

One that was restored from a backup older than a cluster is the right one, and
has nothing of it: its machines are there all the same. So nobody makes a
Lease for a release of which there is neither the Cluster nor a record of
helm's, but who creates or deletes it.

Where a Secret of the chart is, somebody has removed the rest by hand: no
backup that is older than the cluster has that.
"""

from __future__ import annotations

from magnum_capi_helm.helm import releases
from magnum_capi_helm.management import client
from magnum_capi_helm.management import kinds
from magnum_capi_helm.management import snapshot
from magnum_capi_helm.model import errors
from magnum_capi_helm.status import view


class MissingError(errors.ManagementError):
    """The right management cluster has nothing of a cluster any more."""

    retriable = True

    def __init__(self, scope: snapshot.Scope) -> None:
        namespace, release = scope
        super().__init__(
            f"neither the Cluster nor the helm release {release} is in the "
            f"namespace {namespace} of the management cluster any more, "
            "which may have been restored from an older backup: nothing is "
            "concluded from that. The operator has to bring them back or, if "
            "the cluster is gone, to confirm that with 'magnum-capi-helm "
            "management accept --gone'"
        )


def check(management: client.Client, scope: snapshot.Scope) -> None:
    """Refuse to go on with a release of which there is nothing.

    :raises MissingError: there is nothing
    :raises ManagementError: it could not be read
    """
    namespace, release = scope
    charts = f"{view.CHART_CLUSTER_LABEL}={release}"
    if not (
        management.get(kinds.CLUSTER, *scope)
        or releases.revisions(management, *scope)
        or management.list(kinds.SECRET, namespace, charts, metadata_only=True)
    ):
        raise MissingError(scope)
