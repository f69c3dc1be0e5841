# SPDX-License-Identifier: Apache-2.0
"""Troubles that living clusters have when 1.4.0 is to be swapped."""

from __future__ import annotations

import contextlib
import json
import shutil
import tempfile
from typing import Any

from keystoneauth1 import adapter
from keystoneauth1 import exceptions as ka_exceptions

from lab.drills import looks
from magnum_capi_helm.tests.functional import programs

#: A chart of another time, and the API version that its objects are of.
OLD_CHART, OLD_API = "0.10.1", "v1alpha7"
_NOW_API = "v1beta1"
_GROUP = "infrastructure.cluster.x-k8s.io"
_CRDS = tuple(
    f"{plural}.{_GROUP}"
    for plural in ("openstackclusters", "openstackmachinetemplates")
)
_CHARTS = programs.LAB / "charts"
_PACKAGE = _CHARTS / f"openstack-cluster-{OLD_CHART}.tgz"


def offer_old_chart() -> None:
    """The lab's chart, of objects in the API version of another time."""
    with tempfile.TemporaryDirectory() as directory:
        source = f"{directory}/openstack-cluster"
        shutil.copytree(
            programs.CHECKOUT / "lab" / "chart" / "openstack-cluster", source
        )
        found = programs.run("grep", "-rl", f"{_GROUP}/{_NOW_API}", source)
        change = f"s#{_GROUP}/{_NOW_API}#{_GROUP}/{OLD_API}#"
        programs.run("sed", "-i", change, *found.split())
        _helm("package", source, "--version", OLD_CHART, "-d", str(_CHARTS))
    _index()


def take_old_chart() -> None:
    """No such chart any more."""
    _PACKAGE.unlink(missing_ok=True)
    for kept in (programs.LAB / "chart-store").rglob(f"*{OLD_CHART}*"):
        if kept.is_file():
            kept.unlink()
    _index()


def _index() -> None:
    _helm("repo", "index", str(_CHARTS), "--url", "http://127.0.0.1:8879")


def _helm(*words: str) -> None:
    programs.run(str(programs.LAB / "bin" / "helm"), *words)


def serve_old_api() -> None:
    """As a provider of that time does, beside the version of today."""
    for name in _CRDS:
        found = json.loads(looks.kubectl("get", "crd", name, "-o", "json"))
        (now,) = found["spec"]["versions"]
        old = {**now, "name": OLD_API, "storage": False}
        _patch(name, [now, old])


def stop_old_api() -> None:
    """The provider is upgraded: it serves the version of today alone."""
    for name in _CRDS:
        found = json.loads(looks.kubectl("get", "crd", name, "-o", "json"))
        versions = found["spec"]["versions"]
        _patch(name, [e for e in versions if e["name"] != OLD_API])


def _patch(name: str, versions: list[dict[str, Any]]) -> None:
    with tempfile.NamedTemporaryFile("w", suffix=".json") as stream:
        # Too long for an argument.
        json.dump({"spec": {"versions": versions}}, stream)
        stream.flush()
        looks.kubectl(
            *("patch", "crd", name, "--type=merge"),
            f"--patch-file={stream.name}",
        )


class Cloud:
    """OpenStack for a user, whose things go.

    :param keystone: a session of theirs
    """

    def __init__(self, keystone: Any) -> None:
        self._keystone = keystone
        self._glance = adapter.Adapter(keystone, service_type="image")

    def image(
        self, name: str, version: str = "v1.34.2", visibility: str = "private"
    ) -> str:
        """An image that makes nodes; its UUID."""
        body = {
            "name": name,
            "disk_format": "raw",
            "container_format": "bare",
            "visibility": visibility,
            "kube_version": version,
            "os_distro": "ubuntu",
        }
        made = self._glance.post("/v2/images", json=body).json()["id"]
        self._glance.put(
            f"/v2/images/{made}/file",
            data=b"an image",
            headers={"Content-Type": "application/octet-stream"},
        )
        return str(made)

    def forget_image(self, uuid: str) -> None:
        """No such image any more."""
        with contextlib.suppress(ka_exceptions.NotFound):
            self._glance.delete(f"/v2/images/{uuid}")

    def revoke(self, credential: str) -> None:
        """No such application credential any more."""
        user = self._keystone.get_user_id()
        adapter.Adapter(self._keystone, service_type="identity").delete(
            f"/users/{user}/application_credentials/{credential}"
        )
