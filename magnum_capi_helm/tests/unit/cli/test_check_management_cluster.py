# SPDX-License-Identifier: Apache-2.0

"""``check``: what is wrong with a management cluster, in one line each."""

from __future__ import annotations

import datetime
import pathlib
import time
from typing import Any

import fixtures
from magnum import objects
from oslotest import base

from magnum_capi_helm.cli import check
from magnum_capi_helm.cli import check_management_cluster
from magnum_capi_helm.config import conf
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import kubeconfig
from magnum_capi_helm.kubernetes import permissions
from magnum_capi_helm.kubernetes import responses
from magnum_capi_helm.model import errors
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.fakes import plane
from magnum_capi_helm.tests.unit.cli import command_case
from magnum_capi_helm.tests.unit.lifecycle import base as flows

_FORBIDDEN = "the management cluster refused GET Namespace kube-system (403)"
_ADMISSION = ("admissionregistration.k8s.io", ("v1",), True)
_ROLE = {"node-role.kubernetes.io/control-plane": "true"}


def _ready(status: str) -> dict[str, Any]:
    return {"conditions": [{"type": "Ready", "status": status}]}


def _ago(hours: float) -> str:
    now = datetime.datetime.now(datetime.timezone.utc)
    moment = now - datetime.timedelta(hours=hours)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


class PlaneChecksTest(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        flows.configure(self)
        command_case.with_magnum(self)
        conf.CONF.set_override(
            "kubeconfig_file", "/etc/magnum/capi.kubeconfig", "capi_helm"
        )
        store = pathlib.Path(conf.CONF.capi_helm.chart_store)
        self.plane = plane.Plane(str(store))
        self.management = self.plane.management
        self.rt = self.plane.runtime()
        flows.install(self, self.rt)
        self.useFixture(
            fixtures.MockPatchObject(
                objects.ClusterTemplate, "list", return_value=[]
            )
        )

    def lines(self) -> dict[str, tuple[str, str]]:
        """State and detail by check, without those of versions."""
        return {
            each.name: (each.state, each.detail)
            for _, each in check.run([""])
            if not each.name.endswith(" version")
        }

    def failed(self) -> dict[str, str]:
        """What failed, and what to do."""
        return {
            name: detail
            for name, (state, detail) in self.lines().items()
            if state == "failed"
        }

    def unasked(self) -> dict[str, str]:
        """What was not looked at, and why."""
        return {
            name: detail
            for name, (state, detail) in self.lines().items()
            if state == "unknown"
        }

    def test_one_line_says_that_it_does_not_answer(self) -> None:
        self.management.unreachable()
        self.assertEqual(
            {
                "management cluster": "the management cluster does not "
                "answer (ConnectTimeout): run 'kubectl --kubeconfig "
                "/etc/magnum/capi.kubeconfig get --raw /readyz' on this host "
                "to see why. It is https://fake"
            },
            self.failed(),
        )
        see = "not checked, because management cluster failed"
        self.assertEqual(
            {
                "clock": see,
                "maintenance": see,
                "permissions": see,
                "Cluster API": see,
                "availability": see,
                "clean-up": see,
                "versions": see,
            },
            self.unasked(),
        )

    def test_what_is_not_trusted_says_so_itself(self) -> None:
        self.management.fail(responses.UntrustedError("not trusted: check it"))
        self.assertEqual(
            {"management cluster": "not trusted: check it"}, self.failed()
        )

    def test_nobody_is_asked_with_a_kubeconfig_that_is_none(self) -> None:
        self.management.kubeconfig = errors.NotConfigured("no kubeconfig")
        self.assertEqual({"kubeconfig": "no kubeconfig"}, self.failed())
        self.assertEqual(
            "not checked, because kubeconfig failed",
            self.unasked()["management cluster"],
        )
        self.assertEqual([], self.management.requests)

    def test_a_token_that_ended_is_the_reason_not_to_be_let_in(self) -> None:
        self.management.fail(responses.UnauthorizedError("401"))
        self.management.kubeconfig = (
            kubeconfig.Expiry("client certificate", time.time() + 3600),
            kubeconfig.Expiry("token", 1763870400.0),
        )
        self.assertEqual(
            {
                "management cluster": "it refuses the kubeconfig's user (401 "
                "Unauthorized): its token expired at 2025-11-23 04:00 "
                "UTC: make a new kubeconfig, and write it to "
                "/etc/magnum/capi.kubeconfig"
            },
            self.failed(),
        )

    def test_a_user_of_another_cluster_is_not_let_in_either(self) -> None:
        self.management.fail(responses.UnauthorizedError("401"))
        self.assertIn(
            "its credential is of another cluster, or was revoked",
            self.failed()["management cluster"],
        )

    def test_what_ends_is_said_before_it_does(self) -> None:
        self.management.kubeconfig = (
            kubeconfig.Expiry("token", 4102444800.0),
        )
        self.assertEqual(
            (
                "ok",
                "/etc/magnum/capi.kubeconfig, token until 2100-01-01 00:00 "
                "UTC",
            ),
            self.lines()["kubeconfig"],
        )

    def test_who_may_not_read_one_thing_may_be_asked_for_others(self) -> None:
        self.management.fail(
            responses.ForbiddenError(_FORBIDDEN),
            verbs=("get",),
            kind=kinds.NAMESPACE,
        )
        self.assertEqual(
            {"management cluster": _FORBIDDEN, "maintenance": _FORBIDDEN},
            self.failed(),
        )

    def test_of_a_group_that_is_served_one_kind_is_missing(self) -> None:
        self.management.retired |= {"infrastructure.cluster.x-k8s.io/v1beta1"}
        self.management.removed = {kinds.MANIFESTS}
        self.assertEqual(
            "the management cluster serves no OpenStackCluster in v1beta2 or "
            "v1beta1, no OpenStackMachine in v1beta2 or v1beta1, no "
            "OpenStackMachineTemplate in v1beta2 or v1beta1 of "
            "infrastructure.cluster.x-k8s.io: install or upgrade "
            "its OpenStack provider (CAPO), with all of its CRDs; the "
            "management cluster serves no Manifests in v1alpha1 of "
            "addons.stackhpc.com: install or upgrade "
            "cluster-api-addon-provider, with all of its CRDs",
            self.failed()["Cluster API"],
        )

    def test_an_older_provider_may_do_without_servers(self) -> None:
        self.assertIn(
            "OpenStackServer v1alpha1", self.lines()["Cluster API"][1]
        )
        self.management.removed = {kinds.OPENSTACK_SERVER}
        self.assertEqual({}, self.failed())
        self.assertNotIn("OpenStackServer", self.lines()["Cluster API"][1])

    def test_many_permissions_that_lack_are_counted(self) -> None:
        self.management.refused = {
            f"{verb} {what}"
            for verb in ("get", "update", "create", "patch", "delete")
            for what in ("secrets", "leases.coordination.k8s.io")
        }
        lacking = self.failed()["permissions"]
        self.assertRegex(lacking, r"may not ([a-z]+ \S+,? ){8}and \d more: ")

    def test_a_policy_with_another_prefix(self) -> None:
        conf.CONF.set_override("namespace_prefix", "east", "capi_helm")
        self.management.refused = {"list secrets"}
        for kind in ("RoleBinding", "Namespace"):
            self.management.fail(
                responses.ForbiddenError("denied"),
                verbs=("dry-run",),
                kind=kinds.Kind(kind, "", ("v1",)),
            )
        self.assertEqual(
            "a policy refuses create namespaces east-check: apply the output "
            "of 'magnum-capi-helm management-cluster permissions "
            "--namespace-prefix east NAMESPACE ...', with the prefixes of all "
            "clouds and the namespaces of all projects",
            self.failed()["permissions"],
        )

    def test_an_administrator_reads_which_namespaces_lack_the_mark(
        self,
    ) -> None:
        label = {view.CHART_CLUSTER_LABEL: "web"}
        for name, labels in (
            ("magnum-a", {}),
            ("magnum-b", permissions.LABELS),
            ("other-c", {}),
        ):
            space = {"metadata": {"name": name, "labels": labels}}
            self.plane.server.create(kinds.NAMESPACE, space)
            meta = {"name": "web", "namespace": name, "labels": label}
            self.plane.server.create(kinds.CLUSTER, {"metadata": meta})
        text = "all that the driver needs, and Secrets of all namespaces"
        self.assertEqual(("ok", text), self.lines()["permissions"])
        self.plane.server.create(
            kinds.Kind("ValidatingAdmissionPolicy", *_ADMISSION),
            {"metadata": {"name": "magnum-capi-helm"}},
        )
        text += "; the policy would keep another user out of magnum-a"
        self.assertEqual(("ok", text), self.lines()["permissions"])

    def test_the_parts_of_which_there_is_more_than_one(self) -> None:
        """Node readiness, replicas, age of the newest complete snapshot."""
        space = {"metadata": {"name": "capo-system"}}
        self.plane.server.create(kinds.NAMESPACE, space)
        unknown = "unknown: it shows no control plane node"
        self.assertEqual(("ok", unknown), self.lines()["availability"])
        for name, ready in (("a", "True"), ("b", "False"), ("c", "True")):
            self.put(kinds.NODE, name, _ROLE, status=_ready(ready))
        self.put(kinds.NODE, "worker", status=_ready("True"))
        self.assertEqual(
            (
                "ok",
                "2 of 3 control plane nodes are ready (etcd needs 3 to "
                "survive the loss of one)",
            ),
            self.lines()["availability"],
        )
        self.put(kinds.NODE, "b", _ROLE, status=_ready("True"))
        pods = {"spec": {"containers": [{"name": "manager"}]}}
        for name, replicas in (("capi", 2), ("capo", 1)):
            labels = {"cluster.x-k8s.io/provider": name}
            spec = {"replicas": replicas, "template": pods}
            self.put(kinds.DEPLOYMENT, name, labels, spec=spec)
        for hours, complete in ((30, True), (5, True), (1, False)):
            status = {"creationTime": _ago(hours), "readyToUse": complete}
            self.put(kinds.ETCD_SNAPSHOT, f"snapshot-{hours}", status=status)
        self.assertEqual(
            (
                "ok",
                "3 of 3 control plane nodes are ready; one replica of capo; "
                "the newest snapshot of etcd is 5 h old",
            ),
            self.lines()["availability"],
        )

    def put(
        self,
        kind: kinds.Kind,
        name: str,
        labels: dict[str, str] | None = None,
        **fields: Any,
    ) -> None:
        """Write an object of the management cluster."""
        metadata = {
            "name": name,
            "namespace": "capo-system",
            "labels": labels or {},
        }
        self.plane.server.apply(kind, {"metadata": metadata, **fields})

    def test_a_user_may_not_list_nodes(self) -> None:
        self.management.fail(
            responses.ForbiddenError("refused list nodes (403)"),
            verbs=("list",),
            kind=kinds.NODE,
        )
        self.assertEqual(
            ("unknown", "refused list nodes (403)"),
            self.lines()["availability"],
        )

    def test_a_clock_that_is_off(self) -> None:
        self.management.clock_ahead = -300.0
        self.assertRegex(
            self.failed()["clock"],
            r"^this host is 5 min ahead of the management cluster, "
            r"more than 60 s: certificates that one of them signs are not "
            r"valid for the other; set the clocks of both by NTP$",
        )
        self.management.clock_ahead = 300.0
        self.assertRegex(self.failed()["clock"], r"^this host is 5 min behind")

    def test_a_clock_that_nobody_tells_is_no_fault(self) -> None:
        self.management.clock_ahead = None
        self.assertEqual(
            ("ok", "unknown: the management cluster sends no date"),
            self.lines()["clock"],
        )

    def test_a_date_in_whole_seconds_says_no_more_than_it_does(self) -> None:
        # Asked, the date in between, answered: how far ahead at least.
        for before, date, after, expected in (
            (100.2, 100.0, 100.3, 0.0),
            (100.9, 100.0, 101.4, 0.0),
            (100.2, 99.0, 100.3, 0.2),
            (105.0, 100.0, 106.0, 4.0),
            (100.0, 200.0, 101.0, -99.0),
            # An answer that took a minute says little.
            (100.0, 130.0, 160.0, 0.0),
        ):
            with self.subTest(before=before, date=date):
                found = check_management_cluster.seconds_ahead(
                    before, date, after
                )
                self.assertAlmostEqual(expected, found)
