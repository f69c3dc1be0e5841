# SPDX-License-Identifier: Apache-2.0

"""Messages of OpenStack and Cluster API, for the tenant who reads them.

Their messages are those of programs to programmers: Go's chains of errors,
JSON in text, identifiers of requests. The driver keeps the decisive fact of a
known message (which resource, how many, which name) and adds advice. Another
message is passed on in one line, cut, and without secrets. The message of the
lowest object that has one is used: server, OpenStackMachine, Machine.

Texts: Nova's, Neutron's, Cinder's and Octavia's quota errors; Cluster API's
provider for OpenStack 0.10 to 0.15; gophercloud 1 and 2.
"""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses
import re

from magnum_capi_helm.model import masking
from magnum_capi_helm.status import conditions
from magnum_capi_helm.status import view

#: Longer ones are cut at a word: the column takes them, terminals don't.
LONGEST = 300


@dataclasses.dataclass(frozen=True)
class KnownMessage:
    """A message that the driver explains.

    :param pattern: the message
    :param fact: the sentence, with the pattern's groups
    :param advice: an action for the tenant
    """

    pattern: re.Pattern[str]
    fact: str
    advice: str

    def explain(self, text: str) -> str:
        """Return fact and advice, or nothing for another message."""
        match = self.pattern.search(text)
        if match is None:
            return ""
        facts = {key: item or "" for key, item in match.groupdict().items()}
        return f"{self.fact.format(**facts)}: {self.advice}"


def _known(pattern: str, fact: str, advice: str) -> KnownMessage:
    return KnownMessage(re.compile(pattern, re.IGNORECASE), fact, advice)


_LESS = "delete something, ask for less, or have the quota raised"
_OPERATOR = "ask the operator"

#: The first that matches is used: the more specific come first.
KNOWN_MESSAGES = (
    _known(
        r"quota exceeded for (?P<what>[\w, ]+?): requested "
        r"(?P<asked>[\d, ]+), but already used (?P<used>[\d, ]+) of "
        r"(?P<limit>\d+(?:, \d+)*)",
        "Quota exceeded for {what}: {asked} requested, {used} of {limit} used",
        _LESS,
    ),
    _known(
        r"quota exceeded, too many (?P<what>server groups|servers in group)",
        "Quota exceeded for {what}",
        "have the quota raised, or choose another server_group_policies",
    ),
    _known(
        r"quota exceeded for resources: \[?(?P<what>['\w, ]+)\]?",
        "Quota exceeded for {what}",
        _LESS,
    ),
    _known(
        r"quota has been met for resources: (?P<what>[\w ]+)",
        "Quota exceeded for {what}",
        _LESS,
    ),
    _known(
        r"maximum number of (?P<what>\w+) allowed \((?P<limit>\d+)\)",
        "Quota exceeded for {what}: {limit} allowed",
        _LESS,
    ),
    _known(
        r"requested volume or snapshot exceeds allowed (?P<what>\w+) quota"
        r"\. requested (?P<asked>\w+), quota is (?P<limit>\w+) and "
        r"(?P<used>\w+) has been consumed",
        "Quota exceeded for {what}: {asked} requested, {used} of {limit} used",
        _LESS,
    ),
    _known(
        r"no valid host was found",
        "No valid host was found",
        "the cloud has no room for a server of this flavor there; choose "
        "another flavor or availability zone, or ask the operator",
    ),
    _known(
        r"no images were found with the given image filter: "
        r"(?:name=(?P<name>[^\s,]+))?"
        r"|image (?P<id>[\w-]+) (?:could not be found|is not active)",
        "image {name}{id} is not there or not active",
        "it was deleted or hidden after the cluster was made; upgrade to a "
        "template with another image, or have it put back",
    ),
    _known(
        r"no flavors were found: name=(?P<name>\S+)"
        r"|flavor (?P<id>[\w.-]+) could not be found",
        "flavor {name}{id} is not there",
        "it was deleted or is not open to the project; use another one, or "
        "have it put back",
    ),
    _known(
        r"flavor's (?P<what>disk|memory) is too small",
        "the flavor's {what} is too small for the image",
        "choose a larger flavor, or give the label boot_volume_size",
    ),
    _known(
        r"invalid key_name provided|keypair (?P<name>\S+) not found",
        "the keypair {name} is not there",
        "it was deleted, or belongs to another user than the one whose "
        "credential the cluster has",
    ),
    _known(
        r"volume type .*?(?P<name>[\w.-]+)['\"]? (?:could not be|not) found",
        "volume type {name} is not there",
        "choose another one with the label boot_volume_type",
    ),
    _known(
        r"volume (?P<id>[\w-]+) (?:is in error state"
        r"|did not (?:become available|finish being created))",
        "volume {id} could not be made",
        "look at it with `openstack volume show`, or ask the operator",
    ),
    _known(
        r"availability zone '?(?P<name>[\w.-]+)'? (?:is not available"
        r"|is invalid|was not found)|requested availability zone",
        "availability zone {name} is not there",
        "choose another one",
    ),
    _known(
        r"no more ip addresses available on network (?P<id>[\w-]+)",
        "network {id} has no free address",
        "use another network, or have addresses freed",
    ),
    _known(
        r"external network (?P<net>[\w-]+) is not reachable from subnet "
        r"(?P<sub>[\w-]+)",
        "external network {net} can't be reached from subnet {sub}",
        "put a router between them, or choose another fixed_subnet",
    ),
    _known(
        r"failed to (?:reconcile|get) external network.*"
        r"(?:no match|not found|multiple match)"
        r"|network (?P<id>[\w-]+) is not a valid external network",
        "the external network {id} is not there, or is not external",
        "choose another external_network_id",
    ),
    _known(
        r"missing input for argument \[floatingnetworkid\]",
        "there is no external network to take a floating IP from",
        "choose an external_network_id",
    ),
    _known(
        r"pods? (?P<pods>[\w./, -]+?): cannot evict pod as it would violate "
        r"the pod's disruption budget",
        "pods {pods} keep it from being drained",
        "their PodDisruptionBudget allows no eviction; relax it or add "
        "replicas",
    ),
    _known(
        r"admission webhook \"(?P<hook>[\w.-]+)\" denied the request: "
        r"(?P<why>.{1,200})",
        "refused by Cluster API: {why}",
        _OPERATOR,
    ),
    _known(
        r"instance state \"?error\"? is unexpected"
        r"|instance is in error state",
        "the server went into the state ERROR",
        "`openstack server show` says why, under the machine's name",
    ),
    _known(
        r"^instance deleted$",
        "the server was deleted behind Cluster API's back",
        "it is replaced where auto_healing_enabled is on; else scale the "
        "nodegroup",
    ),
    _known(
        r"x509: certificate signed by unknown authority",
        "OpenStack's certificate is not trusted by the management cluster",
        _OPERATOR,
    ),
    _known(
        r"the request you have made requires authentication"
        r"|could not find application credential"
        r"|authentication failed",
        "OpenStack does not accept the cluster's application credential",
        "it was deleted or its user is gone; ask the operator to replace it",
    ),
)

_LIST_ITEM = re.compile(r"^\s*\* ")
#: Parts that only programmers read.
_NOISE = re.compile(
    r"\s*\((?:HTTP \d{3}|Request-ID: [\w-]+)\)"
    r"|\s*\breq-[0-9a-f]{8}-[0-9a-f-]{27}\b"
    r"|<[^<>]{1,200}>"
    r"|\bTraceback \(most recent call last\):.*"
)
#: gophercloud's text around the answer of a service.
_ANSWER = re.compile(
    r"(?:Expected HTTP response code \[[\d ]*\] when accessing|[A-Z][a-z ]+"
    r"(?: with)?:) \[[A-Z]+ [^\]]*\],? ?(?:but got (?P<code>\d{3}) instead)?"
    r"(?:error message)?:?"
)
#: The sentence inside a service's JSON.
_INNER = re.compile(
    r"\"(?:message|faultstring)\"\s*:\s*\"((?:[^\"\\]|\\.)+)\""
)
_JSON = re.compile(r"\{\s*\".*\}", re.DOTALL)
#: Tokens of Keystone and of Kubernetes.
_TOKEN = re.compile(r"\b(?:gAAAA|eyJ)[\w=.-]{16,}|(?<=earer )\S+")
_QUERY = re.compile(r"(https?://[^\s\"'?\]]+)\?[^\s\"'\]]*")


#: Reasons of a controller that only waits for another one.
_WAITING = (
    "Waiting",
    "Pending",
    "InstanceNotReady",
    "Provisioning",
    "NodeProvisioning",
    "Deleting",
)
#: The v1beta2 set has one reason for any fault below, and for waiting.
_SUMMARY = "NotReady"
_WAITING_WORDS = ("Waiting for", " is false", " to exist", "not yet")
#: CAPO leaves the message of these reasons empty.
_MUTE_REASONS = {
    "InstanceStateError": "instance is in error state",
    "InstanceDeleted": "instance deleted",
}
_INFRASTRUCTURE = (
    "InstanceReady",
    "APIServerIngressReadyCondition",
    "FloatingAddressFromPoolReady",
    "NetworkReady",
    "RouterReady",
    "SecurityGroupsReady",
    "APIEndpointReady",
    "BastionReady",
    "Ready",
)
_MACHINE = (
    "InfrastructureReady",
    "BootstrapConfigReady",
    "BootstrapReady",
    "NodeHealthy",
    "HealthCheckSucceeded",
    "OwnerRemediated",
)
#: Steps of a machine's deletion, and the words where Cluster API has none.
#: The v1beta1 set has one condition for each step, and leaves some mute.
_STEPS = {
    "Deleting": "",
    "PreDrainDeleteHookSucceeded": "Waiting for pre-drain hooks to succeed",
    "DrainingSucceeded": "",
    "VolumeDetachSucceeded": "Waiting for Node volumes to be detached",
    "PreTerminateDeleteHookSucceeded": (
        "Waiting for pre-terminate hooks to succeed"
    ),
}
#: Messages of a deletion that do not say what the deletion waits for.
_MUTE_STEPS = ("Deletion started", "Deletion completed")
#: Finalizers of Cluster API and its providers are below this domain.
_OWN_FINALIZER = "cluster.x-k8s.io"
_JOINT = "; "


def plain(text: str) -> str:
    """Return one sentence of at most :data:`LONGEST` characters."""
    clean = _without_secrets(_one_line(text))
    inner = _INNER.search(clean)
    for candidate in (inner[1] if inner else "", clean):
        for message in KNOWN_MESSAGES:
            if explained := message.explain(candidate):
                return cut(" ".join(explained.replace(" :", ":").split()))
    return cut(_shortened(clean))


def cut(text: str) -> str:
    """Return a text, cut behind a word if it is too long."""
    if len(text) <= LONGEST:
        return text
    return text[: LONGEST - 3].rsplit(" ", 1)[0].rstrip(" ,;:") + "..."


def _one_line(text: str) -> str:
    """Join the lines of a text; items of a list are separated by "; "."""
    lines = [_LIST_ITEM.sub("", each).strip() for each in text.splitlines()]
    joined = ""
    for line in filter(None, lines):
        is_item = f"* {line}" in text and not joined.endswith(":")
        joined += ("; " if joined and is_item else " ") + line
    return " ".join(joined.split())


def _without_secrets(text: str) -> str:
    masked = _TOKEN.sub(masking.MASK, masking.values(text))
    return _QUERY.sub(r"\1", masked)


def _shortened(text: str) -> str:
    """Return an unknown message without its technical parts."""
    inner = _INNER.search(text)
    sentence = inner[1].replace('\\"', '"') if inner else ""
    short = _JSON.sub(sentence.replace("\\n", " "), text)
    short = _ANSWER.sub(
        lambda match: (
            f"OpenStack answered {match['code'] or 'with an error'}:"
        ),
        short,
    )
    return " ".join(_NOISE.sub("", short).split()).rstrip(" :;")


def infrastructure_error(obj: view.Object | None) -> str:
    """Return CAPO's last error with a server, or with the network.

    CAPO keeps ``failureMessage`` after the fault is mended, in some versions
    for ever: an object that was provisioned since has no fault.
    """
    status = view.status_of(obj)
    old = (status.get("deprecated") or {}).get("v1beta1") or {}
    failure = status.get("failureMessage") or old.get("failureMessage")
    if failure and not is_provisioned(obj) and not view.deleting(obj):
        return plain(str(failure))
    return _first_error(obj, _INFRASTRUCTURE)


def network_error(obj: view.Object | None) -> str:
    """Return why CAPO can't make a cluster's network, or an empty string.

    CAPO makes no machines until it has set ``status.ready``, and never takes
    it back (``reconcileNormal`` in openstackcluster_controller.go of 0.14.6).
    A later error, which its conditions keep until its next success, stops no
    machine: Cluster API repeats it in its own condition of the Cluster.
    """
    return "" if _was_made(obj) else infrastructure_error(obj)


def is_provisioned(obj: view.Object | None) -> bool:
    """Return whether CAPO has made an object, in any of its versions."""
    ready = conditions.preferred(obj).get("Ready")
    return _was_made(obj) if ready is None else ready.well


def _was_made(obj: view.Object | None) -> bool:
    status = view.status_of(obj)
    initialization = status.get("initialization") or {}
    return bool(status.get("ready") or initialization.get("provisioned"))


def server_error(server: view.Object | None, fault: view.Fault | None) -> str:
    """Return the error of the server behind a machine, or an empty string.

    CAPO writes no message for a server that Nova put into ERROR, and does not
    touch the OpenStackMachine (``reconcileNormal`` in
    openstackserver_controller.go of 0.11 to 0.14): only Nova knows why.

    :param fault: the answer of Nova; None: Nova was not asked
    """
    error = _first_error(server, _INFRASTRUCTURE)
    if fault is None or 0 < fault.since < view.deleted_at(server):
        return error
    if fault.message:
        return plain(fault.message)
    if fault.unread:
        error = error or "the server went into the state ERROR"
        return cut(f"{error}: Nova could not be asked: {fault.unread}")
    return error


def machine_error(machine: view.Object, objects: view.View) -> str:
    """Return a machine's error; empty if it is merely not ready yet."""
    server, infra = objects.server(machine), objects.infra_machine(machine)
    error = server_error(
        server, objects.fault(server)
    ) or infrastructure_error(infra)
    if not view.deleting(machine):
        return error or _first_error(machine, _MACHINE)
    step = _deletion_step(machine)
    # Pods keep the node from being drained.
    return (plain(step) if "cannot evict pod" in step else "") or error


def deletion_reason(machine: view.Object, objects: view.View) -> str:
    """Return the obstacle to a machine's deletion, or an empty string.

    An error comes first, then finalizers that no controller below removes,
    then the current step of Cluster API. Only an error counts
    without a deletion.
    """
    error = machine_error(machine, objects)
    if error or not view.deleting(machine):
        return error
    below = (objects.server(machine), objects.infra_machine(machine), machine)
    finalizers = next(filter(None, map(_foreign_finalizers, below)), "")
    return finalizers or plain(_deletion_step(machine))


def _deletion_step(machine: view.Object) -> str:
    """Return Cluster API's message about a step of a machine's deletion."""
    for by_type in (conditions.v1beta2(machine), conditions.v1beta1(machine)):
        for name, default in _STEPS.items():
            condition = by_type.get(name)
            if condition is None or not condition.bad:
                continue
            message = condition.message or default
            if message and message not in _MUTE_STEPS:
                return message
    return ""


def _foreign_finalizers(obj: view.Object | None) -> str:
    """Return the finalizers of other programs.

    They hold an object once Cluster API has removed its own.
    """
    if obj is None or not view.deleting(obj):
        return ""
    finalizers = (obj.get("metadata") or {}).get("finalizers") or []
    if not finalizers or any(_OWN_FINALIZER in each for each in finalizers):
        return ""
    name = f"{obj.get('kind') or 'object'} {view.name_of(obj)}"
    return f"{name} waits for the finalizers {', '.join(finalizers)}"


def _first_error(obj: view.Object | None, types: Sequence[str]) -> str:
    """Return the message of the first condition with an error.

    An error from before the deletion of an object does not hinder it.
    """
    deleted_at = view.deleted_at(obj)
    sets = (conditions.v1beta2(obj), conditions.v1beta1(obj))
    for name in types:
        for by_type in sets:
            condition = by_type.get(name)
            if condition is None or 0 < condition.since < deleted_at:
                continue
            if error := _error(condition):
                return error
    return ""


def _error(condition: conditions.Condition) -> str:
    message = condition.message or _MUTE_REASONS.get(condition.reason, "")
    if not condition.bad or condition.reason.startswith(_WAITING):
        return ""
    if condition.reason == _SUMMARY and any(
        words in message for words in _WAITING_WORDS
    ):
        return ""
    return plain(message)


def machines_error(
    owner: str, machines: Sequence[view.Object], objects: view.View
) -> str:
    """Return the first machine with an error, and how many have the same.

    :param owner: of the machines, in words
    """
    errors = [
        (view.name_of(machine), error)
        for machine in machines
        if (error := machine_error(machine, objects))
    ]
    if not errors:
        return ""
    name, error = errors[0]
    same = sum(1 for _, other in errors if other == error) - 1
    more = f" (and {same} more machines)" if same else ""
    return f"{owner}: machine {name}: {error}{more}"


@dataclasses.dataclass(frozen=True)
class Waiting:
    """The objects that a deletion waits for, and the reasons.

    A deletion makes progress when ``left`` changes. ``why`` also changes
    without progress.

    :param left: in words; the same text for the same objects, without "; "
    """

    left: str
    why: str = ""

    @property
    def text(self) -> str:
        """Return both, for ``status_reason``."""
        return _JOINT.join(filter(None, (self.left, self.why)))

    def has_left_of(self, text: str) -> bool:
        """Return whether a text of an earlier step has the same ``left``."""
        return f"{text}{_JOINT}".startswith(f"{self.left}{_JOINT}")


def remaining_machines(
    machines: Sequence[view.Object], objects: view.View
) -> Waiting:
    """Return the count of machines, three names, and the reason of one.

    An error of any machine comes before the step of another machine.
    """
    machines = sorted(machines, key=view.name_of)
    count = len(machines)
    names = ", ".join(map(view.name_of, machines[:3]))
    left = f"{count} machine{'s' * (count > 1)} still to be deleted: {names}"
    for reason_of in (machine_error, deletion_reason):
        for machine in machines:
            if reason := reason_of(machine, objects):
                name = view.name_of(machine)
                return Waiting(left, f"machine {name}: {reason}")
    return Waiting(left)
