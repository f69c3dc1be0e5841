# SPDX-License-Identifier: Apache-2.0
"""A COMPLETE that comes too early is found in a snapshot."""

from __future__ import annotations

import base64
from collections.abc import Callable
import copy
import gzip
import hashlib
import json
import random
from typing import Any

from oslotest import base

from lab.drills import changes
from lab.drills import judgement
from magnum_capi_helm.cloud import credential_secret

_RELEASE = "web-0123456789ab"
_ADDON, _SECRET = f"{_RELEASE}-gpu", f"{_RELEASE}-gpu-config"
_VALUES = {"overrides": base64.b64encode(b"strategy: mixed").decode()}
_SPEC = {"valuesSources": [{"secret": {"name": _SECRET, "key": "overrides"}}]}
_ROWS: dict[str, Any] = {
    "cluster": {"stack_id": _RELEASE, "cluster_template_id": "t"},
    "groups": [
        {
            "name": f"default-{name}",
            "role": name,
            "node_count": 1,
            "flavor_id": "m1.worker",
            "image_id": "ubuntu",
            "status": "UPDATE_COMPLETE",
        }
        for name in ("master", "worker")
    ],
}


def _named(name: str, **fields: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": {}, "uid": name}, **fields}


def _sum(data: dict[str, str]) -> str:
    text = ";".join(f"{key}={value}" for key, value in sorted(data.items()))
    return hashlib.sha256(text.encode()).hexdigest()


def _record(objects: list[Any]) -> dict[str, Any]:
    manifest = "\n---\n".join(map(json.dumps, objects))
    packed = gzip.compress(json.dumps({"manifest": manifest}).encode())
    data = base64.b64encode(base64.b64encode(packed)).decode()
    found = _named("helm", data={"release": data})
    found["metadata"]["labels"] = {"status": "deployed", "version": "2"}
    return found


def _snapshot() -> judgement.Snapshot:
    """Return a cluster that is complete."""
    kinds: dict[str, Any] = {
        each: {}
        for each in (
            *("KubeadmControlPlane", "MachineDeployment", "Machine"),
            *("KubeadmConfig", "OpenStackMachine", "OpenStackServer"),
            "Manifests",
        )
    }
    nodes: dict[str, Any] = {}
    servers: dict[str, Any] = {}
    for name in (f"{_RELEASE}-control-plane", f"{_RELEASE}-default-worker"):
        _add_machine(name, kinds, nodes, servers)
    _add_owners(kinds)
    values = _named(_SECRET, kind="Secret", data=_VALUES)
    addon = _named(_ADDON, kind="HelmRelease", spec=_SPEC)
    record = _record([values, addon])
    addon = {**addon, "status": {"phase": "Deployed"}}
    kinds["HelmRelease"] = {_ADDON: addon}
    identity = _named("login", data={"clouds.yaml": "YQ=="})
    kinds["Secret"] = {_SECRET: values, "login": identity}
    infra = _named(_RELEASE, spec={"identityRef": {"name": "login"}})
    kinds["OpenStackCluster"] = {_RELEASE: infra}
    return judgement.Snapshot(
        copy.deepcopy(kinds),
        record,
        nodes,
        servers,
        {_ADDON: f"{json.dumps(_SPEC)}{_sum(_VALUES)}"},
        {"clouds.yaml": "YQ=="},
    )


def _add_machine(
    name: str,
    kinds: dict[str, Any],
    nodes: dict[str, Any],
    servers: dict[str, Any],
) -> None:
    """Add a machine with its node and its server."""
    server = {"spec": {"flavor": "m1.worker", "image": {"id": "i"}}}
    machine = _named(
        name,
        spec={
            "version": "v1",
            "infrastructureRef": {"name": name},
            "bootstrap": {"configRef": {"name": name}},
        },
        status={"nodeRef": {"name": name}},
    )
    if name.endswith("worker"):
        label = {"cluster.x-k8s.io/deployment-name": name}
        machine["metadata"]["labels"] = label
    kinds["Machine"][name] = machine
    for kind in ("OpenStackMachine", "OpenStackServer", "KubeadmConfig"):
        made = _named(name, **copy.deepcopy(server))
        notes = {"cluster.x-k8s.io/cloned-from-name": "new"}
        made["metadata"]["annotations"] = notes
        kinds[kind][name] = made
    nodes[name] = _named(
        name,
        status={
            "nodeInfo": {"kubeletVersion": "v1"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    )
    servers[name] = {
        "status": "ACTIVE",
        "flavor": {"original_name": "m1.worker"},
        "image": {"id": "i"},
    }


def _add_owners(kinds: dict[str, Any]) -> None:
    """Add the objects that own the machines."""
    template = {
        "version": "v1",
        "infrastructureRef": {"name": "new"},
        "bootstrap": {"configRef": {"name": "new"}},
    }
    plane = {"infrastructureRef": {"name": "new"}}
    kinds["KubeadmControlPlane"][f"{_RELEASE}-control-plane"] = _named(
        f"{_RELEASE}-control-plane",
        spec={
            "replicas": 1,
            "version": "v1",
            "machineTemplate": {"spec": plane},
        },
    )
    kinds["MachineDeployment"][f"{_RELEASE}-default-worker"] = _named(
        f"{_RELEASE}-default-worker",
        spec={"replicas": 1, "template": {"spec": template}},
    )


def _worker(kind: str, seen: Any) -> Any:
    return seen.objects[kind][f"{_RELEASE}-default-worker"]


def _new_template(seen: Any) -> None:
    spec = _worker("MachineDeployment", seen)["spec"]["template"]["spec"]
    spec["infrastructureRef"]["name"] = "newer"


def _deleting(seen: Any) -> None:
    _worker("Machine", seen)["metadata"]["deletionTimestamp"] = "now"


def _not_ready(seen: Any) -> None:
    status = seen.nodes[f"{_RELEASE}-default-worker"]["status"]
    status["conditions"][0]["status"] = "Unknown"


def _old_kubelet(seen: Any) -> None:
    info = seen.nodes[f"{_RELEASE}-default-worker"]["status"]["nodeInfo"]
    info["kubeletVersion"] = "v0"


def _other_flavor(seen: Any) -> None:
    server = seen.servers[f"{_RELEASE}-default-worker"]
    server["flavor"]["original_name"] = "m1.tiny"


def _new_values(seen: Any) -> None:
    text = base64.b64encode(b"strategy: single").decode()
    seen.objects["Secret"][_SECRET]["data"] = {"overrides": text}


def _old_credential(seen: Any) -> None:
    seen.objects["Secret"]["login"]["data"]["clouds.yaml"] = "Yg=="


def _removed(seen: Any) -> None:
    """Remove a Secret, as helm does in a deletion that came meanwhile."""
    del seen.objects["Secret"][_SECRET]


def _paused(seen: Any) -> None:
    _worker("MachineDeployment", seen)["spec"]["paused"] = True


#: A change of the snapshot -> a part of what is said of it.
_WRONG: dict[Callable[[Any], None], str] = {
    _new_template: "OpenStackMachine of new, not of newer",
    _deleting: "Machine is deleting",
    _not_ready: "node is not ready",
    _old_kubelet: "kubelet v0, not v1",
    _other_flavor: "Nova's server has",
    _new_values: "older values are installed",
    _old_credential: "an older credential is installed",
    _paused: "paused",
    _removed: f"Secret {_SECRET}: not as in helm's manifest",
}


class JudgementTest(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.judge = judgement.Judge(
            {"ubuntu": ("i", "v1")}, {"t": "strategy: mixed"}
        )

    def test_a_complete_cluster_is_right(self) -> None:
        self.assertEqual([], self.judge.of("", _ROWS, _snapshot()))
        self.assertEqual(
            [], self.judge.of("default-worker", _ROWS, _snapshot())
        )

    def test_each_difference_is_found(self) -> None:
        for change, text in _WRONG.items():
            seen = _snapshot()
            change(seen)
            self.assertIn(text, str(self.judge.of("", _ROWS, seen)))

    def test_a_machine_too_many_is_found(self) -> None:
        rows = copy.deepcopy(_ROWS)
        rows["groups"].pop()
        found = self.judge.of("", rows, _snapshot())
        self.assertIn(
            f"MachineDeployment {_RELEASE}-default-worker: extra", found
        )

    def test_a_rotation_in_the_same_second_is_told_apart(self) -> None:
        entry = credential_secret.Entry("u", "magnum-x", "a", since=7.9)
        login = {"auth": {"application_credential_id": "a"}}
        clouds = json.dumps({"clouds": {"openstack": login}}).encode()
        seen = _snapshot()
        secret = seen.objects["Secret"]["login"]
        secret["data"] = {"clouds.yaml": base64.b64encode(clouds).decode()}
        notes = credential_secret.entries_annotation([entry])
        secret["metadata"]["annotations"] = notes
        self.assertTrue(judgement.is_rotated(seen, 7.1))
        self.assertFalse(judgement.is_rotated(seen, 8.0))


class RequestsTest(base.BaseTestCase):
    def test_all_kinds_of_changes_are_drawn(self) -> None:
        looks = {("v1.34.2", "m1.worker", "single"): "a"}
        looks[("v1.35.1", "m1.control", "mixed")] = "b"
        made = changes.Requests(random.Random(1), looks, "i")  # noqa: S311
        roles = {"default-master": "master", "default-worker": "worker"}
        groups = {name: {"role": role} for name, role in roles.items()}
        rows = changes.Rows("UPDATE_COMPLETE", "", "a", groups)
        found = {made.draw("u", rows).what for _ in range(200)}
        self.assertEqual(
            {
                *("resize", "resize masters", "add group", "delete group"),
                *("other node labels of a group", "upgrade a group"),
                "template with other Kubernetes, flavor, values of an addon",
                "rotate credential",
            },
            found,
        )
