# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.
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
