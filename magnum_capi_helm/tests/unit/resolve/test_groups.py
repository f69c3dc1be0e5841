# SPDX-License-Identifier: Apache-2.0

"""What a row of a nodegroup becomes; images on an upgrade's way."""

from __future__ import annotations

import dataclasses
from typing import Any
import uuid

from oslotest import base as oslotest_base

from magnum_capi_helm.config import conf
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors
from magnum_capi_helm.resolve import groups
from magnum_capi_helm.resolve import hop_images
from magnum_capi_helm.resolve import requested_labels
from magnum_capi_helm.tests.fakes import cloud as fake_cloud
from magnum_capi_helm.tests.unit.features import specs
from magnum_capi_helm.tests.unit.lifecycle import base

UBUNTU = cluster_spec.Image(
    "i-1", "ubuntu-1.34", "1.34.2", "ubuntu", min_disk=10
)


class GroupsTestCase(base.FlowTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.known: Any = fake_cloud.FakeCloud(
            images={
                "ubuntu-1.34": UBUNTU,
                "bare": dataclasses.replace(UBUNTU, kube_version=""),
                "older": dataclasses.replace(UBUNTU, kube_version="1.33.6"),
                "odd": dataclasses.replace(UBUNTU, kube_version="main"),
                "historic": dataclasses.replace(
                    UBUNTU, os_distro="capi-kubeadm-cloudinit"
                ),
                "fedora": dataclasses.replace(
                    UBUNTU, os_distro="fedora-coreos"
                ),
                **{
                    each: dataclasses.replace(UBUNTU, os_distro=each)
                    for each in ("debian", "rocky", "rockylinux")
                },
            },
            flavors={
                "m1.medium": "m1.medium",
                "diskless": cluster_spec.Flavor("diskless", 2, 4096, 0),
                "tight": cluster_spec.Flavor("tight", 2, 4096, 8),
                "plain": cluster_spec.Flavor("plain", 2, 4096, 20),
                "local": cluster_spec.Flavor("local", 2, 4096, 20, 4),
            },
            types=("slow", "fast"),
        )

    def resolve(
        self, cluster: dict[str, Any] | None = None, **fields: Any
    ) -> cluster_spec.NodeGroup:
        row = self.saved(uuid=str(uuid.uuid4()), **(cluster or {}))
        group = self.nodegroup(row, **{"name": "more", **fields})
        return self.found(row, group)

    def found(self, row: Any, group: Any) -> cluster_spec.NodeGroup:
        asked = requested_labels.cluster_labels(row)
        outline = specs.cluster(release=base.RELEASE, labels=asked)
        return groups.resolve(row, group, self.known, outline)

    def refused(
        self, cluster: dict[str, Any] | None = None, **fields: Any
    ) -> str:
        error = self.assertRaises(
            errors.InvalidInput, self.resolve, cluster, **fields
        )
        self.assertNotIn("\n", str(error))
        return str(error)


class ImageTest(GroupsTestCase):
    def test_each_distribution_has_the_charts_name(self) -> None:
        for image, distro in {
            "historic": "ubuntu",
            "debian": "debian",
            "rocky": "rocky",
            "rockylinux": "rocky",
        }.items():
            found = self.resolve(image_id=image)
            self.assertEqual(distro, found.image.os_distro, image)
        self.assertIn(
            "image_id: choose an image whose os_distro is one of ubuntu, "
            "debian, rocky, rockylinux, flatcar",
            self.refused(image_id="fedora"),
        )

    def test_the_label_beside_an_image_decides_or_agrees(self) -> None:
        for image, tag, version in (
            ("bare", "v1.34.2", "1.34.2"),
            ("bare", "1.34.2", "1.34.2"),
            ("bare", "v1.23.3-rancher1", "1.23.3"),
            ("bare", "v1.35.0-rc.1", "1.35.0-rc.1"),
            ("bare", "v1.35.0-rc.1-build7", "1.35.0-rc.1"),
            *(
                ("ubuntu-1.34", tag, "1.34.2")
                for tag in ("v1.34.2", "1.34.2", "v1.34.2-rancher1", "")
            ),
        ):
            found = self.resolve(
                {"labels": {"kube_tag": tag}}, image_id=image, is_default=True
            )
            self.assertEqual(version, found.image.kube_version)

    def test_an_image_without_a_version_says_how_to_set_it(self) -> None:
        for image, words in (
            ("bare", "--property kube_version=v1.34.2 i-1"),
            ("bare", "kube_tag"),
            ("odd", "Image 'ubuntu-1.34' has 'main'"),
        ):
            self.assertIn(words, self.refused(image_id=image))

    def test_a_label_that_contradicts_the_image_is_refused(self) -> None:
        self.assertRegex(
            self.refused({"labels": {"kube_tag": "v1.33.6"}}, is_default=True),
            "^label kube_tag: .* 'v1.33.6'; image 'ubuntu-1.34' has v1.34.2$",
        )

    def test_a_further_group_may_have_an_older_image(self) -> None:
        found = self.resolve(
            {"labels": {"kube_tag": "v1.34.2"}}, image_id="older"
        )
        self.assertEqual("1.33.6", found.image.kube_version)


class DisksTest(GroupsTestCase):
    def test_a_flavor_without_a_disk_needs_a_volume(self) -> None:
        self.assertRegex(
            self.refused(flavor_id="diskless"),
            "the flavor has no disk; .* boot_volume_size,.* 'diskless'$",
        )
        found = self.resolve(
            flavor_id="diskless", labels={"boot_volume_size": "20"}
        )
        self.assertEqual(cluster_spec.Disk(20), found.boot_disk)

    def test_a_flavor_is_large_enough_for_its_role(self) -> None:
        # VCPUs and MiB, the operator's minimum, who may have the flavor.
        rows: tuple[tuple[tuple[int, int], tuple[int, int], str], ...] = (
            ((2, 2048), (2, 2048), "master worker"),
            ((1, 2048), (2, 2048), ""),
            ((2, 2047), (2, 2048), ""),
            ((1, 512), (1, 512), "worker"),
            ((2, 1700), (0, 0), "master worker"),
            ((2, 1699), (0, 0), "worker"),
            ((1, 1700), (0, 0), "worker"),
            ((4, 4096), (8, 4096), ""),
            # A flavor that Nova does not know any more.
            ((0, 0), (2, 2048), "master worker"),
        )
        for size, minimum, fits in rows:
            vcpus, ram = minimum
            conf.CONF.set_override("minimum_flavor_vcpus", vcpus, "capi_helm")
            conf.CONF.set_override("minimum_flavor_ram", ram, "capi_helm")
            self.known.flavors["sized"] = cluster_spec.Flavor(
                "sized", *size, 20
            )
            for role in ("master", "worker"):
                if role in fits:
                    self.resolve(role=role, flavor_id="sized")
                else:
                    self.assertIn(
                        f"has {size[0]} VCPUs and {size[1]} MiB",
                        self.refused(role=role, flavor_id="sized"),
                    )

    def test_a_disk_that_the_image_does_not_fit_on(self) -> None:
        self.assertRegex(
            self.refused(flavor_id="tight"),
            "flavor's disk has 8 GB, .* 10 GB. .*'tight', .* 'ubuntu-1.34'$",
        )
        self.assertRegex(
            self.refused(labels={"boot_volume_size": "5"}),
            "^boot_volume_size is 5 GB, .* 10 GB. .* 'ubuntu-1.34'$",
        )

    def test_labels_of_group_and_cluster_size_the_container_disk(self) -> None:
        for cluster, group, kind, label, expected in (
            (None, None, "", "", cluster_spec.Disk()),
            (30, None, "", "", cluster_spec.Disk(30)),
            (30, 50, "", "", cluster_spec.Disk(50)),
            (None, 30, "slow", "", cluster_spec.Disk(30, "slow")),
            (None, 30, "slow", "fast", cluster_spec.Disk(30, "fast")),
        ):
            option = ("default_docker_volume_type", kind or None, "cinder")
            conf.CONF.set_override(*option)
            found = self.resolve(
                {"docker_volume_size": cluster},
                docker_volume_size=group,
                labels={"docker_volume_type": label} if label else {},
            )
            self.assertEqual(expected, found.container_disk)

    def test_a_local_disk_that_the_flavor_lacks_is_refused(self) -> None:
        label, value = "etcd_blockdevice_size", "etcd_blockdevice_type"
        given = {label: "4", value: "local"}
        self.assertEqual(
            "label etcd_blockdevice_size: give at most the size of the "
            "flavor's ephemeral disk, or etcd_blockdevice_type=volume. It is "
            "'4'; flavor 'plain' has 0 GB",
            self.refused({"labels": given}, flavor_id="plain", role="master"),
        )
        self.resolve({"labels": given}, flavor_id="local", role="master")
        volume = {**given, value: "volume"}
        self.resolve({"labels": volume}, flavor_id="plain", role="master")


class NodesTest(GroupsTestCase):
    def nodes(
        self, role: str = "worker", **fields: Any
    ) -> cluster_spec.NodeGroup:
        """A group; its row has ``fields`` in Magnum 23 and later."""
        cluster = self.saved(uuid=str(uuid.uuid4()))
        made = self.nodegroup(
            cluster,
            name="more",
            role=role,
            labels={
                "node_labels": "disk=hdd,team=a",
                "node_taints": "gpu=no:NoSchedule,slow:NoExecute",
            },
        )
        return self.found(cluster, _Row(made, fields))

    def test_the_fields_of_the_group_beat_its_labels(self) -> None:
        slow = cluster_spec.Taint("slow", "NoExecute")
        taints = [
            {"key": "gpu", "value": "yes", "effect": "NoSchedule"},
            {"key": "new", "effect": "NoSchedule"},
        ]
        labels = {"disk": "ssd", "size": "2"}
        for fields, labelled, tainted in (
            (
                {"node_labels": labels, "node_taints": taints},
                (("disk", "ssd"), ("team", "a"), ("size", "2")),
                (
                    cluster_spec.Taint("gpu", "NoSchedule", "yes"),
                    slow,
                    cluster_spec.Taint("new", "NoSchedule"),
                ),
            ),
            # A Magnum that has no such fields.
            (
                {},
                (("disk", "hdd"), ("team", "a")),
                (cluster_spec.Taint("gpu", "NoSchedule", "no"), slow),
            ),
            # The control plane keeps its own.
            ({"role": "master"}, (), ()),
        ):
            found = self.nodes(**fields)
            self.assertEqual(
                (labelled, tainted), (found.node_labels, found.taints)
            )

    def test_fields_that_are_not_allowed(self) -> None:
        reserved = {"node-role.kubernetes.io/x": ""}
        never = [{"key": "a", "effect": "Never"}]
        value: Any
        for field, value, words in (
            (
                "node_labels",
                reserved,
                "node-role.kubernetes.io/x is Kubernetes'",
            ),
            ("node_taints", never, "'Never' is no effect"),
            ("node_taints", [{"effect": "NoSchedule"}], "'' is no key"),
        ):
            with self.assertRaisesRegex(
                errors.InvalidInput, f"nodegroup 'more': {words}"
            ):
                self.nodes(**{field: value})


class ReferencesTest(GroupsTestCase):
    def test_an_unknown_zone_or_type_is_refused_with_the_known(self) -> None:
        zones, kinds = "az1, az2", "fast, slow"
        for label, what, there in (
            ("availability_zone", "a Nova availability zone", zones),
            ("boot_volume_availability_zone", "a Cinder avail", "nova"),
            ("boot_volume_type", "a Cinder volume type", kinds),
            ("docker_volume_type", "a Cinder volume type", kinds),
            ("extra_volumes", "", kinds),
        ):
            further = "data:1,logs:2:" if label == "extra_volumes" else ""
            text = self.refused(labels={label: f"{further}mars"})
            self.assertIn(f"label {label}: ", text)
            self.assertIn(what, text)
            self.assertIn(
                f"'mars' is none of those that are there ({there})", text
            )

    def test_labels_of_the_cluster_are_looked_up_for_the_master(self) -> None:
        for label, value, there in (
            ("control_plane_availability_zones", "az1,mars", "az1, az2"),
            ("etcd_blockdevice_volume_az", "mars", "nova"),
            ("etcd_blockdevice_volume_type", "mars", "fast, slow"),
            ("csi_cinder_availability_zone", "mars", "nova"),
        ):
            cluster = {"labels": {label: value}}
            text = self.refused(cluster, role="master")
            self.assertIn(f"label {label}: ", text)
            self.assertIn(f"({there})", text)
            self.resolve(cluster)

    def test_known_zones_and_types_and_empty_labels_are_accepted(self) -> None:
        for given in (
            {
                "availability_zone": "az2",
                "control_plane_availability_zones": "az1,az2",
                "boot_volume_size": "20",
                "boot_volume_type": "fast",
                "boot_volume_availability_zone": "nova",
                "etcd_blockdevice_volume_type": "slow",
                "extra_volumes": "data:1,logs:2:slow",
            },
            {
                "availability_zone": "",
                "control_plane_availability_zones": "az1,",
                "etcd_blockdevice_volume_type": "",
            },
        ):
            self.resolve({"labels": given}, role="master")

    def test_defaults_need_not_be_there(self) -> None:
        self.known.zones_of_volumes = ("mars",)
        for name in ("availability_zone", "boot_volume_type"):
            conf.CONF.set_override(name, "gone", "capi_helm_cluster_labels")
        self.resolve(role="master")

    def test_a_service_is_not_asked_without_need(self) -> None:
        cloud: Any = self.known
        cloud.choices = None
        self.resolve(role="master")


class _Row:
    """A nodegroup's row with the fields of a newer Magnum, or without."""

    def __init__(self, row: Any, fields: dict[str, Any]) -> None:
        self._row = row
        self._fields = fields

    def __getattr__(self, name: str) -> Any:
        if name in ("node_labels", "node_taints"):
            if name not in self._fields:
                raise AttributeError(name)
            return self._fields[name]
        return getattr(self._row, name)


def _image(name: str, version: str, **fields: Any) -> cluster_spec.Image:
    image = cluster_spec.Image(f"i-{name}", name, version, "ubuntu", 10, "arm")
    return dataclasses.replace(image, **fields)


_IMAGES = (
    _image("public-34", "1.34.7"),
    _image("public-35", "1.35.2"),
    _image("public-35-old", "1.35.1"),
    _image("public-35-rc", "1.35.9-rc.1"),
    _image("flatcar-35", "1.35.8", os_distro="flatcar"),
    _image("intel-35", "1.35.8", architecture="x86_64"),
    _image("large-35", "1.35.8", min_disk=21),
    _image("template-34", "1.34.3"),
    _image("shared-36", "1.36.5"),
    _image("my-34", "1.34.1"),
    _image("bare", ""),
    _image("unknown", "main"),
)
_PRIVATE = ("template-34", "shared-36", "my-34", "bare")


class HopImagesTest(oslotest_base.BaseTestCase):
    """A cluster of ubuntu on arm moves to 1.37."""

    def setUp(self) -> None:
        super().setUp()
        images = {each.name: each for each in _IMAGES}
        public = tuple(each for each in images if each not in _PRIVATE)
        self.cloud: Any = fake_cloud.FakeCloud(images=images, public=public)

    def choose(
        self, *minors: int, given: Any = (), templates: Any = ()
    ) -> dict[int, tuple[str, str]]:
        target = _image("target", "1.37.0")
        search = hop_images.Search(
            minors, target, 20, given, templates, self.cloud
        )
        pairs = search.choose().items()
        return {k: (each.name, each.kube_version) for k, each in pairs}

    def test_the_newest_public_image_that_fits(self) -> None:
        expected = {34: ("public-34", "1.34.7"), 35: ("public-35", "1.35.2")}
        self.assertEqual(expected, self.choose(34, 35))

    def test_templates_beat_public_images_and_the_label_both(self) -> None:
        templates = ("deleted", "i-template-34", "unknown", "intel-35")
        public = ("public-35", "1.35.2")
        for given, expected in (
            ((), ("template-34", "1.34.3")),
            (("1.34=i-my-34", "1.36=deleted"), ("my-34", "1.34.1")),
            (("v1.34.9=bare",), ("bare", "1.34.9")),
            # The image's own property counts.
            (("1.34.9=my-34",), ("my-34", "1.34.1")),
        ):
            self.assertEqual(
                {34: expected, 35: public},
                self.choose(34, 35, given=given, templates=templates),
            )

    def test_all_versions_without_an_image_are_named_at_once(self) -> None:
        error = self.assertRaises(errors.NotSupported, self.choose, 33, 34, 36)
        self.assertEqual(
            "there is no image for a minor version of Kubernetes on the way: "
            "ask your operator for a public image of each, or for the label "
            "upgrade_images in the template. There is none for Kubernetes "
            "1.33 and 1.36, with kube_version v1.33.x and v1.36.x, os_distro "
            "ubuntu, architecture arm and min_disk up to 20",
            str(error),
        )

    def test_images_of_the_label_that_do_not_fit(self) -> None:
        for item, text in (
            ("1.34=deleted", "label upgrade_images: there is no such image"),
            ("1.34=public-35", "'1.34=public-35': the image has kube_version"),
            ("1.34=bare", "kube_version v1.34, os_distro ubuntu, archit"),
            ("1.35=intel-35", "architecture x86_64 and min_disk 10; wanted"),
            ("1.35=large-35", "min_disk 21; wanted are os_distro ubuntu, "),
        ):
            with self.assertRaisesRegex(errors.InvalidInput, text):
                self.choose(34, 35, given=(item,))
