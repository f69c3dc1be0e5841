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
    def test_defaults_leave_the_registries_of_the_chart(self) -> None:
        self.assertEqual({}, _values())

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
            "",
            ",",
            "https://mirror.example.org",
            "docker.io=mirror.example.org",
            "docker.io=",
            "docker.io=none,docker.io=https://mirror.example.org",
            "none,docker.io=https://mirror.example.org",
            "docker.io=https://user:word@mirror.example.org",
            'docker.io=https://mirror.example.org/"]',
            "docker.io/library=https://mirror.example.org",
            "../etc=https://mirror.example.org",
            "docker.io=file:///etc",
        ):
            error = self.assertRaises(
                errors.LabelError, egress.MIRRORS.parse, value
            )
            self.assertIn("give registry=URL pairs", str(error))

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

    def test_a_mirror_without_a_path_has_paths_of_registries(self) -> None:
        found = _mirrors(
            site=cluster_spec.Site(registry_mirror="mirror.example.org")
        )
        self.assertEqual(
            "https://mirror.example.org/v2/quay.io",
            found["quay.io"]["upstream"],
        )

    def test_a_users_mirror_is_asked_before_it(self) -> None:
        found = _mirrors("docker.io=https://mine.example.org", site=OPERATORS)
        self.assertEqual(
            {
                "upstream": f"{URL}/docker.io",
                "mirrors": [
                    "https://mine.example.org/v2",
                    f"{URL}/docker.io",
                ],
            },
            found["docker.io"],
        )
        self.assertEqual([f"{URL}/quay.io"], found["quay.io"]["mirrors"])

    def test_a_registry_that_it_does_not_mirror_is_the_users(self) -> None:
        found = _mirrors("my.org=https://mine.example.org", site=OPERATORS)
        self.assertEqual(["https://mine.example.org/v2"], found["my.org"])

    def test_a_user_who_wants_none_gets_none(self) -> None:
        self.assertIsNone(_mirrors("none", site=OPERATORS))
        self.assertIsNone(
            _mirrors("docker.io=none", site=OPERATORS)["docker.io"]
        )


class InsecureRegistryTest(base.BaseTestCase):
    def test_an_insecure_registry_is_asked_unverified_and_by_http(
        self,
    ) -> None:
        self.assertEqual(
            {"10.0.0.9:5000": INSECURE},
            _mirrors(insecure_registry="10.0.0.9:5000"),
        )

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
            error = self.assertRaises(
                errors.InvalidInput,
                egress.REGISTRIES.check,
                specs.cluster(insecure_registry=host),
            )
            self.assertEqual(
                "insecure_registry: give a registry as host or host:port. It "
                f"is {host!r}",
                str(error),
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

    def test_a_registry_and_none_at_all_pass(self) -> None:
        egress.REGISTRIES.check(specs.cluster())
        egress.REGISTRIES.check(specs.cluster(insecure_registry="reg:5000"))

    def test_a_registry_has_the_length_of_a_host(self) -> None:
        longest = "a" * 253
        self.assertTrue(egress.is_registry(longest))
        self.assertFalse(egress.is_registry(f"{longest}a"))


def _prefixed(prefix: str, **labels: str) -> Any:
    """The mirrors that come of a prefix and other labels."""
    given = {"container_infra_prefix": prefix, **labels}
    return egress.REGISTRIES.cluster(specs.cluster(given))["registryMirrors"]


class PrefixTest(base.BaseTestCase):
    def test_kubeadm_takes_its_images_from_there(self) -> None:
        for given in ("reg.example.org:5000/k8s", "reg.example.org:5000/k8s/"):
            found = egress.REGISTRIES.cluster(
                specs.cluster({"container_infra_prefix": given})
            )
            self.assertEqual(
                {
                    "kubeadmConfigSpec": {
                        "clusterConfiguration": {
                            "imageRepository": "reg.example.org:5000/k8s"
                        }
                    }
                },
                found["controlPlane"],
            )

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

    def test_mirrors_of_the_user_replace_it(self) -> None:
        found = _prefixed(
            "reg.example.org",
            registry_mirrors="docker.io=https://mine.example.org quay.io=none",
        )
        self.assertEqual(
            (["https://mine.example.org/v2"], None),
            (found["docker.io"], found["quay.io"]),
        )
        self.assertIsNone(
            _prefixed("reg.example.org", registry_mirrors="none")
        )

    def test_the_operators_mirror_follows_it(self) -> None:
        found = egress.REGISTRIES.cluster(
            specs.cluster(
                {"container_infra_prefix": "reg.example.org"}, site=OPERATORS
            )
        )["registryMirrors"]
        self.assertEqual(
            {
                "upstream": f"{URL}/quay.io",
                "mirrors": [
                    "https://reg.example.org/v2/quay.io",
                    f"{URL}/quay.io",
                ],
            },
            found["quay.io"],
        )

    def test_a_tenant_never_chooses_what_the_management_cluster_runs(
        self,
    ) -> None:
        found = egress.REGISTRIES.cluster(
            specs.cluster(
                {
                    "container_infra_prefix": "evil.example.org",
                    "registry_mirrors": "registry.k8s.io=https://evil.org",
                }
            )
        )
        self.assertNotIn("autoscaler", found)


class PasswordsTest(base.BaseTestCase):
    def test_they_go_where_the_chart_makes_a_secret_of_them(self) -> None:
        site = cluster_spec.Site(
            registry_auth=(("reg.example.org", "me", "word"),)
        )
        self.assertEqual(
            {
                "registryAuth": {
                    "reg.example.org": {"username": "me", "password": "word"}
                }
            },
            _values(site=site),
        )
