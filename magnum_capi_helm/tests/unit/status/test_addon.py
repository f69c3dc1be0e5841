# SPDX-License-Identifier: Apache-2.0

"""Addons: phases, kopf's notes, Secrets with values, and their rank."""

from __future__ import annotations

import json
from typing import Any

from oslotest import base

from magnum_capi_helm.status import addon
from magnum_capi_helm.status import health
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.unit.status import core_objects
from magnum_capi_helm.tests.unit.status import provider_objects
from magnum_capi_helm.tests.unit.status import releases
from magnum_capi_helm.tests.unit.status import shapes

_CNI = (
    "container runtime network not ready: NetworkReady=false reason:"
    "NetworkPluginNotReady message:Network plugin returns error: cni plugin "
    "not initialized"
)
_PREFIX = "addons.stackhpc.com/"
_HANDLED = f"{_PREFIX}last-handled-configuration"
_SECRET = {"data": {"values": "YTogMQ=="}, "metadata": {"name": "config"}}


def cni(phase: str = "Failed", failure: str = "", **notes: Any) -> view.Object:
    """The addon that nodes wait for, with annotations of kopf."""
    made = provider_objects.addon("cni-calico", phase, failure)
    made["metadata"]["annotations"] = {
        _PREFIX + name: note if isinstance(note, str) else json.dumps(note)
        for name, note in notes.items()
    }
    return made


def told(*addons: view.Object, now: float = shapes.NOW, **changes: Any) -> str:
    """The reason of a release with these addons."""
    seen = releases.complete(shapes.V1BETA2, addons=addons, **changes)
    names = frozenset(map(view.name_of, addons))
    return releases.verdict(seen, addons=names, now=now).reason


def ill_nodes() -> dict[str, Any]:
    """Workers whose nodes wait for the network of pods."""
    ill = {"NodeHealthy": ("False", "NodeNotHealthy", f"* Node.Ready: {_CNI}")}
    shape = shapes.V1BETA2
    return {
        "machines": (
            core_objects.machine(shape, "cp-1", group=None),
            core_objects.machine(shape, "w-1", new=ill),
        ),
        "deployments": (core_objects.workers(shape, ready=0),),
    }


class RankTest(base.BaseTestCase):
    def test_an_addon_that_nodes_wait_for_comes_before_the_nodes(self) -> None:
        failed = cni(failure="failed to pull chart: 404 Not Found")
        self.assertEqual(
            "addon cni-calico: Failed: failed to pull chart: 404 Not Found "
            "(nodes wait for it) [addon]",
            told(failed, **ill_nodes()),
        )

    def test_an_addon_that_installs_for_five_minutes_is_a_fault(self) -> None:
        installing = cni("Installing")
        installing["metadata"]["creationTimestamp"] = "2026-11-21T12:00:00Z"
        made = view.created_at(installing)
        waiting = (
            f"nodegroup default-worker: machine w-1: Node.Ready: {_CNI} [node]"
        )
        for seconds, reason in (
            (299, waiting),
            (300, "addon cni-calico: Installing (nodes wait for it) [addon]"),
        ):
            self.assertEqual(
                reason, told(installing, now=made + seconds, **ill_nodes())
            )

    def test_an_addon_that_nobody_waits_for_comes_last(self) -> None:
        failed = provider_objects.addon("monitoring", "Failed", "no chart")
        # The chart sets this for every addon.
        failed["spec"] = {"bootstrap": True}
        self.assertIn("machine w-1", told(failed, **ill_nodes()))
        self.assertEqual("addon monitoring: Failed: no chart", told(failed))

    def test_nodes_wait_for_no_addon_of_the_network_addon(self) -> None:
        for name in ("cni-calico-globalnetpolicy", "cni-calico-monitoring"):
            failed = provider_objects.addon(name, "Failed", "no CRD yet")
            self.assertIn("machine w-1", told(failed, **ill_nodes()))


class NoteTest(base.BaseTestCase):
    def test_the_note_of_a_handler_that_tries_again_is_told(self) -> None:
        text = "context deadline exceeded: Deployment x/y not ready"
        progress = {"retries": 7, "message": text, "success": False}
        rows: list[tuple[Any, str]] = [
            (progress, f", 7 tries: {text}"),
            ({"retries": 1, "message": "cluster 'web' is not ready"}, ""),
            ({"retries": 1, "message": None}, ""),
            ("no JSON", ""),
            ("[]", ""),
        ]
        for note, words in rows:
            addon_object = provider_objects.addon("monitoring", "Installing")
            addon_object["metadata"]["annotations"] = {
                f"{_PREFIX}handle_addon_updated.spec": note
                if isinstance(note, str)
                else json.dumps(note)
            }
            self.assertEqual(
                f"addon monitoring: Installing{words}", told(addon_object)
            )


class SecretTest(base.BaseTestCase):
    """Values of an addon that are in a Secret."""

    def told(self, live: str, handled: str, wanted: str) -> str:
        name = "secret.addons.stackhpc.com/config"
        made = provider_objects.addon("monitoring")
        made["spec"] = {"a": 1}
        note = {"spec": {"a": 1}, "metadata": {"annotations": {name: handled}}}
        made["metadata"]["annotations"] = {
            _HANDLED: json.dumps(note),
            name: live,
        }
        seen = releases.complete(shapes.V1BETA2, addons=(made,))
        names = frozenset((view.name_of(made),))
        secrets = {"config": wanted, "other": "z"}
        return releases.verdict(seen, addons=names, secrets=secrets).reason

    def test_an_addon_is_done_when_it_has_the_values_of_its_secret(
        self,
    ) -> None:
        late = "addon monitoring: its latest change is still to be installed"
        rows = [
            # The provider has not noticed the new Secret.
            (("old", "old", "new"), late),
            # It has, and installs.
            (("new", "old", "new"), late),
            (("new", "new", "new"), ""),
        ]
        for checksums, reason in rows:
            self.assertEqual(reason, self.told(*checksums), str(checksums))

    def test_the_checksum_is_that_of_the_addon_provider(self) -> None:
        plain = {"stringData": {"values": "a: 1"}, "metadata": {}}
        self.assertEqual(addon.checksum(_SECRET), addon.checksum(plain))
        # sha256 of values=YTogMQ==
        self.assertEqual("fb5920eb7b694a61", addon.checksum(_SECRET)[:16])


class PausedTest(base.BaseTestCase):
    def test_a_paused_part_is_no_complete_one(self) -> None:
        shape = shapes.V1BETA2
        pause = {"cluster.x-k8s.io/paused": ""}
        paused = "the operator has paused it: nothing is changed"
        workers = core_objects.workers(shape)
        workers["metadata"]["annotations"] = pause
        plane = core_objects.control_plane(shape)
        plane["metadata"]["annotations"] = pause
        ccm = provider_objects.addon("ccm-openstack")
        ccm["spec"] = {"paused": True}
        rows: list[tuple[dict[str, Any], str]] = [
            (
                {"deployments": (workers,)},
                f"nodegroup default-worker: {paused}",
            ),
            ({"control_plane": plane}, f"nodegroup default-master: {paused}"),
        ]
        for changes, reason in rows:
            seen = releases.complete(shape, **changes)
            self.assertEqual(reason, releases.verdict(seen).reason)
        self.assertEqual(f"addon ccm-openstack: {paused}", told(ccm))


class HealthTest(base.BaseTestCase):
    def test_an_addon_that_failed_has_an_entry(self) -> None:
        rows = [
            (cni(failure="no chart"), "UNHEALTHY", "addon.cni-calico"),
            (
                provider_objects.addon("monitoring", "Failed", "no chart"),
                "HEALTHY",
                "addon.monitoring",
            ),
        ]
        for made, word, key in rows:
            seen = releases.complete(shapes.V1BETA2, addons=(made,))
            found = health.health(seen)
            self.assertEqual(word, found.status)
            self.assertIn("Failed: no chart", found.reason[key])
