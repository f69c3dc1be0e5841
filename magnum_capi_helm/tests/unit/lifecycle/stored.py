# SPDX-License-Identifier: Apache-2.0

"""Clusters as an earlier commit of the driver stored them."""

from __future__ import annotations

import base64
from collections.abc import Mapping
import gzip
import json
import pathlib
from typing import Any

from magnum import objects
from magnum.conductor.handlers.common import cert_manager

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.tests import data
from magnum_capi_helm.tests.fakes import cloud as fake_cloud
from magnum_capi_helm.tests.fakes import plane
from magnum_capi_helm.tests.unit.lifecycle import base
from magnum_capi_helm.tests.unit.lifecycle import upgrading

_FOLDER = pathlib.Path(data.__file__).parent / "golden"
_KINDS = {
    kind.name: kind for kind in (kinds.SECRET, kinds.LEASE, kinds.NAMESPACE)
}
_STAMP = "magnum.openstack.org/intent"


def _encoded(form: Mapping[str, Any]) -> str:
    """Return an entry of a Secret's data as Kubernetes has it."""
    [(how, content)] = form.items()
    if how == "base64":
        return str(content)
    text = content if how == "text" else json.dumps(content, sort_keys=True)
    raw = text.encode()
    if how == "gzip":
        raw = gzip.compress(raw, mtime=0)
    return base64.b64encode(raw).decode()


class StoredTestCase(base.FlowTestCase):
    """A test loads one file of ``tests/data/golden``."""

    def catalogue(self, session: Any) -> fake_cloud.FakeCloud:
        """Images of several versions of Kubernetes."""
        return upgrading.UpgradeTestCase.catalogue(self, session)

    def load(self, name: str, on: plane.Plane | None = None) -> None:
        """Write the rows and objects of a file, and let helm deploy it.

        :param on: the management cluster; by default the only one
        """
        on = on or self.plane
        text = (_FOLDER / f"{name}.json").read_text()
        self.stored = json.loads(text)
        identity = _identity(self.stored)
        if identity:
            text = text.replace(identity, on.management.identity())
            self.stored = json.loads(text)
        self._write_rows()
        self.release = self.row().stack_id
        self.openstack.credentials.update(self.stored["keystone"])
        self.openstack.server_groups.groups.update(
            self.stored.get("server_groups", {})
        )
        self._write_objects(on)
        self.capi = on.cluster_api(base.NAMESPACE, self.release)
        if self.stored["cluster_object"]:
            self._deploy(on)
        on.management.requests.clear()
        on.helm.upgrades.clear()

    def _write_rows(self) -> None:
        for uuid, fields in self.stored.get("templates", {}).items():
            if uuid != self.stored["template"]["uuid"]:
                self.template(**fields)
        cluster = self.cluster(self.stored["template"])
        for key, value in self.stored["cluster"].items():
            setattr(cluster, key, value)
        cluster.create()
        for fields in self.stored["nodegroups"]:
            group = objects.NodeGroup(
                self.context,
                cluster_id=self.uuid,
                project_id=cluster.project_id,
                **fields,
            )
            group.create()
        cert_manager.generate_certificates_to_cluster(
            cluster, context=self.context
        )
        cluster.save()

    def _write_objects(self, on: plane.Plane) -> None:
        on.server.create(
            kinds.NAMESPACE, {"metadata": {"name": base.NAMESPACE}}
        )
        for stored in self.stored["stored"]:
            kind = _KINDS[stored["kind"]]
            meta = {
                key: value
                for key, value in stored["metadata"].items()
                if key != "uid"
            }
            obj = {**stored, "metadata": meta}
            obj.pop("management_cluster", None)
            if kind is kinds.NAMESPACE:
                on.server.patch(kind, "", meta["name"], {"metadata": meta})
                continue
            if "data" in obj:
                obj["data"] = {
                    key: _encoded(form) for key, form in obj["data"].items()
                }
            on.server.create(kind, obj)

    def _deploy(self, on: plane.Plane) -> None:
        annotations = self.stored["cluster_object"]["annotations"]
        where = self.stored["deployed"]
        values = json.loads(
            json.dumps(self.values(where) if isinstance(where, str) else where)
        )
        values.setdefault("clusterAnnotations", {})[_STAMP] = annotations[
            _STAMP
        ]
        chart = self.head()["chart"]
        if where == "before-values.json.gz":
            chart = self.data()["before.json"]["json"]["chart"]
        on.helm.upgrade(
            self.release,
            base.NAMESPACE,
            f"/store/{chart['name']}-{chart['version']}.tgz",
            values,
        )
        self.capi.settle()

    # What the file says

    def data(self, name: str = "") -> dict[str, Any]:
        """Return the data of a Secret in the file.

        :param name: by default that with the desired state
        """
        name = name or f"{self.release}-intent"
        [secret] = [
            each
            for each in self.stored["stored"]
            if each["kind"] == "Secret" and each["metadata"]["name"] == name
        ]
        decoded: dict[str, Any] = secret["data"]
        return decoded

    def head(self) -> dict[str, Any]:
        """Return the desired state without its values."""
        head: dict[str, Any] = self.data()["intent.json"]["json"]
        return head

    def values(self, key: str = "values.json.gz") -> dict[str, Any]:
        """Return the values of the desired state."""
        values: dict[str, Any] = self.data()[key]["gzip"]
        return values


def _identity(stored: Mapping[str, Any]) -> str:
    """Return the UID that the control plane's row records."""
    for group in stored["nodegroups"]:
        if group["role"] == "master":
            return str((*group["stack_id"].split("@"), "")[1])
    return ""


def unmarked(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values without the driver's own marks."""
    plain: dict[str, Any] = json.loads(json.dumps(values))
    plain.pop("clusterAnnotations", None)
    return plain


def decoded(text: str) -> bytes:
    """Return an entry of a Secret's data as its writer had it."""
    raw = base64.b64decode(text)
    return gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
