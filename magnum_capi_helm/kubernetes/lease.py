# SPDX-License-Identifier: Apache-2.0

"""Leases: one writer per release, across all conductors.

A ``coordination.k8s.io`` Lease stands beside the release. Only its holder may
run helm and write the cluster's status. It is renewed in the background.

To detect a dead holder, no clocks of two machines are compared: a Lease has
expired when its ``renewTime`` has not changed for its duration *on the
observer's own monotonic clock*.

The Lease also carries the delete mark: an annotation that records that the
user deletes the cluster, whatever Magnum's rows contain later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
import contextlib
import datetime
import threading
import time
import uuid

from oslo_log import log

from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import location
from magnum_capi_helm.model import call
from magnum_capi_helm.model import errors
from magnum_capi_helm.status import view

LOG = log.getLogger(__name__)

#: Seconds without a renewal after which a holder counts as dead.
DURATION = 30
#: Seconds between two renewals.
PERIOD = 8
#: Seconds after a renewal in which no other holder takes it, less some
#: seconds for a write that begins at their end.
SAFE = 20

DELETE_MARK = "magnum.openstack.org/delete"
#: What a deletion that took too long waits for.
_LEFT = "magnum.openstack.org/delete-left"

_TIME = "%Y-%m-%dT%H:%M:%S.%fZ"


class Leases:
    """The Leases of one management cluster, as this process sees them.

    :param holder: names this process in the Leases that it holds
    :param check_allowed: raises when no operation may begin
    :param check_missing: raises when a missing Lease must not be made
    :param before_hold: is called for each release whose Lease this process is
        about to hold
    :param clock: monotonic seconds
    """

    def __init__(
        self,
        management: client.Client,
        holder: str,
        *,
        check_allowed: Callable[[], None],
        check_missing: Callable[[location.Scope], None],
        before_hold: Callable[[location.Scope], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._management = management
        self._holder = holder
        self._clock = clock
        self._observed: dict[tuple[str, str], tuple[str, float]] = {}
        self._check_allowed = check_allowed
        self._check_missing = check_missing
        self._before_hold = before_hold

    @contextlib.contextmanager
    def hold(
        self,
        namespace: str,
        release: str,
        labels: dict[str, str],
        *,
        new: bool = False,
    ) -> Iterator[Hold]:
        """Hold the Lease of ``release``, renewed until the block ends.

        :param labels: labels for a Lease that has to be made
        :param new: create it, and read it only if it exists already
        :raises LeaseHeld: another conductor or thread holds it
        :raises Frozen: the management cluster is frozen
        :raises MissingError: neither the Lease nor the release exists
        :raises ManagementError: an orphaned Lease can't be removed
        """
        self._check_allowed()
        self._before_hold((namespace, release))
        hold = self._take(namespace, release, labels, new=new)
        name = f"lease-{release}"
        renewal = threading.Thread(target=hold.keep, name=name, daemon=True)
        try:
            renewal.start()
            with call.lease_guard(hold.confirm, lambda: hold.lost):
                yield hold
        finally:
            hold.end(renewal)
            if hold.orphaned:
                self.delete(namespace, release)

    def held(self, lease: client.Object | None) -> bool:
        """Return whether a living holder has ``lease``, as far as observed."""
        spec = view.spec_of(lease)
        holder = spec.get("holderIdentity")
        if lease is None or not holder:
            return False
        meta = lease["metadata"]
        key = (meta.get("namespace", ""), meta["name"])
        stamp = f"{holder} {spec.get('renewTime')}"
        now = self._clock()
        observed = self._observed.get(key)
        if observed is None or observed[0] != stamp:
            self._observed[key] = (stamp, now)
            return True
        return now - observed[1] < (
            spec.get("leaseDurationSeconds") or DURATION
        )

    def holders(self) -> list[str]:
        """Return the releases whose Lease a living process holds.

        It takes some seconds until the Lease of a dead process shows as free.

        :raises ManagementError: the Leases could not be read
        """
        leases = self._management.list(
            kinds.LEASE, None, location.CLUSTER_UUID
        )
        return sorted(
            each["metadata"]["name"] for each in leases if self.held(each)
        )

    def read(self, namespace: str, release: str) -> client.Object | None:
        """Return the Lease, or None."""
        return self._management.get(kinds.LEASE, namespace, release)

    @call.without_lease("a deletion waits for no operation")
    def mark_deleted(self, namespace: str, release: str) -> None:
        """Set the delete mark, whoever holds the Lease."""
        self._note(namespace, release, {DELETE_MARK: _now()})

    @call.without_lease("a deletion waits for no operation")
    def note_left(self, namespace: str, release: str, left: str) -> None:
        """Note what a deletion that took too long waits for."""
        self._note(namespace, release, {_LEFT: left})

    def _note(
        self, namespace: str, release: str, notes: dict[str, str]
    ) -> None:
        change = {"metadata": {"annotations": notes}}
        self._management.patch(kinds.LEASE, namespace, release, change)

    @call.without_lease("the Lease itself, when its cluster is gone")
    def delete(self, namespace: str, release: str) -> None:
        """Remove the Lease: the last object of a cluster to go."""
        self._management.delete(kinds.LEASE, namespace, release)
        self.forget((namespace, release))

    def forget(self, scope: location.Scope) -> None:
        """Drop the observations of a Lease."""
        self._observed.pop(scope, None)

    @call.without_lease("the Lease itself, which the API server compares")
    def _take(
        self,
        namespace: str,
        release: str,
        labels: dict[str, str],
        *,
        new: bool = False,
    ) -> Hold:
        identity = f"{self._holder}/{uuid.uuid4().hex[:8]}"
        began = self._clock()
        busy = errors.LeaseHeld(f"another conductor works on {release}")
        current = None if new else self.read(namespace, release)
        if current is None and not new:
            self._check_missing((namespace, release))
        if self.held(current):
            raise busy
        meta = {"name": release, "namespace": namespace}
        lease = current or {"metadata": {**meta, "labels": labels}}
        lease["spec"] = {**view.spec_of(lease), **_spec(identity)}
        write = (
            self._management.replace if current else self._management.create
        )
        try:
            taken = write(kinds.LEASE, lease)
        except errors.Conflict as error:
            # It may be our own, of a first try whose answer was lost.
            taken = self.read(namespace, release) or {}
            if view.spec_of(taken).get("holderIdentity") != identity:
                if new:
                    return self._take(namespace, release, labels)
                raise busy from error
        return Hold(self._management, taken, identity, self._clock, began)


class Hold:
    """A Lease that this process holds.

    :param began: monotonic seconds at which it was requested
    """

    def __init__(
        self,
        management: client.Client,
        lease: client.Object,
        identity: str,
        clock: Callable[[], float],
        began: float,
    ) -> None:
        self._management = management
        self._lease = lease
        self._name = str(lease["metadata"]["name"])
        self._namespace = str(lease["metadata"]["namespace"])
        self._identity = identity
        self._clock = clock
        self._renewed = began
        self._renewing = threading.Lock()
        self._done = threading.Event()
        self.lost = False
        #: Set when the cluster turns out to be gone: only the holder, which
        #: made the Lease again, can remove it.
        self.orphaned = False

    @property
    def marked_deleted(self) -> bool:
        """Return whether the user has requested the deletion."""
        return marked_deleted_at(self._lease) is not None

    def keep(self) -> None:
        """Renew it until :meth:`end`; runs in a thread of its own."""
        while not self._done.wait(PERIOD):
            try:
                self._renew_or_lose(_spec(self._identity))
            except errors.LeaseLost as error:
                LOG.warning("%s", error)
                return
            except errors.CapiHelmError as error:
                LOG.warning("Lease of %s not renewed: %s", self._name, error)

    def confirm(self) -> None:
        """Make sure that it is held for the next seconds.

        :raises LeaseLost: another conductor has taken it
        :raises ManagementError: it could not be renewed
        """
        if self.lost or self._clock() >= self._renewed + SAFE:
            self._renew_or_lose(_spec(self._identity))

    def end(self, renewal: threading.Thread) -> None:
        """Give the Lease back; if that fails, it expires."""
        self._done.set()
        # It did not start if the process can't start more threads.
        if renewal.is_alive():
            renewal.join()
        if self.lost:
            return
        try:
            self._renew_or_lose({"holderIdentity": "", "renewTime": _now()})
        except errors.LeaseLost as error:
            # No holder: a first try worked, but its answer was lost.
            if error.holder:
                LOG.warning("%s", error)
        except errors.CapiHelmError as error:
            LOG.warning(
                "Lease of %s could not be given back: %s", self._name, error
            )

    def _renew_or_lose(self, spec: client.Object) -> None:
        """Write ``spec``, unless another conductor has the Lease.

        :raises LeaseLost: another conductor has it
        """
        # The renewal thread and the writer may both renew it.
        with self._renewing, call.lease_guard(lambda: None):
            if self.lost:
                raise errors.LeaseLost(self._name)
            try:
                self._renew(spec)
            except errors.Conflict:
                self._reread()
                self._renew(spec)

    def _renew(self, spec: client.Object) -> None:
        # Measured before the request: the server may process it long before
        # its answer is read.
        began = self._clock()
        wanted = {**self._lease, "spec": {**self._lease["spec"], **spec}}
        self._lease = self._management.replace(kinds.LEASE, wanted)
        self._renewed = began

    def _reread(self) -> None:
        """Check that it is still ours: a delete mark changes it as well."""
        lease = self._management.get(kinds.LEASE, self._namespace, self._name)
        holder = view.spec_of(lease).get("holderIdentity")
        if lease is None or holder != self._identity:
            self.lost = True
            raise errors.LeaseLost(self._name, holder)
        self._lease = lease


def left_of(lease: client.Object | None) -> str:
    """Return what a deletion that took too long waited for."""
    return view.annotations_of(lease).get(_LEFT, "")


def marked_deleted_at(lease: client.Object | None) -> float | None:
    """Return when deletion was last requested, in seconds since 1970."""
    text = view.annotations_of(lease).get(DELETE_MARK)
    return None if text is None else view.timestamp(text)


def _spec(identity: str) -> client.Object:
    return {
        "holderIdentity": identity,
        "leaseDurationSeconds": DURATION,
        "renewTime": _now(),
    }


def _now() -> str:
    """Return the time as Kubernetes' MicroTime."""
    return datetime.datetime.now(datetime.timezone.utc).strftime(_TIME)
