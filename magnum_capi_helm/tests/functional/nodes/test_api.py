# SPDX-License-Identifier: Apache-2.0

"""The API of a real control plane, as the labels of its template set it.

Each step shows what a user sees, and what is in the files of the machine.
"""

from __future__ import annotations

import json
import ssl
from typing import Any

from cryptography import x509
from keystoneauth1 import exceptions as ka_exceptions
from keystoneauth1.identity import v3

from lab.nodes import mode
from magnum_capi_helm.tests.functional import base as lab_case
from magnum_capi_helm.tests.functional import magnum_api
from magnum_capi_helm.tests.functional import people
from magnum_capi_helm.tests.functional import programs
from magnum_capi_helm.tests.functional.nodes import base
from magnum_capi_helm.tests.functional.nodes import inside

_LABELS = {
    "admission_control_disabled_list": "DefaultTolerationSeconds",
    "admission_control_list": "LimitPodHardAntiAffinityTopology",
    "api_master_lb_allowed_cidrs": f"{mode.ADDRESS}/32",
    "audit_log_enabled": "true",
    "audit_log_policy_level": "RequestResponse",
    "etcd_encryption_enabled": "true",
    "pod_security_enforce": "baseline",
    "pod_security_exempt_namespaces": "trusted",
}
_AUDIT = "/var/log/kubernetes/audit/audit.log"
_ETCD = "/var/lib/etcd"
_PKI = "/etc/kubernetes/pki/"
#: Magnum's, on each machine.
_AUTHORITIES = {"ca.crt", "etcd/ca.crt", "front-proxy-ca.crt"}
_CONTAINER = {"name": "a", "image": "lab/agnhost:v1", "args": ["pause"]}
_PRIVILEGED = {
    "containers": [{**_CONTAINER, "securityContext": {"privileged": True}}]
}
_APART = {
    "containers": [_CONTAINER],
    "affinity": {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {
                    "labelSelector": {"matchLabels": {"app": "a"}},
                    "topologyKey": "topology.kubernetes.io/zone",
                }
            ]
        }
    },
}


class ApiTest(base.NodesCase):
    """One cluster for all: making one takes most of the time."""

    record_name = "nodes-api"

    def test_the_api_is_as_the_template_wants_it(self) -> None:
        self.make(node_count=1)
        self.record("a cluster with one worker is complete")
        [node] = self.machines("control-plane").values()
        self.node = self.node_of(node)
        self.others_get_no_access()
        self.pods_are_admitted_as_labels_say()
        self.secrets_are_encrypted_in_etcd()
        self.the_audit_log_has_requests_and_no_secrets()
        self.only_the_networks_of_the_label_reach_the_api()
        self.certificates_are_renewed_and_the_rest_stays()

    def template(self, **fields: Any) -> str:
        """The UUID of a new template, with the labels of this test."""
        return super().template(**{"labels": _LABELS, **fields})

    # Kubeconfig

    def others_get_no_access(self) -> None:
        """The user's kubeconfig works; another project gets none."""
        self.assertEqual(2, len(self.nodes()))
        other = ("--os-cloud", "other", "coe", "cluster", "config")
        refused = self.assertRaises(
            AssertionError,
            programs.run,
            str(programs.LAB / "venv/bin/openstack"),
            *(*other, self.uuid, "--dir", str(self.kubeconfig.parent)),
            env={"OS_CLIENT_CONFIG_FILE": str(programs.LAB / "clouds.yaml")},
        )
        self.assertIn("could not be found", str(refused))
        self.assertRaises(
            ka_exceptions.Forbidden,
            self.colleague().call,
            "GET",
            f"/certificates/{self.uuid}",
        )
        api = self.api()
        nodes = "/api/v1/nodes"
        mine = self.kubeconfig.with_name("client.pem")
        mine.write_bytes(self.magnum.sign(self.uuid))
        self.assertEqual(200, api.call(nodes, certificate=mine).status_code)
        # The CA of etcd is the cluster's, too, and not the API's.
        mine.write_bytes(self.magnum.sign(self.uuid, "etcd"))
        self.assertEqual(401, api.call(nodes, certificate=mine).status_code)
        self.assertEqual(403, api.call(nodes).status_code)
        self.assertEqual(401, api.call(nodes, token="none").status_code)
        self.record(
            "another project, and another member of this one, get no "
            "kubeconfig; a certificate of another CA gets 401"
        )

    def colleague(self) -> magnum_api.Magnum:
        """Return Magnum for another member of the project."""
        keystone = people.Keystone()
        made = keystone.post(
            "user", name=self.unique("user"), password=people.PASSWORD
        )
        self.addCleanup(keystone.delete, f"/users/{made}")
        project_id = self.magnum.session.get_project_id()
        member = keystone.role("member")
        keystone.put(f"/projects/{project_id}/users/{made}/roles/{member}")
        return people.magnum(
            v3.Password(
                auth_url=magnum_api.KEYSTONE,
                user_id=made,
                password=people.PASSWORD,
                project_id=project_id,
            )
        )

    # Admission

    def pods_are_admitted_as_labels_say(self) -> None:
        """The default of Pod Security, its exceptions, and two plugins."""
        self.kubectl("create", "namespace", "trusted")
        self.kubectl("create", "namespace", "own")
        label = "pod-security.kubernetes.io/enforce=privileged"
        self.assertIn("baseline", self.refusal("own", _PRIVILEGED))
        self.kubectl("label", "namespace", "own", label)
        refusal = self.refusal("default", _PRIVILEGED)
        self.assertIn('violates PodSecurity "baseline:latest"', refusal)
        self.record(f"a privileged pod: {refusal}")
        for namespace in ("own", "trusted", "kube-system"):
            made = self.created(namespace, _PRIVILEGED)
            # Without the plugin that adds two of them.
            self.assertEqual([], made["spec"].get("tolerations", []))
        refusal = self.refusal("default", _APART)
        self.assertIn("only key kubernetes.io/hostname is allowed", refusal)
        self.record(f"a pod with anti-affinity of zones: {refusal}")

    def created(self, namespace: str, spec: dict[str, Any]) -> Any:
        """Return a pod as the API would store it; it is not made."""
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "a", "namespace": namespace},
            "spec": spec,
        }
        words = ("create", "--dry-run=server", "--output=json")
        text = self.kubectl(*words, "--filename=-", given=json.dumps(pod))
        return json.loads(text)

    def refusal(self, namespace: str, spec: dict[str, Any]) -> str:
        """Return why the API does not take a pod."""
        refused = self.assertRaises(
            AssertionError, self.created, namespace, spec
        )
        _, _, why = str(refused).partition("forbidden: ")
        return why.strip() or str(refused)

    # etcd

    def secrets_are_encrypted_in_etcd(self) -> None:
        """A Secret is not to be found in etcd's files; a ConfigMap is."""
        plain, secret = self.unique("plain"), self.unique("secret")
        self.marked = self.unique("marked")
        for kind, text in (
            (("configmap",), plain),
            (("secret", "generic"), secret),
        ):
            literal = f"--from-literal=a={text}"
            self.kubectl("create", *kind, self.marked, literal)
        self.secret = secret
        host = inside.machine_of(self.node)
        # The search finds what is there.
        self.assertNotEqual([], inside.files_with(host, plain, _ETCD))
        self.assertEqual([], inside.files_with(host, secret, _ETCD))
        sealed = inside.files_with(host, "k8s:enc:secretbox:v1:", _ETCD)
        self.assertNotEqual([], sealed)
        self.assertEqual(secret, self.value_of_the_secret())
        self.record(
            f"in {_ETCD}: the text of a ConfigMap, not that of a Secret"
        )

    def value_of_the_secret(self) -> str:
        """Return what the API says of the Secret."""
        template = "--output=go-template={{.data.a | base64decode}}"
        return self.kubectl("get", "secret", self.marked, template)

    # Audit log

    def the_audit_log_has_requests_and_no_secrets(self) -> None:
        """Requests are in it, with contents, but for those of Secrets."""
        name = self.unique("ns")
        self.kubectl("create", "namespace", name)
        self.kubectl("create", "serviceaccount", name)
        token = self.kubectl("create", "token", name).strip()
        host = inside.machine_of(self.node)
        events = [
            json.loads(line) for line in host.run("cat", _AUDIT).splitlines()
        ]
        [made] = self.events(events, "namespaces", name)
        self.assertEqual("RequestResponse", made["level"])
        self.assertEqual(name, made["requestObject"]["metadata"]["name"])
        self.assertEqual("admin", made["user"]["username"])
        [secret] = self.events(events, "secrets", self.marked)
        self.assertEqual("Metadata", secret["level"])
        self.assertNotIn("requestObject", secret)
        [tokens] = self.events(events, "serviceaccounts", name, "token")
        self.assertEqual("Metadata", tokens["level"])
        folder = _AUDIT.rpartition("/")[0]
        self.assertEqual([_AUDIT], inside.files_with(host, name, folder))
        for text in (self.secret, token, token.rpartition(".")[2]):
            self.assertEqual([], inside.files_with(host, text, folder))
        permissions = host.run("stat", "--format=%a", _AUDIT).strip()
        self.assertEqual("600", permissions)
        self.record(
            f"{len(events)} events in the audit log: names of a namespace, a "
            "Secret and a token, no value of the latter two"
        )

    def events(
        self, events: list[Any], resource: str, name: str, part: str = ""
    ) -> list[Any]:
        """Return the events of a creation by the cluster's user."""
        return [
            each
            for each in events
            if each["verb"] == "create"
            # A request without a valid token has none.
            and each["user"].get("username") == "admin"
            and each.get("objectRef", {}).get("resource") == resource
            and each["objectRef"].get("name") == name
            and each["objectRef"].get("subresource", "") == part
        ]

    # Networks

    def only_the_networks_of_the_label_reach_the_api(self) -> None:
        """The cluster's machines do; those of another project do not.

        Also not the nodes' own addresses, which both networks have. The lab
        enforces no security groups.
        """
        api = self.endpoint()
        [worker] = self.machines().values()
        own = inside.machine_of(self.node_of(worker))
        kubelet = self.address_of(self.node), 10250
        foreign = self.foreign_machine()
        self.assertEqual(
            [("answers", "answers"), ("closed", "no connection")],
            [
                (inside.connects(each, *api), inside.connects(each, *kubelet))
                for each in (own, foreign)
            ],
        )
        self.record(
            "a machine of another project: the API's load balancer closes "
            "the connection, and the node's address is not there"
        )

    # Certificates

    def certificates_are_renewed_and_the_rest_stays(self) -> None:
        """Cluster API replaces the machine, and the CAs stay."""
        before, old, served = self.certificates(), self.node, self.served()
        self.assertIn(served.serial_number, before.values())
        requests = self.ask_api()
        requests.take()
        expiry = served.not_valid_after_utc
        label = "certificates_expiry_days=60"
        lines = programs.command(
            *("cluster", "apply", "--label", label, self.uuid),
            *("-f", "json", "--apply"),
            seconds=base.PATIENCE * lab_case.SLOWER,
        )
        [line] = json.loads(lines)
        self.assertEqual("changed", line["Result"])
        self.until_status(self.uuid, ("UPDATE_COMPLETE",))
        old_machines = self.machines("control-plane").keys()
        self.expire_certificates(self.release)
        self.until(
            lambda: (
                len(now := self.machines("control-plane")) == 1
                and not now.keys() & old_machines
            ),
            base.PATIENCE,
        )
        counts = requests.take()
        requests.stop()
        self.record(f"renewed; requests to the API meanwhile: {counts}")

        [node] = self.machines("control-plane").values()
        self.node = self.node_of(node)
        self.assertNotEqual(old, self.node)
        after, now = self.certificates(), self.served()
        self.assertEqual(before.keys(), after.keys())
        same = {
            file for file, serial in before.items() if after[file] == serial
        }
        self.assertEqual(_AUTHORITIES, same)
        self.assertIn(now.serial_number, after.values())
        self.assertGreater(now.not_valid_after_utc, expiry)
        self.record(
            f"{len(after) - len(same)} certificates are new, {len(same)} CAs "
            f"are the same; the API's was valid until {expiry} and is until "
            f"{now.not_valid_after_utc}"
        )
        # The user's kubeconfig still works, and the Secret can be read.
        self.assertEqual(self.secret, self.value_of_the_secret())
        self.secrets_are_encrypted_in_etcd()
        self.the_audit_log_has_requests_and_no_secrets()

    def certificates(self) -> dict[str, int]:
        """Return the serial numbers of the certificates of the machine."""
        host = inside.machine_of(self.node)
        files = host.run("find", _PKI, "-name", "*.crt").split()
        return {
            file.removeprefix(_PKI): x509.load_pem_x509_certificate(
                host.run("cat", file).encode()
            ).serial_number
            for file in files
        }

    def served(self) -> x509.Certificate:
        """Return the certificate that the API shows."""
        pem = ssl.get_server_certificate(self.endpoint())
        return x509.load_pem_x509_certificate(pem.encode())
