# SPDX-License-Identifier: Apache-2.0
"""The tests of magnum-tempest-plugin, but those of roles.

The plugin asks for no microversion, so Magnum takes the oldest. One of the
tests makes a cluster without nodes, which is of 1.10; another one expects an
answer that newer versions give differently.
"""

from typing import Any
import unittest

from magnum_tempest_plugin.tests.api.v1.clients import cluster_client

_VERSION = {"OpenStack-API-Version": "container-infra 1.10"}
_PACKAGE = "magnum_tempest_plugin.tests.api.v1"
_MODULES = (
    "test_cluster",
    "test_cluster_template",
    "test_cluster_template_admin",
    "test_magnum_service",
)
_post_cluster = cluster_client.ClusterClient.post_cluster


def _post(self: Any, model: Any, **kwargs: Any) -> Any:
    if model.node_count == 0:
        kwargs["headers"] = {**self.get_headers(), **_VERSION}
    return _post_cluster(self, model, **kwargs)


def load_tests(
    loader: unittest.TestLoader, tests: Any, pattern: str | None
) -> unittest.TestSuite:
    """What unittest finds here."""
    cluster_client.ClusterClient.post_cluster = _post
    names = [f"{_PACKAGE}.{module}" for module in _MODULES]
    return loader.loadTestsFromNames(names)
