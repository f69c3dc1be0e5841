# SPDX-License-Identifier: Apache-2.0
"""Types of labels, and of options.

Each takes text, or a value that is already parsed.
"""

from __future__ import annotations

from typing import Any

from oslotest import base

from magnum_capi_helm.features import arguments
from magnum_capi_helm.features import authentication
from magnum_capi_helm.features import egress
from magnum_capi_helm.features import etcd
from magnum_capi_helm.features import healing
from magnum_capi_helm.features import storage
from magnum_capi_helm.features import template
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import label_types

WORDS = label_types.Words()
RESOURCES = label_types.ApiResources()
VERSION = label_types.VERSION
INTEGER = label_types.Integer(min=0, max=65536)
SHARE = label_types.Share()
DURATION = label_types.Duration("5m")
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

ARGUMENTS = arguments.ArgumentsType()
SUITES = arguments.CipherSuites()
RSA = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"
STRONGER = "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"
DAYS = healing.DAYS.type
ISSUER = authentication.ISSUER.type
MIRRORS = egress.MIRRORS.type
PREFIX = egress.PREFIX.type
PROFILES = template.PROFILE_NAMES.type
RESOURCE_NAMES = etcd.ENCRYPTED_RESOURCES.type
#: Text that becomes an argument of kube-apiserver.
OIDC = (
    authentication.CLIENT.type,
    authentication.USERNAME_CLAIM.type,
    authentication.USERNAME_PREFIX.type,
    authentication.GROUPS_CLAIM.type,
    authentication.GROUPS_PREFIX.type,
)
#: Text that the addon provider renders.
ADDON_TEXT = (
    storage.AVAILABILITY_ZONE.type,
    storage.FSTYPE.type,
    storage.SHARE_TYPE.type,
    storage.SHARE_NETWORK.type,
)

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
    *(
        (DURATION, text, text)
        for text in ("5m", "300s", "1h", "1h30m", "1h0m1s", "1440m")
    ),
    *((COUNT, text, text) for text in ("1%", "40%", "100%")),
    (COUNT, "1", 1),
    (COUNT, "12", 12),
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
    *((DAYS, f"{days}", days) for days in (0, 7, 300)),
    *(
        (ISSUER, url, url)
        for url in (
            "https://id.example.org/~k8s/a%20b",
            "https://[2001:db8::1]:8443/k8s/",
        )
    ),
    *(
        (kind, "https://a.org/groups:a_b-c*", "https://a.org/groups:a_b-c*")
        for kind in OIDC
    ),
    (
        RESOURCE_NAMES,
        "secrets,widgets.example.org,*.apps,*.,*.*",
        ["secrets", "widgets.example.org", "*.apps", "*.", "*.*"],
    ),
]


def _each(kind: Any, *texts: Any) -> list[tuple[Any, Any]]:
    return [(kind, text) for text in texts]


REFUSED: list[tuple[Any, Any]] = [
    *_each(RESOURCES, "{", "[]", '{"Cluster": "v1beta1"}'),
    *_each(VERSION, "latest", "0.27", "0.27.0; rm", "0.27.0\n"),
    *_each(VERSION, "0.\u0662\u0667.0"),
    *_each(INTEGER, "", "-1", "65537", "99999999999999", "1_0", "1.0"),
    *_each(INTEGER, "\u0661\u0660"),
    *_each(SHARE, "nan", "inf", "1.5", "-0.5", "0.1_5", ""),
    *_each(DURATION, "4m59s", "0", "", "300", "5", "5 m", "1.5h", "5M"),
    *_each(DURATION, "-6m", "\u0669\u0660s"),
    *_each(COUNT, "0", "0%", "101%", "-1", "1.5", "%", "", "all", "40 %"),
    *_each(COUNT, "\u0664\u0660%", "\u0663"),
    *_each(HOSTS, "https://api.example.org", "api.example.org:6443"),
    *_each(HOSTS, "api_1.example.org", "api..example.org"),
    *_each(HOSTS, "a.*.example.org", "192.0.2.300", "192.0.2.0/24"),
    *_each(HOSTS, "fe80::1%eth0", "fe80::1%{{ x }} $(y)\n- z"),
    *_each(HOSTS, ".".join(["a" * 60] * 5)),
    *_each(NAMESPACES, "kube_system", "a" * 64),
    *_each(PLUGINS, "podNodeSelector", "Pod Node"),
    *_each(NETWORK, "10.0.0.1/24", "10.0.0.0/33", "0.0.0.0/8", ""),
    *_each(NETWORK, "127.0.0.0/24", "169.0.0.0/8", "224.0.0.0/24"),
    *_each(NETWORK, "fd00::/64"),
    *_each(SMALL, "10.0.0.0/23", "10.0.0.0/29"),
    *_each(NETWORKS, "192.0.2.0/24 198.51.100.0/25", "192.0.2.0/24,::/0"),
    *_each(NETWORKS, "192.0.2.1/24"),
    *_each(CLUSTER, "", "10.0.0.1/24", "10.0.0.0/25", "8.0.0.0/7"),
    *_each(CLUSTER, "fd00::/64", "fd00::/64,10.0.0.0/24"),
    *_each(CLUSTER, "10.0.0.0/24,10.1.0.0/24", "10.0.0.0/24,fd00::/47"),
    *_each(CLUSTER, "10.0.0.0/24,fd00::/65", "10.0.0.0/24,,"),
    *_each(CLUSTER, "10.0.0.0/24,fd00::/64,fd01::/64", "0.0.0.0/8"),
    *_each(CLUSTER, "127.0.0.0/16", "169.254.0.0/16", "224.0.0.0/16"),
    *_each(CLUSTER, "10.0.0.0/24,fe80::/64", "10.0.0.0/24,fd00::%eth0/64"),
    *_each(CLUSTER, "10.0.0.0/24,fd00::%{{x}}/64"),
    *_each(CLUSTER, ("10.0.0.0/24", "fd00::%{{ x }} $(y)/64")),
    *_each(DOMAIN, "", "Cluster.local", "cluster.local.", "cluster.local\n"),
    *_each(DOMAIN, "-a.local", "a" * 64, "a." * 127 + "a"),
    *_each(ARGUMENTS, "--profiling", "-v=4", "--v=", "--v 4", "--v=4 v=5"),
    *_each(ARGUMENTS, "--max_pods=200", "--V=4", f"--{'v' * 81}=4"),
    *_each(ARGUMENTS, (("a", "b c"),)),
    *_each(SUITES, "ECDHE-RSA-AES128-GCM-SHA256", STRONGER),
    *_each(SUITES, f"{RSA},TLS_RSA_WITH_AES_128_GCM_SHA256"),
    *_each(DAYS, "-1", "1", "6", "301", "a week"),
    *_each(ISSUER, "http://id.example.org", "https://", "id.example.org"),
    *_each(ISSUER, "https:///realms/k8s", "https://id.example.org?realm=k8s"),
    *_each(ISSUER, "https://id.example.org/realms#k8s", "https://:443"),
    *_each(ISSUER, "https://user:secret@id.example.org"),
    *_each(ISSUER, "https://id.example.org/\n", "https://$(HOME)"),
    *_each(ISSUER, "https://id.example.org:https", 'https://a.org/"'),
    *_each(ISSUER, "https://a.org/{{ds}}", "https://a.org/$(HOME)"),
    *(
        (kind, text)
        for kind in OIDC
        for text in ("{{ds}}", "$(HOME)", 'a"b', "`id`", "a b", "a\n")
    ),
    *(
        (kind, text)
        for kind in ADDON_TEXT
        for text in ("{{ cluster }}", "{% raw %}", "{#", "ext4\n")
    ),
    *_each(RESOURCE_NAMES, "*", "Secrets", "a b", "v1/secrets", "*x"),
    *_each(PROFILES, "../gpu", "a/b", "a.yaml", "-a", "GPU", "a,b,a", "a\0"),
    *_each(PREFIX, "registry.example.org/$(id)"),
    *_each(MIRRORS, "", ",", "https://m.org", "q.io=", "q.io=m.org"),
    *_each(MIRRORS, "q.io=none,q.io=https://m.org", "none,q.io=https://m.org"),
    *_each(MIRRORS, "q.io=https://user:word@m.org", 'q.io=https://m.org/"]'),
    *_each(MIRRORS, "q.io/library=https://m.org", "../etc=https://m.org"),
    *_each(MIRRORS, "q.io=file:///etc"),
]


class LabelTypesTest(base.BaseTestCase):
    def test_each_type_understands_its_texts(self) -> None:
        found = [(kind, text, kind(text)) for kind, text, _ in ACCEPTED]
        self.assertEqual(ACCEPTED, found)

    def test_each_type_refuses_what_is_not_one_of_its_texts(self) -> None:
        taken = []
        for kind, text in REFUSED:
            try:
                taken.append((kind, text, kind(text)))
            except ValueError:
                continue
        self.assertEqual([], taken)

    def test_a_formatted_value_is_parsed_as_the_same(self) -> None:
        for kind, _, parsed in ACCEPTED:
            written = kind.format_defaults(parsed)[0]
            self.assertEqual(parsed, kind(written.strip('"')))

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
            (ARGUMENTS, "arguments"),
            (SUITES, "list of cipher suites"),
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
