# SPDX-License-Identifier: Apache-2.0

"""The lab as the tests see it.

``python3 -m lab up`` first. All that a test makes has a name of its own, and
the test deletes it at the end, whatever happened before. Tests run side by
side and look at nothing that is another's; those that can't are in the
package ``alone``, and only they may control services. The package ``further``
has tests of less common operations.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
import functools
import logging
import os
import pathlib
import time
from typing import Any
import uuid

from keystoneauth1 import adapter
from keystoneauth1 import exceptions as ka_exceptions
from oslotest import base

from lab.cloud import rows
from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import connection
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import call
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.functional import magnum_api
from magnum_capi_helm.tests.functional import programs

#: Seconds between two looks; each costs Magnum's API 50 ms of CPU.
POLL = 1.0
#: Seconds in which a health poll comes: every ten, or later on a busy machine.
_HEALTH = 100
#: How many times longer than where nothing else is going on something may
#: take.
SLOWER = float(os.environ.get("LAB_SLOWER") or 3)
#: Options of Magnum that a test wants otherwise.
OVERRIDE = programs.LAB / "cloud" / "magnum" / "conf.d" / "test.conf"
#: An annotation of an addon; the lab lets the addon fail with its value.
ADDON_FAULT = "lab.example.org/fail"
#: An annotation of a Machine, which Cluster API reads.
_EXPIRY = "machine.cluster.x-k8s.io/certificates-expiry"
#: What is gone is that, too.
_GOING = {"status": "DELETE_IN_PROGRESS"}


def write_override(sections: Mapping[str, Mapping[str, str]]) -> None:
    """Options for the next start of Magnum."""
    lines = []
    for section, options in sections.items():
        lines.append(f"[{section}]")
        lines += [f"{name} = {value}" for name, value in options.items()]
    OVERRIDE.parent.mkdir(parents=True, exist_ok=True)
    OVERRIDE.write_text("\n".join([*lines, ""]))


class Client(client.Client):
    """A client for tests, which change objects without a Lease."""

    def _send(self, *args: Any, **options: Any) -> Any:
        with call.without_lease("a test stands for other people"):
            return super()._send(*args, **options)


def management(kubeconfig: pathlib.Path) -> client.Client:
    """A management cluster of the lab."""
    return Client(lambda: connection.Connection(str(kubeconfig), (3.05, 10.0)))


class LabCase(base.BaseTestCase):
    """A test on the running lab."""

    def setUp(self) -> None:
        super().setUp()
        programs.Running.module = type(self).__module__
        for chatty in ("keystoneauth", "urllib3"):
            logging.getLogger(chatty).setLevel(logging.WARNING)
        if not (programs.LAB / "kubeconfig").exists():
            self.fail("the lab does not run: `python3 -m lab up` first")
        self.magnum = magnum_api.Magnum(magnum_api.keystone_session("demo"))
        self.plane = management(programs.LAB / "kubeconfig")
        self._clusters: list[str] = []
        project = self.magnum.session.get_project_id()
        self.namespace = f"magnum-{project}"

    # Configuring

    def configure(self, **options: str) -> None:
        """Restart Magnum with other options in [capi_helm]."""
        self.configure_sections({"capi_helm": options})

    def configure_sections(
        self, sections: Mapping[str, Mapping[str, str]]
    ) -> None:
        """Restart Magnum with other options, until the test ends."""
        programs.refuse_in_company("another configuration")
        write_override(sections)
        self.addCleanup(self.reset)
        programs.lab("restart", "magnum")

    def reset(self) -> None:
        """Back to the lab's own configuration."""
        if OVERRIDE.exists():
            OVERRIDE.unlink()
            programs.lab("restart", "magnum")

    def admit(self) -> None:
        """Let this driver into the namespace that 1.4.0 has or will have.

        As an operator does it, with the administrator's kubeconfig.
        """
        manifest = programs.LAB / "temporary" / "permissions.yaml"
        manifest.parent.mkdir(exist_ok=True)
        manifest.write_text(
            programs.command(
                "management-cluster", "permissions", self.namespace
            )
        )
        programs.run(
            str(programs.LAB / "bin" / "kubectl"),
            f"--kubeconfig={programs.LAB / 'kubeconfig'}",
            "apply",
            "--server-side",
            "--force-conflicts",
            f"--filename={manifest}",
        )

    # Making

    def template(self, **fields: Any) -> str:
        """The UUID of a new template."""
        body = {
            "name": self.unique("template"),
            "coe": "kubernetes",
            "image_id": "ubuntu-v1.34.2",
            "external_network_id": "public",
            "flavor_id": "m1.worker",
            "master_flavor_id": "m1.control",
            "network_driver": "calico",
            "master_lb_enabled": True,
            "keypair_id": "demo",
            **fields,
        }
        made = self.magnum.call("POST", "/clustertemplates", body)
        uuid_ = str(made["uuid"])
        self.addCleanup(self.until, lambda: self._drop_template(uuid_), 360)
        return uuid_

    def _drop_template(self, template: str) -> bool:
        """Delete a template; False while a cluster still has it.

        A cluster may have been upgraded to a template that was made after it,
        and cleaning up begins with what was made last.
        """
        try:
            self.magnum.call("DELETE", f"/clustertemplates/{template}")
        except ka_exceptions.BadRequest:
            return False
        return True

    def cluster(
        self,
        template: str,
        magnum: magnum_api.Magnum | None = None,
        **fields: Any,
    ) -> str:
        """The UUID of a new cluster; it is deleted after the test."""
        body = {
            "name": self.unique("c"),
            "cluster_template_id": template,
            "node_count": 1,
            **fields,
        }
        made = (magnum or self.magnum).call("POST", "/clusters", body)
        self._clusters.append(str(made["uuid"]))
        self.addCleanup(self._clean_up)
        # Accepted is not made: the row comes a moment later, and its
        # nodegroups after it, without which the API can't show it.
        self.until(lambda: self._shown(made["uuid"]), 30)
        return str(made["uuid"])

    def _shown(self, cluster: str) -> bool:
        try:
            return self.magnum.find(cluster) is not None
        except ka_exceptions.BadRequest:
            return False

    def unique(self, prefix: str) -> str:
        """A name that no other test uses."""
        return f"{prefix}-{uuid.uuid4().hex[:6]}"

    def delete(self, *clusters: str) -> None:
        """Delete clusters that are still there, all at once, and wait."""
        for each in clusters:
            if self._stays(each):
                self.magnum.call("DELETE", f"/clusters/{each}")
        # Kubernetes' own controllers take minutes after an outage.
        for each in clusters:
            self.until(functools.partial(self.gone, each), 360)

    def _clean_up(self) -> None:
        """Delete every cluster of the test."""
        clusters, self._clusters = self._clusters, []
        self.delete(*clusters)

    def _stays(self, cluster: str) -> bool:
        """Whether nobody has asked for its deletion yet."""
        try:
            found = self.magnum.find(cluster)
        except ka_exceptions.BadRequest:
            return False
        return (found or _GOING)["status"] != _GOING["status"]

    def gone(self, cluster: str) -> bool:
        """Whether Magnum does not know a cluster any more."""
        try:
            return self.magnum.find(cluster) is None
        except ka_exceptions.BadRequest:
            # Its nodegroups go first, and then the API can't show it.
            return False

    def resize(
        self, cluster: str, count: int, nodegroup: str | None = None
    ) -> dict[str, Any]:
        """Resize a group, by default the workers; the cluster afterwards."""
        body: dict[str, Any] = {"node_count": count}
        if nodegroup:
            body["nodegroup"] = nodegroup
        path = f"/clusters/{cluster}/actions/resize"
        self.magnum.call("POST", path, body)
        # Complete is what it was before, too.
        self.until_status(cluster, ("UPDATE_IN_PROGRESS",), 120)
        done = self.until_status(cluster, ("UPDATE_COMPLETE", "UPDATE_FAILED"))
        self.assertEqual("UPDATE_COMPLETE", done["status"], str(done))
        return done

    # Waiting

    def until(
        self,
        done: Callable[[], Any],
        seconds: float,
        what: str | Callable[[], str] = "",
    ) -> Any:
        """Wait until ``done()`` is true, and return what it returned.

        :param seconds: where nothing else is going on
        :param what: for who reads that it did not happen
        """
        deadline = time.monotonic() + seconds * SLOWER
        while True:
            found = done()
            if found:
                return found
            if time.monotonic() > deadline:
                told = what() if callable(what) else what
                self.fail(f"not within {seconds} s: {told or done}")
            time.sleep(POLL)

    def healed(self, cluster: str) -> dict[str, Any]:
        """The cluster, once Magnum calls it failed for nothing no more."""
        if programs.older_magnum() in ("20", "21"):
            # Their health poll looks at no failed cluster: the guide's way.
            count = (self.magnum.find(cluster) or {})["node_count"]
            path = f"/clusters/{cluster}/actions/resize"
            self.magnum.call("POST", path, {"node_count": count})
        return self.until_status(cluster, ("UPDATE_COMPLETE",), 120)

    def until_status(
        self, cluster: str, wanted: Sequence[str], seconds: float = 360
    ) -> dict[str, Any]:
        """Wait for one of some statuses."""
        last: dict[str, Any] = {}

        def settled() -> dict[str, Any] | None:
            found = self.magnum.find(cluster)
            self.assertIsNotNone(found)
            last.update(found or {})
            return found if found and found["status"] in wanted else None

        found: dict[str, Any] = self.until(
            settled, seconds, lambda: f"{cluster} {wanted}: {last}"
        )
        return found

    def until_health(
        self,
        cluster: str,
        wanted: str,
        reason: dict[str, str] | None = None,
    ) -> dict[str, Any]:
        """Wait for a health, and for the reason if one is given.

        A cluster is well, too, with nodes that are still starting.
        """

        def reached() -> dict[str, Any] | None:
            found = self.magnum.find(cluster) or {}
            if found.get("health_status") != wanted:
                return None
            if reason not in (None, found["health_status_reason"]):
                return None
            return found

        found: dict[str, Any] = self.until(
            reached, _HEALTH, f"{wanted}: {self.magnum.find(cluster)}"
        )
        return found

    # Cluster API

    def look_again(self, kind: kinds.Kind, owner: str) -> None:
        """Let CAPO look at objects again at once.

        It would do so after as long as it has failed, at most 17 minutes.
        """
        note = {"lab.example.org/look": str(time.time())}
        for each in self.plane.list(kind, self.namespace):
            name = view.name_of(each)
            if name.startswith(owner):
                change = {"metadata": {"annotations": note}}
                self.plane.patch(kind, self.namespace, name, change)

    def look_at_all(self, owner: str) -> None:
        """Let CAPO look at all objects of a cluster again."""
        for kind in (
            kinds.OPENSTACK_CLUSTER,
            kinds.OPENSTACK_MACHINE,
            kinds.OPENSTACK_SERVER,
        ):
            self.look_again(kind, owner)

    def expire_certificates(self, release: str) -> None:
        """Tell Cluster API that a control plane's certificates end in a month.

        It takes the annotation of a Machine for the date of the certificates.
        """
        moment = time.gmtime(time.time() + 30 * 86400)
        note = {_EXPIRY: time.strftime("%Y-%m-%dT%H:%M:%SZ", moment)}
        selector = (
            f"{view.CLUSTER_NAME_LABEL}={release},{view.CONTROL_PLANE_LABEL}"
        )
        for each in self.plane.list(kinds.MACHINE, self.namespace, selector):
            change = {"metadata": {"annotations": note}}
            name = view.name_of(each)
            self.plane.patch(kinds.MACHINE, self.namespace, name, change)

    # Looking

    @functools.cached_property
    def openstack(self) -> rows.Cloud:
        """OpenStack as its administrator sees it."""
        return rows.Cloud(magnum_api.keystone_session("admin"))

    def assert_all_gone(self, release: str, but: Collection[str] = ()) -> None:
        """Fail if anything of a deleted release stays.

        A poll that began before another one finished holds the Lease a
        moment longer than the row exists.

        :param but: IDs of OpenStack's rows that stay
        """
        self.until(
            lambda: not self.left_of(release, but),
            10,
            lambda: f"left: {self.left_of(release, but)}",
        )

    def left_of(self, release: str, but: Collection[str] = ()) -> list[str]:
        """Return what the management cluster and OpenStack have of a release.

        :param but: IDs of OpenStack's rows that stay
        """
        left = [
            f"{kind.name} {each['metadata']['name']}"
            for kind in kinds.ALL
            if kind is not kinds.NAMESPACE
            for each in self.plane.list(kind, self.namespace)
            if release in each["metadata"]["name"]
        ]
        return left + self.openstack.left_of(release, but)

    def credentials_of(self, cluster: str) -> list[dict[str, Any]]:
        """The user's application credentials for a cluster."""
        keystone = self.magnum.session
        url = f"users/{keystone.get_user_id()}/application_credentials"
        api = adapter.Adapter(keystone, service_type="identity")
        listed = api.get(f"/{url}").json()["application_credentials"]
        return [each for each in listed if cluster in each["name"]]


def magnum_log() -> str:
    """Return the log of the lab's Magnum so far."""
    return (programs.LAB / "log" / "magnum.log").read_text(errors="replace")
