# SPDX-License-Identifier: Apache-2.0

"""Replace the CAs of a living cluster: ``coe ca rotate``.

1. Magnum has made new CAs, and row and request refer to them. If the driver
   raises, the references of before are put back.
2. Refuse a cluster that is not complete and healthy, or whose new machines
   would have no image, or values that chart or webhooks refuse.
3. Under the Lease, save UPDATE_IN_PROGRESS, and store the rotation in the
   Secret of the desired state. Then save a reference to both CAs: a kubeconfig
   from then on works until the old CA is dropped.
4. Each poll that finds the cluster complete takes the next step of
   ``chart/ca_rotation.py``, under the Lease: write the CA Secrets, then note
   the machines of that role. Whatever a conductor did before it died is
   written once more.
5. ``rolloutAfter`` of the KubeadmControlPlane, or of MachineDeployments, lets
   Cluster API replace the noted machines. When they are gone, and the cluster
   is complete, the step has ended.
6. After the last step the Cluster gets the time at which Magnum made the CAs.
   Then the rotation is forgotten, and the old certificates are deleted from
   Magnum's store. A rotation that is not newer came back with a restored or
   late Secret, and is dropped.

In the phase trust an operator can take a rotation back (``rollback.py``).
"""

from __future__ import annotations

import base64
from collections.abc import Callable
import dataclasses
import time
from typing import Any

from oslo_log import log

from magnum_capi_helm.chart import ca_rotation
from magnum_capi_helm.chart import values
from magnum_capi_helm.cloud import catalogue
from magnum_capi_helm.cloud import certificates
from magnum_capi_helm.database import rows
from magnum_capi_helm.database import status_writer
from magnum_capi_helm.features import topic
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.lifecycle import observed_state
from magnum_capi_helm.lifecycle import plans
from magnum_capi_helm.lifecycle import release_change
from magnum_capi_helm.model import desired_state
from magnum_capi_helm.model import encoding
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.operations import holding
from magnum_capi_helm.operations import magnum_errors
from magnum_capi_helm.operations import operation as operations
from magnum_capi_helm.operations import release as releases
from magnum_capi_helm.operations import template_guard
from magnum_capi_helm.status import cluster as cluster_status
from magnum_capi_helm.status import replacement
from magnum_capi_helm.status import view

LOG = log.getLogger(__name__)

#: Purposes of the CA Secrets that a rotation changes.
_PURPOSES = ("ca", "proxy", "sa")
#: Seconds to wait for a helm process, as for an upgrade.
_PATIENCE = 30.0
#: Annotation of ``kubectl rollout restart``.
_RESTARTED = "kubectl.kubernetes.io/restartedAt"
#: Annotation of the Cluster: when the CAs of the last rotation that ended, or
#: was taken back, were made.
_ENDED = "magnum.openstack.org/ca-rotation"
#: Annotation of the Cluster: the step of the rotation that goes on, in words.
_STEP = "magnum.openstack.org/ca-rotation-step"


def rotate(operation: operations.Operation) -> None:
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
        before = operations.Operation(context, row, operation.runtime)
        rt = operation.runtime
        with (
            # Before the Lease: no operation waits for helm with a Lease.
            rt.turns.turn(_PATIENCE),
            before.lock(wait=rt.lease_wait) as held,
        ):
            held.check_living()
            current = release_change.read(held)
            state = observed_state.observe_all(held, held.stored())
            observed_state.check_settled(state)
            _check_machines(held, current)
            rotation = _plan(held, cluster)
            # Before the rest: polls complete it again if there is no more.
            status_writer.save_updating(held.row)
            _store(held, rotation)
            stored = True
            text = "CA rotation of cluster %s goes on with the polls: %s"
            with magnum_errors.logged(LOG, text, cluster.uuid):
                _with_certificates(held, rotation)
    except Exception as error:
        # Polls go on with one that may be stored, and need its certificates.
        kept = stored or isinstance(error, _MayBeStoredError)
        certificates.restore_references(context, cluster, keep_new=kept)
        raise
    # Magnum saves its own object of the row afterwards.
    certificates.restore_references(context, cluster, keep_new=True)


def _check_machines(
    held: holding.Held, current: release_change.Current
) -> None:
    """Refuse a rotation whose machines can't be made.

    :raises InvalidInput: an image is not in Glance any more
    :raises CapiHelmError: chart or webhooks refuse the values, or don't answer
    """
    applied = current.desired.values
    cloud = catalogue.Cloud(held.session())
    machines = (
        applied,
        applied.get("controlPlane"),
        *current.items.values(),
    )
    for image in {(each or {}).get("machineImageId") for each in machines}:
        if image:
            cloud.image(image)
    # There is no bridge yet: any certificate is as good.
    prepared = _prepared(held, _trusted(held, "ca"))
    compared = release_change.compare(held, prepared)
    template_guard.check_objects(
        held, prepared, current.rows, compared.before, compared.after
    )
    release_change.dry_run(held, compared.objects, "the CA rotation")


class _MayBeStoredError(errors.ManagementError):
    """The management cluster did not say whether it stored a rotation."""


def _store(held: holding.Held, rotation: ca_rotation.Rotation) -> None:
    """Store a rotation; from here on it happens.

    :raises _MayBeStoredError: the management cluster answered neither this
        request nor the one that takes it back
    :raises CapiHelmError: it is not stored
    """
    try:
        held.patch_stored(rotation.stored())
    except errors.CapiHelmError as error:
        try:
            held.patch_stored({ca_rotation.KEY: None})
        except errors.CapiHelmError:
            raise _MayBeStoredError(str(error)) from error
        raise
    LOG.info("cluster %s: %s", held.row.uuid, rotation.text)


def _with_certificates(
    held: holding.Held, rotation: ca_rotation.Rotation
) -> ca_rotation.Rotation:
    """Let Magnum sign with the old CA and show both; the row is saved.

    They are made after the rotation is stored, because only it names them.
    Magnum's own certificate of the new CA would allow no bridge below it.

    :returns: the rotation with references to them; the same if it has them
    :raises CapiHelmError: not now; the next poll tries again
    """
    context, row = held.context, held.row
    old, new = row.ca_cert_ref, rotation.references["ca_cert_ref"]
    if old in rotation.certificates:
        return rotation
    pem, made = rotation.new["ca"][0], []
    both = ca_rotation.bundle(rotation.old["ca"], pem)
    try:
        for ref, text in ((old, both), (new, pem)):
            made.append(certificates.copy(context, row, ref, text))
        rotation = dataclasses.replace(
            rotation,
            references={**rotation.references, "ca_cert_ref": made[1]},
            certificates=sorted({*rotation.certificates, old, new, made[0]}),
        )
        held.patch_stored(rotation.stored())
    except errors.CapiHelmError as error:
        # Without an answer the rotation may have their names.
        if not isinstance(error, errors.ManagementUnreachable):
            certificates.delete(context, row, made)
        raise
    row.ca_cert_ref = made[0]
    rows.save(row)
    certificates.delete(context, row, ())
    return rotation


def _plan(held: holding.Held, cluster: Any) -> ca_rotation.Rotation:
    """Return a rotation; nothing is made for it yet.

    :raises NotSupported: a CA Secret of the cluster is not there, or the CAs
        are as old as those of the last rotation
    :raises CloudError: Magnum's certificate store does not answer
    """
    context, row = held.context, held.row
    old = {each: _trusted(held, each) for each in _PURPOSES}
    authorities = certificates.fetch(context, cluster)
    del authorities["etcd"]
    new = certificates.successor(authorities["ca"])
    if certificates.made_at(new.decode()) <= _ended_at(held):
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
    return ca_rotation.Rotation(
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


def _trusted(held: holding.Held, purpose: str) -> str:
    name = names.certificate(held.release, purpose)
    secret = held.runtime.management.get(kinds.SECRET, held.namespace, name)
    data = (secret or {}).get("data") or {}
    if not data.get("tls.crt") or not data.get("tls.key"):
        raise errors.NotSupported(
            f"the Secret {name} has no certificate and key: Cluster API keeps "
            "the CA of this cluster elsewhere"
        )
    return base64.b64decode(data["tls.crt"]).decode()


def advance(held: holding.Held, state: observed_state.ObservedState) -> bool:
    """Take or begin the next step of a rotation, if there is one.

    :param state: of a cluster that is complete otherwise
    :returns: whether it goes on
    :raises CapiHelmError: not now; the next poll tries again
    """
    rotation = state.stored and state.stored.rotation
    if not rotation:
        return False
    if _has_ended(held, rotation):
        text = "cluster %s: a stored %s has ended before, and is dropped"
        LOG.warning(text, held.row.uuid, ca_rotation.NAME)
        _forget(held, rotation)
        return False
    left = plans.left(state.view, rotation)
    if rotation.machines is not None and not left:
        if rotation.step + 1 == len(ca_rotation.STEPS):
            _end(held, rotation)
            text = "cluster %s: %s is complete"
            LOG.info(text, held.row.uuid, ca_rotation.NAME)
            return False
        step = rotation.step + 1
        rotation = dataclasses.replace(rotation, step=step, machines=None)
        if rotation.now == ca_rotation.FIRST_SIGNING:
            rotation = _with_lasting_bridge(rotation)
        held.patch_stored(rotation.stored())
    if rotation.machines is None:
        _show(held, state, rotation)
        _begin(held, rotation)
        return True
    plans.replace(held, state.view, left)
    progress = rotation.step, *map(plans.uid, left)
    if not observed_state.is_stuck(held, "rotation", progress):
        _show(held, state, rotation)
    elif rows.in_progress(held.row.status):
        shown = ", ".join(map(view.name_of, left[:3]))
        reason = f"{rotation.text}: still to be replaced: {shown}"
        reason = f"{observed_state.LATE}{reason}"
        held.save_failed(state.nodegroups, reason, state.verdict)
    return True


def _show(
    held: holding.Held,
    state: observed_state.ObservedState,
    rotation: ca_rotation.Rotation,
) -> None:
    """Note the step in the row, and on the Cluster, where polls find it."""
    text = rotation.text
    if _step_of(state.view) != text:
        change = {"metadata": {"annotations": {_STEP: text}}}
        held.runtime.management.patch(kinds.CLUSTER, *held.scope, change)
    held.row.status_reason = text
    status_writer.save_unfinished(held.row)


def _step_of(objects: view.View) -> str:
    return view.annotations_of(objects.cluster).get(_STEP, "")


def _with_lasting_bridge(
    rotation: ca_rotation.Rotation,
) -> ca_rotation.Rotation:
    """Return a rotation at its first step if its bridge ends soon.

    In the phase sign old API servers are trusted by the bridge alone.
    """
    if certificates.lasts(rotation.bridge.encode()):
        return rotation
    certificate, key = (each.encode() for each in rotation.new["ca"])
    bridge = certificates.bridge(
        rotation.old["ca"].encode(), (certificate, key, None)
    )
    return dataclasses.replace(rotation, step=0, bridge=bridge.decode())


def _begin(held: holding.Held, rotation: ca_rotation.Rotation) -> None:
    """Write what new machines of a step need, then note the old ones."""
    step, rt = rotation.now, held.runtime
    if not rotation.step:
        rotation = _with_certificates(held, rotation)
    if step.control_plane:
        for purpose in _PURPOSES:
            rt.management.patch(
                kinds.SECRET,
                held.namespace,
                names.certificate(held.release, purpose),
                {"data": rotation.secret_data(purpose)},
            )
        if step.phase == ca_rotation.TRUST:
            held.store(_prepared(held, rotation.bridge))
        else:
            _use_new_ca(held, rotation)
    elif step.phase == ca_rotation.SIGN:
        _restart_autoscaler(held)
    live = rt.snapshots.read(held.scope).decode()
    machines = tuple(
        map(
            plans.uid,
            plans.machines_of(live, rotation),
        )
    )
    rotation = dataclasses.replace(rotation, machines=machines)
    held.patch_stored(rotation.stored())
    LOG.info("cluster %s: %s", held.cluster.uuid, rotation.text)


def _prepared(
    release: releases.Release, bridge: str
) -> desired_state.DesiredState:
    """Return the desired state of a rotation; each has a bridge of its own."""
    return _changed(
        release, lambda v: ca_rotation.with_machines_prepared(v, bridge)
    )


def _changed(
    release: releases.Release,
    change: Callable[[topic.Values], topic.Values],
) -> desired_state.DesiredState:
    """Return the desired state with other values, or the same."""
    revisions, row = release.revisions(), release.cluster
    rows_now, _ = rows.read(row)
    desired = release.stored(revisions).planned(row, rows_now, revisions)
    new = change(desired.values)
    if new == desired.values:
        return desired
    changed = dataclasses.replace(
        desired,
        values=values.upgraded(new, desired.values),
        since=time.time(),
    )
    revision = releases.last_deployed(revisions).version
    return changed.permitting(revision, {names.CONTROL_PLANE})


def _use_new_ca(held: holding.Held, rotation: ca_rotation.Rotation) -> None:
    """Let Magnum sign with the new CA, and Cluster API make its kubeconfig.

    All API servers accept both by now. The kubeconfig is deleted in the phase
    drop as well: Cluster API may have read the CA from its cache.
    """
    row = held.row
    for field, ref in rotation.references.items():
        setattr(row, field, ref)
    rows.save(row)
    # Magnum's cache of client files goes, too.
    certificates.delete(held.context, row, ())
    held.runtime.management.delete(
        kinds.SECRET, held.namespace, names.kubeconfig(held.release)
    )


def _restart_autoscaler(held: holding.Held) -> None:
    """Let the autoscaler, if there is one, read the kubeconfig again."""
    annotations = {_RESTARTED: str(int(time.time()))}
    held.runtime.management.patch(
        kinds.DEPLOYMENT,
        held.namespace,
        names.chart_object(held.release, "autoscaler"),
        {"spec": {"template": {"metadata": {"annotations": annotations}}}},
    )


def _has_ended(
    release: releases.Release, rotation: ca_rotation.Rotation
) -> bool:
    """Return whether a rotation is the copy of one that has ended."""
    made = certificates.made_at(rotation.new["ca"][0])
    return made <= _ended_at(release)


def _ended_at(release: releases.Release) -> str:
    """Return when the CAs of the last rotation that ended were made, or ""."""
    live = release.runtime.management.get(kinds.CLUSTER, *release.scope)
    return view.annotations_of(live).get(_ENDED, "")


def _end(held: holding.Held, rotation: ca_rotation.Rotation) -> None:
    """Note that a rotation has ended; then forget it."""
    made = certificates.made_at(rotation.new["ca"][0])
    noted = {"metadata": {"annotations": {_ENDED: made, _STEP: None}}}
    held.runtime.management.patch(kinds.CLUSTER, *held.scope, noted)
    _forget(held, rotation)


def _forget(held: holding.Held, rotation: ca_rotation.Rotation) -> None:
    """Remove a rotation; then nothing refers to its certificates."""
    held.patch_stored({ca_rotation.KEY: None})
    _delete_unused(held.context, held.row, rotation)


def delete_certificates(operation: operations.Operation) -> None:
    """Delete the certificates of a rotation, with the cluster.

    Magnum and the rest of the deletion delete those in the row.
    """
    try:
        # The desired state may be of a newer version of the driver.
        rotation = releases.read_rotation(operation.runtime, operation.scope)
    except errors.ManagementError as error:
        if error.retriable:
            raise
        # What is damaged keeps no deletion.
        LOG.warning("cluster %s: %s", operation.cluster.uuid, error)
        return
    if rotation:
        _delete_unused(operation.context, operation.cluster, rotation)


def _delete_unused(
    context: Any, row: Any, rotation: ca_rotation.Rotation
) -> None:
    refs = {*rotation.certificates, *rotation.references.values()}
    refs -= {getattr(row, each) for each in certificates.REFERENCES}
    certificates.delete(context, row, sorted(refs))


def plan_without(
    release: releases.Release,
) -> desired_state.DesiredState | None:
    """Return the desired state without a rotation; None: there is none.

    :raises NotSupported: the new CA signs already
    """
    rotation = releases.read_rotation(release.runtime, release.scope)
    if rotation is None or _has_ended(release, rotation):
        return None
    if rotation.now.phase != ca_rotation.TRUST:
        raise errors.NotSupported(
            f"{rotation.text}: the new CA signs already, and there is no way "
            "back. Remove the reason why the rotation does not go on, and "
            "resize the cluster to the count it has"
        )
    return _changed(release, ca_rotation.without_machines_prepared)


def take_back(held: holding.Held, desired: desired_state.DesiredState) -> bool:
    """Accept the result of :func:`plan_without`, and forget the rotation.

    If the conductor dies meanwhile, the rotation goes on from its first step.

    :returns: False: there is no rotation
    """
    rt, row = held.runtime, held.row
    rotation = releases.read_rotation(rt, held.scope)
    if rotation is None or _has_ended(held, rotation):
        return False
    others = {getattr(row, e) for e in certificates.REFERENCES[1:]}
    old_ca = certificates.find(
        held.context,
        row,
        set(rotation.certificates) - others,
        rotation.old["ca"],
    )
    _keep_machines(held, rotation)
    again = dataclasses.replace(rotation, step=0, machines=None)
    version = held.patch_stored(again.stored(), desired.version)
    row.status_reason = None
    release_change.accept(held, dataclasses.replace(desired, version=version))
    for purpose, old in rotation.old.items():
        name = names.certificate(held.release, purpose)
        data = {"tls.crt": encoding.encode(old)}
        rt.management.patch(kinds.SECRET, held.namespace, name, {"data": data})
    row.ca_cert_ref = old_ca or row.ca_cert_ref
    rows.save(row)
    _end(held, rotation)
    LOG.info("cluster %s: %s is taken back", row.uuid, ca_rotation.NAME)
    return True


def _keep_machines(held: holding.Held, rotation: ca_rotation.Rotation) -> None:
    """Let Cluster API replace no machine for a rotation any more."""
    live = held.runtime.snapshots.read(held.scope).decode()
    for kind, owner in plans.owners(live):
        begun = kind is kinds.CONTROL_PLANE or rotation.step
        if owner and begun and replacement.renewal_time(owner):
            held.runtime.management.patch(
                kind,
                held.namespace,
                view.name_of(owner),
                replacement.renewal_patch(owner, None),
            )


def with_step(
    objects: view.View, verdict: cluster_status.Verdict
) -> cluster_status.Verdict:
    """Return a verdict whose reason names the step of a rotation, if any."""
    parts = filter(None, (_step_of(objects), verdict.reason))
    return dataclasses.replace(verdict, reason=": ".join(parts))
