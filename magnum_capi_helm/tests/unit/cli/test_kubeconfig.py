# SPDX-License-Identifier: Apache-2.0

"""``magnum-capi-helm kubeconfig``: who gets it, and where it goes."""

from __future__ import annotations

import base64
import io
import os
import pathlib
import stat

import fixtures

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


class KubeconfigTestCase(base.FlowTestCase):
    """A cluster that is complete, whose kubeconfig Cluster API has made."""

    def setUp(self) -> None:
        super().setUp()
        self.complete()
        self.store(TEXT)
        directory = self.useFixture(fixtures.TempDir()).path
        self.path = pathlib.Path(directory) / "web.kubeconfig"
        self.out, self.err = io.StringIO(), io.StringIO()

    def store(self, text: str) -> None:
        """What Cluster API keeps."""
        self.server.delete(kinds.SECRET, base.NAMESPACE, NAME)
        value = base64.b64encode(text.encode()).decode()
        meta = {"name": NAME, "namespace": base.NAMESPACE}
        self.server.create(
            kinds.SECRET, {"metadata": meta, "data": {"value": value}}
        )

    def take(self, *argv: str) -> None:
        """Run the command."""
        command_case.run(
            kubeconfig.Kubeconfig, "web", *argv, out=self.out, err=self.err
        )

    def refused(self, *argv: str) -> str:
        """Why it is not given out."""
        error = self.assertRaises(errors.CapiHelmError, self.take, *argv)
        self.assertEqual("", self.out.getvalue())
        return str(error)

    def audit(self, became: str) -> str:
        """The line of the log."""
        who = commands.operator("kubeconfig")
        return f"INFO audit: cluster {self.uuid}: {became}: {who}"


class TakenTest(KubeconfigTestCase):
    def test_it_is_printed_when_that_is_asked_for(self) -> None:
        self.take("--stdout")
        self.assertEqual(TEXT, self.out.getvalue())
        self.assertEqual("", self.err.getvalue())

    def test_it_goes_nowhere_unless_somebody_says_where(self) -> None:
        self.assertRaises(SystemExit, self.take)
        self.assertRaises(
            SystemExit, self.take, "--stdout", "--file", str(self.path)
        )

    def test_a_file_is_its_owners_alone_whatever_the_umask(self) -> None:
        self.addCleanup(os.umask, os.umask(0))
        self.take("--file", str(self.path))
        self.assertEqual(TEXT, self.path.read_text())
        self.assertEqual(0o600, stat.S_IMODE(self.path.stat().st_mode))
        self.assertEqual("", self.out.getvalue())
        self.assertEqual([self.path], list(self.path.parent.iterdir()))

    def test_who_took_it_is_in_the_log_and_it_is_not(self) -> None:
        self.take("--stdout")
        self.assertIn(self.audit("accepted"), self.log.output.splitlines())
        self.assertNotIn("c2VjcmV0", self.log.output)

    def test_nothing_is_written_to_the_management_cluster(self) -> None:
        before = len(self.management.requests)
        self.take("--stdout")
        verbs = {each.verb for each in self.management.requests[before:]}
        self.assertEqual({"get"}, verbs)


class RefusedTest(KubeconfigTestCase):
    def test_a_file_that_exists_stays_without_force(self) -> None:
        self.path.write_text("mine")
        self.path.chmod(0o644)
        before = len(self.management.requests)
        self.assertEqual(
            f"--file {self.path} exists: give another one, or --force",
            self.refused("--file", str(self.path)),
        )
        self.assertEqual("mine", self.path.read_text())
        # Nobody has taken anything.
        self.assertEqual(before, len(self.management.requests))
        self.assertNotIn("audit", self.log.output.partition("COMPLETE")[2])
        self.take("--file", str(self.path), "--force")
        self.assertEqual(TEXT, self.path.read_text())
        self.assertEqual(0o600, stat.S_IMODE(self.path.stat().st_mode))

    def test_a_link_is_not_followed(self) -> None:
        victim = self.path.with_name("victim")
        self.path.symlink_to(victim)
        self.assertIn("exists", self.refused("--file", str(self.path)))
        self.take("--file", str(self.path), "--force")
        self.assertFalse(victim.exists())
        self.assertFalse(self.path.is_symlink())

    def test_a_directory_that_is_not_there(self) -> None:
        path = self.path.parent / "none" / "web"
        self.assertEqual(
            f"--file {path}: there is no directory {path.parent}",
            self.refused("--file", str(path)),
        )
        self.assertEqual(
            f"--file {self.path.parent} is a directory",
            self.refused("--file", str(self.path.parent)),
        )

    def test_one_that_cluster_api_has_not_made_yet(self) -> None:
        self.server.delete(kinds.SECRET, base.NAMESPACE, NAME)
        self.assertEqual(
            f"there is no Secret {NAME} yet: Cluster API makes it after the "
            f"network; see 'magnum-capi-helm describe {self.uuid}'",
            self.refused("--stdout"),
        )
        self.assertIn(self.audit("refused"), self.log.output.splitlines())

    def test_one_that_is_damaged_and_not_quoted(self) -> None:
        for text in ("", "secret: [", "clusters: []", "- secret"):
            self.store(text)
            why = self.refused("--stdout")
            self.assertIn(f"the Secret {NAME} has no kubeconfig", why)
            self.assertNotIn("secret: ", why)

    def test_a_cluster_of_which_nothing_was_made(self) -> None:
        row = self.row()
        row.stack_id = None
        row.save()
        self.assertIn("no release", self.refused("--stdout"))
