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

from magnum_capi_helm.cloud import catalogue
from magnum_capi_helm.features import template
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.model import versions


@dataclasses.dataclass(frozen=True)
class Search:
    """A search for images of minor versions of Kubernetes.

    :param minors: the minor versions
    :param like: the image whose distribution and architecture they have
    :param room: GB of the smallest disk
    :param label: items of the label
    :param templates: images of templates, by UUID or name
    """

    minors: Collection[int]
    like: cluster_spec.Image
    room: int
    label: Iterable[str]
    templates: Iterable[str]
    cloud: catalogue.Cloud

    def choose(self) -> dict[int, cluster_spec.Image]:
        """Return an image for each minor version.

        :raises InvalidInput: an item of the label does not fit
        :raises NotSupported: naming all minor versions without an image
        """
        chosen: dict[int, cluster_spec.Image] = {}
        for image in self._candidates():
            chosen.setdefault(_number(image)[1], image)
            if len(chosen) == len(self.minors):
                return chosen
        lost = [f"1.{e}" for e in sorted({*self.minors} - chosen.keys())]
        rule = _properties(self.like, f"up to {self.room}")
        raise errors.NotSupported(
            "there is no image for a minor version of Kubernetes on the way: "
            "ask your operator for a public image of each, or for the label "
            f"{template.UPGRADE_IMAGES.name} in the template. There is none "
            f"for Kubernetes {' and '.join(lost)}, with kube_version "
            f"{' and '.join(f'v{each}.x' for each in lost)}, {rule}"
        )

    def _candidates(self) -> Iterator[cluster_spec.Image]:
        """Yield images that fit, the best first; ask OpenStack as needed."""
        yield from self._of_label()
        yield from self._newest_first(self._of_templates())
        yield from self._newest_first(self.cloud.public_images())

    def _of_label(self) -> Iterator[cluster_spec.Image]:
        """Yield the images of the label.

        One without ``kube_version`` needs an item with the whole version.
        """
        label = f"label {template.UPGRADE_IMAGES.name}"
        for item in self.label:
            version, _, ref = item.partition("=")
            minor = int(version.split(".")[1])
            if minor not in self.minors:
                continue
            with errors.in_field(label):
                image = self.cloud.image(ref)
            version = image.kube_version or version.removeprefix("v")
            image = dataclasses.replace(image, kube_version=version)
            if _number(image)[1] != minor or not self._fits(image):
                found = _properties(image, str(image.min_disk))
                wanted = _properties(self.like, f"up to {self.room}")
                raise errors.InvalidInput(
                    f"{label}: give images of the minor version before =, "
                    "which fit the template's image. It is "
                    f"{errors.shown(item)}: the image has kube_version "
                    f"v{version}, {found}; wanted are {wanted}"
                )
            yield image

    def _of_templates(self) -> Iterator[cluster_spec.Image]:
        for ref in dict.fromkeys(self.templates):
            # The image of an old template may be deleted.
            with contextlib.suppress(errors.InvalidInput):
                yield self.cloud.image(ref)

    def _newest_first(
        self, images: Iterable[cluster_spec.Image]
    ) -> list[cluster_spec.Image]:
        """Return the images that fit, without pre-releases.

        A user who wants a pre-release names it in the label.
        """
        fitting = [e for e in images if self._fits(e)]
        released = [e for e in fitting if "-" not in e.kube_version]
        return sorted(released, key=_number, reverse=True)

    def _fits(self, image: cluster_spec.Image) -> bool:
        """Return whether an image is for machines of a minor version."""
        return (
            _number(image)[1] in self.minors
            and names.DISTROS.get(image.os_distro) == self.like.os_distro
            and image.architecture == self.like.architecture
            and image.min_disk <= self.room
        )


def _properties(image: cluster_spec.Image, disk: str) -> str:
    name = image.architecture
    architecture = f"architecture {name}" if name else "no architecture"
    return f"os_distro {image.os_distro}, {architecture} and min_disk {disk}"


def _number(image: cluster_spec.Image) -> versions.Number:
    """Return the version of an image; one without has that of no minor."""
    return versions.number(image.kube_version) or (0, 0, 0)
