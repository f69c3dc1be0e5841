# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""What is read of a release, and in how many requests."""

from __future__ import annotations

import dataclasses

from magnum_capi_helm.helm import releases
from magnum_capi_helm.management import client
from magnum_capi_helm.management import kinds
from magnum_capi_helm.management import snapshot
from magnum_capi_helm.status import conditions
from magnum_capi_helm.status import view


def read(management: client.Client, scope: snapshot.Scope) -> view.View:
    """Read one release: seven LISTs, nine when something is not ready."""
    seen = dataclasses.replace(
        read_objects(management, scope),
        addons=_addons(management, scope),
        revisions=releases.revisions(management, *scope),
    )
    return (
        seen if _ready(seen) else _with_infrastructure(management, seen, scope)
    )


def read_objects(
    management: client.Client, scope: snapshot.Scope
) -> view.View:
    """What health needs: Cluster API's own objects, in four LISTs."""
    namespace, release = scope
    chart = f"{view.CHART_CLUSTER_LABEL}={release}"
    clusters = management.list(kinds.CLUSTER, namespace, chart)
    planes = management.list(kinds.CONTROL_PLANE, namespace, chart)
    return view.View(
        release=release,
        cluster=clusters[0] if clusters else None,
        control_plane=planes[0] if planes else None,
        deployments=tuple(
            management.list(kinds.MACHINE_DEPLOYMENT, namespace, chart)
        ),
        machines=tuple(
            management.list(
                kinds.MACHINE,
                namespace,
                f"{view.CLUSTER_NAME_LABEL}={release}",
            )
        ),
    )


def _addons(
    management: client.Client, scope: snapshot.Scope
) -> tuple[view.Object, ...]:
    namespace, release = scope
    chart = f"{view.CHART_CLUSTER_LABEL}={release}"
    return tuple(
        each
        for kind in (kinds.HELM_RELEASE, kinds.MANIFESTS)
        for each in management.list(kind, namespace, chart)
    )


def _with_infrastructure(
    management: client.Client, seen: view.View, scope: snapshot.Scope
) -> view.View:
    """The provider's objects as well: they know why machines are late."""
    namespace, release = scope
    owned = f"{view.CLUSTER_NAME_LABEL}={release}"
    chart = f"{view.CHART_CLUSTER_LABEL}={release}"
    clusters = management.list(kinds.OPENSTACK_CLUSTER, namespace, chart)
    machines = management.list(kinds.OPENSTACK_MACHINE, namespace, owned)
    return dataclasses.replace(
        seen,
        infrastructure=clusters[0] if clusters else None,
        infra_machines=tuple(machines),
    )


def _ready(seen: view.View) -> bool:
    """Whether no reason will be asked for from below Cluster API."""
    available = conditions.available(seen.cluster)
    return (
        available is not None
        and available.well
        and all(view.status_of(each).get("nodeRef") for each in seen.machines)
    )
