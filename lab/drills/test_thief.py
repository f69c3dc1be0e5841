# SPDX-License-Identifier: Apache-2.0
"""A thief has the kubeconfig of a conductor, and wants the plane's rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
import json
import pathlib
import re
import subprocess
import tempfile
from typing import Any

from lab.drills import planes
from magnum_capi_helm.kubernetes import permissions
from magnum_capi_helm.tests.functional import programs

_USER = "magnum-capi-helm"
_OURS = f"--serviceaccount={_USER}:{_USER}"
_ROLE = "--clusterrole=magnum-capi-helm-project"
_MARK, _POD_SECURITY = permissions.LABELS
_ADMIN = "--clusterrole=cluster-admin"
#: It sends the token of the controller that reads it to a server of choice.
_KUBECONFIG = {
    "users": [
        {
            "name": "controller",
            "user": {
                "tokenFile": "/var/run/secrets/kubernetes.io/serviceaccount"
                "/token"
            },
        }
    ]
}
_POLICY = re.compile(r"Validating\S+ '\S+' with \S+ '\S+' denied request: ")


def _ways(namespace: str, release: str) -> Iterator[tuple[str, str]]:
    """Yield what the thief tries, and the words for kubectl."""
    yield "Secrets of all namespaces", "get secrets --all-namespaces"
    yield "Secrets of another namespace", "get secrets -n kube-system"
    yield (
        "the driver's role in another namespace",
        f"create rolebinding thief -n kube-system {_ROLE} {_OURS}",
    )
    yield "all rights", f"create clusterrolebinding thief {_ADMIN} {_OURS}"
    yield (
        "all rights in a project",
        f"create rolebinding thief -n {namespace} {_ADMIN} {_OURS}",
    )
    yield (
        "the driver's role for everybody",
        f"create rolebinding thief -n {namespace} {_ROLE} "
        "--user=system:anonymous",
    )
    yield (
        "the mark on another namespace",
        f"label namespace kube-system {_MARK}=true",
    )
    yield (
        "privileged pods",
        f"label namespace {namespace} {_POD_SECURITY}=privileged --overwrite",
    )
    yield "a namespace without the mark", "create namespace magnum-thief"
    yield "a token of another account", "create token default -n kube-system"
    yield "a Secret that gets a token", "create -f token.json"
    yield (
        "a controller's token, by a kubeconfig",
        f"patch secret {release}-kubeconfig -n {namespace} --patch-file "
        "kubeconfig.json",
    )
    yield "another user's rights", "get secrets -n kube-system --as=admin"
    yield "no policy", f"delete validatingadmissionpolicy {_USER}"


class ThiefTest(planes.PlaneCase):
    """One cluster of the driver, whose user the thief is as well."""

    record = "thief"
    tried = refused = 0

    def test_a_stolen_kubeconfig_opens_no_management_cluster(self) -> None:
        shop = self.made("shop", self.template())
        release = self.release(shop)
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.home = pathlib.Path(directory.name)
        self._write("token", self._token())
        self._write("kubeconfig", {"stringData": {"value": str(_KUBECONFIG)}})
        self.tell("the thief has the kubeconfig of a conductor")
        self._opens_users_clusters(release)
        ways = dict(_ways(self.namespace, release))
        for what, words in ways.items():
            self._refused(what, words)
        self._has_no_way_by_another_account(ways)
        self._has_no_pod_on_a_node()
        self.tell(f"{self.refused} of {self.tried} requests are refused (403)")
        self._drives_on(shop)

    def _write(self, name: str, obj: Mapping[str, Any]) -> None:
        (self.home / f"{name}.json").write_text(json.dumps(obj))

    def _token(self) -> dict[str, Any]:
        account = {"kubernetes.io/service-account.name": "default"}
        return {
            "apiVersion": "v1",
            "kind": "Secret",
            "type": "kubernetes.io/service-account-token",
            "metadata": {
                "name": "thief",
                "namespace": self.namespace,
                "annotations": account,
            },
        }

    def _kubectl(
        self, words: str, kubeconfig: str = "driver-kubeconfig"
    ) -> tuple[int, str]:
        """Exit code and output of kubectl."""
        files = {each.name: str(each) for each in self.home.iterdir()}
        done = subprocess.run(
            [
                programs.LAB / "bin" / "kubectl",
                f"--kubeconfig={programs.LAB / kubeconfig}",
                *(files.get(each, each) for each in words.split()),
            ],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    def _opens_users_clusters(self, release: str) -> None:
        secret = f"get secret {release}-kubeconfig -n {self.namespace}"
        code, said = self._kubectl(f"{secret} -o name")
        self.assertEqual(0, code, said)
        self.tell("the thief reads the kubeconfig of a user's cluster")

    def _refused(self, what: str, words: str) -> None:
        code, said = self._kubectl(words)
        self.tried += 1
        self.assertEqual(1, code, f"{words}: {said}")
        self.assertRegex(said, r"\(Forbidden\)|is forbidden", words)
        self.refused += 1
        by = "the policy" if _POLICY.search(said) else "RBAC"
        self.tell(f"{what}: 403 by {by}")

    def _has_no_way_by_another_account(self, ways: dict[str, str]) -> None:
        """Any pod of the namespace has such a token."""
        role = f"{_ROLE} --serviceaccount={self.namespace}:default"
        binding = f"rolebinding thief -n {self.namespace}"
        self.addCleanup(self._kubectl, f"delete {binding}", "kubeconfig")
        code, said = self._kubectl(f"create {binding} {role}")
        self.assertEqual(0, code, said)
        _, token = self._kubectl(
            f"create token default -n {self.namespace}", "kubeconfig"
        )
        as_pod = f"--token={token.strip()}"
        mine = f"get secrets -n {self.namespace} {as_pod}"
        self.until(lambda: self._kubectl(mine)[0] == 0, 30)
        what = "a controller's token, by a kubeconfig"
        self._refused(f"{what}, as a pod", f"{ways[what]} {as_pod}")

    def _has_no_pod_on_a_node(self) -> None:
        """A Deployment may be made; Pod Security refuses its pods."""
        pod = {
            "containers": [{"name": "thief", "image": "thief"}],
            "volumes": [{"name": "node", "hostPath": {"path": "/"}}],
        }
        self._write(
            "pod",
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": "thief", "namespace": self.namespace},
                "spec": pod,
            },
        )
        # As the controller of Deployments makes it, which may do all.
        _, said = self._kubectl(
            "create --dry-run=server -f pod.json", "kubeconfig"
        )
        self.tried += 1
        self.assertIn('violates PodSecurity "baseline:latest"', said)
        self.refused += 1
        self.tell("a pod with the node's files: 403 by Pod Security")

    def _drives_on(self, shop: str) -> None:
        machines = self.machines(shop)
        self.ask(shop, 2)
        row = self.until_status(shop, ("UPDATE_COMPLETE", "UPDATE_FAILED"))
        self.assertEqual("UPDATE_COMPLETE", row["status"], str(row))
        self.assertLess(machines.items(), self.machines(shop).items())
        self.tell("with the same kubeconfig the driver resizes the cluster")
        self.deleted(shop)
