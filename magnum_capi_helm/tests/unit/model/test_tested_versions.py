# SPDX-License-Identifier: Apache-2.0

"""``versions.yaml``: what is in it, and what is refused."""

from __future__ import annotations

import pathlib
import re

from oslotest import base

import magnum_capi_helm
from magnum_capi_helm.config import options
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import supported
from magnum_capi_helm.model import tested_versions

ROOT = pathlib.Path(magnum_capi_helm.__file__).parents[1]

_ENTRY = """
- charts: ["0.26.0", "0.26.1"]
  cluster_api: "1.13.2"
  provider: "0.14.4"
  resources: "2.5.0"
  addons: "0.12.0"
  janitor: "0.11.0"
  cert_manager: "1.20.2"
  helm: "3.17.3"
  kubernetes: ["1.33", "1.35"]
"""
_LATER = _ENTRY.replace("0.26.0", "0.27.0").replace("0.26.1", "0.27.1")

#: What of an entry is replaced by what, and why that is refused.
NO_VERSIONS = (
    (
        '"1.13.2"',
        "v1.13.2",
        "cluster_api has 'v1.13.2': give a version such as "
        '"1.30.2", in quotes and without v',
    ),
    (
        '"3.17.3"',
        "3.17",
        'helm has 3.17: give a version such as "1.30.2", in quotes '
        "and without v",
    ),
    (
        '["1.33", "1.35"]',
        "[1.33, 1.35]",
        'kubernetes has 1.33: give a version such as "1.30", in '
        "quotes and without v",
    ),
    (
        '["1.33", "1.35"]',
        '["1.33"]',
        "kubernetes is ['1.33']: give a list of 2 versions",
    ),
    (
        '["0.26.0", "0.26.1"]',
        "[]",
        "charts is []: give a list of one or more versions",
    ),
    (
        '["0.26.0", "0.26.1"]',
        '"0.26.0"',
        "charts is '0.26.0': give a list of one or more versions",
    ),
)


def default_chart() -> str:
    """The version that new clusters get where nobody chose another."""
    return str(
        next(
            each.default
            for each in options.OPTIONS
            if each.name == "default_helm_chart_version"
        )
    )


class ParseTest(base.BaseTestCase):
    def refusal(self, text: str) -> str:
        """Why a file is refused."""
        error = self.assertRaises(
            errors.NotConfigured, tested_versions.parse, text
        )
        return str(error)

    def test_an_entry_has_all_its_versions(self) -> None:
        self.assertEqual(
            (
                tested_versions.Release(
                    charts=("0.26.0", "0.26.1"),
                    cluster_api="1.13.2",
                    provider="0.14.4",
                    addons="0.12.0",
                    janitor="0.11.0",
                    cert_manager="1.20.2",
                    helm="3.17.3",
                    kubernetes=("1.33", "1.35"),
                    resources="2.5.0",
                ),
            ),
            tested_versions.parse(_ENTRY),
        )

    def test_only_the_resource_controller_may_be_left_out(self) -> None:
        without = _ENTRY.replace('  resources: "2.5.0"\n', "")
        self.assertEqual("", tested_versions.parse(without)[0].resources)
        self.assertEqual(
            "versions.yaml, entry 1 lacks janitor",
            self.refusal(_ENTRY.replace('  janitor: "0.11.0"\n', "")),
        )

    def test_what_is_no_version_is_refused_by_name(self) -> None:
        for old, new, why in NO_VERSIONS:
            with self.subTest(new):
                self.assertEqual(
                    f"versions.yaml, entry 1: {why}",
                    self.refusal(_ENTRY.replace(old, new)),
                )

    def test_what_is_no_entry_is_refused(self) -> None:
        fields = (
            "give a mapping of charts, cluster_api, provider, addons, "
            "janitor, cert_manager, helm, kubernetes, resources"
        )
        for text, why in (
            ("", "versions.yaml holds None: give a list of entries"),
            ("a: b", "versions.yaml holds {'a': 'b'}: give a list of entries"),
            ("- 1.2.3", f"versions.yaml, entry 1 is '1.2.3': {fields}"),
            (
                f'{_ENTRY}  capi: "1.2.3"',
                f"versions.yaml, entry 1 has capi: {fields}",
            ),
        ):
            with self.subTest(text):
                self.assertEqual(why, self.refusal(text))
        self.assertIn("versions.yaml: no YAML", self.refusal("- {"))

    def test_each_chart_is_there_once_and_the_newest_is_last(self) -> None:
        self.assertEqual(2, len(tested_versions.parse(_ENTRY + _LATER)))
        self.assertEqual(
            "versions.yaml: charts has 0.26.0 after 0.27.1: give each "
            "version once, the oldest first",
            self.refusal(_LATER + _ENTRY),
        )
        self.assertIn("0.26.0 after 0.26.1", self.refusal(_ENTRY + _ENTRY))

    def test_the_first_version_of_kubernetes_is_the_older_one(self) -> None:
        self.assertEqual(
            "versions.yaml: kubernetes of chart 0.26.0 is 1.33 to 1.9: give "
            "the oldest first",
            self.refusal(_ENTRY.replace("1.35", "1.9")),
        )


class FileTest(base.BaseTestCase):
    def test_the_default_chart_is_the_newest_in_it(self) -> None:
        self.assertEqual(supported.versions()[-1], default_chart())

    def test_the_lab_is_built_from_what_the_default_chart_needs(self) -> None:
        tested = supported.find(default_chart())
        assert tested is not None
        wanted = {
            "sigs.k8s.io/cluster-api": f"v{tested.cluster_api}",
            "sigs.k8s.io/cluster-api/test": f"v{tested.cluster_api}",
            "sigs.k8s.io/cluster-api-provider-openstack": (
                f"v{tested.provider}"
            ),
            "github.com/k-orc/openstack-resource-controller/v2": (
                f"v{tested.resources}"
            ),
        }
        plane = ROOT / "lab" / "plane"
        self.assertEqual(wanted, _pins(plane / "go.mod", wanted))
        # What CAPO itself was built with, is CAPO's affair.
        self.assertEqual(
            {
                "sigs.k8s.io/cluster-api-provider-openstack": (
                    f"v{tested.provider}"
                )
            },
            _pins(plane / "capo" / "go.mod", wanted),
        )


def _pins(path: pathlib.Path, of: dict[str, str]) -> dict[str, str]:
    """The versions of these modules that a go.mod asks for itself."""
    line = re.compile(r"^(?:require)?\s+(\S+) (v\S+)$", re.M)
    found = line.findall(path.read_text())
    return {module: version for module, version in found if module in of}
