# SPDX-License-Identifier: Apache-2.0

"""A project is deleted before its cluster: the steps of the guide.

CAPO can't log in any more. An operator deletes the cluster's OpenStack
objects, and removes the finalizers of CAPO's.
"""

from __future__ import annotations

from collections.abc import Iterable
import contextlib
import functools
from typing import Any

from lab import faults
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import errors
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.functional import people
from magnum_capi_helm.tests.functional import programs

#: Requests to the services that CAPO uses.
_REQUESTS = {
    "block-storage": "/volumes",
    "compute": "/servers",
    "load-balancer": "/v2/lbaas/loadbalancers",
    "network": "/v2.0/networks",
}


class DeletedProjectTest(people.PeopleCase):
    """One cluster; nothing of it is left."""

    def setUp(self) -> None:
        super().setUp()
        self.cloud: Any = faults.connect("admin")
        self.release = ""

    def test_an_operator_deletes_the_rest(self) -> None:
        user = self.user()
        cluster = self.cluster(self.shared_template(), self.as_user(user))
        self.until_status(cluster, ("CREATE_COMPLETE",))
        self.release = self.admin_view(cluster)["stack_id"]
        self._delete_project(user)
        self.magnum.call("DELETE", f"/clusters/{cluster}")
        self.until_reason(cluster, f"project {self.project} is deleted")
        # It exits with 1.
        described = programs.completed("describe", cluster).stdout
        self.assertIn(f"project {self.project} is", described)
        for each in self._listed():
            self.assertIn(each.id, described)

        self._delete_machines()
        self.until_reason(cluster, "network still to be deleted")
        self._delete_load_balancer()
        self._delete_network()
        self._remove_finalizers(kinds.OPENSTACK_CLUSTER)
        self.leaves_nothing(cluster, self.release)

    def _delete_project(self, user: str) -> None:
        """Delete the project, and wait until no service takes its tokens.

        Services keep a valid token in a cache, CAPO's too.
        """
        session = self.as_user(user).session
        headers = {"X-Auth-Token": session.get_token()}
        requests = [
            functools.partial(
                self.magnum.session.get,
                path,
                endpoint_filter={"service_type": service},
                authenticated=False,
                headers=headers,
                raise_exc=False,
            )
            for service, path in _REQUESTS.items()
        ]
        self.assertEqual({200}, {each().status_code for each in requests})
        self.keystone.delete(f"/projects/{self.project}")
        self.until(
            lambda: {each().status_code for each in requests} == {401},
            400,
            "a token of a deleted project",
        )

    def _mine(self, listed: Iterable[Any]) -> list[Any]:
        """Return the objects whose names have the release."""
        return [each for each in listed if self.release in each.name]

    def _listed(self) -> list[Any]:
        """Return what the guide says that ``describe`` lists."""
        network = self.cloud.network
        return [
            *self._mine(self.cloud.compute.servers(all_projects=True)),
            *self._mine(self.cloud.load_balancer.load_balancers()),
            *self._mine(network.routers()),
            *self._mine(network.networks()),
            *self._mine(network.security_groups()),
        ]

    def _delete_machines(self) -> None:
        compute = self.cloud.compute
        for each in self._mine(compute.servers(all_projects=True)):
            compute.delete_server(each)
            compute.wait_for_delete(each)
        for each in self.cloud.network.ports():
            if each.name.startswith(self.release):
                self.cloud.network.delete_port(each)
        # Cluster API deletes those of the control plane last.
        self.until(self._machines_are_gone, 120)

    def _machines_are_gone(self) -> bool:
        found = [
            self._remove_finalizers(kind)
            for kind in (kinds.OPENSTACK_SERVER, kinds.OPENSTACK_MACHINE)
        ]
        return not any(found)

    def _delete_load_balancer(self) -> None:
        balancers = self.cloud.load_balancer
        for each in self._mine(balancers.load_balancers()):
            balancers.delete_load_balancer(each, cascade=True)
            balancers.wait_for_delete(each)
        for each in self.cloud.network.ips():
            if self.release in each.description:
                self.cloud.network.delete_ip(each)

    def _delete_network(self) -> None:
        network = self.cloud.network
        for router in self._mine(network.routers()):
            for port in network.ports(
                device_id=router.id, device_owner="network:router_interface"
            ):
                network.remove_interface_from_router(router, port_id=port.id)
            network.delete_router(router)
        for each in self._mine(network.networks()):
            network.delete_network(each)
        for each in self._mine(network.security_groups()):
            network.delete_security_group(each)

    def _remove_finalizers(self, kind: kinds.Kind) -> int:
        """Return the number of objects that were there."""
        change = {"metadata": {"finalizers": None}}
        found = [
            name
            for each in self.plane.list(kind, self.namespace)
            if (name := view.name_of(each)).startswith(self.release)
        ]
        for name in found:
            # It may be gone by now.
            with contextlib.suppress(errors.ManagementError):
                self.plane.patch(kind, self.namespace, name, change)
        return len(found)
