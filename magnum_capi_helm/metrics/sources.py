# SPDX-License-Identifier: Apache-2.0

"""What a management cluster has beside its releases, for the metrics.

One LIST for each kind, whatever the number of clusters, and the Secret with
the kubeconfig of each cluster: of all Secrets that Cluster API makes, those
with the machines' user data are most, and no label tells them apart. Of an
object, what is measured is kept, and nothing else.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Sequence
from concurrent import futures
import functools
from typing import Any, TypeVar

from cryptography import x509
import msgspec
import yaml

from magnum_capi_helm import runtime
from magnum_capi_helm.database import inventory
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.management import answers
from magnum_capi_helm.management import client
from magnum_capi_helm.management import kinds
from magnum_capi_helm.metrics import cloud
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.status import view

T = TypeVar("T")

#: Secrets that are read at once.
_READERS = 8
_CONTROL_PLANES = f"{view.CLUSTER_NAME_LABEL},{view.CONTROL_PLANE_LABEL}"


class _Part:
    """What was read of one kind, and whether all of it could be."""

    def __init__(self) -> None:
        self.found: list[Any] = []
        self.known = True
        self.error = ""

    def lack(self, error: errors.CapiHelmError) -> None:
        """Some of it could not be read."""
        self.known = False
        self.error = self.error or str(error)


def read(
    rt: runtime.Runtime, scopes: Sequence[inventory.Scope], prefix: str
) -> tuple[cloud.Details, list[str]]:
    """Read all parts of a management cluster that answers.

    :param scopes: of this driver's clusters that are on it
    :param prefix: of this cloud's namespaces
    :returns: what there is, and what is wrong with what could not be read
    """
    namespaces = sorted({namespace for namespace, _ in scopes})
    everything = functools.partial(_everything, rt.management, namespaces)
    addons = _Part()
    for kind in (kinds.HELM_RELEASE, kinds.MANIFESTS):
        everything(addons, kind, view.CHART_CLUSTER_LABEL, cloud.addon)
    machines, leases = _Part(), _Part()
    everything(machines, kinds.MACHINE, _CONTROL_PLANES, cloud.machine)
    everything(leases, kinds.LEASE, location.CLUSTER_UUID, cloud.lease)
    kubeconfigs = _certificates(rt.management, scopes)
    parts = {
        "addons": addons,
        "kubeconfigs": kubeconfigs,
        "leases": leases,
        "machines": machines,
    }
    details = cloud.Details(
        plane=rt.home.name,
        addons=addons.found,
        certificates=machines.found + kubeconfigs.found,
        # Other clouds may be on the same management cluster.
        leases=[
            each
            for each in leases.found
            if names.project_of(each.scope[0], prefix)
        ],
        parts={name: part.known for name, part in parts.items()},
    )
    wrong = [f"{name}: {part.error}" for name, part in parts.items()]
    return details, [each for each in wrong if not each.endswith(": ")]


def _everything(
    management: client.Client,
    namespaces: Iterable[str],
    part: _Part,
    kind: kinds.Kind,
    selector: str,
    convert: Callable[[view.Object], T | None],
) -> None:
    """Add all objects of a kind to a part.

    :param namespaces: to ask for where not all may be
    """
    take = functools.partial(_taken, convert)
    try:
        try:
            part.found += management.scan(kind, None, selector, take)
        except answers.ForbiddenError:
            for each in namespaces:
                part.found += management.scan(kind, each, selector, take)
    except errors.CapiHelmError as error:
        part.lack(error)


def _taken(
    convert: Callable[[view.Object], T | None], content: bytes
) -> tuple[list[T], str]:
    """What is measured of a page of a LIST, and what asks for the next."""
    try:
        page = msgspec.json.decode(content)
    except msgspec.DecodeError as error:
        raise errors.ManagementUnreachable(
            "the management cluster's answer was cut short"
        ) from error
    found = map(convert, page.get("items") or [])
    token = (page.get("metadata") or {}).get("continue") or ""
    return [each for each in found if each is not None], token


def _certificates(
    management: client.Client, scopes: Sequence[inventory.Scope]
) -> _Part:
    """The certificates in the clusters' kubeconfigs."""
    part = _Part()
    with futures.ThreadPoolExecutor(_READERS) as pool:
        read_one = functools.partial(_kubeconfig, management)
        for answer in [pool.submit(read_one, each) for each in scopes]:
            try:
                part.found += answer.result()
            except errors.CapiHelmError as error:
                part.lack(error)
    return part


def _kubeconfig(
    management: client.Client, scope: inventory.Scope
) -> list[cloud.Certificate]:
    """Those of one cluster; none, as long as Cluster API has made none.

    :raises ManagementError: it can't be read, or is damaged
    """
    namespace, release = scope
    name = names.kubeconfig(release)
    secret = management.get(kinds.SECRET, namespace, name)
    if secret is None:
        return []
    try:
        document = yaml.safe_load(base64.b64decode(secret["data"]["value"]))
        found = {
            cloud.CA: _pem(
                document["clusters"][0]["cluster"],
                "certificate-authority-data",
            ),
            cloud.KUBECONFIG: _pem(
                document["users"][0]["user"], "client-certificate-data"
            ),
        }
        return [
            cloud.Certificate(scope, each, _end(pem))
            for each, pem in found.items()
        ]
    except (
        AttributeError,
        IndexError,
        KeyError,
        TypeError,
        ValueError,
        yaml.YAMLError,
    ) as error:
        # Not chained: a YAML error quotes the file, and its key.
        raise errors.ManagementError(
            f"the Secret {name} has no kubeconfig with certificates "
            f"({type(error).__name__})"
        ) from None


def _pem(holder: dict[str, str], key: str) -> bytes:
    return base64.b64decode(holder[key])


def _end(pem: bytes) -> float:
    """When the first of these certificates ends, seconds since 1970."""
    return min(
        each.not_valid_after_utc.timestamp()
        for each in x509.load_pem_x509_certificates(pem)
    )
