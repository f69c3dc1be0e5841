# SPDX-License-Identifier: Apache-2.0

"""What the installer of management clusters fetches, and what it trusts."""

from __future__ import annotations

from tools.tests.tools import components
from tools.tests.tools import installer
from tools.tests.tools import stubs


class DownloadTest(installer.InstallerTestCase):
    def test_a_download_that_is_not_the_publishers_is_refused(self) -> None:
        self.stubs.answer("curl", stubs.CURL.replace('echo "$base"', "echo x"))
        error = self.refusal()
        self.assertIn(
            "error: T/cache/helm/helm-v3.17.3-linux-amd64.tar.gz.part has "
            "the checksum ",
            error,
        )
        self.assertIn("remove it to fetch it anew", error)

    def test_a_download_that_changed_since_is_refused(self) -> None:
        self.install()
        helm = self.path / "cache" / "helm"
        (helm / "helm-v3.17.3-linux-amd64.tar.gz").write_text("other")
        self.assertIn("has the checksum", self.refusal())

    def test_the_operators_checksums_are_the_ones_that_count(self) -> None:
        sums = self.path / "sums"
        name = "cert-manager/v1.20.3/cert-manager.yaml"
        sums.write_text(f"{'0' * 64}  {name}\n")
        error = self.refusal("--checksums", str(sums))
        self.assertIn(f"and should have {'0' * 64}", error)
        self.assertFalse((self.path / "cache" / name).exists())

    def test_a_cache_that_is_filled_needs_no_way_out(self) -> None:
        self.stubs.answer("curl", "exit 22")
        self.assertEqual(
            f"error: {components.HELM_URL} can't be fetched; where there is "
            "no way out, put it into T/cache beforehand\n",
            self.refusal(),
        )
        self.stubs.answer("curl", stubs.CURL)
        self.install()
        (self.path / "cache" / "SHA256SUMS").unlink()
        self.stubs.answer("curl", "exit 22")
        self.assertNotIn("curl", " ".join(self.install()))
        self.assertEqual(0, self.done.returncode, self.done.stderr)
