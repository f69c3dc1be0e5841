# SPDX-License-Identifier: Apache-2.0

"""The requests to the management cluster that operations consist of."""

from __future__ import annotations

from collections.abc import Callable
import dataclasses
import re

from lab.chaos import faults

_RECORD = r"sh\.helm\.release\.v1\."
_CONTROL_PLANE = "/kubeadmcontrolplanes/{}-control-plane"


@dataclasses.dataclass(frozen=True)
class Step:
    """One of them.

    :param name: as the table says it
    :param pattern: of the path and what is sent, a line each; ``{}`` is the
        cluster, as that API calls it
    """

    name: str
    method: str
    pattern: str

    def asks(
        self, cluster: Callable[[], str]
    ) -> Callable[[faults.Request], bool]:
        """Whether a request is this step of a cluster.

        :param cluster: gives a pattern of what it is called by now
        """

        def asks(request: faults.Request) -> bool:
            if request.method != self.method:
                return False
            text = f"{request.path}\n{request.body.decode(errors='replace')}"
            wanted = self.pattern.format(cluster())
            return bool(re.search(wanted, text, re.DOTALL))

        return asks


def _pending(version: str) -> Step:
    return Step(
        "helm: a new revision",
        "POST",
        rf"/secrets\b.*{_RECORD}{{}}\.v{version}\b",
    )


def _deployed(version: str) -> Step:
    return Step(
        "helm: the revision is deployed",
        "PUT",
        rf"/secrets/{_RECORD}{{}}\.v{version}\b",
    )


_LEASE = Step("the Lease is taken", "PUT", r"/leases/{}\b")
_INTENT = Step("what is wanted is stored", "PATCH", r"/secrets/{}-intent\b")
_FIRST_INTENT = dataclasses.replace(
    _INTENT, method="POST", pattern=r"/secrets\b.*{}-intent\b"
)
_CREDENTIAL = Step(
    "the credential is stored", "PATCH", r"/secrets/{}-cloud-credentials\b"
)

#: Requests to the management cluster, by operation, in the order in which a
#: cluster meets them. It is called as its release.
KUBERNETES: dict[str, tuple[Step, ...]] = {
    "create": (
        _CREDENTIAL,
        _FIRST_INTENT,
        _pending("1"),
        Step("helm: the Cluster", "POST", r"/clusters\b.*{}"),
    ),
    "resize": (
        _LEASE,
        _INTENT,
        Step("helm: the workers", "PATCH", r"/machinedeployments/{}-"),
        _deployed(r"\d+"),
    ),
    "add group": (
        _INTENT,
        _pending(r"\d+"),
        Step("helm: the group", "POST", r"/machinedeployments\b.*{}-extra"),
    ),
    "delete group": (
        _INTENT,
        Step("helm: the group", "DELETE", r"/machinedeployments/{}-extra"),
        _deployed(r"\d+"),
    ),
    "upgrade": (
        _LEASE,
        Step(
            "the dry run of the control plane",
            "PATCH",
            rf"{_CONTROL_PLANE}\?[^\n]*\bdryRun=",
        ),
        _INTENT,
        Step(
            "helm: the control plane",
            "PATCH",
            rf"{_CONTROL_PLANE}(?![^\n]*\bdryRun=)",
        ),
        _deployed(r"\d+"),
    ),
    "rotate": (_LEASE, _CREDENTIAL),
    "delete": (
        Step("the Lease says so", "PATCH", r"/leases/{}\b"),
        Step("helm: the Cluster goes", "DELETE", r"/clusters/{}\b"),
        Step(
            "helm: the revision goes",
            "DELETE",
            rf"/secrets/{_RECORD}{{}}\.v\d+\b",
        ),
        Step("the Lease goes", "DELETE", r"/leases/{}\b"),
    ),
}

#: Requests to Keystone. A cluster is its UUID, or its credential's.
KEYSTONE: dict[str, tuple[Step, ...]] = {
    "create": (
        Step("the credential is made", "POST", r"/application_cred.*{}"),
    ),
    "rotate": (
        Step("another credential is made", "POST", r"/application_cred.*{}"),
    ),
    "delete": (
        Step("the credential goes", "DELETE", r"/application_credentials/{}"),
    ),
}
