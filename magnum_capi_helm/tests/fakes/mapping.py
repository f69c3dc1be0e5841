# SPDX-License-Identifier: Apache-2.0

"""What helm says of objects in versions that are not served.

The texts are those of helm 3.20.2, and of Kubernetes' ``cli-runtime``.
"""

from __future__ import annotations

from collections.abc import Iterable

from magnum_capi_helm.helm import complaints
from magnum_capi_helm.tests.fakes import api_server
from magnum_capi_helm.tests.fakes import management


def look_up(
    client: management.FakeManagement,
    objects: Iterable[api_server.Object],
    which: str,
) -> None:
    """Look up what an upgrade is about.

    :param which: ``current`` or ``new``
    :raises HelmError: there is an object that is not served as it is named
    """
    if why := _unmapped(client, objects):
        text = (
            "Error: UPGRADE FAILED: unable to build kubernetes objects from "
            f"{which} release manifest: [{', '.join(why)}]"
        )
        raise complaints.translated("upgrade", text.encode())


def look_up_to_delete(
    client: management.FakeManagement,
    objects: Iterable[api_server.Object],
    release: str,
    refused: bool,
) -> None:
    """Look up what is to be deleted.

    :param refused: it can't be deleted for another reason, which helm does
        not tell either
    :raises HelmError: so it is, or one is not served as it is named
    """
    if refused or _unmapped(client, objects):
        text = f"Error: failed to delete release: {release}"
        raise complaints.translated("uninstall", text.encode())


def _unmapped(
    client: management.FakeManagement, objects: Iterable[api_server.Object]
) -> list[str]:
    found = []
    for each in objects:
        group, _, version = each["apiVersion"].rpartition("/")
        if version not in client.mapped(group).get(each["kind"], ()):
            meta = each["metadata"]
            found.append(
                f'resource mapping not found for name: "{meta["name"]}" '
                f'namespace: "{meta["namespace"]}" from "": no matches for '
                f'kind "{each["kind"]}" in version "{each["apiVersion"]}"\n'
                "ensure CRDs are installed first"
            )
    return found
