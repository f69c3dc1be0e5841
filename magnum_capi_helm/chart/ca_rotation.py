# SPDX-License-Identifier: Apache-2.0

"""The rotation of a cluster's CAs: its six steps, and what machines need.

In three phases Cluster API replaces first the control plane, then the
workers. ``<release>-ca``, ``-proxy`` and ``-sa`` hold in ``tls.crt`` and
``tls.key``:

======  ==================  ========
phase   trusted             signs
======  ==================  ========
trust   old, then new       old
sign    new, then old       new
drop    new                 new
======  ==================  ========

kubeadm and Cluster API sign with ``tls.key`` and take the first certificate
for its own (``TryLoadCertFromDisk`` in ``pkiutil/pki_helpers.go``,
``generateKubeconfig`` in ``util/kubeconfig/kubeconfig.go``). Machines of the
control plane get by values of the chart what these two don't do:

* kube-controller-manager signs only with a file of exactly one certificate
  (``setCA`` in ``pkg/controller/certificates/signer/ca_provider.go``).
* ``kubeadm join`` reads the CAs that a kubelet trusts from the ConfigMap
  ``cluster-info``, which kubeadm writes once.
* A machine that joins in the phase sign, and Cluster API, know the new CA
  alone, and reach old API servers: these send a bridge, a certificate of the
  old CA that the new one has signed.
* API servers never remove a CA from the ConfigMap
  ``extension-apiserver-authentication``
  (``cluster_authentication_trust_controller.go``); they write it anew.

The CA of etcd stays: Cluster API caches for a day a client certificate that
it signed (``ClientCertCache`` in ``controlplane/kubeadm/internal``), so a new
one could be the only one a day later at the earliest. It signs for the
control plane's machines alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import copy
import dataclasses
from typing import Any

from magnum_capi_helm.features import topic
from magnum_capi_helm.model import encoding
from magnum_capi_helm.model import paths
from magnum_capi_helm.model import plan

TRUST, SIGN, DROP = _PHASES = ("trust", "sign", "drop")
#: Index of the first step without a way back; the bridge has to be valid.
FIRST_SIGNING = 2


_STEPS = (
    plan.Step(True, "the control plane gets to trust both CAs"),
    plan.Step(False, "workers get to trust both CAs"),
    plan.Step(True, "the control plane gets certificates of the new CA"),
    plan.Step(False, "workers get certificates of the new CA"),
    plan.Step(True, "the control plane forgets the old CA"),
    plan.Step(False, "workers forget the old CA"),
)


@dataclasses.dataclass(frozen=True)
class Rotation(plan.Plan):
    """A rotation.

    :param old: purpose -> trusted certificates, or public keys, before it
    :param new: purpose -> certificate, or public key, and private key
    :param bridge: certificate that makes new clients trust old API servers
    :param references: fields of the row from the phase sign on -> references
    :param certificates: references of the certificates that Magnum's row has
        no more from the phase sign on
    """

    KEY = "ca-rotation.json.gz"
    NAME = "CA rotation"
    WAY_BACK = (
        f"An operator can take it back before its step {FIRST_SIGNING + 1}"
    )
    old: Mapping[str, str]
    new: Mapping[str, Sequence[str]] = dataclasses.field(repr=False)
    bridge: str
    references: Mapping[str, str]
    certificates: Sequence[str]

    @property
    def steps(self) -> Sequence[plan.Step]:
        """Two in each phase."""
        return _STEPS

    @property
    def phase(self) -> str:
        """The phase of the step; each phase has two."""
        return _PHASES[self.step // 2]

    def secret_data(self, purpose: str) -> dict[str, str]:
        """Return the data of a CA's Secret in this phase, in base64."""
        old, (new, key) = self.old[purpose], self.new[purpose]
        if self.phase == TRUST:
            return {"tls.crt": encoding.encode(bundle(old, new))}
        kept = [new, old] if self.phase == SIGN else [new]
        return {
            "tls.crt": encoding.encode(bundle(*kept)),
            "tls.key": encoding.encode(key),
        }


def bundle(*pems: str) -> str:
    """Return PEM texts in one, in the same order."""
    return "".join(f"{each.strip()}\n" for each in pems)


_PKI = "/etc/kubernetes/pki"
_BRIDGE = f"{_PKI}/ca-bridge.crt"
_SIGNER = f"{_PKI}/ca-signer.crt"
_SCRIPT = "/etc/kubernetes/ca-rotation.sh"
#: Without kubectl the machine does not join: no other has been replaced yet.
_COMMAND_BEFORE = (
    f"command -v kubectl || exit 1; "
    f"sed '/END CERTIFICATE/q' {_PKI}/ca.crt > {_SIGNER}"
)
_COMMAND_AFTER = f"bash {_SCRIPT}"
#: A machine that can't write cluster-info gets no ready node, so that the
#: rotation stops before any kubelet is cut off.
_SCRIPT_TEXT = f"""\
server=$(sed -n 's/ *server: //p' /etc/kubernetes/controller-manager.conf)
api="kubectl --kubeconfig /etc/kubernetes/admin.conf --server $server"
ca=$(base64 -w0 {_PKI}/ca.crt)
publish() {{
  $api -n kube-public get configmap cluster-info -o yaml |
    sed "s|certificate-authority-data: .*|certificate-authority-data: $ca|" |
    $api replace -f -
}}
if [ "$(grep -c BEGIN {_PKI}/ca.crt)" -gt 1 ]; then
  cat {_BRIDGE} >> {_PKI}/apiserver.crt
else
  systemd-run --on-active=20min --setenv=PATH="$PATH" $api -n kube-system \\
    delete configmap extension-apiserver-authentication
fi
for _ in $(seq 60); do
  publish && exit
  sleep 2
done
systemctl stop kubelet
"""


_ARGUMENT = (
    f"{paths.PLANE_KUBEADM}.clusterConfiguration.controllerManager.extraArgs."
    "cluster-signing-cert-file"
)
#: Items of lists: paths of files, and commands.
_ITEMS = {
    f"{paths.PLANE_KUBEADM}.files": (_BRIDGE, _SCRIPT),
    f"{paths.PLANE_KUBEADM}.preKubeadmCommands": (_COMMAND_BEFORE,),
    f"{paths.PLANE_KUBEADM}.postKubeadmCommands": (_COMMAND_AFTER,),
}


def with_machines_prepared(
    values: Mapping[str, Any], bridge: str
) -> paths.Values:
    """Return values whose control plane machines take part in a rotation.

    They stay after it, until an upgrade makes the values anew: with one CA
    the files and the argument change nothing.
    """
    result = without_machines_prepared(values)
    content = {_BRIDGE: (bridge, "0644"), _SCRIPT: (_SCRIPT_TEXT, "0700")}
    for path, names in _ITEMS.items():
        items = [
            topic.machine_file(each, *content[each])
            if each in content
            else each
            for each in names
        ]
        paths.put(result, path, [*_items(result, path), *items])
    paths.put(result, _ARGUMENT, _SIGNER)
    return result


def without_machines_prepared(values: Mapping[str, Any]) -> paths.Values:
    """Return values without all that :func:`with_machines_prepared` adds."""
    result = copy.deepcopy(dict(values))
    for path in _ITEMS:
        if items := _items(result, path):
            kept = [each for each in items if not _is_own(each)]
            paths.put(result, path, kept or None)
    if paths.value_at(result, _ARGUMENT) == _SIGNER:
        paths.put(result, _ARGUMENT, None)
    return result


def consistent(values: paths.Values) -> paths.Values:
    """Return values with machines prepared, or without any part of it.

    A label that changes a list replaces all of it. A command without its
    file, or an argument without its command, stops machines.
    """
    for path, names in _ITEMS.items():
        own = [each for each in _items(values, path) if _is_own(each)]
        if len(own) < len(names):
            return without_machines_prepared(values)
    return values


def _items(values: Mapping[str, Any], path: str) -> list[Any]:
    return paths.value_at(values, path) or []


def _is_own(item: Any) -> bool:
    """Return whether this version, or an earlier one, added an item."""
    if isinstance(item, Mapping):
        return item.get("path") in (_BRIDGE, _SCRIPT)
    return _SIGNER in item or _SCRIPT in item
