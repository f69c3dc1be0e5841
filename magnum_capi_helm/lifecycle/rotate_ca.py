# SPDX-License-Identifier: Apache-2.0

"""Replace the CAs of a living cluster: ``coe ca rotate``.

1. Magnum has made new CAs, and its object of the row refers to them. Magnum
   saves this object after the call, so the driver puts back the references of
   the saved row.
2. Refuse a cluster that is not complete and healthy, or whose new machines
   would have no image, or values that chart or webhooks refuse.
3. Under the Lease, save UPDATE_IN_PROGRESS, and store the rotation in the
   Secret of the desired state. Then save a reference to both CAs: a kubeconfig
   that a user gets after this works until the old CA is dropped.
4. The rotation is a plan (``plan_steps.py``) of the steps in
   ``chart/ca_rotation.py``; a step of the control plane begins with CA
   Secrets. A rotation whose bridge ends soon goes back to its first step.
5. After the last step the Cluster gets the time at which Magnum made the CAs,
   and the old certificates are deleted from Magnum's store.

In the phase trust an operator can take a rotation back (``rollback.py``).
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
import dataclasses
import time
from typing import Any

from oslo_log import log

from magnum_capi_helm.chart import ca_rotation
from magnum_capi_helm.cloud import catalogue
from magnum_capi_helm.cloud import certificates
from magnum_capi_helm.database import rows
from magnum_capi_helm.database import status_writer
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.lifecycle import observed_state
from magnum_capi_helm.lifecycle import release_change
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.model import encoding
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.model import paths
from magnum_capi_helm.operations import cluster_operation
from magnum_capi_helm.operations import cluster_release
from magnum_capi_helm.operations import holding
from magnum_capi_helm.operations import magnum_errors
from magnum_capi_helm.operations import template_guard
from magnum_capi_helm.status import view

LOG = log.getLogger(__name__)
Held = holding.Held
Rotation = ca_rotation.Rotation

#: Purposes of the CA Secrets that a rotation changes.
_PURPOSES = ("ca", "proxy", "sa")
#: Seconds to wait for a helm process, as for an upgrade.
_PATIENCE = 30.0
#: Annotation of ``kubectl rollout restart``.
_RESTARTED = "kubectl.kubernetes.io/restartedAt"
#: Annotation of the Cluster: when the CAs of the last rotation that ended, or
#: was taken back, were made.
_ENDED = "magnum.openstack.org/ca-rotation"


def rotate(operation: cluster_operation.Operation) -> None:
    """Accept a rotation to the CAs that Magnum has made.

    :param operation: with Magnum's row, which has new references
    :raises LeaseHeld: another conductor works on the cluster
    :raises CapiHelmError: it was refused; the references are the old ones
    """
    context, cluster = operation.context, operation.cluster
    stored = False
    try:
        operation.check_changeable()
        row = rows.fresh(context, cluster)
        if row is None:
            raise errors.NotSupported("the cluster is deleted")
        before = cluster_operation.Operation(context, row, operation.runtime)
        rt = operation.runtime
        with (
            # Before the Lease: no operation waits for helm with a Lease.
            rt.turns.turn(_PATIENCE),
            before.lock(wait=rt.lease_wait) as held,
        ):
            held.check_living()
            current = release_change.read(held)
            state = observed_state.observe_all(held, current.stored)
            observed_state.check_settled(state)
            _check_machines(held, current)
            rotation = _new_rotation(held, cluster)
            # Before the rest: polls complete it again if there is no more.
            status_writer.save_updating(held.cluster)
            _store(held, rotation)
            stored = True
            text = "CA rotation of cluster %s goes on with the polls: %s"
            with magnum_errors.logged(LOG, text, cluster.uuid):
                _make_certificates(held, rotation)
    except Exception as error:
        # Polls go on with one that may be stored, and need its certificates.
        kept = stored or isinstance(error, _MayBeStoredError)
        certificates.restore_references(context, cluster, keep_new=kept)
        raise
    # Magnum saves its own object of the row next: it gets what the row has.
    certificates.restore_references(context, cluster, keep_new=True)


def _check_machines(held: Held, current: release_change.Current) -> None:
    """Refuse a rotation whose machines can't be made.

    :raises InvalidInput: an image is not in Glance any more
    :raises CapiHelmError: chart or webhooks refuse the values, or don't answer
    """
    applied = current.desired.values
    cloud = catalogue.Cloud(held.session())
    plane = applied.get(paths.CONTROL_PLANE)
    machines = (applied, plane, *current.items.values())
    for image in {(each or {}).get(paths.IMAGE_ID) for each in machines}:
        if image:
            cloud.image(image)
    # There is no bridge yet: any certificate is as good.
    prepared = _prepared(held, _trusted(held, "ca"))
    compared = current.compare(prepared)
    template_guard.check_objects(held, prepared, current.rows, compared)
    release_change.dry_run(held, compared.objects, "the CA rotation")


class _MayBeStoredError(errors.ManagementError):
    """The management cluster did not say whether it stored a rotation."""


def _store(held: Held, rotation: Rotation) -> None:
    """Store a rotation; from here on it happens.

    :raises _MayBeStoredError: the management cluster answered neither this
        request nor the one that takes it back
    :raises CapiHelmError: it is not stored
    """
    try:
        held.patch_stored(rotation.to_secret())
    except errors.CapiHelmError as error:
        try:
            held.patch_stored({rotation.KEY: None})
        except errors.CapiHelmError:
            raise _MayBeStoredError(str(error)) from error
        raise
    LOG.info("cluster %s: %s", held.cluster.uuid, rotation.text)


def _make_certificates(held: Held, rotation: Rotation) -> Rotation:
    """Let Magnum sign with the old CA and show both; the row is saved.

    They are made after the rotation is stored, because only it names them.
    Magnum's own certificate of the new CA would allow no bridge below it.

    :returns: the rotation with references to them; the same if it has them
    :raises CapiHelmError: not now; the next poll tries again
    """
    context, row = held.context, held.cluster
    old, new = row.ca_cert_ref, rotation.references["ca_cert_ref"]
    pem, made = rotation.new["ca"][0], []
    both = ca_rotation.bundle(rotation.old["ca"], pem)
    if old in rotation.certificates:
        # Made before; the conductor may have died before it saved the row.
        shown = certificates.find(context, row, rotation.certificates, both)
        _save_references(held, {"ca_cert_ref": shown or old})
        return rotation
    try:
        for ref, text in ((old, both), (new, pem)):
            made.append(certificates.copy(context, row, ref, text))
        rotation = dataclasses.replace(
            rotation,
            references={**rotation.references, "ca_cert_ref": made[1]},
            certificates=sorted({*rotation.certificates, old, new, made[0]}),
        )
        held.patch_stored(rotation.to_secret())
    except errors.CapiHelmError as error:
        # Without an answer the rotation may have their names.
        if not isinstance(error, errors.ManagementUnreachable):
            certificates.delete(context, row, made)
        raise
    _save_references(held, {"ca_cert_ref": made[0]})
    return rotation


def _save_references(held: Held, references: Mapping[str, str]) -> None:
    """Let Magnum show other certificates: its row gets their references."""
    for field, reference in references.items():
        setattr(held.cluster, field, reference)
    rows.save(held.cluster)
    certificates.forget_client_files(held.context, held.cluster)


def _new_rotation(held: Held, cluster: rows.Cluster) -> Rotation:
    """Return a rotation; nothing is made for it yet.

    :raises NotSupported: a CA Secret of the cluster is not there, or the CAs
        are as old as those of the last rotation
    :raises CloudError: Magnum's certificate store does not answer
    """
    context, row = held.context, held.cluster
    old = {each: _trusted(held, each) for each in _PURPOSES}
    authorities = certificates.fetch(context, cluster)
    del authorities["etcd"]
    new = certificates.successor(authorities["ca"])
    ended = view.annotations_of(held.get(kinds.CLUSTER)).get(_ENDED, "")
    if certificates.made_at(new.decode()) <= ended:
        raise errors.NotSupported(
            "Magnum's new CA is not newer than that of the last CA rotation: "
            "the operator has to set the clocks of the conductors"
        )
    authorities["ca"] = (new, *authorities["ca"][1:])
    references = {
        field: getattr(cluster, field) for field in certificates.REFERENCES
    }
    unused = references["etcd_ca_cert_ref"]
    references["etcd_ca_cert_ref"] = row.etcd_ca_cert_ref
    replaced = {getattr(row, each) for each in references} - {row.ca_cert_ref}
    return Rotation(
        old=old,
        new={
            purpose: (certificate.decode(), key.decode())
            for purpose, (certificate, key) in certificates.key_pairs(
                authorities
            ).items()
        },
        bridge=certificates.bridge(
            old["ca"].encode(), authorities["ca"]
        ).decode(),
        references=references,
        certificates=sorted((replaced - set(references.values())) | {unused}),
    )


def _trusted(held: Held, purpose: str) -> str:
    """Read the trusted certificates, or the public key, of a CA Secret.

    :param purpose: as in :data:`_PURPOSES`
    :returns: in PEM
    :raises NotSupported: the Secret is not there, or is incomplete
    """
    name = names.certificate(held.release, purpose)
    data = (held.get(kinds.SECRET, name) or {}).get("data") or {}
    if not data.get("tls.crt") or not data.get("tls.key"):
        raise errors.NotSupported(
            f"the Secret {name} has no certificate and key: Cluster API keeps "
            "the CA of this cluster elsewhere"
        )
    return base64.b64decode(data["tls.crt"]).decode()


def begin(held: Held, rotation: Rotation) -> Rotation:
    """Write what new machines of a step need.

    The rotation goes back to the first step if the bridge ends soon: in the
    phase sign old API servers are trusted by the bridge alone.
    """
    is_signing = rotation.step == ca_rotation.FIRST_SIGNING
    if is_signing and not certificates.lasts(rotation.bridge.encode()):
        certificate, key = (each.encode() for each in rotation.new["ca"])
        bridge = certificates.bridge(
            rotation.old["ca"].encode(), (certificate, key, None)
        )
        rotation = dataclasses.replace(
            rotation, step=0, bridge=bridge.decode()
        )
    if not rotation.step:
        rotation = _make_certificates(held, rotation)
    if rotation.now.control_plane:
        for purpose in _PURPOSES:
            name = names.certificate(held.release, purpose)
            data = {"data": rotation.secret_data(purpose)}
            held.patch(kinds.SECRET, name, data)
        if rotation.phase == ca_rotation.TRUST:
            held.store(_prepared(held, rotation.bridge))
        else:
            _use_new_ca(held, rotation)
    elif rotation.phase == ca_rotation.SIGN:
        _restart_autoscaler(held)
    return rotation


def _prepared(
    release: cluster_release.Release, bridge: str
) -> desired_state.DesiredState:
    """Return the desired state of a rotation; each has a bridge of its own."""
    return release_change.with_other_values(
        release,
        lambda v: ca_rotation.with_machines_prepared(v, bridge),
        {names.CONTROL_PLANE},
    )


def _use_new_ca(held: Held, rotation: Rotation) -> None:
    """Let Magnum sign with the new CA, and Cluster API make its kubeconfig.

    All API servers accept both by now. The kubeconfig is deleted in the phase
    drop as well: Cluster API may have read the CA from its cache.
    """
    _save_references(held, rotation.references)
    held.delete(kinds.SECRET, names.kubeconfig(held.release))


def _restart_autoscaler(held: Held) -> None:
    """Let the autoscaler, if there is one, read the kubeconfig again."""
    annotations = {_RESTARTED: str(int(time.time()))}
    change = {"spec": {"template": {"metadata": {"annotations": annotations}}}}
    held.patch(kinds.DEPLOYMENT, names.autoscaler(held.release), change)


def end_annotation(rotation: Rotation) -> dict[str, str]:
    """Return the annotation of the Cluster by which a rotation has ended.

    It is the time at which the CAs were made: later rotations have later ones.
    """
    return {_ENDED: certificates.made_at(rotation.new["ca"][0])}


def discard(context: Any, row: rows.Cluster, rotation: Rotation) -> None:
    """Delete certificates of a rotation that Magnum's row does not have.

    When the cluster is deleted, others delete the certificates of the row.
    """
    refs = {*rotation.certificates, *rotation.references.values()}
    refs -= {getattr(row, each) for each in certificates.REFERENCES}
    certificates.delete(context, row, sorted(refs))


def desired_without(
    release: cluster_release.Release, rotation: Rotation
) -> desired_state.DesiredState:
    """Return the desired state without a rotation.

    :raises NotSupported: the new CA signs already
    """
    if rotation.phase != ca_rotation.TRUST:
        raise errors.NotSupported(
            f"{rotation.text}: the new CA signs already, and there is no way "
            "back. Remove the reason why the rotation does not go on, and "
            "resize the cluster to the count it has"
        )
    return release_change.with_other_values(
        release, ca_rotation.without_machines_prepared, {names.CONTROL_PLANE}
    )


def take_back(
    held: Held, rotation: Rotation, accept: Callable[[], None]
) -> None:
    """Accept the state without a rotation; the old CA signs again."""
    row = held.cluster
    others = {getattr(row, e) for e in certificates.REFERENCES[1:]}
    old_ca = certificates.find(
        held.context,
        row,
        set(rotation.certificates) - others,
        rotation.old["ca"],
    )
    accept()
    for purpose, old in rotation.old.items():
        name = names.certificate(held.release, purpose)
        data = {"tls.crt": encoding.encode(old)}
        held.patch(kinds.SECRET, name, {"data": data})
    _save_references(held, {"ca_cert_ref": old_ca or row.ca_cert_ref})
