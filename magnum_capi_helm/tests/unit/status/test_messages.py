# SPDX-License-Identifier: Apache-2.0

"""User messages of the status: each verdict, and known texts of OpenStack.

The table has the whole messages. Other tests name a key phrase. The texts of
OpenStack and their messages stand in ``_said.yaml``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
import json
from typing import Any, TypeAlias

from oslotest import base

from magnum_capi_helm.status import messages
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.unit.status import documents
from magnum_capi_helm.tests.unit.status import shapes

#: What is different from a complete release, in one shape.
Change: TypeAlias = Callable[[str], Mapping[str, Any]]


def revision(status: str, seconds: float = 1e6) -> dict[str, Any]:
    return {"revisions": (view.Revision(2, status, shapes.NOW - seconds),)}


def addons(*others: view.Object) -> dict[str, Any]:
    """The cloud controller manager, and others."""
    return {"addons": (shapes.addon("ccm-openstack"), *others)}


def handled(
    before: Mapping[str, Any], now: Mapping[str, Any]
) -> dict[str, Any]:
    """An addon, with the spec that its provider says it has handled."""
    addon = shapes.addon("cni-calico")
    note = json.dumps({"spec": before}) + "\n"
    name = "addons.stackhpc.com/last-handled-configuration"
    addon["metadata"]["annotations"] = {name: note}
    return {**addon, "spec": now}


def unavailable(shape: str) -> view.Object:
    down = ("False", "Down", "* lost\n  the API")
    return shapes.cluster(shape, old={"Ready": down}, new={"Available": down})


def ill_plane(
    shape: str, status: str, *, old: str = "", new: str = ""
) -> dict[str, Any]:
    """A control plane with a condition of that status in both sets."""
    name, found = "EtcdClusterHealthy", (status, "Ill", "")
    plane = shapes.control_plane(
        shape, old={old or name: found}, new={new or name: found}
    )
    return {"control_plane": plane}


def cluster(shape: str, **changes: Any) -> dict[str, Any]:
    return {"cluster": shapes.cluster(shape, **changes)}


def workers(shape: str, **changes: Any) -> dict[str, Any]:
    made = shapes.workers(shape, **changes)
    return {"deployments": (made,)}


W, P = "nodegroup default-worker: ", "nodegroup default-master: "
UNSEEN = "Cluster API has not seen the latest change yet"
READY = "1 of 2 machines ready"
#: What is different of the workers -> the reason of their group.
WORKERS: dict[str, tuple[dict[str, Any], str]] = {
    "of another group": ({"group": "gpu"}, "not created yet"),
    "of a stale generation": ({"observed": 1}, UNSEEN),
    "a new machine is not ready yet": ({"ready": 1, "up_to_date": 1}, READY),
    "live count is not the wanted one": ({"count": 1}, READY),
    "scaling up": ({"existing": 1, "ready": 1}, READY),
    "scaling down": (
        {"existing": 4, "ready": 4},
        "2 machines still to be removed",
    ),
    "rolling": ({"up_to_date": 1}, "1 of 2 machines up to date"),
    "one node not ready": ({"ready": 1}, READY),
    "somebody deletes them": ({"deleting": True}, "being deleted"),
}
#: What is seen -> the reason, the same in every generation.
VERDICTS: dict[str, tuple[Change, str]] = {
    "everything is as it is wanted": (lambda _: {}, ""),
    "no helm release yet": (
        lambda _: {"revisions": ()},
        "the helm release does not exist yet",
    ),
    "helm is at work": (
        lambda _: revision("pending-upgrade"),
        "helm: revision 2 is pending-upgrade",
    ),
    "helm failed": (
        lambda _: revision("failed"),
        "helm: revision 2 is failed",
    ),
    "no Cluster object": (
        lambda _: {"cluster": None},
        "the Cluster object does not exist",
    ),
    "somebody deletes the Cluster": (
        lambda s: cluster(s, deleting=True),
        "the Cluster object is being deleted",
    ),
    "the live Cluster shows another intent": (
        lambda s: cluster(s, stamp="v1-old"),
        "the latest change is still to be applied",
    ),
    "a cluster of 1.4.0 shows no desired state": (
        lambda s: cluster(s, stamp=None),
        "",
    ),
    "Cluster API calls it unavailable": (
        lambda s: {"cluster": unavailable(s)},
        "cluster: lost the API",
    ),
    "no control plane yet": (
        lambda _: {"control_plane": None},
        f"{P}not created yet",
    ),
    "no workers yet": (lambda _: {"deployments": ()}, f"{W}not created yet"),
    "control plane of a stale generation": (
        lambda s: {"control_plane": shapes.control_plane(s, observed=1)},
        f"{P}{UNSEEN}",
    ),
    **{
        f"workers: {name}": (
            lambda s, changes=changes: workers(s, **changes),  # type: ignore[misc]
            f"{W}{reason}",
        )
        for name, (changes, reason) in WORKERS.items()
    },
    "etcd is ill": (
        lambda s: ill_plane(s, "False"),
        f"{P}EtcdClusterHealthy is False",
    ),
    "nobody knows how etcd is": (
        lambda s: ill_plane(s, "Unknown"),
        f"{P}EtcdClusterHealthy is Unknown",
    ),
    "control plane is not available": (
        lambda s: ill_plane(s, "False", old="Ready", new="Available"),
        f"{P}not available yet",
    ),
    "an addon is missing": (
        lambda _: addons(),
        "addon cni-calico: not created",
    ),
    "an addon has no phase yet": (
        lambda _: addons(shapes.addon("cni-calico", None)),
        "addon cni-calico: Pending",
    ),
    "an addon failed while another is under way": (
        lambda _: {
            "addons": (
                shapes.addon("ccm-openstack", "Installing"),
                shapes.addon("cni-calico", "Failed", "chart\n  not found"),
            )
        },
        "addon cni-calico: Failed: chart not found (nodes wait for it) "
        "[addon]",
    ),
    "an addon of an older manifest is on its way out": (
        lambda _: addons(
            shapes.addon("cni-calico"),
            shapes.addon("monitoring", "Uninstalling"),
        ),
        "addon monitoring: Uninstalling",
    ),
    "an addon whose change the provider has still to handle": (
        lambda _: addons(handled({"a": 1}, {"a": 2})),
        "addon cni-calico: its latest change is still to be installed",
    ),
    "an addon whose change the provider has handled": (
        lambda _: addons(handled({"a": 2}, {"a": 2})),
        "",
    ),
    "a change that an addon provider had no time to notice": (
        lambda _: revision("deployed", 4),
        "addon ccm-openstack: its latest change is still to be installed",
    ),
    "the operator has paused the cluster": (
        lambda s: cluster(s, paused=True),
        "the operator has paused the cluster: nothing is changed",
    ),
    "the Cluster has no conditions yet": (
        lambda s: {
            "cluster": {
                **shapes.cluster(s),
                "status": {"observedGeneration": 2},
            }
        },
        "cluster: not available yet",
    ),
    "the Cluster has a stale generation": (
        lambda s: cluster(s, observed=1),
        f"cluster: {UNSEEN}",
    ),
    "the addons were not read": (
        lambda _: {"addons": (), "addons_known": False},
        "cluster: the control plane is not initialized yet",
    ),
    "the network can't be made": (
        lambda _: {"infrastructure": shapes.network(failure="Quota exceeded")},
        "infrastructure: Quota exceeded [cloud]",
    ),
}


class VerdictsTest(base.BaseTestCase):
    def test_verdicts_of_each_generation_have_these_messages(self) -> None:
        wrong = {}
        for shape in shapes.GENERATIONS:
            for what, (change, wanted) in VERDICTS.items():
                seen = shapes.complete(shape, **change(shape))
                found = shapes.verdict(seen)
                if (found.reason, found.complete) != (wanted, not wanted):
                    wrong[what, shape] = (wanted, found.reason)
        self.assertEqual({}, wrong)


#: Said of a machine that is to go, not of one that is to come.
DRAIN = (
    "* Pods a/b, c/d: cannot evict pod as it would violate the pod's "
    "disruption budget.",
    "* Pod a/b: failed to evict Pod, This pod has more than one "
    "PodDisruptionBudget, which the eviction subresource does not support.",
    "* Pod a/b: failed to evict Pod, admission webhook denied it",
)


class UnreachableTest(base.BaseTestCase):
    def test_the_message_names_the_address_and_the_suspects(self) -> None:
        cluster = shapes.cluster(
            shapes.V1BETA2, new={"RemoteConnectionProbe": ("False", "", "")}
        )
        seen = shapes.complete(shapes.V1BETA2, cluster=cluster)
        self.assertEqual(
            "the management cluster can't reach the Kubernetes API at "
            "https://192.0.2.10:6443: a firewall, security group or missing "
            "route is in between, or the control plane did not start "
            "[api-unreachable]",
            shapes.verdict(seen).reason,
        )


#: Cluster API's, of a MachineHealthCheck.
UNHEALTHY = (
    "Remediation is not allowed, the number of not started or unhealthy "
    "machines exceeds maxUnhealthy (total: 3, unhealthy: 2, maxUnhealthy: 1)"
)


class KnownMessagesTest(base.BaseTestCase):
    def test_each_known_text_has_an_example(self) -> None:
        texts = [each["said"] for each in documents.load("_said").values()]
        words = documents.load("_network")["words"].values()
        texts += [each["said"] for each in words]
        texts += (*DRAIN, UNHEALTHY)
        unsaid = [
            each.fact
            for each in messages.known()
            if not any(map(each.pattern.search, texts))
        ]
        self.assertEqual([], unsaid)

    def test_an_unknown_text_is_cut_at_a_word(self) -> None:
        said = messages.plain("a strange thing " * 40)
        self.assertLessEqual(len(said), messages.LONGEST)
        self.assertTrue(said.endswith(" a..."), said)

    def test_a_list_becomes_a_line(self) -> None:
        rows = {
            "* A: x\n* B: y": "A: x; B: y",
            "* A:\n  * one\n  * two": "A: one; two",
            "two\n  lines": "two lines",
            "": "",
            "  \n ": "",
        }
        self.assertEqual(rows, {text: messages.plain(text) for text in rows})

    def test_no_secret_gets_through(self) -> None:
        for text in (
            "GET https://user:hunter2@keystone.example/v3 failed",
            "401 for Bearer hunter2",
            "token gAAAAABhunter2hunter2hunter2 expired",
            "eyJhunter2hunter2hunter2.x.y is no token",
            "GET https://nova.example/v2?password=hunter2 failed",
        ):
            self.assertNotIn("hunter2", messages.plain(text))
