# SPDX-License-Identifier: Apache-2.0

"""A cluster whose kubeconfig is delivered to a real HTTPS server."""

from __future__ import annotations

import base64
import json
import pathlib
import re
from typing import Any

from cryptography import x509
import fixtures
import requests_mock
import yaml

from magnum_capi_helm import delivery
from magnum_capi_helm import runtime
from magnum_capi_helm.config import conf
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import delivery_record
from magnum_capi_helm.model import names
from magnum_capi_helm.operations import cluster_operation
from magnum_capi_helm.tests.unit.delivery import pki
from magnum_capi_helm.tests.unit.lifecycle import base

SECRET = names.delivery(base.RELEASE)
KEY = base64.b64encode(b"0123456789abcdef0123456789abcdef").decode()
ADDRESS = "https://203.0.113.10:6443"


class DeliveryCase(base.FlowTestCase):
    """Delivery is on, and the receiver is there."""

    def setUp(self) -> None:
        super().setUp()
        self.openstack.mocker.register_uri(
            requests_mock.ANY,
            re.compile("^https://127.0.0.1:"),
            real_http=True,
        )
        self.directory = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.receiver = self.useFixture(pki.Endpoint())
        self.option("delivery_url", self.receiver.url)
        self.option("delivery_key_file", self.file("key", KEY))
        self.option("delivery_ca_file", self.file("ca", pki.trusted().pem))
        self.ca = pki.Authority("cluster")
        self.credential = self.ca.signed("first")

    def create(self, *args: Any, **fields: Any) -> Any:
        """Create a cluster; Cluster API makes its kubeconfig."""
        row = super().create(*args, **fields)
        self.administrator(*self.credential, self.ca.pem)
        return row

    def ready(self) -> Any:
        """Create a cluster; the first health poll after that delivers."""
        self.created()
        return self.health_poll()

    def complete(
        self, template: dict[str, Any] | None = None, **fields: Any
    ) -> Any:
        """A cluster from before delivery was on: the copy is shared."""
        url = conf.CONF.capi_helm.delivery_url
        self.option("delivery_url", "")
        row = super().complete(template, **fields)
        self.administrator(*self.credential, self.ca.pem)
        self.option("delivery_url", url)
        return row

    def option(self, name: str, value: Any) -> None:
        conf.CONF.set_override(name, value, "capi_helm")

    def file(self, name: str, text: str, mode: int = 0o600) -> str:
        path = self.directory / name
        path.write_text(text)
        path.chmod(mode)
        return str(path)

    def later(self, seconds: float = 3600.0) -> None:
        """Time passes, then each conductor polls the cluster's health."""
        self.plane.clock.advance(seconds)
        self.health_poll()

    def poll_elsewhere(self, row: Any) -> runtime.Runtime:
        """Another conductor's health poll, which began with this row, ends."""
        self.restart()
        rt = runtime.get()
        delivery.deliver(cluster_operation.Operation(self.admin, row, rt))
        return rt

    def restart(self, holder: str = "conductor-2") -> None:
        """Another conductor goes on, with nothing in memory."""
        runtime.reset()
        base.install(self, self.plane.runtime(holder))

    def asked(self) -> bool:
        self.management.requests.clear()
        self.health_poll()
        return SECRET in {each.name for each in self.management.requests}

    def secret(self) -> dict[str, Any] | None:
        found: dict[str, Any] | None
        found = self.server.get(kinds.SECRET, base.NAMESPACE, SECRET)
        return found

    def keys(self) -> set[str]:
        found = self.secret()
        assert found is not None
        return set(found["data"])

    def record(self) -> delivery_record.Record:
        found = self.secret()
        assert found is not None
        return delivery_record.read(found)

    def move(self, address: str) -> None:
        """The Kubernetes API has another address."""
        row = self.row()
        self.dbapi.update_cluster(row.id, {"api_address": address})
        host, _, port = address.removeprefix("https://").rpartition(":")
        endpoint = {"controlPlaneEndpoint": {"host": host, "port": port}}
        cluster = (kinds.CLUSTER, base.NAMESPACE, base.RELEASE)
        self.server.patch(*cluster, {"spec": endpoint})

    def administrator(self, certificate: str, key: str, ca: str) -> None:
        """Cluster API makes a kubeconfig, or another one."""
        user = {
            "client-certificate-data": _encoded(certificate),
            "client-key-data": _encoded(key),
        }
        cluster = {"certificate-authority-data": _encoded(ca)}
        document = {
            "clusters": [{"cluster": cluster}],
            "users": [{"user": user}],
        }
        name = names.kubeconfig(base.RELEASE)
        meta = {"name": name, "namespace": base.NAMESPACE}
        data = {"value": _encoded(json.dumps(document))}
        self.server.apply(kinds.SECRET, {"metadata": meta, "data": data})


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def user_of(body: dict[str, Any]) -> dict[str, str]:
    document = yaml.safe_load(body["kubeconfig"])
    [found] = document["users"]
    return {
        key: base64.b64decode(value).decode()
        for key, value in found["user"].items()
    }


def certificate_of(body: dict[str, Any]) -> x509.Certificate:
    pem = user_of(body)["client-certificate-data"]
    return x509.load_pem_x509_certificate(pem.encode())
