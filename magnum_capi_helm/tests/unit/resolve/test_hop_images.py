# SPDX-License-Identifier: Apache-2.0

"""Images of the minor versions that an upgrade passes."""

from __future__ import annotations

import dataclasses
from typing import Any, cast

from oslotest import base

from magnum_capi_helm.cloud import catalogue
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors
from magnum_capi_helm.resolve import hop_images
from magnum_capi_helm.tests.fakes import cloud as fake_cloud


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


class HopImagesTest(base.BaseTestCase):
    """A cluster of ubuntu on arm moves to 1.37."""

    def setUp(self) -> None:
        super().setUp()
        images = {each.name: each for each in _IMAGES}
        public = tuple(each for each in images if each not in _PRIVATE)
        cloud = fake_cloud.FakeCloud(images=images, public=public)
        self.cloud = cast("catalogue.Cloud", cloud)

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
            error = self.assertRaises(
                errors.InvalidInput, self.choose, 34, 35, given=(item,)
            )
            self.assertIn(text, str(error))
