# SPDX-License-Identifier: Apache-2.0

"""Proxies, trusted CAs and registries: whole files, commands and values."""

from __future__ import annotations

import dataclasses
from typing import Any

from oslotest import base

from magnum_capi_helm.chart import values
from magnum_capi_helm.features import egress
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.features import specs

PROXY = cluster_spec.Proxy(
    http="http://proxy.example.org:3128",
    https="http://user:p%40ss@proxy.example.org:3128",
    exceptions=("registry.example.org", ".svc"),
)
INSIDE = (
    "localhost,127.0.0.1,::1,169.254.169.254,172.16.0.0/13,172.24.0.0/13,"
    "10.0.0.0/24,.svc,.cluster.local"
)
ENVIRONMENT = {
    "path": "/etc/containerd/proxy.env",
    "owner": "root:root",
    "permissions": "0600",
    "content": "HTTP_PROXY=http://proxy.example.org:3128\n"
    "HTTPS_PROXY=http://user:p%40ss@proxy.example.org:3128\n"
    f"NO_PROXY={INSIDE},registry.example.org\n",
}
DROP_IN = {
    "path": "/etc/systemd/system/containerd.service.d/http-proxy.conf",
    "owner": "root:root",
    "permissions": "0644",
    "content": "[Service]\nEnvironmentFile=/etc/containerd/proxy.env\n",
}
APT = {
    "path": "/etc/apt/apt.conf.d/90proxy",
    "owner": "root:root",
    "permissions": "0600",
    "content": 'Acquire::http::Proxy "http://proxy.example.org:3128";\n'
    "Acquire::https::Proxy "
    '"http://user:p%40ss@proxy.example.org:3128";\n',
}


def _cluster(
    proxy: cluster_spec.Proxy, distro: str = "ubuntu"
) -> cluster_spec.Cluster:
    group = specs.group(
        image=dataclasses.replace(specs.IMAGE, os_distro=distro)
    )
    return specs.cluster(proxy=proxy, control_plane=group)


def _specs(cluster: cluster_spec.Cluster) -> list[Any]:
    """The kubeadm configuration of control plane and workers."""
    made = egress.TOPIC.cluster(cluster)
    return [
        made[machines]["kubeadmConfigSpec"]
        for machines in ("controlPlane", "nodeGroupDefaults")
    ]


def _setup(proxy: cluster_spec.Proxy, distro: str = "ubuntu") -> Any:
    return _specs(_cluster(proxy, distro))[0]


class SetupTest(base.BaseTestCase):
    def test_each_distribution_has_its_files_and_commands(self) -> None:
        restart = {
            "preKubeadmCommands": [
                "systemctl daemon-reload",
                "systemctl restart containerd",
            ]
        }
        for distro, files, commands in (
            ("ubuntu", [ENVIRONMENT, DROP_IN, APT], restart),
            ("debian", [ENVIRONMENT, DROP_IN, APT], restart),
            ("rocky", [ENVIRONMENT, DROP_IN], restart),
            # Its files are there before containerd starts.
            ("flatcar", [ENVIRONMENT, DROP_IN], {}),
        ):
            self.assertEqual(
                {"files": files, **commands}, _setup(PROXY, distro), distro
            )

    def test_exceptions_alone_need_no_proxy(self) -> None:
        proxy = cluster_spec.Proxy(exceptions=("a.example.org",))
        self.assertEqual({}, egress.TOPIC.cluster(_cluster(proxy)))

    def test_an_http_proxy_is_not_used_for_https(self) -> None:
        environment, _, apt = _setup(cluster_spec.Proxy(http="http://p:3128"))[
            "files"
        ]
        self.assertEqual(
            f"HTTP_PROXY=http://p:3128\nNO_PROXY={INSIDE}\n",
            environment["content"],
        )
        self.assertEqual(
            'Acquire::http::Proxy "http://p:3128";\n', apt["content"]
        )

    def test_all_that_is_inside_is_reached_directly(self) -> None:
        cluster = specs.cluster(
            {
                "pods_cidr": "10.100.0.0/16,fd00:1::/56",
                "service_cluster_ip_range": "10.254.0.0/16,fd00:2::/112",
                "dns_cluster_domain": "k8s.example.org",
            },
            proxy=cluster_spec.Proxy(http="http://p:3128"),
            network=cluster_spec.Network(
                fixed_id="net",
                subnet_cidrs=("192.168.0.0/24", "fd00:3::/64"),
            ),
        )
        environment = _specs(cluster)[1]["files"][0]
        self.assertEqual(
            "HTTP_PROXY=http://p:3128\n"
            "NO_PROXY=localhost,127.0.0.1,::1,169.254.169.254,"
            "10.100.0.0/16,fd00:1::/56,10.254.0.0/16,fd00:2::/112,"
            "192.168.0.0/24,fd00:3::/64,.svc,.k8s.example.org\n",
            environment["content"],
        )


class CheckTest(base.BaseTestCase):
    ACCEPTED = (
        "http://proxy.example.org:3128",
        "https://10.0.0.1",
        "http://[fd00::1]:3128/",
        "http://user:p%40ss@proxy:3128",
    )
    REFUSED = (
        "proxy.example.org:3128",
        "socks5://proxy:1080",
        "http://proxy:3128/path",
        "http://proxy:3128\nFOO=bar",
        "http://proxy:3128\n",
        'http://proxy:3128";',
        "http://proxy :3128",
        "http://us'er:pw@proxy:3128",
        "http://{{ds}}@proxy:3128",
        "http://us\\er@proxy",
    )

    def test_only_urls_of_proxies_are_accepted_and_no_other_is_shown(
        self,
    ) -> None:
        for name in ("http", "https"):
            for url in (*self.ACCEPTED, *self.REFUSED):
                fields: dict[str, Any] = {name: url}
                found = specs.refusal(
                    egress.TOPIC.check, _cluster(cluster_spec.Proxy(**fields))
                )
                wrong = (
                    f"{name}_proxy of the template: give a URL, with special "
                    "characters of a password as %XX. An example is "
                    "http://proxy.example.org:3128"
                )
                self.assertEqual(wrong if url in self.REFUSED else "", found)
        self.assertNotIn("p%40ss", repr(_cluster(PROXY)))

    def test_invalid_exceptions_are_refused(self) -> None:
        good = ("*", ".example.org", "*.example.org", "10.0.0.0/8", "[::1]:80")
        egress.TOPIC.check(_cluster(cluster_spec.Proxy(exceptions=good)))
        for bad in ("a b", "a\nFOO=bar", "$(id)", "{{ds}}"):
            self.assertEqual(
                "no_proxy: give host names, domains, addresses and networks "
                f"separated by commas. {bad!r} is none",
                specs.refusal(
                    egress.TOPIC.check,
                    _cluster(cluster_spec.Proxy(exceptions=(bad,))),
                ),
            )


SITE = cluster_spec.Site(
    trusted_cas=(("openstack", "PEM 1\n"), ("proxy", "PEM 2\n"))
)
FLATCAR, ROCKY, DEBIAN = (
    dataclasses.replace(
        specs.cluster().control_plane,
        image=dataclasses.replace(specs.IMAGE, os_distro=distro),
    )
    for distro in ("flatcar", "rocky", "debian")
)


class TrustTest(base.BaseTestCase):
    def test_without_any_there_is_nothing_to_say(self) -> None:
        for cluster in (specs.cluster(), specs.cluster(control_plane=FLATCAR)):
            self.assertEqual({}, egress.TRUST.cluster(cluster))

    def test_on_ubuntu_and_debian_the_chart_does_it(self) -> None:
        for cluster in (
            specs.cluster(site=SITE),
            specs.cluster(site=SITE, control_plane=DEBIAN),
        ):
            self.assertEqual(
                {"trustedCAs": {"openstack": "PEM 1\n", "proxy": "PEM 2\n"}},
                egress.TRUST.cluster(cluster),
            )

    def test_other_distributions_have_another_folder(self) -> None:
        for group, folder, command in (
            (FLATCAR, "/etc/ssl/certs", "update-ca-certificates"),
            (ROCKY, "/etc/pki/ca-trust/source/anchors", "update-ca-trust"),
        ):
            found = values.build(specs.cluster(site=SITE, control_plane=group))
            self.assertNotIn("trustedCAs", found)
            expected = {
                "files": [
                    {
                        "path": f"{folder}/{name}.pem",
                        "owner": "root:root",
                        "permissions": "0644",
                        "content": pem,
                    }
                    for name, pem in SITE.trusted_cas
                ],
                "preKubeadmCommands": [command],
            }
            for machines in ("controlPlane", "nodeGroupDefaults"):
                self.assertEqual(
                    expected, found[machines]["kubeadmConfigSpec"], machines
                )


OPERATORS = cluster_spec.Site(registry_mirror="mirror.example.org:5000/all")
URL = "https://mirror.example.org:5000/v2/all"
INSECURE = {
    "upstream": "http://10.0.0.9:5000",
    "mirrors": [{"url": "https://10.0.0.9:5000/v2", "skipVerify": True}],
}


def _values(mirrors: str | None = None, **changes: Any) -> Any:
    given = {} if mirrors is None else {"registry_mirrors": mirrors}
    return egress.REGISTRIES.cluster(specs.cluster(given, **changes))


def _mirrors(mirrors: str | None = None, **changes: Any) -> Any:
    return _values(mirrors, **changes)["registryMirrors"]


class MirrorsTest(base.BaseTestCase):
    def test_mirrors_of_a_registry_are_asked_in_the_order_given(self) -> None:
        self.assertEqual(
            {
                "docker.io": [
                    "https://one.example.org/v2/docker.io",
                    "http://two.example.org:5000/v2",
                ],
                "quay.io": ["https://one.example.org/v2/quay.io"],
            },
            _mirrors(
                "docker.io=https://one.example.org/v2/docker.io,"
                "quay.io=https://one.example.org/v2/quay.io/ "
                "docker.io=http://two.example.org:5000"
            ),
        )

    def test_an_address_gets_the_path_of_the_api_as_containerd_does(
        self,
    ) -> None:
        for given, sent in (
            ("https://m.example.org", "https://m.example.org/v2"),
            ("https://m.example.org/", "https://m.example.org/v2"),
            ("https://m.example.org/v2", "https://m.example.org/v2"),
            ("https://m.example.org/hub", "https://m.example.org/hub/v2"),
            ("https://m.example.org/v2/hub", "https://m.example.org/v2/hub"),
            ("https://v2.example.org", "https://v2.example.org/v2"),
        ):
            self.assertEqual(
                {"docker.io": [sent]}, _mirrors(f"docker.io={given}"), given
            )

    def test_none_takes_one_mirror_of_the_chart_away_or_all(self) -> None:
        self.assertEqual({"quay.io": None}, _mirrors("quay.io=none"))
        self.assertIsNone(_mirrors("none"))

    def test_text_of_an_option_reads_as_it_was_written(self) -> None:
        kind: Any = egress.MIRRORS.type
        for text in ("none", "a.org=https://m.org/v2,b.org=none"):
            self.assertEqual(text, kind._formatter(kind(text)))


class OperatorsMirrorTest(base.BaseTestCase):
    def test_the_operators_mirror_replaces_every_registry(self) -> None:
        self.assertEqual(
            {
                "registryMirrors": {
                    registry: {
                        "upstream": f"{URL}/{registry}",
                        "mirrors": [f"{URL}/{registry}"],
                    }
                    for registry in (
                        "docker.io",
                        "gcr.io",
                        "ghcr.io",
                        "nvcr.io",
                        "quay.io",
                        "registry.k8s.io",
                    )
                },
                "autoscaler": {
                    "image": {
                        "repository": "mirror.example.org:5000/all/"
                        "registry.k8s.io/autoscaling/cluster-autoscaler"
                    }
                },
            },
            _values(site=OPERATORS),
        )

    def test_a_users_mirror_is_asked_before_it_or_replaces_it(self) -> None:
        mine = "https://mine.example.org"
        found = _mirrors(f"docker.io={mine},my.org={mine}", site=OPERATORS)
        upstream = f"{URL}/docker.io"
        self.assertEqual(
            (
                {"upstream": upstream, "mirrors": [f"{mine}/v2", upstream]},
                [f"{URL}/quay.io"],
                # A registry that it does not mirror.
                [f"{mine}/v2"],
            ),
            (
                found["docker.io"],
                found["quay.io"]["mirrors"],
                found["my.org"],
            ),
        )
        self.assertIsNone(_mirrors("none", site=OPERATORS))
        found = _mirrors("docker.io=none", site=OPERATORS)
        self.assertIsNone(found["docker.io"])
        # Its own path is empty.
        bare = cluster_spec.Site(registry_mirror="mirror.example.org")
        self.assertEqual(
            "https://mirror.example.org/v2/quay.io",
            _mirrors(site=bare)["quay.io"]["upstream"],
        )


class InsecureRegistryTest(base.BaseTestCase):
    def test_beside_no_mirrors_it_stays(self) -> None:
        self.assertEqual(
            {
                "docker.io": None,
                "ghcr.io": None,
                "nvcr.io": None,
                "quay.io": None,
                "registry.k8s.io": None,
                "10.0.0.9:5000": INSECURE,
            },
            _mirrors("none", insecure_registry="10.0.0.9:5000"),
        )

    def test_an_invalid_host_of_a_registry_is_refused(self) -> None:
        for host in ("http://10.0.0.9", "10.0.0.9/images", "a b", "x:port"):
            self.assertEqual(
                "insecure_registry: give a registry as host or host:port. It "
                f"is {host!r}",
                specs.refusal(
                    egress.REGISTRIES.check,
                    specs.cluster(insecure_registry=host),
                ),
            )

    def test_words_of_a_boolean_are_no_registry(self) -> None:
        for word in ("true", "YES", "on"):
            for check in (egress.is_registry, egress.is_prefix):
                self.assertFalse(check(word), word)
            self.assertEqual(word, egress.given(word))
            self.assertRaises(errors.LabelError, egress.PREFIX.parse, word)
        for word in ("false", "False", "no", "none", "null", "OFF", ""):
            self.assertEqual("", egress.given(word))
            self.assertEqual("", egress.PREFIX.parse(word))
        self.assertEqual("", egress.given(None))
        for registry in ("none.example.org", "true:5000", "on/images"):
            self.assertTrue(egress.is_prefix(registry))
            self.assertEqual(registry, egress.given(registry))

    def test_a_registry_has_the_length_of_a_host(self) -> None:
        longest = "a" * 253
        self.assertTrue(egress.is_registry(longest))
        self.assertFalse(egress.is_registry(f"{longest}a"))


def _prefixed(prefix: str, **labels: str) -> Any:
    """The mirrors that come of a prefix and other labels."""
    given = {"container_infra_prefix": prefix, **labels}
    return egress.REGISTRIES.cluster(specs.cluster(given))["registryMirrors"]


class PrefixTest(base.BaseTestCase):
    def test_machines_ask_it_before_every_registry(self) -> None:
        registries = ("docker.io", "gcr.io", "ghcr.io", "nvcr.io", "quay.io")
        for prefix, url in (
            ("reg.example.org:5000", "https://reg.example.org:5000/v2"),
            ("reg.example.org/k8s", "https://reg.example.org/v2/k8s"),
        ):
            self.assertEqual(
                {
                    each: [f"{url}/{each}"]
                    for each in (*registries, "registry.k8s.io")
                },
                _prefixed(prefix),
            )

    def test_other_mirrors_replace_or_follow_it(self) -> None:
        prefix = "reg.example.org"
        mirrors = "docker.io=https://mine.example.org quay.io=none"
        found = _prefixed(prefix, registry_mirrors=mirrors)
        self.assertEqual(
            (["https://mine.example.org/v2"], None),
            (found["docker.io"], found["quay.io"]),
        )
        self.assertIsNone(_prefixed(prefix, registry_mirrors="none"))
        cluster = specs.cluster(
            {"container_infra_prefix": prefix}, site=OPERATORS
        )
        found = egress.REGISTRIES.cluster(cluster)["registryMirrors"]
        upstream = f"{URL}/quay.io"
        self.assertEqual(
            {
                "upstream": upstream,
                "mirrors": ["https://reg.example.org/v2/quay.io", upstream],
            },
            found["quay.io"],
        )

    def test_a_tenant_never_chooses_what_the_management_cluster_runs(
        self,
    ) -> None:
        given = {
            "container_infra_prefix": "evil.example.org",
            "registry_mirrors": "registry.k8s.io=https://evil.org",
        }
        found = egress.REGISTRIES.cluster(specs.cluster(given))
        self.assertNotIn("autoscaler", found)


class PasswordsTest(base.BaseTestCase):
    def test_they_go_where_the_chart_makes_a_secret_of_them(self) -> None:
        auth = (("reg.example.org", "me", "word"),)
        login = {"username": "me", "password": "word"}
        self.assertEqual(
            {"registryAuth": {"reg.example.org": login}},
            _values(site=cluster_spec.Site(registry_auth=auth)),
        )
