# SPDX-License-Identifier: Apache-2.0

"""Ages and ends, by the clock that is passed in."""

from __future__ import annotations

from oslotest import base

from magnum_capi_helm.swap import evidence
from magnum_capi_helm.swap import validity
from magnum_capi_helm.tests.unit.swap import subjects

DAY, NOW = subjects.DAY, subjects.NOW

#: The credential -> level and text.
CREDENTIALS: dict[str, tuple[evidence.Credential | None, tuple[str, str]]] = {
    "it works": (
        evidence.Credential(NOW - 30.5 * DAY, "2026-01-01", True),
        ("ok", "application credential of 2026-01-01, 30 days old"),
    ),
    "Keystone did not say": (
        evidence.Credential(NOW - DAY, "2026-01-01"),
        ("ok", "application credential of 2026-01-01, 1 day old"),
    ),
    "Keystone refuses it": (
        evidence.Credential(NOW - 2 * DAY, "2026-01-01", False),
        (
            "act",
            "application credential of 2026-01-01, 2 days old: Keystone "
            "refuses it, and this driver's health poll will say so",
        ),
    ),
    "there is none": (None, ("act", "it has no application credential")),
}

#: Days that each certificate has left -> level and text of each finding.
CERTIFICATES: dict[str, tuple[dict[str, float], list[tuple[str, str]]]] = {
    "none is known": ({}, []),
    "all last, the first to end first": (
        {"ca CA": 900, "kubeconfig": 200},
        [("ok", "kubeconfig until day 200, ca CA until day 900")],
    ),
    "on the last day that is far enough": (
        {"ca CA": 90},
        [("ok", "ca CA until day 90")],
    ),
    "one ends soon": (
        {"ca CA": 89, "etcd CA": 900},
        [
            ("act", "ca CA is valid until day 89"),
            ("ok", "etcd CA until day 900"),
        ],
    ),
    "one is over": (
        {"kubeconfig": -1},
        [("act", "kubeconfig was valid until day -1")],
    ),
}


class ValidityTest(base.BaseTestCase):
    def test_credential(self) -> None:
        for name, (credential, expected) in CREDENTIALS.items():
            with self.subTest(name):
                cluster = subjects.subject(live={"credential": credential})
                (found,) = validity.credential(cluster, subjects.AROUND)
                self.assertEqual(expected, (found.level, found.what))

    def test_certificates(self) -> None:
        for name, (days, expected) in CERTIFICATES.items():
            with self.subTest(name):
                known = tuple(
                    evidence.Certificate(
                        whose, NOW + left * DAY, f"day {left}"
                    )
                    for whose, left in days.items()
                )
                cluster = subjects.subject(live={"certificates": known})
                found = validity.certificates(cluster, subjects.AROUND)
                self.assertEqual(
                    expected, [(each.level, each.what) for each in found]
                )

    def test_who_renews_what(self) -> None:
        known = tuple(
            evidence.Certificate(name, NOW, "today")
            for name in ("ca CA", "kubeconfig", "control plane")
        )
        cluster = subjects.subject(live={"certificates": known})
        self.assertEqual(
            [
                "Cluster API can't replace it: let its owner move to another "
                "cluster",
                "Cluster API renews it: see why it does not",
                "magnum-capi-helm renew u-1 --apply, once this driver runs",
            ],
            [
                each.remedy
                for each in validity.certificates(cluster, subjects.AROUND)
            ],
        )
