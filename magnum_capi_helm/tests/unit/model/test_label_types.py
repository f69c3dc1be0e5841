# SPDX-License-Identifier: Apache-2.0
"""Types of labels: each takes text, or a value that is already parsed."""

from __future__ import annotations

from typing import Any

from magnum_capi_helm.model import label_types
from magnum_capi_helm.tests.unit import type_case

WORDS = label_types.Words()
RESOURCES = label_types.ApiResources()
VERSION = label_types.VERSION
INTEGER = label_types.Integer(min=0, max=65536)
SHARE = label_types.Share()
DURATION = label_types.Duration("1m")
COUNT = label_types.CountOrPercentage()

ACCEPTED: list[tuple[Any, Any, Any]] = [
    (WORDS, "", ()),
    (WORDS, "  a   b ", ("a", "b")),
    (WORDS, ("a", "b"), ("a", "b")),
    (RESOURCES, "", {}),
    (RESOURCES, {}, {}),
    (
        RESOURCES,
        '{"Cluster": {"api_version": "cluster.x-k8s.io/v1beta1"}}',
        {"Cluster": {"api_version": "cluster.x-k8s.io/v1beta1"}},
    ),
    (VERSION, "", ""),
    (VERSION, "0.27.0", "0.27.0"),
    (VERSION, "v0.27.0", "v0.27.0"),
    (VERSION, "0.27.1-dev.0.main.3+abc", "0.27.1-dev.0.main.3+abc"),
    (INTEGER, " 65536 ", 65536),
    (INTEGER, "+7", 7),
    (INTEGER, 0, 0),
    (SHARE, "0.5", 0.5),
    (SHARE, " .25 ", 0.25),
    (SHARE, "1", 1.0),
    (SHARE, 0.5, 0.5),
    (DURATION, "1h30m", "1h30m"),
    (COUNT, "40%", "40%"),
    (COUNT, "3", 3),
]

REFUSED: list[tuple[Any, Any]] = [
    (RESOURCES, "{"),
    (RESOURCES, "[]"),
    (RESOURCES, '{"Cluster": "v1beta1"}'),
    (VERSION, "latest"),
    (VERSION, "0.27"),
    (VERSION, "0.27.0; rm"),
    (VERSION, "0.27.0\n"),
    (VERSION, "0.\u0662\u0667.0"),
    (INTEGER, ""),
    (INTEGER, "-1"),
    (INTEGER, "65537"),
    (INTEGER, "99999999999999"),
    (INTEGER, "1_0"),
    (INTEGER, "\u0661\u0660"),
    (INTEGER, "1.0"),
    (SHARE, "nan"),
    (SHARE, "inf"),
    (SHARE, "1.5"),
    (SHARE, "-0.5"),
    (SHARE, "0.1_5"),
    (SHARE, ""),
    (DURATION, "\u0669\u0660s"),
    (COUNT, "\u0664\u0660%"),
    (COUNT, "\u0663"),
]


class OptionTypesTest(type_case.TypeTestCase):
    accepted = ACCEPTED
    refused = REFUSED

    def test_each_has_a_name_for_the_sample_configuration(self) -> None:
        self.assertEqual(
            ["list of names", "JSON object", "version"],
            [each.type_name for each in (WORDS, RESOURCES, VERSION)],
        )
