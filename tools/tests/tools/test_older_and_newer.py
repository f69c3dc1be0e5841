# SPDX-License-Identifier: Apache-2.0

"""What the installer of management clusters does to what runs there."""

from __future__ import annotations

from tools.tests.tools import components
from tools.tests.tools import installer

_OURS = "cert-manager/cert-manager magnum-capi-helm"
_CERT_MANAGER = "cert-manager/cert-manager v"
_IMAGE = "orc-system/orc quay.io/orc/openstack-resource-controller"
_ADDONS = "capi-addon-system/addons cluster-api-addon-provider-"
_JANITOR = "capi-janitor-system/janitor cluster-api-janitor-openstack-"
#: Name on the management cluster -> how it is called, and what installs it.
_COMPONENTS = {
    "cert-manager": ("cert-manager", components.CERT_MANAGER[2:]),
    "orc": ("ORC", components.ORC[1:]),
    "cluster-api-addon-provider": (
        "cluster-api-addon-provider",
        components.ADDONS[1:],
    ),
    "cluster-api-janitor-openstack": (
        "cluster-api-janitor-openstack",
        components.JANITOR[1:],
    ),
}
#: What runs: name, what its Deployments have, why it is left as it is; without
#: a reason it is upgraded, or in its version made whole.
_RUNNING = (
    ("cert-manager", f"{_CERT_MANAGER}1.21.0", "is 1.21.0, which is newer"),
    ("orc", f"{_IMAGE}:v2.10.0", "is 2.10.0, which is newer"),
    ("orc", f"{_IMAGE}:v2.7.0@sha256:1234", "is 2.7.0, which is newer"),
    # Two of them: the newest counts.
    (
        "orc",
        f"{_IMAGE}:v2.4.0\n{_IMAGE}:v2.7.0",
        "is 2.7.0, which is newer",
    ),
    *(
        ("orc", image, "is there, in a version that can't be told")
        for image in (f"{_IMAGE}:main", f"{_IMAGE}@sha256:123", "a/orc ")
    ),
    (
        "cluster-api-addon-provider",
        f"{_ADDONS}0.12.10",
        "is 0.12.10, which is newer",
    ),
    (
        "cluster-api-janitor-openstack",
        f"{_JANITOR}1.0.0",
        "is 1.0.0, which is newer",
    ),
    ("cert-manager", f"{_CERT_MANAGER}1.9.1", ""),
    ("cert-manager", f"{_CERT_MANAGER}1.20.3", ""),
    ("orc", f"{_IMAGE}:v2.4.0", ""),
    ("cluster-api-addon-provider", f"{_ADDONS}0.9.0", ""),
    ("cluster-api-janitor-openstack", f"{_JANITOR}0.14.0", ""),
)


class OlderAndNewerTest(installer.InstallerTestCase):
    def running(self, name: str, found: str, owner: str = _OURS) -> list[str]:
        """The commands of a run where this runs already."""
        self.stubs.answer(
            "kubectl",
            f"""
case "$*" in
    *managedFields*) [[ {name} != cert-manager ]] || echo '{owner}' ;;
    *"/name={name} "*) echo '{found}' ;;
esac
""",
        )
        commands = self.install()
        self.assertEqual(0, self.done.returncode, self.done.stderr)
        return [each for each in commands if not each.startswith("curl")]

    def test_newer_ones_stay_and_older_ones_are_upgraded(self) -> None:
        for name, found, why in _RUNNING:
            called, changes = _COMPONENTS[name]
            wanted = {each for each in changes if "curl" not in each}
            done = wanted & {*self.running(name, found)}
            self.assertEqual(set() if why else wanted, done, found)
            if why:
                self.assertIn(
                    f"{called} {why}: left as it is\n", self.done.stdout
                )

    def test_somebody_elses_cert_manager_is_not_touched(self) -> None:
        for owner in (
            "cert-manager/cert-manager ",
            "cert-manager/cert-manager argocd-controller",
            "security/cert-manager magnum-capi-helm",
        ):
            commands = self.running("cert-manager", "", owner)
            self.assertNotIn("cert-manager.yaml", " ".join(commands))
            self.assertIn(
                "cert-manager is there, and somebody else's: left as it is\n",
                self.done.stdout,
            )
