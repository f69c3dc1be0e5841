# SPDX-License-Identifier: Apache-2.0

"""Deliver kubeconfigs to the operator's web server.

1. A poll calls :func:`notice` for a cluster that is complete. It sends no
   request; a thread of its own does the rest.
2. The thread looks at a cluster when the poll saw the end of an operation or
   another address of the API, else every ``delivery_check_interval`` seconds.
3. It reads the kubeconfig that Cluster API keeps in ``<release>-kubeconfig``,
   and the record of the last delivery in ``<release>-delivery``.
4. Address, CA and client certificate make a fingerprint. If the record has
   the same one and was accepted, nothing is to be done.
5. If the fingerprint is another one, a new record follows. Its id is made of
   the id before it and the fingerprint.
6. A new record is written under the cluster's Lease, after the row was read
   again: a cluster that is being deleted gets none.
7. Before a conductor sends, it writes the time of the next try into the
   record. The API server refuses this to a second conductor.
8. The message is signed as Standard Webhooks describes and sent by HTTPS, to
   a server whose certificate is trusted.
9. An answer 2xx is written down. Anything else is logged once and tried
   again: after 30 seconds, then twice as long each time, up to an hour.
10. While the server does not answer at all, one cluster at a time is tried.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import dataclasses
import datetime
import functools
import hmac
import json
import math
import socket
import ssl
from typing import Any

import certifi
from oslo_log import log
import requests
import yaml

from magnum_capi_helm import metrics
from magnum_capi_helm import runtime
from magnum_capi_helm import schedules
from magnum_capi_helm.config import conf
from magnum_capi_helm.database import rows
from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import kubeconfig
from magnum_capi_helm.model import delivery_record
from magnum_capi_helm.model import encoding
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.operations import operation as operations

LOG = log.getLogger(__name__)

#: Scope of problems that all clusters share.
_ALL = ("", "")
#: Seconds until the next look at a cluster that had to wait.
_SOON = 60.0
#: Time-outs that one POST may take, with some to spare.
_TIMEOUTS = 3

#: Errors that pass by themselves, or that the polls report.
_QUIET = (
    errors.Conflict,
    errors.Frozen,
    errors.LeaseHeld,
    errors.ManagementUnreachable,
)


class NotDeliveredError(errors.CapiHelmError):
    """The receiver did not accept a kubeconfig.

    :param away: it does not answer, and would not for another cluster
    """

    retriable = True

    def __init__(self, text: str, *, away: bool) -> None:
        super().__init__(text)
        self.away = away


def notice(operation: operations.Operation, *, now: bool = False) -> None:
    """Have the kubeconfig of a cluster delivered if it is due.

    Returns at once, sends no request and raises nothing.

    :param now: an operation has just ended: look at the cluster
    """
    if not conf.delivery_enabled():
        return
    row, jobs = operation.cluster, operation.runtime.deliveries
    jobs.request(_ALL, "", functools.partial(_log_settings, jobs))
    if row.api_address and _was_complete(row.status):
        job = functools.partial(_run, operation, row.api_address)
        jobs.request(operation.scope, row.api_address, job, now=now)


def _was_complete(status: str | None) -> bool:
    """Return whether a cluster has been ready and is not being deleted."""
    action = rows.action(status)
    return action != "DELETE" and (
        action != "CREATE" or status == rows.Status.CREATE_COMPLETE
    )


def _log_settings(jobs: schedules.BackgroundJobs) -> schedules.Outcome:
    """Log once in a process whether the options can be used."""
    problem = ""
    try:
        LOG.info("Kubeconfigs are delivered to %s", conf.delivery().receiver)
    except errors.NotConfigured as error:
        problem = str(error)
    if problem:
        _log_for_all(jobs, problem)
    return schedules.Outcome(math.inf)


def _log_for_all(jobs: schedules.BackgroundJobs, problem: str) -> None:
    if jobs.is_new_problem(_ALL, problem):
        LOG.error("No kubeconfig is delivered: %s", problem)


def _run(operation: operations.Operation, address: str) -> schedules.Outcome:
    """Deliver a kubeconfig if it is due; log a new problem once.

    :param address: the address of the Kubernetes API in the poll's row
    """
    jobs, uuid = operation.runtime.deliveries, operation.cluster.uuid
    for_all = False
    if not jobs.server.is_over(_ALL):
        return schedules.Outcome(_SOON)
    try:
        return _deliver(operation, address, conf.delivery())
    except _QUIET as error:
        LOG.debug("Delivery of cluster %s waits: %s", uuid, error)
        return schedules.Outcome(_SOON, pending=True)
    except errors.NotConfigured as error:
        for_all, problem = True, str(error)
    except NotDeliveredError as error:
        for_all, problem = error.away, str(error)
    except errors.CapiHelmError as error:
        problem = str(error)
    # Not inside "except": oslo.log would append the exception again.
    if for_all:
        _log_for_all(jobs, problem)
    elif jobs.is_new_problem(operation.scope, problem):
        LOG.warning("Cluster %s is not delivered: %s", uuid, problem)
    return schedules.Outcome(_SOON, pending=True)


def _deliver(
    operation: operations.Operation, address: str, settings: conf.Delivery
) -> schedules.Outcome:
    """Deliver a kubeconfig if it is due.

    :raises NotDeliveredError: the receiver did not accept it
    :raises CapiHelmError: a Secret could not be read or written
    """
    rt, namespace = operation.runtime, operation.namespace
    jobs, release = rt.deliveries, operation.release
    stored = rt.management.get(
        kinds.SECRET, namespace, names.delivery(release)
    )
    before = None if stored is None else delivery_record.read(stored)
    secret = rt.management.get(
        kinds.SECRET, namespace, names.kubeconfig(release)
    )
    if secret is None:
        # Cluster API has not made it yet.
        return schedules.Outcome(_SOON, pending=True)
    admin = kubeconfig.administrator(secret)
    now, uuid = jobs.wall(), operation.cluster.uuid
    looks = delivery_record.fingerprint(address, admin.ca, admin.certificate)
    record = delivery_record.following(before, uuid, looks, now)
    if record.delivered:
        interval = settings.interval * (0.75 + jobs.spread() / 2)
        return schedules.Outcome(interval, pending=False)
    if (wait := record.wait(now)) > 0:
        return schedules.Outcome(wait, pending=True)
    # Before anything is written: a message that can't be made is no try.
    body = message(operation.cluster, address, record, admin)
    claimed = record.claimed(now, _TIMEOUTS * settings.timeout, jobs.spread())
    if record is before:
        rt.maintenance.check()
        written = _write(operation, stored, claimed)
    else:
        with operation.lock() as locked:
            row = locked.row
            # A poll that was late has an old address.
            if locked.deleting or row.api_address != address:
                return schedules.Outcome(_SOON, pending=False)
            written = _write(operation, stored, claimed)
    _send(operation, settings, claimed, body)
    accepted = dataclasses.replace(claimed, delivered=jobs.wall())
    _write(operation, written, accepted)
    return schedules.Outcome(settings.interval, pending=False)


def _write(
    operation: operations.Operation,
    stored: client.Object | None,
    record: delivery_record.Record,
) -> client.Object:
    """Replace the record that was read, or make the first one.

    :param stored: the Secret of the record, as it was read
    :raises Conflict: another conductor has changed it since
    """
    management = operation.runtime.management
    data = record.to_secret()
    if stored is not None:
        return management.replace(kinds.SECRET, {**stored, "data": data})
    name, labels = names.delivery(operation.release), operation.object_labels
    return management.create(
        kinds.SECRET,
        encoding.secret(operation.namespace, name, labels, data),
    )


def _send(
    operation: operations.Operation,
    settings: conf.Delivery,
    claimed: delivery_record.Record,
    body: bytes,
) -> None:
    """Send a message once.

    :raises NotDeliveredError: the receiver did not accept it
    """
    jobs = operation.runtime.deliveries
    headers = signature(settings.keys, claimed.id, jobs.wall(), body)
    try:
        with runtime.meter().measure(metrics.DELIVERY):
            post(settings, headers, body)
    except NotDeliveredError as error:
        if error.away:
            jobs.server.record_failure(_ALL)
        raise
    jobs.server.forget(_ALL)
    jobs.is_new_problem(_ALL, "")
    jobs.is_new_problem(operation.scope, "")
    uuid = operation.cluster.uuid
    LOG.info(
        "The kubeconfig of cluster %s is delivered: %s, %s",
        uuid,
        claimed.id,
        claimed.event,
    )


# The message


def message(
    row: Any,
    address: str,
    record: delivery_record.Record,
    credential: kubeconfig.Administrator,
) -> bytes:
    """Return the body of a delivery, as JSON."""
    content = {
        "delivery_id": record.id,
        "event": record.event,
        "created_at": _iso(record.created),
        "cluster_name": row.name or "",
        "cluster_uuid": row.uuid,
        "project_id": row.project_id,
        "user_id": row.user_id or "",
        "api_address": address,
        "kubeconfig_user": "admin",
        "kubeconfig_expires_at": _iso(credential.expires),
        "kubeconfig": _kubeconfig(row.name or row.uuid, address, credential),
    }
    return json.dumps(content).encode()


def _kubeconfig(
    name: str, address: str, credential: kubeconfig.Administrator
) -> str:
    """Return a kubeconfig in YAML.

    Names in it differ between clusters, so that users can merge files.
    """
    user = f"admin@{name}"
    cluster = {
        "server": address,
        "certificate-authority-data": encoding.encode(credential.ca),
    }
    secrets = {
        "client-certificate-data": encoding.encode(credential.certificate),
        "client-key-data": encoding.encode(credential.key),
    }
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": user, "user": secrets}],
        "contexts": [
            {"name": user, "context": {"cluster": name, "user": user}}
        ],
        "current-context": user,
        "preferences": {},
    }
    return str(yaml.safe_dump(document, sort_keys=False))


def _iso(seconds: float) -> str:
    utc = datetime.timezone.utc
    moment = datetime.datetime.fromtimestamp(seconds, utc)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


# The request


def signature(
    keys: Sequence[bytes], delivery_id: str, now: float, body: bytes
) -> dict[str, str]:
    """Return the headers of Standard Webhooks: id, time and signatures.

    :param keys: each of them signs
    :param now: seconds since 1970
    """
    moment = str(int(now))
    signed = f"{delivery_id}.{moment}.".encode() + body
    digests = (hmac.digest(key, signed, "sha256") for key in keys)
    return {
        "webhook-id": delivery_id,
        "webhook-timestamp": moment,
        "webhook-signature": " ".join(
            f"v1,{encoding.encode(digest)}" for digest in digests
        ),
    }


def post(
    settings: conf.Delivery, headers: Mapping[str, str], body: bytes
) -> None:
    """Send a body; only the status of the answer is read.

    Proxies and passwords of the environment are not used, and a redirect is
    not followed. No exception quotes the body or the URL.

    :raises NotDeliveredError: the answer was not a 2xx
    """
    with requests.Session() as session:
        session.trust_env = False
        try:
            answer = session.post(
                settings.url,
                data=body,
                headers={
                    "Content-Type": "application/json",
                    "User-Agent": "magnum-capi-helm",
                    **headers,
                },
                timeout=(settings.timeout, settings.timeout),
                verify=settings.ca_file or True,
                allow_redirects=False,
                stream=True,
            )
            status = int(answer.status_code)
        except (requests.RequestException, OSError, ValueError) as error:
            # Not chained: its text has the URL, and its request the body.
            failure = _failure(settings, error)
            raise failure from None
    if 300 <= status < 400:
        raise NotDeliveredError(
            f"{settings.receiver} answered with a redirect ({status}), which "
            "is not followed: set [capi_helm] delivery_url to where it leads",
            away=False,
        )
    if not 200 <= status < 300:
        raise NotDeliveredError(
            f"{settings.receiver} answered {status}", away=False
        )


def probe(settings: conf.Delivery) -> None:
    """Check the receiver's certificate; nothing is sent.

    :raises NotDeliveredError: it does not answer, or is not trusted
    """
    trusted = settings.ca_file or certifi.where()
    context = ssl.create_default_context(cafile=trusted)
    address = (settings.host, settings.port)
    try:
        with (
            socket.create_connection(address, settings.timeout) as plain,
            context.wrap_socket(plain, server_hostname=settings.host),
        ):
            pass
    except OSError as error:
        failure = _failure(settings, error)
        raise failure from None


def _failure(settings: conf.Delivery, error: Exception) -> NotDeliveredError:
    """Return an error without the URL and the body."""
    if untrusted := errors.certificate_problem(error):
        trusted = settings.ca_file or "the CAs that requests trusts"
        return NotDeliveredError(
            f"the certificate of {settings.receiver} is not trusted, and "
            f"nothing was sent: {untrusted} (by {trusted}; see [capi_helm] "
            "delivery_ca_file)",
            away=True,
        )
    return NotDeliveredError(
        f"{settings.receiver} does not answer ({errors.reason(error)})",
        away=True,
    )
