# SPDX-License-Identifier: Apache-2.0

"""Revisions of a release, as helm records them."""

from __future__ import annotations

import base64
from collections.abc import Collection, Sequence
import dataclasses
import gzip
import json
import time
from typing import Any

from magnum_capi_helm.chart import patches
from magnum_capi_helm.helm import manifests
from magnum_capi_helm.model import encoding
from magnum_capi_helm.tests.fakes import api_server
from magnum_capi_helm.tests.fakes import chart

#: Between the documents of a manifest, each of them JSON, which is YAML.
SEPARATOR = "\n---\n"


def post_rendered(
    objects: list[api_server.Object],
    groups: Collection[str],
    patch: Sequence[patches.Patch] = (),
) -> list[api_server.Object]:
    """Return what the post-renderer makes of a chart's objects."""
    if not groups and not patch:
        return objects
    text = SEPARATOR.join(map(json.dumps, objects))
    return [*encoding.objects(manifests.converted(text, groups, patch=patch))]


@dataclasses.dataclass(frozen=True)
class Revision:
    """A revision of a release, as helm records it.

    :param labels: of the revision before, which helm copies
    :param converted: groups whose objects a post-renderer converted
    """

    release: str
    namespace: str
    version: int
    status: str
    chart_version: str
    values: dict[str, Any]
    build: dict[str, str] = dataclasses.field(default_factory=dict)
    labels: dict[str, str] = dataclasses.field(default_factory=dict)
    converted: frozenset[str] = frozenset()
    patch: Sequence[patches.Patch] = ()

    def objects(self) -> list[api_server.Object]:
        """The objects of its manifest."""
        objects = chart.render(
            self.release, self.namespace, self.values, self.build
        )
        return post_rendered(objects, self.converted, self.patch)

    def record(self) -> api_server.Object:
        """The Secret in which helm keeps it."""
        body = {
            "name": self.release,
            "namespace": self.namespace,
            "version": self.version,
            "info": {"status": self.status},
            "chart": {
                "metadata": {
                    "name": "openstack-cluster",
                    "version": self.chart_version,
                }
            },
            "config": self.values,
            "manifest": SEPARATOR.join(map(json.dumps, self.objects())),
        }
        packed = base64.b64encode(gzip.compress(json.dumps(body).encode()))
        return {
            "metadata": {
                "name": f"sh.helm.release.v1.{self.release}.v{self.version}",
                "namespace": self.namespace,
                "labels": {
                    "modifiedAt": str(int(time.time())),
                    **self.labels,
                    "owner": "helm",
                    "name": self.release,
                    "version": str(self.version),
                    "status": self.status,
                },
            },
            "type": "helm.sh/release.v1",
            "data": {"release": base64.b64encode(packed).decode()},
        }


def unpack(text: str) -> dict[str, Any]:
    """Return the content of a record."""
    packed = base64.b64decode(base64.b64decode(text))
    found: dict[str, Any] = json.loads(gzip.decompress(packed))
    return found
