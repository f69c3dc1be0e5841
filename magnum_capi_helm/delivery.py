# SPDX-License-Identifier: Apache-2.0

"""Deliver kubeconfigs to the operator's web server.

1. A health poll of a cluster that has been complete ends with
   :func:`deliver`. It sends no request unless the cluster is due: after this
   process held the cluster's Lease, after a change of the API's address, else
   every ``delivery_check_interval`` seconds.
2. One poll of a process delivers at a time; the others leave it to their next
   poll. A server that does not answer pauses all of them for a minute.
3. The poll reads the record of the last delivery in ``<release>-delivery``,
   and the kubeconfig that Cluster API keeps in ``<release>-kubeconfig``.
4. Address, CA and client certificate make a fingerprint. If the record has
   the same one and was accepted, nothing is to be done.
5. If the fingerprint is another one, a new record follows. Its id is made of
   the id before it and the fingerprint.
6. Magnum's row is read again: a cluster that is being deleted gets no record.
7. Before a conductor sends, it writes the time of the next try into the
   record. The API server refuses this to a second conductor.
8. The message is signed as Standard Webhooks describes and sent by HTTPS, to
   a server whose certificate is trusted.
9. An answer 2xx is written down. Anything else is logged once and tried
   again: after 30 seconds, then twice as long each time, up to an hour.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import dataclasses
import datetime
import hmac
import json
import socket
import ssl
from typing import Any

import certifi
from oslo_log import log
import requests
import yaml

from magnum_capi_helm import metrics
from magnum_capi_helm import runtime
from magnum_capi_helm.config import conf
from magnum_capi_helm.database import rows
from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import kubeconfig
from magnum_capi_helm.model import call
from magnum_capi_helm.model import delivery_record
from magnum_capi_helm.model import encoding
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.operations import cluster_operation

LOG = log.getLogger(__name__)
Delivery = conf.Delivery
Operation = cluster_operation.Operation
Record = delivery_record.Record

#: Seconds for a connection to the server, and for its answer: a health poll
#: waits for both.
_TIMEOUT = (3.0, 7.0)
#: Seconds within which a process that starts looks at each cluster: another
#: process may have left a delivery.
_FIRST = 300.0
#: Seconds until the next look at a cluster that could not be delivered.
_SOON = 60.0
#: Seconds without a try after the server did not answer.
_PAUSE = 60.0


class NotDeliveredError(errors.CapiHelmError):
    """The server did not accept a kubeconfig."""

    retriable = True


class AwayError(NotDeliveredError):
    """The server does not answer, or is not trusted, for any cluster."""


#: Errors that pass by themselves, or that the polls report.
_QUIET = (errors.Conflict, errors.Frozen, errors.ManagementUnreachable)


def deliver(operation: Operation) -> None:
    """Deliver the kubeconfig of a cluster if it is due; raise nothing.

    The server delays the poll by 10 seconds at most.
    """
    row, rt, scope = operation.cluster, operation.runtime, operation.scope
    address = row.api_address
    if not (conf.delivery_enabled() and address and _is_ready(row)):
        return
    if rt.api_addresses.setdefault(scope, address) != address:
        rt.api_addresses[scope] = address
        rt.deliveries.set_due(scope, 0.0)
    if not rt.deliveries.is_due(scope, _FIRST):
        return
    receiver = runtime.receiver()
    # While another poll delivers, this cluster is left to its next poll.
    if not receiver.turn.acquire(blocking=False):
        return
    try:
        if rt.clock() >= receiver.paused_until:
            _try(operation, receiver)
    finally:
        receiver.turn.release()


def _is_ready(row: Any) -> bool:
    """Return whether a cluster has been complete and is not deleted."""
    action = rows.action(row.status)
    return action != "DELETE" and (
        action != "CREATE" or row.status == rows.Status.CREATE_COMPLETE
    )


def _try(operation: Operation, receiver: runtime.Receiver) -> None:
    """Look at a kubeconfig, and send it if need be; log a problem once."""
    rt, scope = operation.runtime, operation.scope
    of_all, problem, uuid = "", "", operation.cluster.uuid
    rt.undelivered.setdefault(scope, "")
    rt.deliveries.set_due(scope, _SOON)
    try:
        wait = _look(operation, conf.delivery())
        # Another thread may have made it due since the look began.
        if not rt.deliveries.is_due(scope, _SOON):
            rt.deliveries.set_due(scope, wait)
    except _QUIET as error:
        LOG.debug("Delivery of cluster %s waits: %s", uuid, error)
    except (AwayError, errors.NotConfigured) as error:
        of_all = str(error)
    except errors.CapiHelmError as error:
        problem = str(error)
    except Exception as error:
        # The text of an unexpected error may quote a secret.
        problem = f"unexpected {type(error).__name__}"
    # Not inside "except": oslo.log would append the exception again.
    if of_all:
        receiver.paused_until = rt.clock() + _PAUSE
        if of_all != receiver.problem:
            receiver.problem = of_all
            LOG.error("No kubeconfig is delivered: %s", of_all)
    if problem and problem != rt.undelivered.get(scope):
        rt.undelivered[scope] = problem
        LOG.warning("Cluster %s is not delivered: %s", uuid, problem)


def _look(operation: Operation, settings: Delivery) -> float:
    """Send the kubeconfig if the record says so.

    :returns: seconds until the next look
    :raises NotDeliveredError: the server did not accept it
    :raises CapiHelmError: a Secret could not be read or written
    """
    rt, row, release = operation.runtime, operation.cluster, operation.release
    stored, secret = (
        operation.get(kinds.SECRET, name)
        for name in (names.delivery(release), names.kubeconfig(release))
    )
    before = None if stored is None else delivery_record.read(stored)
    if secret is None:
        # Cluster API has not made it yet.
        return _SOON
    admin, now = kubeconfig.administrator(secret), rt.wall()
    looks = delivery_record.fingerprint(
        row.api_address, admin.ca, admin.certificate
    )
    record = delivery_record.following(before, row.uuid, looks, now)
    if not record.delivered:
        if (wait := record.wait(now)) > 0:
            return wait
        # Before anything is written: a message that can't be made is no try.
        body = message(row, record, admin)
        fresh = rows.fresh(operation.context, row)
        if (
            fresh is None
            or not _is_ready(fresh)
            or fresh.api_address != row.api_address
        ):
            return _SOON
        _send(operation, settings, stored, record.claimed(now), body)
    rt.undelivered.pop(operation.scope, None)
    return settings.interval


def _send(
    operation: Operation,
    settings: Delivery,
    stored: client.Object | None,
    claimed: Record,
    body: bytes,
) -> None:
    """Send a message once, between two writes of its record.

    :param stored: the Secret of the record, as it was read
    :raises Conflict: another conductor sends it
    :raises NotDeliveredError: the server did not accept it
    """
    operation.runtime.maintenance.check()
    written = _write(operation, stored, claimed)
    now = operation.runtime.wall()
    headers = signature(settings.keys, claimed.id, now, body)
    with runtime.meter().measure(metrics.DELIVERY):
        post(settings, headers, body)
    runtime.receiver().problem = ""
    text = "The kubeconfig of cluster %s is delivered: %s, %s"
    LOG.info(text, operation.cluster.uuid, claimed.id, claimed.event)
    accepted = dataclasses.replace(claimed, delivered=now)
    _write(operation, written, accepted)


@call.without_lease("the API server compares the record")
def _write(
    operation: Operation, stored: client.Object | None, record: Record
) -> client.Object:
    """Replace the record that was read, or make the first one.

    :param stored: the Secret of the record, as it was read
    :raises Conflict: another conductor has changed it since
    """
    management, data = operation.management, record.to_secret()
    if stored is not None:
        return management.replace(kinds.SECRET, {**stored, "data": data})
    name, labels = names.delivery(operation.release), operation.object_labels
    made = encoding.secret(operation.namespace, name, labels, data)
    return management.create(kinds.SECRET, made)


# The message


def message(
    row: Any, record: Record, credential: kubeconfig.Administrator
) -> bytes:
    """Return the body of a delivery, as JSON."""
    name, address = row.name or row.uuid, row.api_address
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
        "kubeconfig": _kubeconfig(name, address, credential),
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


def post(settings: Delivery, headers: Mapping[str, str], body: bytes) -> None:
    """Send a body; only the status of the answer is read.

    Proxies and passwords of the environment are not used, and a redirect is
    not followed. No exception quotes the body or the URL.

    :raises NotDeliveredError: the answer was not a 2xx
    :raises AwayError: there was none
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
                timeout=_TIMEOUT,
                verify=settings.ca_file or True,
                allow_redirects=False,
                stream=True,
            )
            status = int(answer.status_code)
        except (requests.RequestException, OSError, ValueError) as error:
            # Not chained: its text has the URL, and its request the body.
            raise _failure(settings, error) from None
    if not 200 <= status < 300:
        hint = ""
        if status in range(300, 400):
            hint = ", a redirect, which the driver does not follow"
        raise NotDeliveredError(f"{settings.receiver} answered {status}{hint}")


def probe(settings: Delivery) -> None:
    """Check the receiver's certificate; nothing is sent.

    :raises AwayError: it does not answer, or is not trusted
    """
    trusted = settings.ca_file or certifi.where()
    context = ssl.create_default_context(cafile=trusted)
    address = (settings.host, settings.port)
    try:
        with (
            socket.create_connection(address, sum(_TIMEOUT)) as plain,
            context.wrap_socket(plain, server_hostname=settings.host),
        ):
            pass
    except OSError as error:
        raise _failure(settings, error) from None


def _failure(settings: Delivery, error: Exception) -> AwayError:
    """Return an error without the URL and the body."""
    if untrusted := errors.certificate_problem(error):
        trusted = settings.ca_file or "the CAs that requests trusts"
        return AwayError(
            f"the certificate of {settings.receiver} is not trusted, and "
            f"nothing was sent: {untrusted} (by {trusted}; see [capi_helm] "
            "delivery_ca_file)"
        )
    why = errors.reason(error)
    return AwayError(f"{settings.receiver} does not answer ({why})")
