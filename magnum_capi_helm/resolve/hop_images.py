# SPDX-License-Identifier: Apache-2.0

"""Images of the minor versions that an upgrade passes.

The first of these sources that has a minor version gives its newest image:

1. the label ``upgrade_images`` of the new template;
2. templates of this driver that the user sees;
3. public, active images that are not hidden.

An image that somebody has shared, or a community image, is never taken by
itself: its owner could change nodes of others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
import contextlib
import dataclasses
from typing import TYPE_CHECKING

from magnum_capi_helm.features import template
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import versions
from magnum_capi_helm.resolve import groups

if TYPE_CHECKING:
    from magnum_capi_helm.cloud import catalogue


@dataclasses.dataclass(frozen=True)
class Wanted:
    """The images that are wanted.

    :param minors: minor versions of Kubernetes
    :param like: the image whose distribution and architecture they have
    :param room: GB of the smallest disk
    """

    minors: Collection[int]
    like: cluster_spec.Image
    room: int

    def fits(self, image: cluster_spec.Image) -> bool:
        """Return whether machines can be made of an image, as of ``like``."""
        distribution = groups.DISTROS.get(image.os_distro)
        return (
            distribution == self.like.os_distro
            and image.architecture == self.like.architecture
            and image.min_disk <= self.room
        )

    @property
    def rule(self) -> str:
        """The properties of a fitting image, in words."""
        return _properties(self.like, f"up to {self.room}")


def _properties(image: cluster_spec.Image, disk: str) -> str:
    name = image.architecture
    architecture = f"architecture {name}" if name else "no architecture"
    return f"os_distro {image.os_distro}, {architecture} and min_disk {disk}"


def choose(
    wanted: Wanted,
    given: Iterable[str],
    templates: Iterable[str],
    cloud: catalogue.Cloud,
) -> dict[int, cluster_spec.Image]:
    """Return an image for each minor version.

    :param given: items of the label
    :param templates: images of templates, by UUID or name
    :raises InvalidInput: an item of the label does not fit
    :raises NotSupported: naming all minor versions without an image
    """
    chosen = _given(wanted, given, cloud)
    if missing := {*wanted.minors} - chosen.keys():
        chosen |= _newest(wanted, missing, _of_templates(templates, cloud))
    if missing := {*wanted.minors} - chosen.keys():
        chosen |= _newest(wanted, missing, cloud.public_images())
    if missing := {*wanted.minors} - chosen.keys():
        lost = [f"1.{each}" for each in sorted(missing)]
        raise errors.NotSupported(
            "there is no image for a minor version of Kubernetes on the way: "
            "ask your operator for a public image of each, or for the label "
            f"{template.UPGRADE_IMAGES.name} in the template. There is none "
            f"for Kubernetes {' and '.join(lost)}, with kube_version "
            f"{' and '.join(f'v{each}.x' for each in lost)}, {wanted.rule}"
        )
    return chosen


def _given(
    wanted: Wanted, given: Iterable[str], cloud: catalogue.Cloud
) -> dict[int, cluster_spec.Image]:
    """Return the images of the label.

    An image without ``kube_version`` needs an item with the whole version.
    """
    chosen, name = {}, template.UPGRADE_IMAGES.name
    for item in given:
        key, _, ref = item.partition("=")
        version = versions.number(key) or versions.number(f"{key}.0")
        if not version or version[1] not in wanted.minors:
            continue
        with errors.in_field(f"label {name}"):
            image = cloud.image(ref)
        image = dataclasses.replace(
            image, kube_version=image.kube_version or key.removeprefix("v")
        )
        number = versions.number(image.kube_version)
        if not number or number[:2] != version[:2] or not wanted.fits(image):
            raise errors.InvalidInput(
                f"label {name}: give images of the minor version before =, "
                "which fit the template's image. It is "
                f"{errors.shown(item)}: the image has kube_version "
                f"v{image.kube_version}, "
                f"{_properties(image, str(image.min_disk))}; wanted are "
                f"{wanted.rule}"
            )
        chosen[version[1]] = image
    return chosen


def _of_templates(
    refs: Iterable[str], cloud: catalogue.Cloud
) -> Iterator[cluster_spec.Image]:
    for ref in dict.fromkeys(refs):
        # The image of an old template may be deleted.
        with contextlib.suppress(errors.InvalidInput):
            yield cloud.image(ref)


def _newest(
    wanted: Wanted,
    minors: Collection[int],
    images: Iterable[cluster_spec.Image],
) -> dict[int, cluster_spec.Image]:
    """Return the image with the newest patch of each minor version."""
    numbered = [
        (number, image)
        for image in filter(wanted.fits, images)
        # A pre-release is for those who name it.
        if (number := versions.number(image.kube_version))
        and "-" not in image.kube_version
    ]
    numbered.sort(key=lambda each: each[0])
    return {
        number[1]: image for number, image in numbered if number[1] in minors
    }
