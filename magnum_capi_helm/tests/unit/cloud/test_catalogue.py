# SPDX-License-Identifier: Apache-2.0

"""OpenStack's catalogue, asked over HTTP with real clients."""

from __future__ import annotations

import types
from typing import Any

from oslotest import base as oslotest_base

from magnum_capi_helm.cloud import catalogue
from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.config import conf
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors
from magnum_capi_helm.tests.fakes import held
from magnum_capi_helm.tests.fakes import openstack
from magnum_capi_helm.tests.unit.lifecycle import base


class CloudTest(oslotest_base.BaseTestCase):
    """What a cluster needs to know of its cloud."""

    def setUp(self) -> None:
        super().setUp()
        self.useFixture(held.Lease())
        self.openstack = base.configure(self)
        self.cloud = catalogue.Cloud(openstack.session())

    def test_an_image_by_name_and_by_id(self) -> None:
        image = self.openstack.images[0]
        expected = cluster_spec.Image(
            id=image["id"],
            name="ubuntu-1.34",
            kube_version="1.34.2",
            os_distro="ubuntu",
        )
        self.assertEqual(expected, self.cloud.image("ubuntu-1.34"))
        self.assertEqual(expected, self.cloud.image(image["id"]))

    def test_deleted_images_and_flavors_are_remembered(self) -> None:
        image = cluster_spec.Image("i-1", "gone", "1.33.1", "ubuntu")
        flavor = cluster_spec.Flavor("old", 0, 0, 20)
        present = self.cloud.image("ubuntu-1.34")
        self.cloud.remember(
            {"gone": image, "ubuntu-1.34": image}, {"old": flavor}
        )
        self.assertEqual(image, self.cloud.image("gone"))
        self.assertEqual(present, self.cloud.image(present.id))
        self.assertEqual(flavor, self.cloud.flavor("old"))
        for lookup in (self.cloud.image, self.cloud.flavor):
            with self.assertRaisesRegex(errors.InvalidInput, "no such"):
                lookup("lost")

    def test_an_image_needs_its_distribution_alone(self) -> None:
        self.openstack.images = [
            openstack.image("bare", os_distro=None),
            openstack.image("large", kube_version=None, min_disk=40),
        ]
        with self.assertRaisesRegex(
            errors.InvalidInput, "--property os_distro=ubuntu"
        ):
            self.cloud.image("bare")
        found = self.cloud.image("large")
        self.assertEqual(("", 40), (found.kube_version, found.min_disk))

    def test_public_images_that_are_active_and_not_hidden(self) -> None:
        image = openstack.image
        self.openstack.images = [
            image("good", architecture="x86_64", min_disk=10),
            image("shared", visibility="shared"),
            image("community", visibility="community"),
            image("private", visibility="private"),
            image("hidden", os_hidden=True),
            image("saving", status="saving"),
            image("bare", os_distro=None),
        ]
        identity = self.openstack.images[0]["id"]
        expected = cluster_spec.Image(
            identity, "good", "1.34.2", "ubuntu", 10, "x86_64"
        )
        self.assertEqual((expected,), self.cloud.public_images())

    def test_a_keypair_is_found_and_imported_for_its_user(self) -> None:
        keys = self.openstack.keypairs.keys
        keys["somebody", "mine"] = "ssh-rsa BBBB theirs"
        for user, key in (
            (None, "ssh-ed25519 AAAA mine"),
            ("somebody", "ssh-rsa BBBB theirs"),
        ):
            self.assertEqual(
                cluster_spec.Keypair("mine", key),
                self.cloud.keypair("mine", user_id=user),
            )
        self.assertIsNone(self.cloud.keypair("new"))
        self.cloud.import_keypair(cluster_spec.Keypair("new", "ssh-rsa CCCC"))
        self.assertIsNotNone(self.cloud.keypair("new"))
        self.assertEqual("ssh-rsa CCCC", keys["", "new"])

    def test_flavors_are_asked_for_beside_the_images(self) -> None:
        self.cloud.prefetch(["ubuntu-1.34"])
        asked = self.openstack.mocker.call_count
        self.assertEqual("ubuntu-1.34", self.cloud.image("ubuntu-1.34").name)
        self.assertEqual("m1.medium", self.cloud.flavor("m1.medium").name)
        self.assertEqual(asked, self.openstack.mocker.call_count)

    def test_a_flavor_by_name_and_by_id(self) -> None:
        flavor = self.openstack.flavors[0]
        expected = cluster_spec.Flavor("m1.medium", vcpus=2, ram=4096, disk=20)
        for ref in ("m1.medium", flavor["id"]):
            self.assertEqual(expected, self.cloud.flavor(ref))

    def test_zones_and_types_are_asked_for_once(self) -> None:
        asked = self.openstack.mocker.call_count
        choices: Any = self.cloud.choices
        for ask, question, found in (
            (choices, ("availability zones of Nova",), ("az1", "az2")),
            (choices, ("availability zones of Cinder",), ("nova",)),
            (choices, ("providers of load balancers",), ("amphora", "ovn")),
            (choices, ("flavors of load balancers",), ("ha", "small")),
            (choices, ("availability zones of load balancers",), ("az1",)),
            # Without Cinder's placeholder.
            (choices, ("volume types",), ("fast", "slow")),
            (self.cloud.default_volume_type, (), "slow"),
        ):
            self.assertEqual(found, ask(*question))
            before, asked = asked, self.openstack.mocker.call_count
            self.assertLess(before, asked)
            self.assertEqual(found, ask(*question))
            self.assertEqual(asked, self.openstack.mocker.call_count)

    def test_flavors_are_asked_for_once(self) -> None:
        self.cloud.flavor("m1.medium")
        asked = self.openstack.mocker.call_count
        self.cloud.flavor("m1.medium")
        self.assertEqual(asked, self.openstack.mocker.call_count)

    def test_networks_subnets_and_groups_by_name_and_by_id(self) -> None:
        group = self.openstack.workloads.group("web", "")
        self.openstack.workloads.group("db", "")
        for ref in ("public", "net-1"):
            self.assertEqual("net-1", self.cloud.network(ref))
        for ref in ("private-subnet", "subnet-2"):
            self.assertEqual("subnet-2", self.cloud.subnet(ref).id)
        for ref in ("web", group):
            self.assertEqual(group, self.cloud.security_group(ref))

    def test_an_absent_object_is_named_with_the_command_to_list(self) -> None:
        for ask, words in (
            (self.cloud.image, "openstack image list"),
            (self.cloud.flavor, "openstack flavor list"),
            (self.cloud.network, "openstack network list"),
            (self.cloud.subnet, "openstack subnet list"),
            (self.cloud.security_group, "openstack security group list"),
        ):
            with self.assertRaisesRegex(errors.InvalidInput, words):
                ask("nothing")
        self.openstack.default_volume_type = "gone"
        self.assertIsNone(self.cloud.default_volume_type())

    def test_a_service_that_does_not_answer_is_said_in_one_line(self) -> None:
        for url, ask in (
            (openstack.IMAGE, lambda: self.cloud.image("x")),
            (openstack.COMPUTE, lambda: self.cloud.flavor("x")),
            (openstack.NETWORK, lambda: self.cloud.network("x")),
            (openstack.VOLUME, lambda: self.cloud.choices("volume types")),
            (openstack.VOLUME, self.cloud.default_volume_type),
        ):
            self.openstack.stop(url)
            error = self.assertRaises(errors.CloudError, ask)
            self.assertNotIn("\n", str(error))

    def test_a_service_that_refuses_is_a_fault(self) -> None:
        self.openstack.mocker.get(
            f"{openstack.COMPUTE}/flavors/detail", status_code=403
        )
        error = self.assertRaises(
            errors.CloudError, self.cloud.flavor, "m1.medium"
        )
        self.assertFalse(error.retriable)

    def test_keystone_as_machines_reach_it(self) -> None:
        self.assertEqual(
            "http://keystone.test/v3", self.cloud.cluster_identity_url()
        )

    def test_a_cloud_without_identity_endpoint_is_named(self) -> None:
        cloud = catalogue.Cloud(openstack.session(without="identity"))
        with self.assertRaisesRegex(
            errors.CloudError, "public endpoint for identity"
        ):
            cloud.cluster_identity_url()

    def test_the_region_is_the_operators_else_the_tokens(self) -> None:
        session = openstack.session()
        self.assertEqual("RegionOne", sessions.region(session))
        conf.CONF.set_override("region_name", "Two", "cinder_client")
        self.assertEqual("Two", sessions.region(session))

    def test_the_token_that_came_with_the_request_is_used(self) -> None:
        self.cloud.flavor("m1.medium")
        history = self.openstack.mocker.request_history
        self.assertEqual(
            {"user-token"},
            {
                request.headers.get("X-Auth-Token")
                for request in history
                if request.path.endswith("/flavors/detail")
            },
        )
        self.assertNotIn("/v3/auth/tokens", [each.path for each in history])
        # A context without the token's data asks Keystone.
        context = types.SimpleNamespace(
            auth_token="user-token", auth_token_info=None
        )
        cloud = catalogue.Cloud(sessions.user_session(context))
        found = cloud.flavor("m1.medium")
        self.assertEqual("m1.medium", found.name)

    def test_every_request_has_a_deadline(self) -> None:
        self.assertEqual(30, openstack.session().timeout)
        self.assertEqual(30, sessions.service_session().timeout)


class IdentityUrlTest(oslotest_base.BaseTestCase):
    """Keystone's URL, however the operator wrote it."""

    def test_the_url_of_keystone_is_version_3(self) -> None:
        base.configure(self)
        for url in (
            "http://keystone.test",
            "http://keystone.test/",
            "http://keystone.test/v3",
            "http://keystone.test/v3/",
            "http://keystone.test/v2.0",
        ):
            conf.CONF.set_override("auth_url", url, "keystone_auth")
            self.assertEqual(
                "http://keystone.test/v3", sessions.identity_url()
            )
