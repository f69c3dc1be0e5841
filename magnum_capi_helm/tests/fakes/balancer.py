# SPDX-License-Identifier: Apache-2.0

"""The load balancer of a Kubernetes API, as Octavia shows it."""

from __future__ import annotations

import re
from typing import Any

ID = "balancer-1"
_POOL = "pool-1"


class FakeBalancer:
    """One load balancer with a pool.

    :param mocker: a requests-mock mocker that is started already
    :param url: of Octavia
    """

    def __init__(self, mocker: Any, url: str) -> None:
        #: Address of a member -> whether it gets requests.
        self.members: dict[str, bool] = {}
        self.state = "ACTIVE"
        #: HTTP status of answers to changes.
        self.refusal = 0
        base = f"{url}/v2(.0)?/lbaas"
        for method, path, answer in (
            ("GET", f"pools\\?loadbalancer_id={ID}$", self._pools),
            ("GET", f"pools/{_POOL}/members$", self._members),
            ("PUT", f"pools/{_POOL}/members/", self._update),
            ("GET", f"loadbalancers/{ID}$", self._balancer),
        ):
            mocker.register_uri(
                method, re.compile(f"{base}/{path}"), json=answer
            )

    def settle(self) -> None:
        """The amphora has what was asked for."""
        self.state = "ACTIVE"

    def _pools(self, request: Any, context: Any) -> Any:
        return {"pools": [{"id": _POOL}]}

    def _member(self, address: str) -> dict[str, Any]:
        return {
            "id": f"member-{address}",
            "address": address,
            "admin_state_up": self.members[address],
        }

    def _members(self, request: Any, context: Any) -> Any:
        return {"members": [self._member(each) for each in self.members]}

    def _update(self, request: Any, context: Any) -> Any:
        if self.refusal or self.state != "ACTIVE":
            context.status_code = self.refusal or 409
            return {"faultstring": "immutable"}
        address = request.path.rpartition("member-")[2]
        self.members[address] = request.json()["member"]["admin_state_up"]
        self.state = "PENDING_UPDATE"
        return {"member": self._member(address)}

    def _balancer(self, request: Any, context: Any) -> Any:
        return {"loadbalancer": {"id": ID, "provisioning_status": self.state}}
