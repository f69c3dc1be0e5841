# SPDX-License-Identifier: Apache-2.0
"""Types of labels with arguments of Kubernetes' components."""

from __future__ import annotations

from typing import Any

from magnum_capi_helm.features import arguments
from magnum_capi_helm.tests.unit import type_case

ARGUMENTS = arguments.ArgumentsType()
SUITES = arguments.CipherSuites()

RSA = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"
STRONGER = "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"

ACCEPTED: list[tuple[Any, Any, Any]] = [
    (ARGUMENTS, "", ()),
    (ARGUMENTS, "--v=4", (("v", "4"),)),
    (
        ARGUMENTS,
        " max-pods=200  --eviction-hard=memory.available<100Mi,nodefs=5% ",
        (
            ("max-pods", "200"),
            ("eviction-hard", "memory.available<100Mi,nodefs=5%"),
        ),
    ),
    (ARGUMENTS, (("v", "4"), ("b", "c=d")), (("v", "4"), ("b", "c=d"))),
    (SUITES, "", ()),
    (SUITES, f"{STRONGER}, {RSA}", (STRONGER, RSA)),
    (SUITES, (RSA,), (RSA,)),
]

REFUSED: list[tuple[Any, Any]] = [
    (ARGUMENTS, "--profiling"),
    (ARGUMENTS, "-v=4"),
    (ARGUMENTS, "--v="),
    (ARGUMENTS, "--v 4"),
    (ARGUMENTS, "--v=4 v=5"),
    (ARGUMENTS, "--max_pods=200"),
    (ARGUMENTS, "--V=4"),
    (ARGUMENTS, f"--{'v' * 81}=4"),
    (ARGUMENTS, (("a", "b c"),)),
    (SUITES, "ECDHE-RSA-AES128-GCM-SHA256"),
    (SUITES, f"{RSA},TLS_RSA_WITH_AES_128_GCM_SHA256"),
    (SUITES, STRONGER),
]


class ArgumentTypesTest(type_case.TypeTestCase):
    accepted = ACCEPTED
    refused = REFUSED

    def test_each_has_a_name_for_the_sample_configuration(self) -> None:
        for kind, name in (
            (ARGUMENTS, "arguments"),
            (SUITES, "list of cipher suites"),
        ):
            self.assertEqual(name, kind.type_name)

    def test_harmless_is_what_no_reader_on_the_way_interprets(self) -> None:
        for value in (
            "memory.available<100Mi,nodefs.available<10%",
            "[::1]:10249",
            "kernel.msg*,net.core.somaxconn",
            "A=true,B=false",
            "Node.User@example.org/x_y",
        ):
            self.assertTrue(arguments.harmless(value), value)
        for value in (
            "{{ds}}",
            "{%x",
            "$(HOSTNAME)",
            "${HOSTNAME}",
            "`id`",
            "'a'",
            '"a"',
            "a\\b",
            "a;b",
            "a&b",
            "a|b",
            "#a",
            "a\nb",
            "a\x00",
            "\u00e4",
            "",
        ):
            self.assertFalse(arguments.harmless(value), value)
