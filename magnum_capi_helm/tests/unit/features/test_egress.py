# SPDX-License-Identifier: Apache-2.0

"""Proxies and trusted CAs: whole files and commands of the machines."""

from __future__ import annotations

import dataclasses
from typing import Any

from oslotest import base

from magnum_capi_helm.chart import values
from magnum_capi_helm.features import egress
from magnum_capi_helm.model import cluster_spec
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
