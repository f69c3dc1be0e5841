# SPDX-License-Identifier: Apache-2.0

"""Registries: whole values."""

from __future__ import annotations

from typing import Any

from oslotest import base

from magnum_capi_helm.features import egress
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.unit.features import specs

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

    def test_an_invalid_mirror_is_refused(self) -> None:
        for value in (
            *("", ",", "https://mirror.example.org", "docker.io="),
            "docker.io=mirror.example.org",
            "docker.io=none,docker.io=https://mirror.example.org",
            "none,docker.io=https://mirror.example.org",
            "docker.io=https://user:word@mirror.example.org",
            'docker.io=https://mirror.example.org/"]',
            "docker.io/library=https://mirror.example.org",
            *("../etc=https://mirror.example.org", "docker.io=file:///etc"),
        ):
            self.assertIn(
                "give registry=URL pairs",
                specs.refusal(egress.MIRRORS.parse, value),
            )

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
