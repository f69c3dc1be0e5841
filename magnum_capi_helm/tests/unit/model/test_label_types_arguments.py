# SPDX-License-Identifier: Apache-2.0
"""Arguments, lists of names and cipher suites, as text and as values."""

from __future__ import annotations

from typing import Any

from magnum_capi_helm.model import label_types
from magnum_capi_helm.tests.unit import type_case

ARGUMENTS = label_types.Arguments()
SUITES = label_types.CipherSuites()
HOSTS = label_types.HOSTS
NAMESPACES = label_types.NAMESPACES
PLUGINS = label_types.ADMISSION_PLUGINS

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
    (HOSTS, "", ()),
    (
        HOSTS,
        "api,*.example.org,192.0.2.7,2001:db8::7",
        ("api", "*.example.org", "192.0.2.7", "2001:db8::7"),
    ),
    (NAMESPACES, "a, b-1,a,", ("a", "b-1")),
    (PLUGINS, "PodNodeSelector", ("PodNodeSelector",)),
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
    (HOSTS, "https://api.example.org"),
    (HOSTS, "api.example.org:6443"),
    (HOSTS, "api_1.example.org"),
    (HOSTS, "api..example.org"),
    (HOSTS, "a.*.example.org"),
    (HOSTS, "192.0.2.300"),
    (HOSTS, "192.0.2.0/24"),
    (HOSTS, "fe80::1%eth0"),
    (HOSTS, "fe80::1%{{ x }} $(y)\n- z"),
    (HOSTS, ".".join(["a" * 60] * 5)),
    (NAMESPACES, "kube_system"),
    (NAMESPACES, "a" * 64),
    (PLUGINS, "podNodeSelector"),
    (PLUGINS, "Pod Node"),
]


class ArgumentTypesTest(type_case.TypeTestCase):
    accepted = ACCEPTED
    refused = REFUSED

    def test_each_has_a_name_for_the_sample_configuration(self) -> None:
        self.assertEqual(
            ["arguments", "list of cipher suites", "list of namespaces"],
            [each.type_name for each in (ARGUMENTS, SUITES, NAMESPACES)],
        )

    def test_harmless_is_what_no_reader_on_the_way_interprets(self) -> None:
        for value in (
            "memory.available<100Mi,nodefs.available<10%",
            "[::1]:10249",
            "kernel.msg*,net.core.somaxconn",
            "A=true,B=false",
            "Node.User@example.org/x_y",
        ):
            self.assertTrue(label_types.harmless(value), value)
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
            self.assertFalse(label_types.harmless(value), value)
