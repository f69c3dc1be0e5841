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

"""What tests of flows start with: rows, a context, a management cluster."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import datetime
import functools
import importlib.util
import logging
from typing import Any
from unittest import mock
import uuid

from cryptography.hazmat.primitives.asymmetric import rsa
import fixtures
from keystoneauth1 import loading
from magnum import objects
from magnum.common import context as magnum_context
from magnum.common import short_id
from magnum.common.x509 import operations
from magnum.conductor.handlers import cluster_conductor
from magnum.conductor.handlers import nodegroup_conductor
from magnum.conductor.handlers.common import cert_manager
from magnum.db.sqlalchemy import api as db_api
from magnum.db.sqlalchemy import models
from magnum.service import periodic
from magnum.tests.unit.db import base
from magnum.tests.unit.objects import utils
from oslo_db.sqlalchemy import enginefacade  # type: ignore[import-untyped]
from oslo_service import loopingcall  # type: ignore[import-untyped]
from requests_mock.contrib import fixture as requests_fixture

from magnum_capi_helm import conf
from magnum_capi_helm import driver
from magnum_capi_helm import names
from magnum_capi_helm import runtime
from magnum_capi_helm import spec
from magnum_capi_helm.cloud import catalogue
from magnum_capi_helm.management import kinds
from magnum_capi_helm.tests.fakes import cloud as fake_cloud
from magnum_capi_helm.tests.fakes import openstack
from magnum_capi_helm.tests.fakes import plane
from magnum_capi_helm.tests.unit.flows import complete

#: Making keys, and deriving keys from passphrases, takes most of a test's
#: time; one of each kind does for all.
_cached_key = functools.lru_cache(rsa.generate_private_key)
_CACHED = {
    name: functools.lru_cache(getattr(operations, name))
    for name in (
        "generate_ca_certificate",
        "generate_client_certificate",
        "decrypt_key",
    )
}

# No sleep(0) at the end of each transaction: on a machine that is busy, the
# others' turn takes longer than the transaction.
enginefacade.configure(thread_checkin=False)

UUID = "5d12f6fd-a196-4bf0-ae4c-1f639a523a52"
RELEASE = names.release("web", UUID)
NAMESPACE = "magnum-fakeproject"


def configure(case: Any) -> openstack.FakeOpenStack:
    """Magnum's configuration for the fakes; the OpenStack behind it."""
    options = conf.CONF
    plugin = loading.get_auth_plugin_conf_options("password")
    options.register_opts(plugin, "keystone_auth")
    # One of them is required: it must not outlive this test.
    case.addCleanup(options.unregister_opts, plugin, "keystone_auth")
    case.addCleanup(options.reset)
    case.useFixture(
        fixtures.MockPatchObject(rsa, "generate_private_key", _cached_key)
    )
    store = case.useFixture(fixtures.TempDir()).path
    overrides: dict[str, dict[str, Any]] = {
        "keystone_auth": {
            "auth_type": "password",
            "auth_url": "http://keystone.test",
            "username": "magnum",
            "password": "secret",
            "project_name": "service",
            "user_domain_name": "Default",
            "project_domain_name": "Default",
        },
        "certificates": {"cert_manager_type": "x509keypair"},
        "capi_helm": {"chart_store": store},
    }
    for group, values in overrides.items():
        for name, value in values.items():
            options.set_override(name, value, group)
    mocker = case.useFixture(requests_fixture.Fixture())  # type: ignore[no-untyped-call]
    return openstack.FakeOpenStack(mocker)


def install(case: Any, made: runtime.Runtime) -> None:
    """Let the driver use ``made`` for the rest of a test."""
    runtime.use(made)
    case.addCleanup(runtime.reset)


def _enable_loggers() -> None:
    """Magnum's migrations switch off the loggers that exist by then."""
    for name, logger in logging.root.manager.loggerDict.items():
        if name.startswith("magnum_capi_helm") and isinstance(
            logger, logging.Logger
        ):
            logger.disabled = False


_template_of = db_api.Connection.get_cluster_template_by_uuid


def _template_by_uuid(connection: Any, context: Any, ident: str) -> Any:
    """Magnum's look-up of a template, as quick for an administrator.

    Magnum asks for all templates, united with the public and with the hidden
    ones. SQLAlchemy can't cache that statement, and compiling it anew for
    each poll took a tenth of all tests' time.
    """
    if context.is_admin and context.all_tenants:
        with db_api._session_for_read() as session:
            every = session.query(models.ClusterTemplate)
            if found := every.filter_by(uuid=ident).one_or_none():
                return found
    return _template_of(connection, context, ident)


class FlowTestCase(base.DbTestCase):
    """Magnum's rows in SQLite, everything else from the fakes."""

    #: The cluster that the helpers below are about.
    uuid = UUID

    #: Ask OpenStack's catalogue by HTTP, where a test is about that.
    by_http = False

    #: Make certificates anew, where a test is about those.
    own_certificates = False

    def setUp(self) -> None:
        super().setUp()
        self.openstack = configure(self)
        self.useFixture(
            fixtures.MockPatch(
                "magnum.conductor.utils.notify_about_cluster_operation"
            )
        )
        self.useFixture(
            fixtures.MockPatchObject(
                db_api.Connection,
                "get_cluster_template_by_uuid",
                _template_by_uuid,
            )
        )
        self._without_trusts()
        _enable_loggers()
        self.log = self.useFixture(
            fixtures.FakeLogger(
                "magnum_capi_helm", format="%(levelname)s %(message)s"
            )
        )
        self.plane = plane.Plane(conf.CONF.capi_helm.chart_store)
        self.server = self.plane.server
        self.management = self.plane.management
        self.helm = self.plane.helm
        self.capi = self.plane.cluster_api(NAMESPACE, RELEASE)
        install(self, self.plane.runtime())
        if not self.own_certificates:
            self._share_certificates()
        if not self.by_http:
            self.useFixture(
                fixtures.MockPatchObject(catalogue, "Cloud", self.catalogue)
            )
        self.admin = magnum_context.make_admin_context(all_tenants=True)
        self.login()
        self.driver = driver.Driver()
        self.handler = cluster_conductor.Handler()

    def _share_certificates(self) -> None:
        """The same certificates for every cluster and CA."""
        for name, cached in _CACHED.items():
            self.useFixture(fixtures.MockPatchObject(operations, name, cached))
        self.useFixture(
            fixtures.MockPatchObject(short_id, "generate_id", lambda: "pass")
        )

    def _without_trusts(self) -> None:
        """Magnum 2026.1 and older make a trust for each cluster."""
        module = "magnum.conductor.handlers.common.trust_manager"
        if importlib.util.find_spec(module) is None:
            return
        for name in ("create_trustee_and_trust", "delete_trustee_and_trust"):
            self.useFixture(fixtures.MockPatch(f"{module}.{name}"))

    def catalogue(self, session: Any) -> fake_cloud.FakeCloud:
        """What the user sees of OpenStack."""
        image = spec.Image("i-1", "ubuntu-1.34", "1.34.2", "ubuntu")
        return fake_cloud.FakeCloud(
            images={image.name: image},
            flavors={"m1.medium": "m1.medium"},
            networks={"public": "net-1"},
            types=("slow", "fast"),
        )

    def login(self, **token: Any) -> None:
        """Requests from now on carry such a token."""
        self.context = magnum_context.RequestContext(
            auth_token="user-token",
            auth_token_info=openstack.token_info(**token),
            project_id=openstack.PROJECT,
            user_id=token.get("user", openstack.USER),
            is_admin=False,
        )

    # Rows

    def template(self, **fields: Any) -> Any:
        """A template; without arguments one of the smallest that works."""
        return utils.create_test_cluster_template(
            self.context,
            **{
                "uuid": str(uuid.uuid4()),
                "image_id": "ubuntu-1.34",
                "flavor_id": "m1.medium",
                "master_flavor_id": "m1.medium",
                "external_network_id": "public",
                "fixed_network": None,
                "network_driver": "calico",
                "apiserver_port": None,
                "docker_storage_driver": "overlay2",
                "docker_volume_size": None,
                "http_proxy": None,
                "https_proxy": None,
                "insecure_registry": None,
                "no_proxy": None,
                "labels": {},
                "driver": "k8s_capi_helm_v1",
                **fields,
            },
        )

    def cluster(
        self, template: dict[str, Any] | None = None, **fields: Any
    ) -> Any:
        """A cluster that is not saved yet, as Magnum's API makes it."""
        made = self.template(**(template or {}))
        return utils.get_test_cluster(
            self.context,
            **{
                "uuid": self.uuid,
                "name": "web",
                "cluster_template_id": made.uuid,
                "stack_id": None,
                "api_address": None,
                "status_reason": None,
                "flavor_id": made.flavor_id,
                "master_flavor_id": made.master_flavor_id,
                "docker_volume_size": None,
                "labels": {},
                "keypair": "mine",
                **fields,
            },
        )

    def saved(
        self, template: dict[str, Any] | None = None, **fields: Any
    ) -> Any:
        """A cluster and its two nodegroups, saved; nothing made for it."""
        groups = {"status": fields.get("status", "CREATE_IN_PROGRESS")}
        cluster = self.cluster(template, **fields)
        cluster.create()
        for name, role, count in (
            ("default-master", "master", 1),
            ("default-worker", "worker", 2),
        ):
            self.nodegroup(
                cluster,
                name=name,
                role=role,
                node_count=count,
                is_default=True,
                stack_id=fields.get("stack_id"),
                **groups,
            )
        cert_manager.generate_certificates_to_cluster(
            cluster, context=self.context
        )
        cluster.save()
        return cluster

    def nodegroup(self, cluster: Any, **fields: Any) -> Any:
        """A nodegroup, saved."""
        made = objects.NodeGroup(
            self.context,
            **{
                "uuid": str(uuid.uuid4()),
                "cluster_id": cluster.uuid,
                "project_id": openstack.PROJECT,
                "image_id": "ubuntu-1.34",
                "flavor_id": "m1.medium",
                "role": "worker",
                "node_count": 1,
                "min_node_count": 0,
                "is_default": False,
                **fields,
            },
        )
        made.create()
        return made

    def row(self) -> Any:
        """The cluster as it is saved now."""
        return objects.Cluster.get_by_uuid(self.admin, self.uuid)

    def groups(self) -> dict[str, Any]:
        """The nodegroups as they are saved now, by name."""
        found = objects.NodeGroup.list(self.admin, self.uuid)
        return {each.name: each for each in found}

    def statuses(self) -> set[str]:
        """Statuses of the cluster and of all its groups."""
        groups = self.groups().values()
        return {self.row().status, *(each.status for each in groups)}

    def backdate(self, minutes: float) -> None:
        """The cluster was created that long ago."""
        now = datetime.datetime.now(datetime.timezone.utc)
        began = now - datetime.timedelta(minutes=minutes)
        self.dbapi.update_cluster(self.row().id, {"created_at": began})

    # What Magnum does

    def create(
        self, template: dict[str, Any] | None = None, **fields: Any
    ) -> Any:
        """``coe cluster create`` with 1 + 2 nodes, through the handler."""
        cluster = self.cluster(template, **fields)
        self.handler.cluster_create(self.context, cluster, 1, 2, 60)
        return self.row()

    def created(
        self, template: dict[str, Any] | None = None, **fields: Any
    ) -> Any:
        """A cluster that is CREATE_COMPLETE."""
        self.create(template, **fields)
        self.capi.settle()
        self.poll()
        assert self.row().status == "CREATE_COMPLETE", self.row().status_reason
        return self.row()

    def complete(
        self, template: dict[str, Any] | None = None, **fields: Any
    ) -> Any:
        """What ``created`` makes, copied: the first thing that a test does.

        A test that changes options, or puts anything in another's place,
        before the cluster is made, says ``created``.
        """
        if self.by_http or self.own_certificates:
            return self.created(template, **fields)
        key = (type(self).catalogue, repr((template, sorted(fields.items()))))
        complete.restore(self, key, lambda: self.created(template, **fields))
        return self.row()

    def resize(self, count: int, name: str = "default-worker") -> None:
        """``coe cluster resize``, through the handler."""
        self.handler.cluster_resize(
            self.context, self.row(), count, [], self.groups()[name]
        )

    def add(self, name: str, **fields: Any) -> Any:
        """``coe nodegroup create``, through the handler."""
        made = objects.NodeGroup(
            self.context,
            **{
                "uuid": str(uuid.uuid4()),
                "name": name,
                "cluster_id": self.uuid,
                "project_id": openstack.PROJECT,
                "role": "worker",
                "node_count": 1,
                "min_node_count": 0,
                "is_default": False,
                "flavor_id": "m1.medium",
                "image_id": "ubuntu-1.34",
                "labels": {},
                **fields,
            },
        )
        return nodegroup_conductor.Handler().nodegroup_create(
            self.context, self.row(), made
        )

    def change(self, name: str, **fields: Any) -> None:
        """``coe nodegroup update``, through the handler."""
        group = self.groups()[name]
        if strange := fields.keys() - group.fields.keys():
            self.skipTest(f"nodegroups of this Magnum have no {strange}")
        for field, value in fields.items():
            setattr(group, field, value)
        nodegroup_conductor.Handler().nodegroup_update(
            self.context, self.row(), group
        )

    def remove(self, name: str) -> None:
        """``coe nodegroup delete``, through the handler."""
        nodegroup_conductor.Handler().nodegroup_delete(
            self.context, self.row(), self.groups()[name]
        )

    def rotate(self) -> None:
        """``coe credential rotate``; Magnum 20 has no handler for it."""
        self.driver.rotate_credential(self.context, self.row())

    def delete(self) -> None:
        """``coe cluster delete``, through the handler."""
        self.handler.cluster_delete(self.context, self.uuid)

    def poll(self) -> None:
        """One tick of Magnum's status task."""
        job = periodic.ClusterUpdateJob(self.admin, self.row())
        with contextlib.suppress(loopingcall.LoopingCallDone):
            job.update_status()

    def health_poll(self) -> Any:
        """One tick of Magnum's health task; the row afterwards."""
        job = periodic.ClusterHealthUpdateJob(self.admin, self.row())
        with contextlib.suppress(loopingcall.LoopingCallDone):
            job.update_health_status()
        return self.row()

    # What tests look at

    @contextlib.contextmanager
    def saves(self) -> Iterator[list[str]]:
        """Collects what is written into the database inside the block."""
        found: list[str] = []
        with contextlib.ExitStack() as stack:
            for name in ("update_cluster", "update_nodegroup"):
                original = getattr(db_api.Connection, name)

                def spy(
                    *args: Any, _name: str = name, _real: Any = original
                ) -> Any:
                    found.append(f"{_name} {args[-1]}")
                    return _real(*args)

                stack.enter_context(
                    mock.patch.object(db_api.Connection, name, spy)
                )
            yield found

    def warnings(self) -> list[str]:
        """Lines of level WARNING and above that the driver logged."""
        return [
            line
            for line in self.log.output.splitlines()
            if not line.startswith(("INFO", "DEBUG"))
        ]

    @contextlib.contextmanager
    def busy(self) -> Iterator[None]:
        """Another conductor holds the Lease inside the block."""
        lease = (kinds.LEASE, NAMESPACE, RELEASE)
        held = {"holderIdentity": "other", "renewTime": "now"}
        self.server.patch(*lease, {"spec": held})
        yield
        self.server.patch(*lease, {"spec": {"holderIdentity": ""}})

    def node_groups(self) -> list[dict[str, Any]]:
        """The groups that helm was last told of."""
        found: list[dict[str, Any]] = self.helm.upgrades[-1].values[
            "nodeGroups"
        ]
        return found

    def intent_keys(self) -> set[str]:
        """Keys of the Secret of the intent."""
        found = self.server.get(kinds.SECRET, NAMESPACE, names.intent(RELEASE))
        return set((found or {}).get("data") or {})

    def replicas(self, group: str = "default-worker") -> int:
        """Wanted machines of the live MachineDeployment."""
        name = names.machine_deployment(RELEASE, group)
        found = self.server.get(kinds.MACHINE_DEPLOYMENT, NAMESPACE, name)
        assert found is not None
        return int(found["spec"]["replicas"])


#: Keys of the Secret of an intent when nothing is parked there.
INTENT_KEYS = {"intent.json", "keypair.json", "values.json.gz"}


class NodegroupTestCase(FlowTestCase):
    """A cluster that is complete."""

    def setUp(self) -> None:
        super().setUp()
        self.complete()

    def names(self) -> list[str]:
        """The chart's names of the groups that helm was last told of."""
        return [each["name"] for each in self.node_groups()]

    def settle(self) -> None:
        """Machines come up, and a poll sees it."""
        self.capi.settle()
        self.poll()
