# SPDX-License-Identifier: Apache-2.0

"""What Kubernetes made in a project, found and deleted.

Load balancers, floating IPs and security groups of Services; volumes and
snapshots of claims. One look asks each service once and begins as many
deletions as fit into its time; what is still there is looked at next time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
import dataclasses
import time
from typing import Any

from magnum_capi_helm.cloud import sessions
from magnum_capi_helm.model import errors

BALANCERS = "load balancers of Kubernetes Services"
ADDRESSES = "floating IPs of Kubernetes Services"
GROUPS = "security groups of Kubernetes Services"
SNAPSHOTS = "snapshots of Kubernetes volumes"
VOLUMES = "Kubernetes volumes"

#: Seconds in which one look begins deletions.
_SECONDS = 5.0
#: Names that a text has at most.
_NAMED = 3
#: Octavia and Cinder delete nothing else; Cinder not even ERROR_DELETING.
_ERRORS = ("ERROR", "ERROR_EXTENDING", "ERROR_MANAGING", "ERROR_RESTORING")
_SETTLED = ("ACTIVE", "AVAILABLE", *_ERRORS)


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What is still there after a look.

    :param left: kind -> names of what is still to be deleted
    :param problems: kind -> why it can't be looked at, or deleted
    :param kept: what stays, and why
    """

    left: dict[str, tuple[str, ...]]
    problems: dict[str, str]
    kept: tuple[str, ...]

    @property
    def looks(self) -> object:
        """Equal for two looks between which nothing went."""
        # Not the texts of problems: they name requests.
        return sorted(self.left.items()), sorted(self.problems)

    @property
    def done(self) -> bool:
        """Whether nothing is left to do."""
        return not self.left and not self.problems

    @property
    def remaining(self) -> str:
        """Return ``left`` in words, without "; "."""
        return " and ".join(
            f"{kind} still to be deleted: {_listed(names)}"
            for kind, names in self.left.items()
        )

    @property
    def reasons(self) -> str:
        """Return ``problems`` and ``kept`` in words."""
        problems = (
            f"{kind} can't be deleted: {why}"
            for kind, why in self.problems.items()
        )
        return "; ".join([*problems, *self.kept])

    def __str__(self) -> str:
        return "; ".join(filter(None, (self.remaining, self.reasons)))


@dataclasses.dataclass(frozen=True)
class _Thing:
    """Something to delete; not yet, while it is busy."""

    id: str
    name: str
    busy: bool = False


def sweep(
    session: Any,
    project: str,
    release: str,
    *,
    volumes: bool,
    clock: Callable[[], float] = time.monotonic,
) -> Outcome:
    """Look for what a cluster's workloads left, and delete what can be.

    :param project: whose objects; the session may see those of others
    :param volumes: delete volumes and snapshots as well
    :param clock: monotonic seconds
    """
    look = _Look(session, project, release, clock)
    look.services()
    if volumes:
        look.volumes()
    return Outcome(look.left, look.problems, tuple(look.kept))


class _Look:
    """One look, with what it found so far."""

    def __init__(
        self,
        session: Any,
        project: str,
        release: str,
        clock: Callable[[], float],
    ) -> None:
        self._session = session
        self._project = project
        self._release = release
        self._clock = clock
        self._until = clock() + _SECONDS
        self._ports: set[str] = set()
        self.left: dict[str, tuple[str, ...]] = {}
        self.problems: dict[str, str] = {}
        self.kept: list[str] = []

    def services(self) -> None:
        """What Services have: the balancers are found first and go last."""
        octavia = self._api("load-balancer")
        neutron = self._api("network")
        balancers = self._found(BALANCERS, octavia, self._balancers)
        self._delete(
            ADDRESSES,
            self._found(ADDRESSES, neutron, self._addresses),
            lambda api, id_: api.delete_ip(id_),
            neutron,
        )
        self._delete(
            BALANCERS,
            balancers,
            lambda api, id_: api.delete_load_balancer(id_, cascade=True),
            octavia,
            at_once=False,
        )
        self._delete(
            GROUPS,
            self._found(GROUPS, neutron, self._groups),
            lambda api, id_: api.delete_security_group(id_),
            neutron,
        )

    def volumes(self) -> None:
        """What claims have: no volume goes before its snapshots."""
        cinder = self._api("block-storage")
        self._delete(
            SNAPSHOTS,
            self._found(
                SNAPSHOTS, cinder, lambda a: self._stored(a.snapshots)
            ),
            lambda api, id_: api.delete_snapshot(id_),
            cinder,
            at_once=False,
        )
        self._delete(
            VOLUMES,
            self._found(VOLUMES, cinder, lambda a: self._stored(a.volumes)),
            lambda api, id_: api.delete_volume(id_),
            cinder,
            at_once=False,
        )

    # Finding

    def _balancers(self, api: Any) -> Iterator[_Thing]:
        for each in api.load_balancers(project_id=self._project):
            name, state = str(each.name), str(each.provisioning_status)
            if state == "DELETED" or not balances(name, self._release):
                continue
            if shared(each.tags or (), self._release):
                self.kept.append(
                    f"load balancer {name} stays: another cluster uses it"
                )
                continue
            self._ports.add(str(each.vip_port_id))
            yield _Thing(str(each.id), name, state not in _SETTLED)

    def _addresses(self, api: Any) -> Iterator[_Thing]:
        for each in api.ips(project_id=self._project):
            if not addresses(each.description or "", self._release):
                continue
            name = str(each.floating_ip_address)
            if not each.port_id or each.port_id in self._ports:
                yield _Thing(str(each.id), name)
            elif BALANCERS in self.problems:
                yield _Thing(str(each.id), name, busy=True)
            else:
                self.kept.append(
                    f"floating IP {name} stays: something else uses it"
                )

    def _groups(self, api: Any) -> Iterator[_Thing]:
        for each in api.security_groups(project_id=self._project):
            if guards(each.description or "", self._release):
                yield _Thing(str(each.id), str(each.name))

    def _stored(self, listed: Callable[..., Any]) -> Iterator[_Thing]:
        # Cinder filters by project only where it is asked for all of them,
        # which it grants to admins alone: a cluster sees its own anyway.
        query: dict[str, Any] = {}
        if self._session.get_project_id() != self._project:
            query = {"all_projects": True, "project_id": self._project}
        for each in listed(details=True, **query):
            if stores(each.metadata or {}, self._release):
                state = str(each.status).upper()
                name = str(each.name or each.id)
                yield _Thing(str(each.id), name, state not in _SETTLED)

    # Asking

    def _api(self, service: str) -> Any:
        """Return the service, None if the cloud has none, or the error."""
        try:
            return sessions.proxy(self._session, service)
        except errors.CloudError as error:
            return None if sessions.is_not_offered(error) else error

    def _found(
        self,
        kind: str,
        api: Any,
        find: Callable[[Any], Iterable[_Thing]],
    ) -> list[_Thing]:
        if api is None:
            return []
        try:
            if isinstance(api, errors.CloudError):
                raise api
            with sessions.asking(kind):
                return list(find(api))
        except errors.CloudError as error:
            self.problems[kind] = str(error)
            return []

    def _delete(
        self,
        kind: str,
        things: list[_Thing],
        delete: Callable[[Any, str], Any],
        api: Any,
        *,
        at_once: bool = True,
    ) -> None:
        """Delete what can be.

        :param at_once: the service answers when it is gone, not before
        """
        left = []
        for each in things:
            gone = self._begin(kind, each, delete, api) and at_once
            if not gone:
                left.append(each.name)
        if left:
            self.left[kind] = tuple(left)

    def _begin(
        self,
        kind: str,
        thing: _Thing,
        delete: Callable[[Any, str], Any],
        api: Any,
    ) -> bool:
        """Whether the service took the request to delete."""
        # A service that refuses one is not asked for the others.
        late = self._clock() > self._until or kind in self.problems
        if thing.busy or late:
            return False
        try:
            with sessions.asking(thing.name):
                delete(api, thing.id)
        except errors.CloudError as error:
            if not sessions.busy(error):
                self.problems[kind] = str(error)
            return False
        return True


def _listed(names: tuple[str, ...]) -> str:
    more = len(names) - _NAMED
    text = ", ".join(names[:_NAMED])
    return f"{text} and {more} more" if more > 0 else text


#: Names of load balancers, and their tags: one for each Service.
_SERVICE = "kube_service_"
_ADDRESS = "Floating IP for Kubernetes external service "
_GROUP = "Security Group for "
#: Metadata of volumes and snapshots: the cluster.
_CLUSTER = "cinder.csi.openstack.org/cluster"
#: Metadata by which users keep a volume; cluster-api-janitor-openstack's.
_KEEP = "janitor.capi.azimuth-cloud.com/keep"


def balances(name: str, release: str) -> bool:
    """Whether a load balancer was made for a Service of the cluster.

    The one of the Kubernetes API has another name, and belongs to Cluster
    API's provider.
    """
    return name.startswith(f"{_SERVICE}{release}_")


def shared(tags: Iterable[str], release: str) -> bool:
    """Whether a load balancer also serves another cluster's Services."""
    own = f"{_SERVICE}{release}_"
    return any(
        tag.startswith(_SERVICE) and not tag.startswith(own) for tag in tags
    )


def addresses(description: str, release: str) -> bool:
    """Whether a floating IP was made for a Service of the cluster.

    One that the user made, and named in a Service, has the user's text.
    """
    before, _, cluster = description.rpartition(" from cluster ")
    return cluster == release and before.startswith(_ADDRESS)


def guards(description: str, release: str) -> bool:
    """Whether a security group was made for a Service of the cluster."""
    before, _, cluster = description.rpartition(
        " Service LoadBalancer in cluster "
    )
    return cluster == release and before.startswith(_GROUP)


def stores(metadata: Mapping[str, str], release: str) -> bool:
    """Whether a volume or snapshot was made for a claim of the cluster.

    Without those that the user wants to keep.
    """
    if metadata.get(_KEEP) == "true":
        return False
    return metadata.get(_CLUSTER) == release
