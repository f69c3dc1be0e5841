# SPDX-License-Identifier: Apache-2.0
"""Troubles of a management cluster and of a host, each made on purpose.

On the second management cluster, which is the test's own, and in copies of
Magnum's configuration.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
import contextlib
import dataclasses
from email import utils
import json
import pathlib
import socket
from typing import Any

import yaml

from lab.chaos import faults
from lab.chaos import proxy
from magnum_capi_helm.kubernetes import permissions
from magnum_capi_helm.tests.functional import accounts
from magnum_capi_helm.tests.functional import programs

_PKI = programs.LAB / "pki-b"
_ADMIN = programs.LAB / "kubeconfig-b"
#: 2026-01-01, midnight in Greenwich.
_ENDED = 1767225600
_CRD = "crd/manifests.addons.stackhpc.com"
_ACCOUNT = "checked"
_CAPO = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {
        "name": "capo-controller-manager",
        "namespace": "default",
        "labels": {"cluster.x-k8s.io/provider": "infrastructure-openstack"},
    },
    "spec": {
        "selector": {"matchLabels": {"app": "capo"}},
        "template": {
            "metadata": {"labels": {"app": "capo"}},
            "spec": {
                "containers": [
                    {
                        "name": "manager",
                        "image": "registry.k8s.io/capi-openstack/"
                        "capi-openstack-controller:v0.14.6",
                    }
                ]
            },
        },
    },
}


def kubectl(*words: str, given: Any = None) -> str:
    """What kubectl prints of the second management cluster.

    :param given: an object for it
    """
    with contextlib.ExitStack() as stack:
        if given is not None:
            path = programs.LAB / "temporary" / "given.json"
            path.parent.mkdir(exist_ok=True)
            path.write_text(json.dumps(given))
            stack.callback(path.unlink)
            words = (*words, "--filename", str(path))
        return programs.run(
            str(programs.LAB / "bin" / "kubectl"),
            f"--kubeconfig={_ADMIN}",
            *words,
        )


def ini(sections: Mapping[str, Mapping[str, str]]) -> str:
    """Sections of a configuration file."""
    lines = []
    for name, options in sections.items():
        lines.append(f"[{name}]")
        lines += [f"{key} = {value}" for key, value in options.items()]
    return "".join(f"{each}\n" for each in lines)


def server(kubeconfig: str) -> str:
    """The address in a kubeconfig."""
    document = yaml.safe_load(pathlib.Path(kubeconfig).read_text())
    return str(document["clusters"][0]["cluster"]["server"])


class Trouble:
    """Makes kubeconfigs in a directory of its own.

    :param home: the directory
    """

    def __init__(self, home: pathlib.Path) -> None:
        self._home = home
        self._driver = (programs.LAB / "driver-kubeconfig-b").read_text()

    # On the management cluster, for as long as they are entered

    @contextlib.contextmanager
    def missing_crd(self) -> Iterator[None]:
        """A CRD is removed."""
        crd = json.loads(kubectl("get", _CRD, "--output=json"))
        crd["metadata"] = {
            key: crd["metadata"][key]
            for key in ("name", "labels", "annotations")
            if key in crd["metadata"]
        }
        del crd["status"]
        kubectl("delete", _CRD)
        try:
            yield
        finally:
            kubectl("create", given=crd)

    @contextlib.contextmanager
    def idle_capo(self) -> Iterator[None]:
        """CAPO has no ready pod."""
        kubectl("create", given=_CAPO)
        try:
            yield
        finally:
            kubectl("delete", "deployment/capo-controller-manager")

    # Kubeconfigs

    def _file(self, name: str, **changes: str) -> str:
        path = self._home / name
        path.write_text(accounts.changed(self._driver, **changes))
        path.chmod(0o600)
        return str(path)

    def good(self) -> str:
        """The driver's own."""
        return self._file("good")

    def at(self, server: str) -> str:
        """The driver's own, at another address."""
        return self._file("at", server=server)

    def stranger(self) -> str:
        """With the authority of another management cluster."""
        authority = (programs.LAB / "pki" / "ca.crt").read_text()
        return self._file("stranger", authority=authority)

    def closed(self) -> str:
        """Of a server that nobody runs."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        return self._file("closed", server=f"https://127.0.0.1:{port}")

    def lesser(self, ends: int, server: str = "") -> str:
        """Of a user who may not delete Secrets.

        :param ends: when the token does, seconds since 1970
        :param server: in the place of the management cluster's address
        """
        kubectl(
            "apply",
            given={"kind": "List", "apiVersion": "v1", "items": _lesser()},
        )
        made = json.loads(
            kubectl("get", "serviceaccount", _ACCOUNT, "--output=json")
        )
        signed = accounts.token(_PKI / "sa.key", made, ends)
        return self._file(f"lesser-{ends}", token=signed, server=server)

    def ended(self) -> str:
        """With a token that let its user in until a year ended."""
        return self.lesser(_ENDED)

    # The clock

    @contextlib.contextmanager
    def clock(self, seconds: float) -> Iterator[str]:
        """The API server's clock is behind; its address meanwhile."""
        trust = proxy.Trust(
            _PKI / "apiserver.crt", _PKI / "apiserver.key", _PKI / "ca.crt"
        )
        between = proxy.Proxy(server(self.good()), trust)

        def fault(_: faults.Request, forward: faults.Forward) -> faults.Answer:
            answer = forward()
            headers = tuple(
                (name, _earlier(value, seconds) if name == "Date" else value)
                for name, value in answer.headers
            )
            return dataclasses.replace(answer, headers=headers)

        between.when(lambda request: True, fault, times=10**6)
        try:
            yield between.url
        finally:
            between.close()

    # The host

    def chart_store(self) -> str:
        """A store with a chart that was cut off on its way."""
        store = self._home / "charts"
        store.mkdir(exist_ok=True)
        name = "openstack-cluster-0.27.0.tgz"
        whole = (programs.LAB / "chart-store" / name).read_bytes()
        (store / name).write_bytes(whole[: len(whole) // 2])
        return str(store)


def _lesser() -> list[dict[str, Any]]:
    """A user who may not delete Secrets."""
    group = "rbac.authorization.k8s.io"
    role = {"apiVersion": f"{group}/v1", "metadata": {"name": _ACCOUNT}}
    account = {"name": _ACCOUNT, "namespace": "default"}
    bound = {"apiGroup": group, "kind": "ClusterRole", "name": _ACCOUNT}
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account},
        {**role, "kind": "ClusterRole", "rules": _rules()},
        {
            **role,
            "kind": "ClusterRoleBinding",
            "roleRef": bound,
            "subjects": [{"kind": "ServiceAccount", **account}],
        },
    ]


def _rules() -> list[Mapping[str, Any]]:
    """The driver's, without the permission to delete Secrets."""
    found = [
        *permissions.rules("magnum-capi-helm"),
        *permissions.rules("magnum-capi-helm-project"),
    ]
    for rule in found:
        if "secrets" in rule["resources"]:
            rule["verbs"].remove("delete")
    return list(found)


def _earlier(date: str, seconds: float) -> str:
    moment = utils.parsedate_to_datetime(date).timestamp() - seconds
    return utils.formatdate(moment, usegmt=True)
