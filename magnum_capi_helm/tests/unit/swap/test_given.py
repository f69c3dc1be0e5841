# SPDX-License-Identifier: Apache-2.0

"""Labels and fields: what 1.4.0 ignores, and this driver does not."""

from __future__ import annotations

from typing import Any

from oslotest import base

from magnum_capi_helm import features
from magnum_capi_helm.swap import given
from magnum_capi_helm.swap import old_labels
from magnum_capi_helm.tests.unit.swap import subjects

#: Labels of the template, labels of the cluster, chart -> level and a part of
#: the text of each finding.
EFFECTIVE: dict[
    str, tuple[dict[str, str], dict[str, str], str, list[tuple[str, str]]]
] = {
    "none": ({}, {}, "0.16.0", []),
    "1.4.0 reads it as well": (
        {"boot_volume_size": "30"},
        {},
        "0.16.0",
        [],
    ),
    "new to this driver": (
        {"oidc_issuer_url": "https://login.test"},
        {},
        "0.16.0",
        [
            (
                "note",
                "oidc_issuer_url=https://login.test of the template has no "
                "effect so far, and gets one with the cluster's first upgrade",
            )
        ],
    ),
    "the copy in the cluster is the template's": (
        {"npd_enabled": "false"},
        {"npd_enabled": "false"},
        "0.16.0",
        [("note", "npd_enabled=false of the template")],
    ),
    "the cluster's own": (
        {"npd_enabled": "true"},
        {"npd_enabled": "false"},
        "0.16.0",
        [("note", "npd_enabled=false of the cluster")],
    ),
    "it says what is so anyway": ({"npd_enabled": "true"}, {}, "0.16.0", []),
    "living clusters can't change it": (
        {"dns_cluster_domain": "example.org"},
        {},
        "0.16.0",
        [("note", "gets one in new clusters of the template")],
    ),
    "an allow list that chart 0.10.1 applies": (
        {},
        {"api_master_lb_allowed_cidrs": "192.0.2.0/24"},
        "0.10.1",
        [],
    ),
    "an allow list that later charts do not apply": (
        {},
        {"api_master_lb_allowed_cidrs": "192.0.2.0/24"},
        "0.16.0",
        [
            (
                "act",
                "the Kubernetes API is open to all, until the first upgrade",
            )
        ],
    ),
    "an allow list under the name that 1.4.0 does not know": (
        {},
        {"master_lb_allowed_cidrs": "192.0.2.0/24"},
        "0.10.1",
        [("act", "master_lb_allowed_cidrs=192.0.2.0/24 of the cluster")],
    ),
    "a label of nobody": ({"colour": "blue"}, {}, "0.16.0", []),
    "the version that the image is expected to have": (
        {"kube_tag": "v1.34.2"},
        {},
        "0.16.0",
        [],
    ),
}

REFUSED: dict[
    str, tuple[dict[str, str], dict[str, str], list[tuple[str, str]]]
] = {
    "all are allowed": ({"boot_volume_size": "30"}, {}, []),
    "of the template: nobody can use it any more": (
        {"octavia_lb_healthcheck": "yup"},
        {"octavia_lb_healthcheck": "yup"},
        [("act", "template prod: label octavia_lb_healthcheck: ")],
    ),
    "of the cluster: it counts as none": (
        {},
        {"octavia_lb_healthcheck": "yup"},
        [("note", "label octavia_lb_healthcheck: ")],
    ),
    "the template expects another version than its image has": (
        {"kube_tag": "v1.33.0"},
        {},
        [("act", "label kube_tag=v1.33.0, and its image has v1.34.2")],
    ),
    "the template expects the image's version, with a builder's suffix": (
        {"kube_tag": "v1.34.2-rancher1"},
        {},
        [],
    ),
    "the cluster expects another version, which nobody minds": (
        {},
        {"kube_tag": "v1.33.0"},
        [],
    ),
}


class GivenTest(base.BaseTestCase):
    def assert_found(
        self, expected: list[tuple[str, str]], found: Any
    ) -> None:
        """Levels, and parts of the texts."""
        found = list(found)
        levels = [level for level, _ in expected]
        self.assertEqual(levels, [each.level for each in found])
        for each, (_, text) in zip(found, expected, strict=True):
            self.assertIn(text, each.what)

    def test_labels_that_get_an_effect(self) -> None:
        for name, (template, own, chart, expected) in EFFECTIVE.items():
            with self.subTest(name):
                cluster = subjects.subject(
                    live={"chart": chart},
                    template={"labels": template},
                    labels=own,
                )
                self.assert_found(
                    expected, given.effective(cluster, subjects.AROUND)
                )

    def test_labels_that_are_refused_from_now_on(self) -> None:
        for name, (template, own, expected) in REFUSED.items():
            with self.subTest(name):
                cluster = subjects.subject(
                    template={"labels": template}, labels=own
                )
                self.assert_found(
                    expected, given.refused(cluster, subjects.AROUND)
                )

    def test_an_image_that_is_not_known_refuses_no_version(self) -> None:
        cluster = subjects.subject(template={"labels": {"kube_tag": "v1.3.0"}})
        for images in ({}, {"ubuntu-1.34": None}):
            around = subjects.around(images=images)
            self.assertEqual([], list(given.refused(cluster, around)))

    def test_fields_of_the_template(self) -> None:
        cluster = subjects.subject(
            template={"unread": {"docker_volume_size": "20"}}
        )
        self.assert_found(
            [("note", "docker_volume_size=20 of template prod has no effect")],
            given.fields(cluster, subjects.AROUND),
        )

    def test_what_1_4_0_reads_this_driver_reads(self) -> None:
        known = {
            name
            for label in features.LABELS
            for name in (label.name, *label.aliases)
        }
        self.assertEqual(set(), old_labels.READ - known)
