# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.


"""What magnum-capi-helm 1.4.0 leaves behind of a cluster.

Objects on the management cluster, and the rows of Magnum that point to them.
Made by hand, with helm and SQL: nothing here goes through the driver.
"""

from __future__ import annotations

import base64
import dataclasses
import json
import os
import pathlib
import re
import secrets
import string
import subprocess
import tempfile
from typing import Any
import uuid

import certifi
from cryptography.hazmat.primitives import serialization
import psycopg2
import yaml

from magnum_capi_helm.management import client
from magnum_capi_helm.tests.functional import base

#: The chart that the lab's repository serves.
CHART = "0.27.0"
_REPOSITORY = "http://127.0.0.1:8879"

#: What 1.4.0 sends for a cluster of two groups, default-worker and worker_b,
#: with many a label. It knows no other spelling of allowedCidrs, and its
#: dashboard is in no chart any more.
_VALUES = string.Template("""
kubernetesVersion: 1.34.2
machineImageId: "$image"
machineSSHKeyName: demo
cloudCredentialsSecretName: $release-cloud-credentials
osDistro: ubuntu
authWebhook: k8s-keystone-auth
etcd: {blockDevice: {size: 10, type: Volume, volumeType: ssd}}
apiServer:
  enableLoadBalancer: true
  loadBalancerProvider: amphora
  associateFloatingIP: true
  allowedCidrs: [192.0.2.0/24]
clusterNetworking:
  dnsNameservers: [192.0.2.53]
  externalNetworkId: "$external"
  internalNetwork:
    networkFilter: null
    subnetFilter: null
    nodeCidr: 10.0.0.0/24
controlPlane:
  machineFlavor: m1.control
  machineCount: 1
  healthCheck: {enabled: true}
  machineRootVolume: {diskSize: 30, volumeType: ssd}
nodeGroupDefaults:
  healthCheck: {enabled: true}
  machineRootVolume: {diskSize: 30, volumeType: ssd}
  machineNetworking:
    ports: [{}, {network: {name: storage}, securityGroups: []}]
nodeGroups:
- {name: default-worker, machineFlavor: m1.worker, machineCount: 1}
- {name: worker-b, machineFlavor: m1.worker, machineCount: 1}
addons:
  cni: {type: calico}
  openstack:
    csiCinder:
      defaultStorageClass: &class
        enabled: true
        name: ssd
        volumeType: ssd
        reclaimPolicy: Retain
        allowVolumeExpansion: true
        volumeBindingMode: WaitForFirstConsumer
        allowedTopologies: []
        fstype: ext4
        availabilityZone: nova
      additionalStorageClasses:
      - {<<: *class, name: default, volumeType: __DEFAULT__}
    cloudConfig:
      LoadBalancer:
        lb-provider: amphora
        lb-method: ROUND_ROBIN
        create-monitor: true
    k8sKeystoneAuth:
      enabled: true
      values: {openstackAuthUrl: "$keystone", projectId: "$project"}
  monitoring: {enabled: false}
  kubernetesDashboard: {enabled: true}
  ingress: {enabled: false}
""")

#: Which certificate of Magnum's is in which Secret. 1.4.0 lets the key of
#: Magnum's own client certificate sign the tokens of service accounts.
_PURPOSES = ("ca", "etcd", "proxy", "sa")
_REFERENCES = (
    "SELECT ca_cert_ref, etcd_ca_cert_ref, front_proxy_ca_cert_ref, "
    "magnum_cert_ref FROM cluster WHERE uuid = %s"
)
_PAIR = (
    "SELECT certificate, private_key, private_key_passphrase "
    "FROM x509keypair WHERE uuid = %s"
)

_CLUSTER = (
    "UPDATE cluster SET stack_id = %s, status = 'UPDATE_IN_PROGRESS', "
    "status_reason = NULL WHERE uuid = %s"
)
_GROUPS = (
    "UPDATE nodegroup SET stack_id = %s, status = 'CREATE_COMPLETE', "
    "status_reason = NULL WHERE cluster_id = %s"
)
#: 1.4.0 gives no stack_id to a group that it adds.
_ADDED_GROUP = (
    "INSERT INTO nodegroup (uuid, name, status, is_default, cluster_id, "
    "project_id, labels, flavor_id, image_id, node_addresses, node_count, "
    "min_node_count, role, created_at) "
    "SELECT %s, 'worker_b', 'CREATE_IN_PROGRESS', false, cluster_id, "
    "project_id, labels, flavor_id, image_id, '[]', node_count, "
    "min_node_count, role, created_at "
    "FROM nodegroup WHERE cluster_id = %s AND name = 'default-worker'"
)


@dataclasses.dataclass(frozen=True)
class Remains:
    """One cluster.

    :param cluster: UUID of Magnum's row
    """

    cluster: str
    project: str
    user: str
    namespace: str
    release: str

    def secrets(self, credential: dict[str, Any]) -> list[client.Object]:
        """The identity and the CAs, without a single annotation.

        :param credential: the application credential, as Keystone made it
        """
        identity = {
            "cacert": pathlib.Path(certifi.where()).read_text(),
            "clouds.yaml": _clouds(credential),
        }
        return [
            self._secret("cloud-credentials", "Opaque", identity),
            *(
                self._secret(purpose, "cluster.x-k8s.io/secret", pair)
                for purpose, pair in _pairs(self.cluster).items()
            ),
        ]

    def _secret(self, component: str, kind: str, data: dict[str, str]) -> Any:
        labels = {
            "magnum.openstack.org/project-id": self.project,
            "magnum.openstack.org/user-id": self.user,
            "magnum.openstack.org/cluster-uuid": self.cluster,
            "cluster.x-k8s.io/cluster-name": self.release,
        }
        return {
            "metadata": {
                "name": f"{self.release}-{component}",
                "namespace": self.namespace,
                "labels": labels,
            },
            "type": kind,
            "data": {
                key: base64.b64encode(text.encode()).decode()
                for key, text in data.items()
            },
        }

    def install(self, image: str, external: str) -> dict[str, Any]:
        """Install the release.

        :param image: its UUID
        :param external: UUID of the external network
        :returns: the values, as helm keeps them
        """
        filled = _VALUES.substitute(
            dataclasses.asdict(self),
            keystone=base.KEYSTONE,
            image=image,
            external=external,
        )
        values: dict[str, Any] = yaml.safe_load(filled)
        helm(
            self.namespace,
            *("upgrade", "--install", self.release, "openstack-cluster"),
            *("--repo", _REPOSITORY, "--version", CHART),
            *("--history-max", "10", "--timeout", "5m", "--values", "-"),
            stdin=json.dumps(values),
        )
        return values

    def write_rows(self) -> None:
        """Let the rows say that the cluster gets one more group, worker_b."""
        with (
            psycopg2.connect(base.magnum_database()) as database,
            database.cursor() as cursor,
        ):
            cursor.execute(_CLUSTER, (self.release, self.cluster))
            cursor.execute(_GROUPS, (self.release, self.cluster))
            cursor.execute(_ADDED_GROUP, (str(uuid.uuid4()), self.cluster))


def release_of(name: str) -> str:
    """A release name for a cluster of that name."""
    slug = re.sub("[^a-z0-9]+", "-", name.lower()).strip("-")
    return f"{slug[:30]}-{secrets.token_hex(6)}"


def helm(namespace: str, *words: str, stdin: str = "") -> str:
    """What the lab's helm prints."""
    with tempfile.TemporaryDirectory() as home:
        done = subprocess.run(
            [str(base.LAB / "bin" / "helm"), *words, "--namespace", namespace],
            env={
                "HOME": home,
                "KUBECONFIG": str(base.LAB / "kubeconfig"),
                "PATH": os.environ["PATH"],
            },
            input=stdin,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    if done.returncode:
        raise AssertionError(f"helm {words}: {done.stderr}")
    return done.stdout


def _clouds(credential: dict[str, Any]) -> str:
    entry = {
        "identity_api_version": 3,
        "region_name": "RegionOne",
        "interface": "public",
        "verify": True,
        "auth_type": "v3applicationcredential",
        "auth": {
            "auth_url": base.KEYSTONE,
            "application_credential_id": credential["id"],
            "application_credential_secret": credential["secret"],
        },
    }
    return str(yaml.safe_dump({"clouds": {"openstack": entry}}))


def _pairs(cluster: str) -> dict[str, dict[str, str]]:
    """Certificate and key for each purpose, from Magnum's database."""
    found = {}
    with (
        psycopg2.connect(base.magnum_database()) as database,
        database.cursor() as cursor,
    ):
        cursor.execute(_REFERENCES, (cluster,))
        references = cursor.fetchone()
        for purpose, reference in zip(_PURPOSES, references, strict=True):
            cursor.execute(_PAIR, (reference,))
            certificate, key, passphrase = cursor.fetchone()
            found[purpose] = {
                "tls.crt": certificate,
                "tls.key": _decrypted(key, passphrase),
            }
    return found


def _decrypted(key: str, passphrase: str) -> str:
    loaded = serialization.load_pem_private_key(
        key.encode(), passphrase.encode()
    )
    return loaded.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    ).decode()
