# SPDX-License-Identifier: Apache-2.0

"""Addons: phases, kopf's notes, Secrets with values, and their rank."""

from __future__ import annotations

import json
from typing import Any

from oslotest import base

from magnum_capi_helm.status import addon
from magnum_capi_helm.status import health
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.unit.status import shapes

_CNI = (
    "container runtime network not ready: NetworkReady=false reason:"
    "NetworkPluginNotReady message:Network plugin returns error: cni plugin "
    "not initialized"
)
_PREFIX = "addons.stackhpc.com/"
_HANDLED = f"{_PREFIX}last-handled-configuration"
_SECRET = {"data": {"values": "YTogMQ=="}, "metadata": {"name": "config"}}


def cni(phase: str = "Failed", failure: str = "") -> view.Object:
    return shapes.addon("cni-calico", phase, failure)


def told(*addons: view.Object, now: float = shapes.NOW, **changes: Any) -> str:
    seen = shapes.complete(shapes.V1BETA2, addons=addons, **changes)
    names = frozenset(map(view.name_of, addons))
    return shapes.verdict(seen, addons=names, now=now).reason


def ill_nodes() -> dict[str, Any]:
    """Workers whose nodes wait for the network of pods."""
    ill = {"NodeHealthy": ("False", "NodeNotHealthy", f"* Node.Ready: {_CNI}")}
    shape = shapes.V1BETA2
    return {
        "machines": (
            shapes.machine(shape, "cp-1", group=None),
            shapes.machine(shape, "w-1", new=ill),
        ),
        "deployments": (shapes.workers(shape, ready=0),),
    }


class RankTest(base.BaseTestCase):
    def test_a_failed_addon_comes_before_nodes_that_wait_for_it(self) -> None:
        """Or if it installs for five minutes."""
        failed = cni(failure="failed to pull chart: 404 Not Found")
        installing = cni("Installing")
        installing["metadata"]["creationTimestamp"] = "2026-11-21T12:00:00Z"
        made = view.created_at(installing)
        waiting = (
            f"nodegroup default-worker: machine w-1: Node.Ready: {_CNI} [node]"
        )
        for addon_object, seconds, reason in (
            (
                *(failed, 0),
                "addon cni-calico: Failed: failed to pull chart: 404 Not "
                "Found (nodes wait for it) [addon]",
            ),
            (installing, 299, waiting),
            (
                *(installing, 300),
                "addon cni-calico: Installing (nodes wait for it) [addon]",
            ),
        ):
            found = told(addon_object, now=made + seconds, **ill_nodes())
            self.assertEqual(reason, found)

    def test_an_addon_that_nobody_waits_for_comes_last(self) -> None:
        for name, why in (
            ("monitoring", "no chart"),
            # Nodes wait for no addon of the network addon.
            ("cni-calico-globalnetpolicy", "no CRD yet"),
            ("cni-calico-monitoring", "no CRD yet"),
        ):
            failed = shapes.addon(name, "Failed", why)
            # The chart sets this for every addon.
            failed["spec"] = {"bootstrap": True}
            self.assertIn("machine w-1", told(failed, **ill_nodes()))
            self.assertEqual(f"addon {name}: Failed: {why}", told(failed))

    def test_the_note_of_a_handler_that_tries_again_is_told(self) -> None:
        text = "context deadline exceeded: Deployment x/y not ready"
        progress = {"retries": 7, "message": text, "success": False}
        name = f"{_PREFIX}handle_addon_updated.spec"
        rows: list[tuple[Any, str]] = [
            (progress, f", 7 tries: {text}"),
            ({"retries": 1, "message": "cluster 'web' is not ready"}, ""),
            ({"retries": 1, "message": None}, ""),
            ("no JSON", ""),
            ("[]", ""),
        ]
        for note, words in rows:
            made = shapes.addon("monitoring", "Installing")
            noted = note if isinstance(note, str) else json.dumps(note)
            made["metadata"]["annotations"] = {name: noted}
            self.assertEqual(
                f"addon monitoring: Installing{words}", told(made)
            )


class SecretTest(base.BaseTestCase):
    """Values of an addon that are in a Secret."""

    def told(self, live: str, handled: str, wanted: str) -> str:
        name = "secret.addons.stackhpc.com/config"
        made = shapes.addon("monitoring")
        made["spec"] = {"a": 1}
        note = {"spec": {"a": 1}, "metadata": {"annotations": {name: handled}}}
        made["metadata"]["annotations"] = {
            _HANDLED: json.dumps(note),
            name: live,
        }
        seen = shapes.complete(shapes.V1BETA2, addons=(made,))
        names = frozenset((view.name_of(made),))
        secrets = {"config": wanted, "other": "z"}
        return shapes.verdict(seen, addons=names, secrets=secrets).reason

    def test_an_addon_is_done_with_the_values_of_its_secret(self) -> None:
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


class StateTest(base.BaseTestCase):
    def test_a_paused_part_is_no_complete_one(self) -> None:
        shape = shapes.V1BETA2
        paused = "the operator has paused it: nothing is changed"
        workers = shapes.workers(shape)
        plane = shapes.control_plane(shape)
        for each in (workers, plane):
            each["metadata"]["annotations"] = {"cluster.x-k8s.io/paused": ""}
        ccm = shapes.addon("ccm-openstack")
        ccm["spec"] = {"paused": True}
        rows: list[tuple[dict[str, Any], str]] = [
            ({"deployments": (workers,)}, "nodegroup default-worker"),
            ({"control_plane": plane}, "nodegroup default-master"),
        ]
        for changes, name in rows:
            seen = shapes.complete(shape, **changes)
            reason = shapes.verdict(seen).reason
            self.assertEqual(f"{name}: {paused}", reason)
        self.assertEqual(f"addon ccm-openstack: {paused}", told(ccm))

    def test_an_addon_that_failed_has_an_entry(self) -> None:
        rows = [
            (cni(failure="no chart"), "UNHEALTHY", "addon.cni-calico"),
            (
                shapes.addon("monitoring", "Failed", "no chart"),
                "HEALTHY",
                "addon.monitoring",
            ),
        ]
        for made, word, key in rows:
            seen = shapes.complete(shapes.V1BETA2, addons=(made,))
            found = health.health(seen)
            self.assertEqual(word, found.status)
            self.assertIn("Failed: no chart", found.reason[key])
