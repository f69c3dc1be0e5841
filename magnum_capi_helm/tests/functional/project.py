# SPDX-License-Identifier: Apache-2.0

"""OpenStack's objects in the project of a test.

Some are named and marked as the cloud controller manager and the Cinder CSI
driver of a cluster do it.
"""

from __future__ import annotations

from typing import Any

from keystoneauth1 import adapter
from keystoneauth1 import exceptions as ka_exceptions
from keystoneauth1 import session

from magnum_capi_helm.tests.functional import base

#: Type of the service, and path of the objects.
ADDRESSES = ("network", "/v2.0/floatingips")
GROUPS = ("network", "/v2.0/security-groups")
BALANCERS = ("load-balancer", "/v2/lbaas/loadbalancers")
VOLUMES = ("block-storage", "/volumes")
SNAPSHOTS = ("block-storage", "/snapshots")

_CINDER = "cinder.csi.openstack.org/cluster"


class Project:
    """OpenStack's APIs for the user of a test.

    :param keystone: the session of another user
    """

    def __init__(
        self, case: base.LabCase, keystone: session.Session | None = None
    ) -> None:
        self._case = case
        self._apis = {
            kind: adapter.Adapter(
                keystone or case.magnum.session,
                service_type=kind,
                raise_exc=True,
            )
            for kind in (
                *("network", "load-balancer", "block-storage"),
                *("compute", "image"),
            )
        }

    def call(self, kind: str, method: str, path: str, body: Any = None) -> Any:
        """The decoded answer."""
        answer = self._apis[kind].request(path, method, json=body)
        return answer.json() if answer.content else None

    def make(self, kind: str, path: str, what: str, /, **fields: Any) -> Any:
        """Make something, and delete it after the test if it is there."""
        made = self.call(kind, "POST", path, {what: fields})[what]
        self._remove_later(kind, f"{path}/{made['id']}")
        return made

    def _remove_later(self, kind: str, path: str) -> None:
        self._case.addCleanup(
            self._case.until, lambda: self._removed(kind, path), 60
        )

    def _removed(self, kind: str, path: str) -> bool:
        """Delete something; return False while it is in use."""
        try:
            self.call(kind, "DELETE", path)
        except ka_exceptions.NotFound:
            return True
        except (ka_exceptions.Conflict, ka_exceptions.BadRequest):
            return False
        return True

    def there(self, kind: str, path: str, made: Any) -> bool:
        """Whether something is still there."""
        try:
            self.call(kind, "GET", f"{path}/{made['id']}")
        except ka_exceptions.NotFound:
            return False
        return True

    def public(self) -> str:
        """Return the ID of the external network."""
        [public] = self.call("network", "GET", "/v2.0/networks?name=public")[
            "networks"
        ]
        return str(public["id"])

    def subnet_of(self, release: str) -> Any:
        """Return the subnet that CAPO made for a cluster."""
        listed = self.call("network", "GET", "/v2.0/subnets")["subnets"]
        [subnet] = [each for each in listed if each["name"].endswith(release)]
        return subnet

    def network(self, name: str, **subnet: Any) -> Any:
        """Make a network, and return its subnet."""
        network = self.make("network", "/v2.0/networks", "network", name=name)
        fields = {"cidr": "10.77.0.0/24", "ip_version": 4, **subnet}
        return self.make(
            "network",
            "/v2.0/subnets",
            "subnet",
            name=f"{name}-subnet",
            network_id=network["id"],
            **fields,
        )

    def router(self, name: str, subnet: Any) -> None:
        """Make a router between a subnet and the external network."""
        router = self.make(
            "network",
            "/v2.0/routers",
            "router",
            name=name,
            external_gateway_info={"network_id": self.public()},
        )
        path = f"/v2.0/routers/{router['id']}"
        one = {"subnet_id": subnet["id"]}
        self.call("network", "PUT", f"{path}/add_router_interface", one)
        self._case.addCleanup(
            self.call, "network", "PUT", f"{path}/remove_router_interface", one
        )

    def server(self, name: str, image: str, subnet: Any) -> Any:
        """Make a server, and wait until it is ACTIVE."""
        path = "/servers"
        [image_id] = [
            each["id"]
            for each in self.call("image", "GET", f"/v2/images?name={image}")[
                "images"
            ]
        ]
        [flavor] = [
            each["id"]
            for each in self.call("compute", "GET", "/flavors")["flavors"]
            if each["name"] == "m1.tiny"
        ]
        made = self.make(
            "compute",
            path,
            "server",
            name=name,
            imageRef=image_id,
            flavorRef=flavor,
            networks=[{"uuid": subnet["network_id"]}],
        )
        self._case.until(
            lambda: (
                self.call("compute", "GET", f"{path}/{made['id']}")["server"][
                    "status"
                ]
                == "ACTIVE"
            ),
            120,
        )
        return made

    def balancer(self, name: str, **vip: str) -> Any:
        """A load balancer with a listener, when it is ACTIVE."""
        kind, path = BALANCERS
        body = {"loadbalancer": {"name": name, **vip}}
        made = self.call(kind, "POST", path, body)["loadbalancer"]
        self._remove_later(kind, f"{path}/{made['id']}?cascade=true")
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
        """Make a floating IP."""
        return self.make(
            *ADDRESSES,
            "floatingip",
            floating_network_id=self.public(),
            description=description,
            **fields,
        )

    def group(self, description: str) -> Any:
        """Make a security group."""
        return self.make(
            *GROUPS, "security_group", name="lb-sg", description=description
        )

    def volume(self, cluster: str, **metadata: str) -> Any:
        """Make a volume like those of the Cinder CSI driver."""
        return self._stored(
            *VOLUMES,
            "volume",
            name=f"pvc-{cluster}",
            size=1,
            metadata={_CINDER: cluster, **metadata},
        )

    def snapshot(self, volume: Any, cluster: str) -> Any:
        """Make a snapshot like those of the Cinder CSI driver."""
        return self._stored(
            *SNAPSHOTS,
            "snapshot",
            volume_id=volume["id"],
            metadata={_CINDER: cluster},
        )

    def _stored(self, kind: str, path: str, what: str, **fields: Any) -> Any:
        """Make a volume or a snapshot, and wait until it is available."""
        made = self.make(kind, path, what, **fields)
        self._case.until(
            lambda: (
                self.call(kind, "GET", f"{path}/{made['id']}")[what]["status"]
                == "available"
            ),
            30,
        )
        return made
