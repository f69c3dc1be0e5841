# SPDX-License-Identifier: Apache-2.0

"""Base of tests of flows: a context, fakes, a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
import contextlib
import functools
import importlib.util
import logging
from typing import Any

from cryptography.hazmat.primitives.asymmetric import rsa
import fixtures
from keystoneauth1 import loading
from magnum.common import context as magnum_context
from magnum.common import exception
from magnum.common import short_id
from magnum.common.x509 import operations
from magnum.conductor.handlers import cluster_conductor
from magnum.db.sqlalchemy import api as db_api
from magnum.db.sqlalchemy import models
from oslo_db.sqlalchemy import enginefacade  # type: ignore[import-untyped]
from requests_mock.contrib import fixture as requests_fixture

from magnum_capi_helm import driver
from magnum_capi_helm import runtime
from magnum_capi_helm.chart import upgrade_steps
from magnum_capi_helm.cloud import catalogue
from magnum_capi_helm.config import conf
from magnum_capi_helm.credentials import application_credential
from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import lease
from magnum_capi_helm.lifecycle import rollback
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.operations import cluster_operation
from magnum_capi_helm.status import cluster as cluster_status
from magnum_capi_helm.tests.fakes import cloud as fake_cloud
from magnum_capi_helm.tests.fakes import held
from magnum_capi_helm.tests.fakes import management
from magnum_capi_helm.tests.fakes import openstack
from magnum_capi_helm.tests.fakes import plane
from magnum_capi_helm.tests.unit.lifecycle import complete
from magnum_capi_helm.tests.unit.lifecycle import conductor
from magnum_capi_helm.tests.unit.status import shapes

#: Making keys, and deriving keys from passphrases, takes most of a test's
#: time; one of each kind does for all.
_private_key = functools.lru_cache(rsa.generate_private_key)
_OPERATIONS = {
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

_template_of = db_api.Connection.get_cluster_template_by_uuid


def _template_by_uuid(connection: Any, context: Any, ident: str) -> Any:
    """Look up a template, for an administrator faster than Magnum does.

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


UUID = "5d12f6fd-a196-4bf0-ae4c-1f639a523a52"
RELEASE = names.release("web", UUID)
NAMESPACE = "magnum-fakeproject"
#: Secrets of the cluster: the credential, and what is wanted.
CREDENTIALS = f"{RELEASE}-cloud-credentials"
INTENT = f"{RELEASE}-intent"


def configure(case: Any) -> openstack.FakeOpenStack:
    """Magnum's configuration for the fakes; the OpenStack behind it."""
    options = conf.CONF
    plugin = loading.get_auth_plugin_conf_options("password")
    options.register_opts(plugin, "keystone_auth")
    # One of them is required: it must not outlive this test.
    case.addCleanup(options.unregister_opts, plugin, "keystone_auth")
    case.addCleanup(options.reset)
    case.useFixture(
        fixtures.MockPatchObject(rsa, "generate_private_key", _private_key)
    )
    case.useFixture(
        fixtures.MockPatchObject(application_credential, "PAUSES", (0.0, 0.0))
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


class FlowTestCase(conductor.ConductorTestCase):
    """Magnum's rows in SQLite, everything else from the fakes."""

    uuid = UUID

    #: Ask OpenStack's catalogue by HTTP, where a test is about that.
    by_http = False

    #: Make certificates anew, where a test is about those.
    own_certificates = False

    def setUp(self) -> None:
        super().setUp()
        # What a test does itself; calls of the driver take their own.
        self.useFixture(held.Lease())
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
        self._watch_views()
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
        for name, cached in _OPERATIONS.items():
            self.useFixture(fixtures.MockPatchObject(operations, name, cached))
        self.useFixture(
            fixtures.MockPatchObject(short_id, "generate_id", lambda: "pass")
        )

    def _watch_views(self) -> None:
        """Compare the views of each look that the driver judges."""
        wrong: list[str] = []
        judge = shapes.watched(wrong)
        self.useFixture(
            fixtures.MockPatchObject(cluster_status, "judge", judge)
        )
        self.addCleanup(self.assertEqual, [], wrong)

    def _without_trusts(self) -> None:
        """Magnum 2026.1 and older make a trust for each cluster."""
        module = "magnum.conductor.handlers.common.trust_manager"
        if importlib.util.find_spec(module) is None:
            return
        for name in ("create_trustee_and_trust", "delete_trustee_and_trust"):
            self.useFixture(fixtures.MockPatch(f"{module}.{name}"))

    def catalogue(self, session: Any) -> fake_cloud.FakeCloud:
        """What the user sees of OpenStack."""
        image = cluster_spec.Image("i-1", "ubuntu-1.34", "1.34.2", "ubuntu")
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

    # What tests look at

    def warnings(self) -> list[str]:
        """Lines of level WARNING and above that the driver logged."""
        return [
            line
            for line in self.log.output.splitlines()
            if not line.startswith(("INFO", "DEBUG"))
        ]

    def live(self, kind: kinds.Kind, name: str = RELEASE) -> client.Object:
        """An object that is there; by default named as the release."""
        found = self.server.get(kind, NAMESPACE, name)
        assert found is not None, name
        return found

    def gone(self) -> bool:
        """Return whether Magnum has removed the cluster's row."""
        try:
            self.row()
        except exception.ClusterNotFound:
            return True
        return False

    def state(self) -> tuple[str, str | None]:
        """Status and reason of the cluster, which users read."""
        row = self.row()
        return row.status, row.status_reason

    def why(self) -> Any:
        """The reason of the cluster's status."""
        return self.row().status_reason

    def error_of(self, call: Callable[..., Any], *args: Any, **kw: Any) -> str:
        """The text of the error of Magnum's that a request ends in."""
        error = exception.MagnumException
        return str(self.assertRaises(error, call, *args, **kw))

    def vanish(self) -> None:
        """The cluster is deleted, and nothing of it is left."""
        self.delete()
        self.capi.finish()
        self.poll()

    # What happens to a cluster

    def settle(self) -> None:
        """Machines come up, and a poll sees it, in each step of an upgrade."""
        self.capi.settle()
        self.poll()
        while upgrade_steps.Upgrade.KEY in self.intent_keys():
            self.capi.settle()
            self.poll()

    def poll_after(self, seconds: float) -> None:
        """Such a time passes, and a poll follows."""
        self.plane.clock.advance(seconds)
        self.poll()

    def assert_updated(self) -> None:
        """All machines come up, and the update is complete."""
        self.settle()
        self.assertEqual("UPDATE_COMPLETE", self.row().status)

    def new_operation(self, row: Any = None) -> cluster_operation.Operation:
        """What an operator's command works with."""
        row = row or self.row()
        return cluster_operation.Operation(self.admin, row, runtime.get())

    def roll_back(self, *, stop: bool = False) -> None:
        """``magnum-capi-helm cluster rollback``; nothing is left to polls."""
        left = rollback.rollback(self.new_operation(), stop=stop)
        self.assertEqual("", left)

    def hold(self, holder: str = "") -> None:
        """Another conductor takes the Lease; by default it becomes free."""
        spec = {"holderIdentity": holder, "renewTime": holder or "now"}
        self.server.patch(kinds.LEASE, NAMESPACE, RELEASE, {"spec": spec})

    @contextlib.contextmanager
    def busy(self) -> Iterator[None]:
        """Another conductor holds the Lease inside the block."""
        self.hold("other")
        yield
        self.hold()

    @contextlib.contextmanager
    def dies(
        self,
        verb: str = "",
        kind: kinds.Kind = kinds.SECRET,
        name: str = "",
        after: int = 0,
    ) -> Iterator[None]:
        """The conductor may die in the block; its Lease runs out then.

        :param verb: it does so before such a request
        """
        if verb:
            self.management.kill_before(verb, kind, name, after)
        with contextlib.suppress(management.Killed):
            yield
        self.management.recover()
        self.hold()

    def fails(
        self,
        verb: str = "",
        kind: kinds.Kind | None = None,
        name: str = "",
        *,
        error: Exception | None = None,
        times: int | None = None,
    ) -> None:
        """Such requests get no answer, or end in an error."""
        error = error or errors.ManagementUnreachable("no answer")
        verbs = (verb,) if verb else ()
        self.management.fail(
            error, verbs=verbs, kind=kind, name=name, times=times
        )

    def edit(self, kind: kinds.Kind, name: str, change: Any) -> None:
        """Somebody patches an object of the cluster."""
        self.server.patch(kind, NAMESPACE, name, change)

    def set_option(self, **values: Any) -> None:
        """Options of ``[capi_helm]`` for the rest of a test."""
        for name, value in values.items():
            conf.CONF.set_override(name, value, "capi_helm")

    def relabel(self, version: int, **labels: str) -> None:
        """Change labels of helm's record of a revision."""
        name = names.helm_record(RELEASE, version)
        change = {"metadata": {"labels": labels}}
        self.server.patch(kinds.SECRET, NAMESPACE, name, change)

    def scale(self, count: int, group: str = "default-worker") -> None:
        """Somebody else, as the autoscaler, chooses a group's count."""
        name = names.machine_deployment(RELEASE, group)
        change = {"spec": {"replicas": count}}
        self.server.patch(kinds.MACHINE_DEPLOYMENT, NAMESPACE, name, change)

    def node_groups(self) -> list[dict[str, Any]]:
        """The groups that helm was last told of."""
        found: list[dict[str, Any]] = self.helm.upgrades[-1].values[
            "nodeGroups"
        ]
        return found

    def intent_keys(self) -> set[str]:
        """Keys of the Secret of the intent."""
        found = self.server.get(kinds.SECRET, NAMESPACE, INTENT)
        return set((found or {}).get("data") or {})

    def replicas(self, group: str = "default-worker") -> int:
        """Wanted machines of the live MachineDeployment."""
        name = names.machine_deployment(RELEASE, group)
        return int(
            self.live(kinds.MACHINE_DEPLOYMENT, name)["spec"]["replicas"]
        )


#: Keys of the Secret of a desired state when nothing is parked there.
INTENT_KEYS = {"intent.json", "keypair.json", "values.json.gz"}


class NodegroupTestCase(FlowTestCase):
    """A cluster that is complete."""

    def setUp(self) -> None:
        super().setUp()
        self.complete()

    def names(self) -> list[str]:
        """The chart's names of the groups that helm was last told of."""
        return [each["name"] for each in self.node_groups()]


class DeletionTestCase(FlowTestCase):
    """A cluster that polls delete."""

    def finish(self) -> None:
        self.capi.finish()
        self.poll()
        self.assertTrue(self.gone(), "the row is still there")

    def overdue(self) -> None:
        """Let the user have asked for the deletion long ago."""
        mark = {lease.DELETE_MARK: "2026-01-01T00:00:00.000000Z"}
        change = {"metadata": {"annotations": mark}}
        where = (kinds.LEASE, NAMESPACE, RELEASE)
        self.server.patch(*where, change)

    def remains(self) -> dict[str, list[str]]:
        """Return the objects on the management cluster, without namespaces."""
        found = {
            kind.name: self.server.names(kind)
            for kind in kinds.ALL
            if kind is not kinds.NAMESPACE
        }
        return {kind: names for kind, names in found.items() if names}
