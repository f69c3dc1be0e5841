# SPDX-License-Identifier: Apache-2.0

"""``magnum-capi-helm kubeconfig``: who gets it."""

from __future__ import annotations

import base64
import io

from magnum_capi_helm.cli import base as commands
from magnum_capi_helm.cli import kubeconfig
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.tests.unit.cli import command_case
from magnum_capi_helm.tests.unit.delivery import pki
from magnum_capi_helm.tests.unit.lifecycle import base

NAME = names.kubeconfig(base.RELEASE)
_CERTIFICATE = base64.b64encode(pki.trusted().pem.encode()).decode()
TEXT = f"""\
clusters:
- cluster:
    certificate-authority-data: {_CERTIFICATE}
    server: "https://203.0.113.10:6443"
users:
- user:
    client-certificate-data: {_CERTIFICATE}
    client-key-data: c2VjcmV0LWtleQ==
"""


class KubeconfigTest(base.FlowTestCase):
    """A cluster that is complete, whose kubeconfig Cluster API has made."""

    def setUp(self) -> None:
        super().setUp()
        self.complete()
        self.store(TEXT)
        self.out, self.err = io.StringIO(), io.StringIO()

    def store(self, text: str) -> None:
        self.server.delete(kinds.SECRET, base.NAMESPACE, NAME)
        value = base64.b64encode(text.encode()).decode()
        meta = {"name": NAME, "namespace": base.NAMESPACE}
        self.server.create(
            kinds.SECRET, {"metadata": meta, "data": {"value": value}}
        )

    def take(self) -> None:
        command_case.run(
            kubeconfig.Kubeconfig, "web", out=self.out, err=self.err
        )

    def refused(self) -> str:
        error = self.assertRaises(errors.CapiHelmError, self.take)
        self.assertEqual("", self.out.getvalue())
        return str(error)

    def audit(self, became: str) -> str:
        who = commands.operator("kubeconfig")
        return f"INFO audit: cluster {self.uuid}: {became}: {who}"

    def test_the_command_prints_and_logs_nothing_else(self) -> None:
        self.management.requests.clear()
        self.take()
        self.assertEqual(TEXT, self.out.getvalue())
        self.assertEqual("", self.err.getvalue())
        self.assertIn(self.audit("accepted"), self.log.output.splitlines())
        self.assertNotIn("c2VjcmV0", self.log.output)
        verbs = {each.verb for each in self.management.requests}
        self.assertEqual({"get"}, verbs)

    def test_an_absent_kubeconfig_is_refused_with_the_reason(self) -> None:
        self.server.delete(kinds.SECRET, base.NAMESPACE, NAME)
        self.assertEqual(
            f"there is no Secret {NAME} yet: Cluster API makes it after the "
            f"network; see 'magnum-capi-helm describe {self.uuid}'",
            self.refused(),
        )
        self.assertIn(self.audit("refused"), self.log.output.splitlines())

    def test_a_damaged_kubeconfig_is_refused_and_not_quoted(self) -> None:
        for text in ("", "secret: [", "clusters: []", "- secret"):
            self.store(text)
            why = self.refused()
            self.assertIn(f"the Secret {NAME} has no kubeconfig", why)
            self.assertNotIn("secret: ", why)

    def test_a_cluster_of_which_nothing_was_made(self) -> None:
        self.save(stack_id=None)
        self.assertIn("no release", self.refused())
