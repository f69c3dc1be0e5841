# SPDX-License-Identifier: Apache-2.0

"""The driver as Magnum sees it: one short method per call.

Magnum makes a new Driver for each call, and magnum-api loads every
installed driver: constructing one connects to nothing, and a method that is
called imports what it needs, which registers the options.
"""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
from typing import TYPE_CHECKING, Any

from magnum.common import exception
from magnum.drivers.common import driver

from magnum_capi_helm.model import call
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.operations import magnum_errors

if TYPE_CHECKING:
    from magnum_capi_helm.operations import cluster_operation

_NO_ROLLBACK = (
    f"rollback=true is not supported by the driver {names.DRIVER}: a failed "
    "upgrade waits, so that its reason can be removed; an operator takes it "
    "back with magnum-capi-helm cluster rollback"
)


class Driver(driver.Driver):  # type: ignore[misc]
    """Kubernetes clusters by Cluster API and helm."""

    #: For Magnum 2026.1 and older: no Keystone trust is made for a cluster.
    needs_trust = False

    @property
    def provides(self) -> list[dict[str, str]]:
        """Return the properties that Magnum matches a template against."""
        return [
            {"server_type": "vm", "os": os_distro, "coe": "kubernetes"}
            for os_distro in names.DISTROS
        ]

    # Sizes, as magnum-api asks: maybe for a cluster of another driver, which
    # shares what this one provides.

    def validate_master_size(self, node_count: int) -> None:
        """Refuse a control plane size that is not possible, at create."""
        _check_size(node_count, "master_count")

    def validate_master_resize(self, node_count: int) -> None:
        """Refuse a control plane size that is not possible, at a resize."""
        _check_size(node_count, "node_count")

    # Clusters

    def create_cluster(
        self, context: Any, cluster: Any, cluster_create_timeout: int | None
    ) -> None:
        """Create the release of a new cluster; Cluster API does the rest."""
        from magnum_capi_helm.database import status_writer
        from magnum_capi_helm.lifecycle import create

        try:
            with _asked("create", context, cluster):
                create.create(context, cluster)
        except Exception as error:
            # Magnum marks the cluster, and forgets its nodegroups.
            status_writer.fail_groups(cluster, str(error))
            raise

    def update_cluster_status(
        self, context: Any, cluster: Any, use_admin_ctx: bool = False
    ) -> None:
        """Poll a cluster in progress and save what became of it."""
        from magnum_capi_helm.lifecycle import poll_status

        with call.acting(call.Actor("status poll")):
            poll_status.poll(context, cluster)

    def update_cluster(
        self,
        context: Any,
        cluster: Any,
        scale_manager: Any = None,
        rollback: bool = False,
    ) -> None:
        """Resize default-worker: ``coe cluster update node_count``."""
        from magnum_capi_helm.lifecycle import resize

        with _request("update", context, cluster) as operation:
            resize.update(operation, rollback=rollback)

    def resize_cluster(
        self,
        context: Any,
        cluster: Any,
        resize_manager: Any,
        node_count: int | None,
        nodes_to_remove: list[str] | None,
        nodegroup: Any = None,
    ) -> None:
        """Bring a group to the count that Magnum has saved."""
        from magnum_capi_helm.lifecycle import resize

        with _request("resize", context, cluster) as operation:
            resize.resize(operation, nodegroup, nodes_to_remove or [])

    def upgrade_cluster(
        self,
        context: Any,
        cluster: Any,
        cluster_template: Any,
        max_batch_size: int,
        nodegroup: Any,
        scale_manager: Any = None,
        rollback: bool = False,
    ) -> None:
        """Move a cluster to a template, or a nodegroup to the cluster's.

        Magnum passes ``rollback`` in the place of ``scale_manager``.
        """
        from magnum_capi_helm.lifecycle import upgrade

        with _request("upgrade", context, cluster, answer=True) as operation:
            if rollback or scale_manager:
                raise errors.NotSupported(_NO_ROLLBACK)
            upgrade.upgrade(
                operation, cluster_template, max_batch_size, nodegroup
            )

    def delete_cluster(self, context: Any, cluster: Any) -> None:
        """Begin to delete a cluster, from whatever state; the polls end it."""
        from magnum_capi_helm.lifecycle import delete

        with _asked("delete", context, cluster):
            delete.begin(context, cluster)

    def get_monitor(self, context: Any, cluster: Any) -> Any:
        """Return the object that does the health poll."""
        from magnum_capi_helm.lifecycle import poll_health

        return poll_health.Monitor(context, cluster)

    # Nodegroups

    def create_nodegroup(
        self, context: Any, cluster: Any, nodegroup: Any
    ) -> None:
        """Make a group of workers; the polls report when it is complete."""
        from magnum_capi_helm.lifecycle import nodegroups

        with _for_group("create", context, cluster, nodegroup) as operation:
            nodegroups.create(operation, nodegroup)

    def update_nodegroup(
        self, context: Any, cluster: Any, nodegroup: Any
    ) -> None:
        """Apply bounds, node labels and taints, which are not saved yet."""
        from magnum_capi_helm.lifecycle import nodegroups

        with _for_group("update", context, cluster, nodegroup) as operation:
            nodegroups.update(operation, nodegroup)

    def delete_nodegroup(
        self, context: Any, cluster: Any, nodegroup: Any
    ) -> None:
        """Begin to delete a group; the polls remove its row."""
        from magnum_capi_helm.lifecycle import nodegroups

        with _for_group("delete", context, cluster, nodegroup) as operation:
            nodegroups.delete(operation, nodegroup)

    # Certificates and credentials

    def rotate_ca_certificate(self, context: Any, cluster: Any) -> None:
        """Begin to replace the CAs by those that Magnum has just made."""
        from magnum_capi_helm.lifecycle import rotate_ca

        with _request("CA rotation", context, cluster) as operation:
            rotate_ca.rotate(operation)

    def rotate_credential(self, context: Any, cluster: Any) -> None:
        """Give the cluster a new credential of the requesting user."""
        from magnum_capi_helm.credentials import rotation

        action = "credential rotation"
        with _request(action, context, cluster, answer=True) as operation:
            rotation.rotate(operation)

    def create_federation(self, context: Any, federation: Any) -> None:
        """Refuse a federation; Magnum itself never calls it."""
        text = f"federation is not supported by the driver {names.DRIVER}"
        raise magnum_errors.as_magnum(errors.NotSupported(text))

    update_federation = delete_federation = create_federation


@contextlib.contextmanager
def _asked(
    action: str, context: Any, cluster: Any, *, answer: bool = False
) -> Iterator[None]:
    """Log the user, and translate errors for Magnum.

    :param answer: the text is Magnum's answer to a request, and no reason
        of a status
    """
    with (
        magnum_errors.translated(action, cluster.uuid, answer=answer),
        call.requested(action, context, cluster.uuid),
    ):
        yield


@contextlib.contextmanager
def _request(
    action: str, context: Any, cluster: Any, *, answer: bool = False
) -> Iterator[cluster_operation.Operation]:
    """Make the operation of a request that :func:`_asked` handles."""
    from magnum_capi_helm.management_clusters import registry
    from magnum_capi_helm.operations import cluster_operation

    with _asked(action, context, cluster, answer=answer):
        rt = registry.runtime_of(cluster)
        yield cluster_operation.Operation(context, cluster, rt)


@contextlib.contextmanager
def _for_group(
    action: str, context: Any, cluster: Any, nodegroup: Any
) -> Iterator[cluster_operation.Operation]:
    """Handle a request about a nodegroup as :func:`_request` does.

    After a refusal Magnum's handler saves the cluster as failed, without a
    reason: set it on the row.
    """
    try:
        request = _request(f"nodegroup {action}", context, cluster)
        with request as operation:
            yield operation
    except Exception as error:
        cluster.status_reason = f"nodegroup {nodegroup.name}: {error}"
        raise


def _check_size(count: int, name: str) -> None:
    from magnum_capi_helm.model import cluster_spec

    try:
        cluster_spec.check_control_plane_size(count, name)
    except errors.InvalidInput as error:
        raise exception.MasterNGSizeInvalid(str(error)) from None
