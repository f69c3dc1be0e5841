# SPDX-License-Identifier: Apache-2.0

"""A COMPLETE that comes too early is found in a snapshot."""

from __future__ import annotations

import base64
import copy
import functools
import gzip
import hashlib
import json
import operator
from typing import Any

from oslotest import base

from lab.drills import judgement
from magnum_capi_helm.cloud import credential_secret

_RELEASE = "web-0123456789ab"
_PLANE, _WORKER = f"{_RELEASE}-control-plane", f"{_RELEASE}-default-worker"
_ADDON, _SECRET = f"{_RELEASE}-gpu", f"{_RELEASE}-gpu-config"
_SPEC = {"valuesSources": [{"secret": {"name": _SECRET, "key": "overrides"}}]}
_MIXED = base64.b64encode(b"strategy: mixed").decode()
_SUM = hashlib.sha256(f"overrides={_MIXED}".encode()).hexdigest()
_NEW = {"infrastructureRef": {"name": "new"}}
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
_DEPLOYMENT = f"objects/MachineDeployment/{_WORKER}/spec"
_NODE = f"nodes/{_WORKER}/status"
_SECRETS = "objects/Secret"
_LATE = [{"type": "Ready", "status": "Unknown"}]
#: Path in the snapshot, another value, a part of what is said of it.
_WRONG: tuple[tuple[str, Any, str], ...] = (
    (
        f"{_DEPLOYMENT}/template/spec/infrastructureRef/name",
        "newer",
        "OpenStackMachine of new, not of newer",
    ),
    (
        f"objects/Machine/{_WORKER}/metadata/deletionTimestamp",
        "now",
        "Machine is deleting",
    ),
    (f"{_NODE}/conditions", _LATE, "node is not ready"),
    (f"{_NODE}/nodeInfo/kubeletVersion", "v0", "kubelet v0, not v1"),
    (
        f"servers/{_WORKER}/flavor/original_name",
        "m1.tiny",
        "Nova's server has",
    ),
    (f"{_SECRETS}/{_SECRET}/data", {}, "older values are installed"),
    (f"{_SECRETS}/login/data/clouds.yaml", "Yg==", "an older credential"),
    (f"{_DEPLOYMENT}/paused", True, "paused"),
    ("objects/MachineDeployment/a", {"metadata": {}}, "a: extra"),
    (f"{_SECRETS}/{_SECRET}", {"metadata": {}}, "not as in helm's manifest"),
)


def _named(name: str, **fields: Any) -> dict[str, Any]:
    notes = {"cluster.x-k8s.io/cloned-from-name": "new"}
    meta = {"name": name, "labels": {}, "uid": name, "annotations": notes}
    return {"metadata": meta, **copy.deepcopy(fields)}


def _record(*objects: Any) -> dict[str, Any]:
    """Return helm's Secret of a revision."""
    manifest = "\n---\n".join(map(json.dumps, objects))
    packed = gzip.compress(json.dumps({"manifest": manifest}).encode())
    data = base64.b64encode(base64.b64encode(packed)).decode()
    labels = {"status": "deployed", "version": "2"}
    return {"metadata": {"labels": labels}, "data": {"release": data}}


def _machines() -> dict[str, Any]:
    """Return machines of both groups, by kind."""
    server = {"spec": {"flavor": "m1.worker", "image": {"id": "i"}}}
    found: dict[str, Any] = {"KubeadmConfig": {}, "Machine": {}}
    for name in (_PLANE, _WORKER):
        reference = {"name": name}
        found["Machine"][name] = _named(
            name,
            spec={
                "version": "v1",
                "infrastructureRef": reference,
                "bootstrap": {"configRef": reference},
            },
            status={"nodeRef": reference},
        )
        found["KubeadmConfig"][name] = _named(name)
        for kind in ("OpenStackMachine", "OpenStackServer"):
            found.setdefault(kind, {})[name] = _named(name, **server)
    label = {"cluster.x-k8s.io/deployment-name": _WORKER}
    found["Machine"][_WORKER]["metadata"]["labels"] = label
    template = {"version": "v1", "bootstrap": {"configRef": {"name": "new"}}}
    workers = {"replicas": 1, "template": {"spec": {**template, **_NEW}}}
    plane = {"replicas": 1, "machineTemplate": {"spec": _NEW}, "version": "v1"}
    return {
        **found,
        "KubeadmControlPlane": {_PLANE: _named(_PLANE, spec=plane)},
        "MachineDeployment": {_WORKER: _named(_WORKER, spec=workers)},
    }


def _complete() -> dict[str, Any]:
    """Return the parts of a snapshot of a cluster that is complete."""
    values = _named(_SECRET, kind="Secret", data={"overrides": _MIXED})
    addon = _named(_ADDON, kind="HelmRelease", spec=_SPEC)
    identity = {"identityRef": {"name": "login"}}
    node = {
        "nodeInfo": {"kubeletVersion": "v1"},
        "conditions": [{"type": "Ready", "status": "True"}],
    }
    flavor = {"original_name": "m1.worker"}
    server = {"status": "ACTIVE", "flavor": flavor, "image": {"id": "i"}}
    login = {"clouds.yaml": "YQ=="}
    both = (_PLANE, _WORKER)
    return {
        "objects": {
            **_machines(),
            "Manifests": {},
            "HelmRelease": {
                _ADDON: {**addon, "status": {"phase": "Deployed"}}
            },
            "Secret": {_SECRET: values, "login": _named("login", data=login)},
            "OpenStackCluster": {_RELEASE: _named(_RELEASE, spec=identity)},
        },
        "record": _record(values, addon),
        "nodes": {name: _named(name, status=node) for name in both},
        "servers": {name: copy.deepcopy(server) for name in both},
        "installed": {_ADDON: f"{json.dumps(_SPEC)}{_SUM}"},
        "config": login,
    }


class JudgementTest(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.judge = judgement.Judge(
            {"ubuntu": ("i", "v1")}, {"t": "strategy: mixed"}
        )

    def test_a_complete_cluster_is_right(self) -> None:
        seen = judgement.Snapshot(**_complete())
        self.assertEqual([], self.judge.of("", _ROWS, seen))
        self.assertEqual([], self.judge.of("default-worker", _ROWS, seen))

    def test_each_difference_is_found(self) -> None:
        for place, value, text in _WRONG:
            parts, (*path, last) = _complete(), place.split("/")
            functools.reduce(operator.getitem, path, parts)[last] = value
            seen = judgement.Snapshot(**parts)
            self.assertIn(text, str(self.judge.of("", _ROWS, seen)))

    def test_a_rotation_in_the_same_second_is_told_apart(self) -> None:
        entry = credential_secret.Entry("u", "magnum-x", "a", since=7.9)
        login = {"auth": {"application_credential_id": "a"}}
        clouds = json.dumps({"clouds": {"openstack": login}}).encode()
        parts = _complete()
        secret = parts["objects"]["Secret"]["login"]
        secret["data"] = {"clouds.yaml": base64.b64encode(clouds).decode()}
        notes = credential_secret.entries_annotation([entry])
        secret["metadata"]["annotations"] = notes
        seen = judgement.Snapshot(**parts)
        self.assertTrue(judgement.is_rotated(seen, 7.1))
        self.assertFalse(judgement.is_rotated(seen, 8.0))
