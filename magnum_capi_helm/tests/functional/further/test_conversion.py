# SPDX-License-Identifier: Apache-2.0

"""The driver converts objects as the webhooks of Cluster API do.

CAPO 0.14 has neither v1beta2 nor a webhook that knows it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
import functools
import json
from typing import Any

from oslotest import base
import requests
import yaml

from magnum_capi_helm.chart import conversion
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.contract import rendering
from magnum_capi_helm.tests.contract import test_conversion as contract
from magnum_capi_helm.tests.functional import base as lab
from magnum_capi_helm.tests.functional import programs
from magnum_capi_helm.tests.unit.chart import test_conversion as unit

Object = dict[str, Any]

#: Provider -> the file with its definitions, which name its webhook.
_DEFINITIONS = ("core", "bootstrap", "kcp")
_SECONDS = 30
#: v1beta1 has what v1beta2 drops in it.
_CONVERSION_DATA = "cluster.x-k8s.io/conversion-data"


def _objects() -> list[Object]:
    """All that charts render and the driver converts, each once."""
    every = [*map(_placed, _of_cluster_api())]
    every += _of_unit_tests()
    texts = {json.dumps(each, sort_keys=True): each for each in every}
    return [*texts.values()]


def _of_cluster_api() -> Iterator[Object]:
    for each in contract.rendered():
        if not each["apiVersion"].startswith(contract.CAPO):
            yield each


def _placed(obj: Object) -> Object:
    """An object in the namespace in which helm makes it."""
    metadata = {"namespace": rendering.NAMESPACE, **obj["metadata"]}
    return {**obj, "metadata": metadata}


def _of_unit_tests() -> Iterator[Object]:
    for kind, group, spec, _ in (
        unit.CLUSTER,
        unit.DEPLOYMENT,
        unit.HEALTH_CHECK,
        unit.CONFIG_TEMPLATE,
        unit.CONTROL_PLANE,
    ):
        yield {
            "apiVersion": f"{group}/{conversion.OLD}",
            "kind": kind,
            "metadata": {"name": "web", "namespace": rendering.NAMESPACE},
            "spec": spec,
        }


@functools.cache
def _webhooks() -> dict[tuple[str, str], str]:
    """Group and kind -> the address of its webhook."""
    found = {}
    for name in _DEFINITIONS:
        path = programs.LAB / "manifests" / f"crd-{name}.yaml"
        for each in yaml.load_all(path.read_text(), yaml.CSafeLoader):
            spec = each["spec"]
            webhook = spec.get("conversion", {}).get("webhook")
            if webhook:
                key = spec["group"], spec["names"]["kind"]
                found[key] = webhook["clientConfig"]["url"]
    return found


def _ask(objects: list[Object], version: str) -> list[Object]:
    """Return objects of one kind as a webhook converts them.

    :param version: without the group
    """
    group = objects[0]["apiVersion"].partition("/")[0]
    url = _webhooks()[group, objects[0]["kind"]]
    review: Object = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "ConversionReview",
        "request": {
            "uid": "1",
            "desiredAPIVersion": f"{group}/{version}",
            "objects": objects,
        },
    }
    authority = programs.LAB / "pki" / "ca.crt"
    answer = requests.post(
        url, json=review, verify=str(authority), timeout=_SECONDS
    )
    response = answer.json()["response"]
    if response["result"]["status"] != "Success":
        raise AssertionError(response["result"])
    return [*response["convertedObjects"]]


def _by_kind(objects: Iterable[Object]) -> Iterator[list[Object]]:
    kinds: dict[str, list[Object]] = {}
    for each in objects:
        kinds.setdefault(each["kind"], []).append(each)
    yield from kinds.values()


def _written(obj: Object) -> Object:
    """What a client writes of an object.

    Without empty maps: Go writes one for an object with nothing but an empty
    list, and then reads none.
    """
    metadata = {**obj["metadata"], "creationTimestamp": None}
    fields = {key: value for key, value in obj.items() if key != "status"}
    written: Object = _filled({**fields, "metadata": metadata})
    return written


def _filled(value: Any) -> Any:
    if isinstance(value, list):
        return [_filled(each) for each in value]
    if not isinstance(value, dict):
        return value
    fields = {key: _filled(each) for key, each in value.items()}
    return {
        key: each
        for key, each in fields.items()
        # An empty one of these is something else than none.
        if not _is_empty(each) or key == "controlPlane"
    }


def _is_empty(value: Any) -> bool:
    """Return whether Go writes and reads the value as if it were not there."""
    if isinstance(value, dict):
        return all(each == [] for each in value.values())
    return value is None


class ConversionTest(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        if not (programs.LAB / "kubeconfig").exists():
            self.skipTest("the lab is not up")

    def test_to_v1beta2_as_the_webhooks_do(self) -> None:
        for objects in _by_kind(_objects()):
            for old, wanted in zip(
                objects, _ask(objects, conversion.NEW), strict=True
            ):
                with self.subTest(f"{old['kind']} {view.name_of(old)}"):
                    self.assertEqual(
                        _written(wanted), _written(conversion.convert(old))
                    )

    def test_back_to_v1beta1_nothing_is_lost(self) -> None:
        for objects in _by_kind(_objects()):
            ours = [*map(conversion.convert, objects)]
            for old, back in zip(
                objects, _ask(ours, conversion.OLD), strict=True
            ):
                with self.subTest(f"{old['kind']} {view.name_of(old)}"):
                    view.annotations_of(back).pop(_CONVERSION_DATA, None)
                    self.assertEqual(
                        _written(conversion.convert(old)),
                        _written(conversion.convert(back)),
                    )

    def test_the_management_cluster_admits_v1beta2(self) -> None:
        """Its schemas, defaults and webhooks are asked; nothing is made."""
        plane = lab.management(programs.LAB / "kubeconfig")
        for each in _of_cluster_api():
            obj = conversion.convert(each)
            obj["metadata"] = {**obj["metadata"], "namespace": "default"}
            kind = kinds.rendered(obj)
            assert kind is not None
            with self.subTest(f"{kind.name} {view.name_of(obj)}"):
                plane.create(kind, obj, dry_run=True)
