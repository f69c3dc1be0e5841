# SPDX-License-Identifier: Apache-2.0

"""Keystone, Glance, Nova, Neutron and Cinder behind requests-mock.

Only what the driver asks for, by HTTP: the clients in between are real.
"""

from __future__ import annotations

import functools
import re
import types
from typing import Any

import requests
import requests_mock

from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.tests.fakes import catalogue
from magnum_capi_helm.tests.fakes import keystone
from magnum_capi_helm.tests.fakes import nova
from magnum_capi_helm.tests.fakes import workloads

IDENTITY = "http://keystone.test/v3"
IMAGE = "http://glance.test"
COMPUTE = "http://nova.test/v2.1"
KEYS = "http://barbican.test"
NETWORK = "http://neutron.test"
BALANCER = "http://octavia.test"
CONTAINERS = "http://magnum.test"
_OF_OCTAVIA: tuple[tuple[str, str, tuple[dict[str, object], ...]], ...] = (
    ("providers", "providers", ({"name": "ovn"}, {"name": "amphora"})),
    (
        "flavors",
        "flavors",
        (
            {"name": "small", "enabled": True},
            {"name": "ha", "enabled": True},
            {"name": "old", "enabled": False},
        ),
    ),
    (
        "availabilityzones",
        "availability_zones",
        ({"name": "az1", "enabled": True}, {"name": "az2", "enabled": False}),
    ),
)
VOLUME = "http://cinder.test/v3/fake_project"

#: As Keystone knows them.
REGION = keystone.REGION
USER = keystone.USER
PROJECT = keystone.PROJECT
SECRET = keystone.SECRET

_SERVICES = {
    "identity": IDENTITY,
    "image": IMAGE,
    "compute": COMPUTE,
    "key-manager": KEYS,
    "network": NETWORK,
    "block-storage": VOLUME,
    "load-balancer": BALANCER,
    "container-infra": f"{CONTAINERS}/v1",
}
#: A user's token, with all these services in its catalog.
token_info = functools.partial(keystone.token_info, _SERVICES)
#: An image of Glance.
image = catalogue.image


def session(**token: Any) -> Any:
    """A session of a user with such a token."""
    return sessions.user_session(
        types.SimpleNamespace(
            auth_token="user-token", auth_token_info=token_info(**token)
        )
    )


class FakeOpenStack(
    keystone.FakeKeystone,
    catalogue.FakeImages,
    nova.FakeFlavors,
    catalogue.FakeNetworks,
    catalogue.FakeVolumeTypes,
):
    """The services.

    :param mocker: a requests-mock mocker that is started already
    """

    def __init__(self, mocker: Any) -> None:
        self.mocker = mocker
        self.server_groups = nova.FakeServerGroups(mocker, COMPUTE, PROJECT)
        self.servers = nova.FakeServers(mocker, COMPUTE)
        self.keypairs = nova.FakeKeypairs(mocker, COMPUTE)
        self.quotas = catalogue.FakeQuotas(
            mocker, COMPUTE, VOLUME, NETWORK, BALANCER
        )
        self.compute_zones = catalogue.FakeZones(mocker, COMPUTE, "az1", "az2")
        self.volume_zones = catalogue.FakeZones(mocker, VOLUME, "nova")
        for collection, key, items in _OF_OCTAVIA:
            mocker.register_uri(
                "GET",
                re.compile(f"{BALANCER}/v2(.0)?/lbaas/{collection}"),
                json={key: [*items]},
            )
        self.workloads = workloads.FakeWorkloads(
            mocker, BALANCER, NETWORK, VOLUME
        )
        keystone.FakeKeystone.__init__(self, mocker, IDENTITY, _SERVICES)
        catalogue.FakeImages.__init__(self, mocker, IMAGE)
        nova.FakeFlavors.__init__(self, mocker, COMPUTE)
        catalogue.FakeNetworks.__init__(self, mocker, NETWORK)
        catalogue.FakeVolumeTypes.__init__(self, mocker, VOLUME)

    def stop(self, url: str) -> None:
        """No answer from a service any more."""
        self.mocker.register_uri(
            requests_mock.ANY,
            re.compile(re.escape(url)),
            exc=requests.ConnectTimeout,
        )
