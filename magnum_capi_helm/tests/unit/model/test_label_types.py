# SPDX-License-Identifier: Apache-2.0
"""Types of labels: each takes text, or a value that is already parsed."""

from __future__ import annotations

from typing import Any

from oslotest import base

from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import label_types
from magnum_capi_helm.tests.unit import type_case

WORDS = label_types.Words()
RESOURCES = label_types.ApiResources()
VERSION = label_types.VERSION
INTEGER = label_types.Integer(min=0, max=65536)
SHARE = label_types.Share()
DURATION = label_types.Duration("1m")
COUNT = label_types.CountOrPercentage()
HOSTS = label_types.HOSTS
NAMESPACES = label_types.NAMESPACES
PLUGINS = label_types.ADMISSION_PLUGINS

NETWORK = label_types.IPv4Network(label_types.Sizes(0, 32))
SMALL = label_types.IPv4Network(label_types.Sizes(24, 28))
NETWORKS = label_types.IPv4Networks()
CLUSTER = label_types.ClusterNetworks(
    label_types.Sizes(8, 24), label_types.Sizes(48, 64)
)
DOMAIN = label_types.DOMAIN

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
    (HOSTS, "", ()),
    (
        HOSTS,
        "api,*.example.org,192.0.2.7,2001:db8::7",
        ("api", "*.example.org", "192.0.2.7", "2001:db8::7"),
    ),
    (NAMESPACES, "a, b-1,a,", ("a", "b-1")),
    (PLUGINS, "PodNodeSelector", ("PodNodeSelector",)),
    (NETWORK, "10.0.0.0/24", "10.0.0.0/24"),
    (NETWORK, " 10.0.0.0/255.255.255.0 ", "10.0.0.0/24"),
    (NETWORK, "192.0.2.7", "192.0.2.7/32"),
    (SMALL, "10.0.0.0/24", "10.0.0.0/24"),
    (SMALL, "10.0.0.0/28", "10.0.0.0/28"),
    (NETWORKS, "", ()),
    (
        NETWORKS,
        "192.0.2.0/24, 198.51.100.0/25,",
        ("192.0.2.0/24", "198.51.100.0/25"),
    ),
    (NETWORKS, ("192.0.2.0/24",), ("192.0.2.0/24",)),
    (CLUSTER, "10.100.0.0/16", ("10.100.0.0/16",)),
    (CLUSTER, " 10.0.0.0/8 ", ("10.0.0.0/8",)),
    (CLUSTER, "10.0.0.0/24,fd00::/48", ("10.0.0.0/24", "fd00::/48")),
    (CLUSTER, "10.0.0.0/24 fd00:0::/64", ("10.0.0.0/24", "fd00::/64")),
    (CLUSTER, "10.0.0.0/24, fd00::/64", ("10.0.0.0/24", "fd00::/64")),
    (CLUSTER, ("10.0.0.0/24",), ("10.0.0.0/24",)),
    (DOMAIN, "cluster.local", "cluster.local"),
    (DOMAIN, "k8s-1", "k8s-1"),
    (DOMAIN, "a." * 126 + "a", "a." * 126 + "a"),
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
    (NETWORK, "10.0.0.1/24"),
    (NETWORK, "10.0.0.0/33"),
    (NETWORK, "0.0.0.0/8"),
    (NETWORK, "127.0.0.0/24"),
    (NETWORK, "169.0.0.0/8"),
    (NETWORK, "224.0.0.0/24"),
    (NETWORK, "fd00::/64"),
    (NETWORK, ""),
    (SMALL, "10.0.0.0/23"),
    (SMALL, "10.0.0.0/29"),
    (NETWORKS, "192.0.2.0/24 198.51.100.0/25"),
    (NETWORKS, "192.0.2.0/24,::/0"),
    (CLUSTER, ""),
    (CLUSTER, "10.0.0.1/24"),
    (CLUSTER, "10.0.0.0/25"),
    (CLUSTER, "8.0.0.0/7"),
    (CLUSTER, "fd00::/64"),
    (CLUSTER, "fd00::/64,10.0.0.0/24"),
    (CLUSTER, "10.0.0.0/24,10.1.0.0/24"),
    (CLUSTER, "10.0.0.0/24,fd00::/47"),
    (CLUSTER, "10.0.0.0/24,fd00::/65"),
    (CLUSTER, "10.0.0.0/24,fd00::/64,fd01::/64"),
    (CLUSTER, "10.0.0.0/24,,"),
    (CLUSTER, "0.0.0.0/8"),
    (CLUSTER, "127.0.0.0/16"),
    (CLUSTER, "169.254.0.0/16"),
    (CLUSTER, "224.0.0.0/16"),
    (CLUSTER, "10.0.0.0/24,fe80::/64"),
    (CLUSTER, "10.0.0.0/24,fd00::%eth0/64"),
    (CLUSTER, "10.0.0.0/24,fd00::%{{x}}/64"),
    (CLUSTER, ("10.0.0.0/24", "fd00::%{{ x }} $(y)/64")),
    (DOMAIN, ""),
    (DOMAIN, "Cluster.local"),
    (DOMAIN, "cluster.local."),
    (DOMAIN, "cluster.local\n"),
    (DOMAIN, "-a.local"),
    (DOMAIN, "a" * 64),
    (DOMAIN, "a." * 127 + "a"),
]


class LabelTypesTest(type_case.TypeTestCase):
    accepted = ACCEPTED
    refused = REFUSED

    def test_each_has_a_name_for_the_sample_configuration(self) -> None:
        for kind, name in (
            (WORDS, "list of names"),
            (RESOURCES, "JSON object"),
            (VERSION, "version"),
            (NAMESPACES, "list of namespaces"),
            (NETWORK, "IPv4 network"),
            (NETWORKS, "list of IPv4 networks"),
            (CLUSTER, "networks"),
            (DOMAIN, "domain"),
        ):
            self.assertEqual(name, kind.type_name)

    def test_sizes_read_as_prefixes(self) -> None:
        self.assertEqual("/8 to /24", str(label_types.Sizes(8, 24)))


LONG = "x" * 63


class NodeLabelsTest(base.BaseTestCase):
    parse = staticmethod(label_types.NodeLabels())

    def test_commas_separate_pairs(self) -> None:
        self.assertEqual(
            (("disk", "ssd"), ("example.org/team", "a.b_c"), ("empty", "")),
            self.parse("disk=ssd, example.org/team=a.b_c,empty=,"),
        )
        self.assertEqual((), self.parse(""))

    def test_keys_that_a_kubelet_may_set_are_accepted(self) -> None:
        for key in (
            "node.kubernetes.io/pool",
            "x.node.kubernetes.io/pool",
            "kubelet.kubernetes.io/pool",
            "topology.kubernetes.io/zone",
            "notkubernetes.io/pool",
            "k8s.io.example.org/pool",
            f"{'a' * 60}.{'b' * 60}/{LONG}",
        ):
            self.assertEqual(((key, "x"),), self.parse(f"{key}=x"))

    def test_an_invalid_label_is_refused_with_the_reason(self) -> None:
        for text, words in (
            ("disk", "has no ="),
            ("=ssd", "is no key"),
            (f"{LONG}x=a", "is no key"),
            ("-disk=ssd", "is no key"),
            ("Example.org/disk=a", "no DNS name"),
            (f"{'a.' * 126}aa/disk=a", "no DNS name"),
            ("a/b/c=d", "no DNS name"),
            ("/disk=ssd", "no DNS name"),
            (f"disk={LONG}x", "is no value"),
            ("disk=a=b", "is no value"),
            ("disk=-", "is no value"),
            ("node-role.kubernetes.io/gpu=yes", "Kubernetes' own"),
            ("kubernetes.io/role=x", "Kubernetes' own"),
            ("cluster.k8s.io/role=x", "Kubernetes' own"),
            ("magnum.openstack.org/role=x", "the driver itself sets"),
            ("capi.stackhpc.com/node-group=x", "the driver itself sets"),
            ("a=b,a=c", "given twice"),
        ):
            with self.assertRaisesRegex(ValueError, words):
                self.parse(text)


class NodeTaintsTest(base.BaseTestCase):
    parse = staticmethod(label_types.NodeTaints())

    def test_with_and_without_a_value(self) -> None:
        self.assertEqual(
            (
                cluster_spec.Taint("gpu", "NoSchedule", "yes"),
                cluster_spec.Taint("example.org/slow", "NoExecute"),
                cluster_spec.Taint("gpu", "PreferNoSchedule"),
            ),
            self.parse(
                "gpu=yes:NoSchedule, example.org/slow:NoExecute,"
                "gpu:PreferNoSchedule"
            ),
        )
        self.assertEqual((), self.parse(""))

    def test_an_invalid_taint_is_refused_with_the_reason(self) -> None:
        for text, words in (
            ("gpu=yes", "no :effect"),
            ("gpu=yes:Never", "'Never' is no effect"),
            ("gpu:", "'' is no effect"),
            (":NoSchedule", "is no key"),
            ("gpu=a b:NoSchedule", "is no value"),
            ("gpu:NoSchedule,gpu=x:NoSchedule", "given twice"),
        ):
            with self.assertRaisesRegex(ValueError, words):
                self.parse(text)

    def test_an_option_shows_what_is_read_again(self) -> None:
        for kind, value, shown in (
            (label_types.NodeLabels(), (("a", "b"), ("c", "")), "a=b,c="),
            (
                label_types.NodeTaints(),
                self.parse("a=b:NoSchedule,c:NoExecute"),
                "a=b:NoSchedule,c:NoExecute",
            ),
        ):
            self.assertEqual([shown], kind.format_defaults(value))
            self.assertEqual(value, kind(shown))


class LabelValueTest(base.BaseTestCase):
    def test_any_text_becomes_a_value_of_a_label(self) -> None:
        for text, expected in (
            ("worker", "worker"),
            ("a b/c", "a-b-c"),
            ("_x.", "x"),
            ("\u00e4", ""),
            ("n" * 80, "n" * 63),
            (f"{'n' * 62}..{'n' * 9}", "n" * 62),
        ):
            self.assertEqual(expected, label_types.as_node_label_value(text))
