# SPDX-License-Identifier: Apache-2.0

"""From Magnum's REST API to the driver and back, in one process."""

from __future__ import annotations

import functools
import queue
from typing import Any

import fixtures
from magnum.api.controllers import versions
from magnum.common import rpc
from magnum.common import rpc_service
from magnum.conductor.handlers import ca_conductor
from magnum.conductor.handlers import cluster_conductor
from magnum.conductor.handlers import indirection_api
from magnum.conductor.handlers import nodegroup_conductor
import magnum.conf
from magnum.tests.unit.api import base as api_base

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import names
from magnum_capi_helm.tests.fakes import openstack
from magnum_capi_helm.tests.unit.lifecycle import base

CONF = magnum.conf.CONF

_TOPIC = "magnum-conductor"
_PATIENCE = 10.0


class Conductor(cluster_conductor.Handler):
    """Magnum's handler, which says when it is done with a request.

    Nobody else touches the database before: all threads share one
    connection to it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.done: queue.Queue[str] = queue.Queue()
        for name in ("create", "resize", "delete"):
            told = functools.partial(self._told, name)
            setattr(self, f"cluster_{name}", told)

    def _told(self, name: str, *args: Any, **kwargs: Any) -> Any:
        try:
            real = getattr(super(), f"cluster_{name}")
            return real(*args, **kwargs)
        finally:
            self.done.put(name)


class EndToEndTest(base.FlowTestCase, api_base.FunctionalTest):
    """A user's requests by HTTP, Magnum's conductor by fake:// RPC."""

    by_http = True

    def setUp(self) -> None:
        super().setUp()
        CONF.set_override("transport_url", "fake://")
        rpc.init(CONF)
        self.addCleanup(rpc.cleanup)
        self._forget_clients()
        self.addCleanup(self._forget_clients)
        for name in (
            "validate_os_resources",
            "validate_flavor_root_volume_size",
        ):
            self.useFixture(
                fixtures.MockPatch(f"magnum.api.attr_validator.{name}")
            )
        self.conductor = Conductor()
        service = rpc_service.Service.create(
            _TOPIC,
            "conductor-1",
            [
                self.conductor,
                nodegroup_conductor.Handler(),
                ca_conductor.Handler(),
                indirection_api.Handler(),
            ],
            _TOPIC,
        )
        service.start()
        self.addCleanup(service.stop)

    def _forget_clients(self) -> None:
        getattr(rpc_service, "_RPC_CLIENT_CACHE", {}).clear()

    def request(
        self, method: str, path: str, body: dict[str, Any] | None = None
    ) -> Any:
        """A request of the user, in the newest API version there is."""
        newest = versions.CURRENT_MAX_VER
        headers = {
            "X-Roles": "member,reader",
            "X-Auth-Token": "user-token",
            "X-User-Id": openstack.USER,
            "X-Project-Id": openstack.PROJECT,
            "OpenStack-API-Version": f"container-infra {newest}",
        }
        environ = {"keystone.token_info": openstack.token_info()}
        call = getattr(self.app, method)
        arguments = [] if body is None else [body]
        return call(
            f"/v1/{path}",
            *arguments,
            headers=headers,
            extra_environ=environ,
        )

    def done(self) -> str:
        """Requests are casts: wait for the conductor to end one."""
        return self.conductor.done.get(timeout=_PATIENCE)

    def statuses_by_the_api(self) -> tuple[str, int]:
        shown = self.request("get", f"clusters/{self.uuid}").json
        return shown["status"], shown["node_count"]

    def test_create_resize_and_delete(self) -> None:
        template = self.template()
        answer = self.request(
            "post_json",
            "clusters",
            {
                "name": "web",
                "cluster_template_id": template.uuid,
                "node_count": 2,
                "keypair": "mine",
            },
        )
        self.assertEqual(202, answer.status_int)
        self.uuid = answer.json["uuid"]
        self.release = names.release("web", self.uuid)
        self.capi = self.plane.cluster_api(base.NAMESPACE, self.release)
        self.assertEqual("create", self.done())
        self.settle()
        self.assertEqual(("CREATE_COMPLETE", 2), self.statuses_by_the_api())

        self.request(
            "post_json",
            f"clusters/{self.uuid}/actions/resize",
            {"node_count": 3},
        )
        self.assertEqual("resize", self.done())
        self.settle()
        self.assertEqual(("UPDATE_COMPLETE", 3), self.statuses_by_the_api())

        self.request("delete", f"clusters/{self.uuid}")
        self.assertEqual("delete", self.done())
        self.capi.finish()
        self.poll()
        shown = self.request("get", "clusters").json
        self.assertEqual([], shown["clusters"])
        self.assertEqual([], self.server.names(kinds.SECRET))
        self.assertEqual({}, self.openstack.credentials)
