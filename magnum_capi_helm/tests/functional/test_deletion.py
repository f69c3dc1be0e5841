# SPDX-License-Identifier: Apache-2.0

"""Deletion: what it takes along, and from where it gets to its end."""

from __future__ import annotations

import contextlib
from typing import Any

from keystoneauth1 import adapter
from keystoneauth1 import exceptions as ka_exceptions

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import names
from magnum_capi_helm.tests.functional import base
from magnum_capi_helm.tests.functional import magnum_api

_CINDER = "cinder.csi.openstack.org/cluster"


class Project:
    """OpenStack's APIs, for what Kubernetes would make in the project."""

    def __init__(self, case: base.LabCase) -> None:
        self._case = case
        keystone = case.magnum.session
        self._apis = {
            kind: adapter.Adapter(keystone, service_type=kind, raise_exc=True)
            for kind in ("network", "load-balancer", "block-storage")
        }

    def call(self, kind: str, method: str, path: str, body: Any = None) -> Any:
        """The decoded answer."""
        answer = self._apis[kind].request(path, method, json=body)
        return answer.json() if answer.content else None

    def make(self, kind: str, path: str, what: str, /, **fields: Any) -> Any:
        """Make something, and delete it after the test if it is there."""
        made = self.call(kind, "POST", path, {what: fields})[what]
        self._case.addCleanup(self._remove, kind, f"{path}/{made['id']}")
        return made

    def _remove(self, kind: str, path: str) -> None:
        with contextlib.suppress(ka_exceptions.NotFound):
            self.call(kind, "DELETE", path)

    def there(self, kind: str, path: str, made: Any) -> bool:
        """Whether something is still there."""
        try:
            self.call(kind, "GET", f"{path}/{made['id']}")
        except ka_exceptions.NotFound:
            return False
        return True

    def network(self, name: str) -> tuple[Any, Any]:
        """A network behind a router to the outside; its subnet, a port."""
        [public] = self.call("network", "GET", "/v2.0/networks?name=public")[
            "networks"
        ]
        self.public = public["id"]
        network = self.make("network", "/v2.0/networks", "network", name=name)
        subnet = self.make(
            "network",
            "/v2.0/subnets",
            "subnet",
            network_id=network["id"],
            cidr="10.77.0.0/24",
            ip_version=4,
        )
        router = self.make(
            "network",
            "/v2.0/routers",
            "router",
            name=name,
            external_gateway_info={"network_id": self.public},
        )
        path = f"/v2.0/routers/{router['id']}"
        one = {"subnet_id": subnet["id"]}
        self.call("network", "PUT", f"{path}/add_router_interface", one)
        self._case.addCleanup(
            self.call, "network", "PUT", f"{path}/remove_router_interface", one
        )
        port = self.make(
            "network", "/v2.0/ports", "port", network_id=network["id"]
        )
        return subnet, port

    def balancer(self, name: str, **vip: str) -> Any:
        """A load balancer with a listener, when it is ACTIVE."""
        path = "/v2/lbaas/loadbalancers"
        body = {"loadbalancer": {"name": name, **vip}}
        made = self.call("load-balancer", "POST", path, body)["loadbalancer"]
        self._case.addCleanup(
            self._remove, "load-balancer", f"{path}/{made['id']}?cascade=true"
        )
        self._settled(made)
        listener = {
            "loadbalancer_id": made["id"],
            "protocol": "TCP",
            "protocol_port": 80,
        }
        self.call(
            "load-balancer",
            "POST",
            "/v2/lbaas/listeners",
            {"listener": listener},
        )
        self._settled(made)
        return made

    def _settled(self, made: Any) -> None:
        path = f"/v2/lbaas/loadbalancers/{made['id']}"
        self._case.until(
            lambda: (
                self.call("load-balancer", "GET", path)["loadbalancer"][
                    "provisioning_status"
                ]
                == "ACTIVE"
            ),
            30,
        )

    def address(self, description: str, **fields: Any) -> Any:
        """A floating IP."""
        return self.make(
            "network",
            "/v2.0/floatingips",
            "floatingip",
            floating_network_id=self.public,
            description=description,
            **fields,
        )

    def volume(self, cluster: str) -> Any:
        """A volume like those of the Cinder CSI driver."""
        made = self.make(
            "block-storage",
            "/volumes",
            "volume",
            name=f"pvc-{cluster}",
            size=1,
            metadata={_CINDER: cluster},
        )
        # No cinder-volume runs in the lab: an administrator says that it is
        # there. Without a host the API itself deletes it.
        admin = adapter.Adapter(
            magnum_api.keystone_session("admin"), service_type="block-storage"
        )
        admin.post(
            f"/volumes/{made['id']}/action",
            json={"os-reset_status": {"status": "available"}},
        )
        return made


class LeftoversTest(base.LabCase):
    """What Kubernetes made in the project, as its controllers name it."""

    def test_what_services_made_goes_and_what_others_made_stays(self) -> None:
        cluster = self.cluster(self.template())
        release = str(
            self.until_status(cluster, ("CREATE_COMPLETE",))["stack_id"]
        )
        project = Project(self)
        subnet, port = project.network(release)
        path = "/v2/lbaas/loadbalancers"
        vip = {"vip_subnet_id": subnet["id"]}
        own = project.balancer(
            f"kube_service_{release}_default_web", vip_port_id=port["id"]
        )
        plain = project.balancer(f"kube_service_{release}_default_db", **vip)
        others = project.balancer(f"kube_service_{release}-b_x_y", **vip)
        text = "Floating IP for Kubernetes external service x/y from cluster "
        ours = project.address(text + release, port_id=port["id"])
        kept = [
            project.address(f"{text}{release}-b"),
            project.address("of the user"),
        ]
        volume = project.volume(release)

        self.delete(cluster)

        for made in (own, plain):
            self.assertFalse(project.there("load-balancer", path, made))
        self.assertTrue(project.there("load-balancer", path, others))
        ips = "/v2.0/floatingips"
        self.assertFalse(project.there("network", ips, ours))
        for made in kept:
            self.assertTrue(project.there("network", ips, made))
        self.assertTrue(project.there("block-storage", "/volumes", volume))
        self.assert_all_gone(release)
        self.assertEqual([], self.credentials_of(cluster))


class HandsOffTest(base.LabCase):
    """Deletions that do not begin with everything in its place."""

    def test_right_after_the_create_with_volumes(self) -> None:
        """From CREATE_IN_PROGRESS; the label takes the volumes along."""
        cluster = self.cluster(
            self.template(), labels={"volumes_policy": "delete"}
        )
        release = str(
            self.until(
                lambda: (self.magnum.find(cluster) or {}).get("stack_id"), 60
            )
        )
        found = self.magnum.find(cluster) or {}
        self.assertEqual("CREATE_IN_PROGRESS", found["status"])
        project = Project(self)
        volume = project.volume(release)
        other = project.volume(f"{release}-b")
        self.delete(cluster)
        self.assertFalse(project.there("block-storage", "/volumes", volume))
        self.assertTrue(project.there("block-storage", "/volumes", other))
        self.assert_all_gone(release)
        self.assertEqual([], self.credentials_of(cluster))

    def test_with_most_of_it_removed_by_hand(self) -> None:
        cluster = self.cluster(self.template())
        release = str(
            self.until_status(cluster, ("CREATE_COMPLETE",))["stack_id"]
        )
        for secret in self.plane.list(
            kinds.SECRET, self.namespace, f"owner=helm,name={release}"
        ):
            self._remove(kinds.SECRET, secret["metadata"]["name"])
        for name in (
            names.desired_state(release),
            names.server_groups(release),
        ):
            self._remove(kinds.SECRET, name)
        self._remove(kinds.LEASE, names.lease(release))
        self._remove(kinds.CLUSTER, release)
        self.until(
            lambda: (
                self.plane.get(kinds.CLUSTER, self.namespace, release) is None
            ),
            120,
        )
        self._remove(kinds.SECRET, names.credentials(release))
        self.delete(cluster)
        self.assert_all_gone(release)

    def _remove(self, kind: kinds.Kind, name: str) -> None:
        self.plane.delete(kind, self.namespace, name)
