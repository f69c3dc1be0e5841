# SPDX-License-Identifier: Apache-2.0

"""The fakes have the methods of what they stand for."""

from __future__ import annotations

import inspect
from typing import Any

from oslotest import base

from magnum_capi_helm.cloud import catalogue
from magnum_capi_helm.helm import client as helm_client
from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.tests.fakes import cloud as fake_cloud
from magnum_capi_helm.tests.fakes import helm as fake_helm
from magnum_capi_helm.tests.fakes import management


def parameters(function: Any) -> list[tuple[str, Any, Any]]:
    """Names, kinds and defaults."""
    return [
        (each.name, each.kind, each.default)
        for each in inspect.signature(function).parameters.values()
    ]


def public(cls: type) -> dict[str, Any]:
    """Public methods of a class."""
    found = inspect.getmembers(cls, inspect.isfunction)
    return {name: each for name, each in found if not name.startswith("_")}


class SignatureTest(base.BaseTestCase):
    """A method that the real one gets, the fake must get too."""

    def test_public_methods_are_the_same(self) -> None:
        for real, fake in (
            (client.Client, management.FakeManagement),
            (helm_client.Helm, fake_helm.FakeHelm),
            (catalogue.Cloud, fake_cloud.FakeCloud),
        ):
            theirs = public(fake)
            for name, method in public(real).items():
                self.assertIn(name, theirs, str(real))
                self.assertEqual(
                    parameters(method), parameters(theirs[name]), name
                )
