# SPDX-License-Identifier: Apache-2.0

"""What the installer of management clusters does to what runs there."""

from __future__ import annotations

from tools.tests.tools import components
from tools.tests.tools import installer

_OURS = "cert-manager/cert-manager magnum-capi-helm"
_IMAGE = "orc-system/orc quay.io/orc/openstack-resource-controller"
_ADDONS = "capi-addon-system/addons cluster-api-addon-provider"
_JANITOR = "capi-janitor-system/janitor cluster-api-janitor-openstack"
_ORC_IS = "ORC is there, in a version that can't be told: left as it is"
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
#: What runs: name, and what its Deployments have; the version that is newer.
_NEWER = (
    ("cert-manager", "cert-manager/cert-manager v1.21.0", "1.21.0"),
    ("orc", f"{_IMAGE}:v2.10.0", "2.10.0"),
    ("orc", f"{_IMAGE}:v2.7.0@sha256:1234", "2.7.0"),
    # Two of them: the newest counts.
    ("orc", f"{_IMAGE}:v2.4.0\n{_IMAGE}:v2.7.0", "2.7.0"),
    ("cluster-api-addon-provider", f"{_ADDONS}-0.12.10", "0.12.10"),
    ("cluster-api-janitor-openstack", f"{_JANITOR}-1.0.0", "1.0.0"),
)
_OLDER = (
    ("cert-manager", "cert-manager/cert-manager v1.9.1"),
    ("cert-manager", "cert-manager/cert-manager v1.20.3"),
    ("orc", f"{_IMAGE}:v2.4.0"),
    ("cluster-api-addon-provider", f"{_ADDONS}-0.9.0"),
    ("cluster-api-janitor-openstack", f"{_JANITOR}-0.14.0"),
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

    def test_newer_ones_are_left_alone(self) -> None:
        for name, found, version in _NEWER:
            with self.subTest(found):
                called, changes = _COMPONENTS[name]
                commands = self.running(name, found)
                self.assertEqual([], sorted({*commands} & {*changes}))
                self.assertIn(
                    f"{called} is {version}, which is newer: left as it is\n",
                    self.done.stdout,
                )

    def test_older_ones_are_upgraded_and_the_same_made_whole(self) -> None:
        for name, found in _OLDER:
            with self.subTest(found):
                changes = _COMPONENTS[name][1]
                commands = self.running(name, found)
                wanted = {each for each in changes if "curl" not in each}
                self.assertEqual(set(), wanted - {*commands})

    def test_a_version_that_can_not_be_told_is_left_alone(self) -> None:
        for image in (f"{_IMAGE}:main", f"{_IMAGE}@sha256:123", "a/orc "):
            with self.subTest(image):
                commands = self.running("orc", image)
                self.assertNotIn(components.ORC[2], commands)
                self.assertIn(_ORC_IS, self.done.stdout)

    def test_somebody_elses_cert_manager_is_not_touched(self) -> None:
        for owner in (
            "cert-manager/cert-manager ",
            "cert-manager/cert-manager argocd-controller",
            "security/cert-manager magnum-capi-helm",
        ):
            with self.subTest(owner):
                commands = self.running("cert-manager", "", owner)
                self.assertNotIn("cert-manager.yaml", " ".join(commands))
                self.assertIn(
                    "cert-manager is there, and somebody else's: left as it "
                    "is\n",
                    self.done.stdout,
                )
