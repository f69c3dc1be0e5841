# SPDX-License-Identifier: Apache-2.0

"""The driver as Magnum's API and handlers see it."""

from __future__ import annotations

from collections.abc import Callable, Collection
import functools
import inspect
import pathlib
import queue
from typing import Any

import fixtures
from magnum.api.controllers import versions
from magnum.common import exception
from magnum.common import rpc
from magnum.common import rpc_service
from magnum.conductor.handlers import ca_conductor
from magnum.conductor.handlers import cluster_conductor
from magnum.conductor.handlers import indirection_api
from magnum.conductor.handlers import nodegroup_conductor
import magnum.conf
from magnum.drivers.common import driver as magnum_driver
from magnum.tests.unit.api import base as api_base

from magnum_capi_helm import driver
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.tests.fakes import management
from magnum_capi_helm.tests.fakes import openstack
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import placing
from magnum_capi_helm.tests.unit.lifecycle import upgrading


def _refusal(theirs: Callable[..., Any], ours: Callable[..., Any]) -> str:
    """Return why a method of the driver does not accept Magnum's call.

    Parameters of another Magnum may follow, if they have a default.
    """
    given = list(inspect.signature(theirs).parameters)
    accepted = inspect.signature(ours).parameters
    call = f"Magnum gives ({', '.join(given)})"
    if list(accepted)[: len(given)] != given:
        return f"{call}, it accepts ({', '.join(accepted)})"
    needed = [
        each.name
        for each in list(accepted.values())[len(given) :]
        if each.default is each.empty
    ]
    return f"{call}, it needs {', '.join(needed)}" if needed else ""


class DriverTest(base.FlowTestCase):
    def test_magnum_loads_it_by_its_name_and_connects_to_nothing(self) -> None:
        found = magnum_driver.Driver.get_driver(
            "vm", "ubuntu", "kubernetes", "k8s_capi_helm_v1"
        )
        self.assertIsInstance(found, driver.Driver)
        self.assertEqual([], self.management.requests)
        self.assertEqual(0, self.openstack.mocker.call_count)

    def test_only_the_model_names_the_driver(self) -> None:
        self.assertEqual("k8s_capi_helm_v1", names.DRIVER)
        package = pathlib.Path(driver.__file__).parent
        holders = {
            path.relative_to(package).parts[0]
            for path in package.rglob("*.py")
            if names.DRIVER in path.read_text()
        }
        self.assertEqual({"model", "tests"}, holders)

    def test_the_driver_serves_each_distribution(self) -> None:
        """The last name is an older one of ubuntu."""
        names = "ubuntu debian rocky rockylinux flatcar capi-kubeadm-cloudinit"
        self.assertEqual(
            [
                {"server_type": "vm", "os": each, "coe": "kubernetes"}
                for each in names.split()
            ],
            self.driver.provides,
        )

    def test_the_driver_accepts_each_call_of_magnum(self) -> None:
        methods = inspect.getmembers(magnum_driver.Driver, inspect.isfunction)
        faults = [
            f"driver.py, {name}: {fault}"
            for name, theirs in methods
            if (fault := _refusal(theirs, getattr(driver.Driver, name)))
        ]
        self.assertEqual([], faults)

    def test_calls_that_are_not_served_save_nothing(self) -> None:
        row = self.complete()
        group = self.groups()["default-worker"]
        before = self.snapshot()
        for call, *args in (
            (self.driver.delete_nodegroup, row, group),
            (self.driver.create_federation, None),
            (self.driver.update_federation, None),
            (self.driver.delete_federation, None),
        ):
            self.management.requests.clear()
            error = self.assertRaises(
                exception.NotSupported, call, self.context, *args
            )
            self.assertEqual(before, self.snapshot())
            self.assertEqual([], self.management.requests)
            self.assertNotIn("\n", str(error))
            self.assertIn("k8s_capi_helm_v1", str(error))

    def snapshot(self) -> dict[str, Any]:
        rows = {"cluster": self.row(), **self.groups()}
        return {name: row.as_dict() for name, row in rows.items()}

    def test_no_secret_is_told_or_logged(self) -> None:
        self.complete()
        self.resize(3)
        self.delete()
        self.openstack.refusals["DELETE"] = 403
        self.capi.finish()
        self.poll()
        for secret in ("s3cret", "user-token", "service-token"):
            self.assertNotIn(secret, self.log.output)
            self.assertNotIn(secret, self.why())


_NO_ANSWER = "the management cluster does not answer (ConnectTimeout)"
_ELSEWHERE = (
    "the management cluster is not the one that the cluster was made on: the "
    "operator has to end that, the log says how"
)
_OPTION = "[capi_helm] kubeconfig_file"
_NOT_CONFIGURED = (
    "Magnum is not configured for this: its operator finds the reason in the "
    "log of the conductor"
)


class DetailsTest(placing.OriginTestCase, upgrading.UpgradeTestCase):
    """A tenant reads statuses and answers, the operator reads the log."""

    def reasons(self) -> list[str]:
        row = self.health_poll()
        health = (row.health_status_reason or {}).values()
        return [str(row.status_reason), *map(str, health)]

    def assert_hidden(self, *details: str) -> None:
        """The log has each of them, and no reason has any."""
        told = " ".join(self.reasons())
        for each in details:
            self.assertIn(each, self.log.output)
            self.assertNotIn(each, told)

    def test_health_refusal_and_deletion_hide_an_address(self) -> None:
        self.management.unreachable()
        template = self.template(image_id="ubuntu-1.35")
        error = self.error_of(self.upgrade, template)
        self.assertIn(_NO_ANSWER, error)
        self.assertNotIn(management.ADDRESS, error)
        self.assertIn(_NO_ANSWER, self.reasons())
        self.assert_hidden(management.ADDRESS)
        self.delete()
        self.poll()
        self.assertIn(f"deletion waits: {_NO_ANSWER}", self.reasons())
        self.assert_hidden(management.ADDRESS)

    def test_another_place_hides_option_and_identities(self) -> None:
        self.resize(3)
        other = self.move()
        self.poll()
        self.assertIn(_ELSEWHERE, self.reasons())
        identities = (
            each.management.identity() for each in (other, self.plane)
        )
        self.assert_hidden(_OPTION, *identities)

    def test_a_wrong_option_is_hidden(self) -> None:
        for source in ("one", "another"):
            wrong = f"[capi_helm] {source} is wrong"
            self.fails(error=errors.NotConfigured(wrong))
            template = self.template(image_id="ubuntu-1.35")
            refused = self.error_of(self.upgrade, template)
            self.assertIn(_NOT_CONFIGURED, refused)
            self.assertIn(_NOT_CONFIGURED, self.reasons())
            self.assert_hidden(wrong)
            self.management.recover()


#: Fields of a cluster that nobody declares: what it is like at the moment.
_OBSERVED = {
    *("api_address", "ca_cert_ref", "coe_version", "container_version"),
    *("created_at", "etcd_ca_cert_ref", "front_proxy_ca_cert_ref", "id"),
    *("health_status", "health_status_reason", "magnum_cert_ref"),
    *("stack_id", "status", "status_reason", "trust_id", "updated_at"),
    *("trustee_password", "trustee_user_id", "trustee_username"),
}

#: The same of a nodegroup.
_OBSERVED_OF_GROUP = {
    *("created_at", "id", "node_addresses", "stack_id", "status"),
    *("status_reason", "updated_at"),
}

#: All that a client can give, in a spelling that nobody would choose.
_DECLARED: dict[str, Any] = {
    "labels": {
        "auto_healing_enabled": "TRUE",
        "boot_volume_size": " 20",
        "kube_tag": "v1.34.2",
        "monitoring_enabled": "False",
        "of_no_effect": "Ünïcode, and more",
    },
    "create_timeout": 61,
    "docker_volume_size": None,
    "keypair": "mine",
    "name": "web",
}


class DeclaredFieldsTest(base.FlowTestCase):
    """Every field but the observed ones, after every operation."""

    def setUp(self) -> None:
        super().setUp()
        self.complete(**_DECLARED)

    def declared(self) -> dict[str, dict[str, Any]]:
        found = {"": _fields(self.row(), _OBSERVED)}
        for name, group in self.groups().items():
            found[name] = _fields(group, _OBSERVED_OF_GROUP)
        return found

    def finish(self) -> None:
        self.settle()
        self.poll()
        self.health_poll()
        self.assertIn("COMPLETE", self.row().status)

    def test_a_create_keeps_declared_fields(self) -> None:
        self.health_poll()
        for name, value in _DECLARED.items():
            self.assertEqual(value, getattr(self.row(), name), name)
        template = self.row().cluster_template
        self.assertEqual({}, template.labels)

    def test_nodegroups_that_come_and_go_keep_declared_fields(self) -> None:
        before = self.declared()
        own = {"boot_volume_size": " 30", "x": "y"}
        self.add("Extra_1", labels=own, max_node_count=4)
        self.finish()
        added = self.declared()
        self.assertEqual(before, {name: added[name] for name in before})
        self.assertEqual(own, added["Extra_1"]["labels"])
        self.change("Extra_1", max_node_count=6)
        self.finish()
        added["Extra_1"]["max_node_count"] = 6
        self.assertEqual(added, self.declared())
        self.remove("Extra_1")
        self.capi.remove_group(names.node_group("Extra_1", base.RELEASE))
        self.finish()
        self.assertEqual(before, self.declared())

    def test_a_refused_operation_keeps_declared_fields(self) -> None:
        before = self.declared()
        self.assertRaises(
            exception.InvalidParameterValue,
            self.add,
            "extra",
            flavor_id="no-such-flavor",
        )
        self.health_poll()
        refused = self.declared()
        del refused["extra"]
        self.assertEqual(before, refused)

    def test_all_operations_keep_declared_fields(self) -> None:
        before = self.declared()
        self.resize(5)
        self.finish()
        before["default-worker"]["node_count"] = 5
        self.assertEqual(before, self.declared(), "a resize")
        self.save(status="UPDATE_FAILED")
        self.finish()
        self.assertEqual(before, self.declared(), "a failure that recovers")
        self.delete()
        self.poll()
        self.assertEqual(before, self.declared(), "a deletion")


class AutoscaledTest(base.FlowTestCase):
    """Counts that the autoscaler chose are the autoscaler's."""

    def test_polls_write_only_the_count_of_a_scaled_group(self) -> None:
        labels = {"auto_scaling_enabled": "true", "max_node_count": "5"}
        self.complete(labels=labels)
        before = _fields(self.row(), _OBSERVED)
        group = _fields(self.groups()["default-worker"], _OBSERVED_OF_GROUP)
        self.scale(4)
        self.settle()
        self.health_poll()
        self.assertEqual(before, _fields(self.row(), _OBSERVED))
        after = _fields(self.groups()["default-worker"], _OBSERVED_OF_GROUP)
        self.assertIn(after.pop("node_count"), (2, 4))
        del group["node_count"]
        self.assertEqual(group, after)


def _fields(row: Any, observed: Collection[str]) -> dict[str, Any]:
    return {
        name: getattr(row, name)
        for name in row.fields
        if name not in observed and name != "cluster_template"
    }


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
