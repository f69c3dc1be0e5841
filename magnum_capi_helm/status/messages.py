# SPDX-License-Identifier: Apache-2.0

"""Messages of OpenStack and Cluster API, for the tenant who reads them.

Their messages are those of programs to programmers: Go's chains of errors,
JSON in text, identifiers of requests. The driver keeps the decisive fact of a
known message (which resource, how many, which name) and adds advice. Another
message is passed on in one line, cut, and without secrets.

Texts: Nova's, Neutron's, Cinder's and Octavia's quota errors; Cluster API's
provider for OpenStack 0.10 to 0.15; gophercloud 1 and 2.
"""

from __future__ import annotations

from collections.abc import Iterable
import re

from magnum_capi_helm.model import encoding

#: Longer ones are cut at a word: the column takes them, terminals don't.
LONGEST = 300


_LESS = "delete something, ask for less, or have the quota raised"
_OPERATOR = "ask the operator"
#: Cluster API names three: "Pods a/b, a/c, a/d, ... (2 more)".
_PODS = r"pods? (?P<pods>[\w./, ()-]+?)"

#: Pattern of a message, sentence with the fact in it, and an action for the
#: tenant. The first that matches is used: the more specific come first.
KNOWN_MESSAGES = (
    (
        r"quota exceeded for (?P<what>[\w, ]+?): requested "
        r"(?P<asked>[\d, ]+), but already used (?P<used>[\d, ]+) of "
        r"(?P<limit>\d+(?:, \d+)*)",
        "Quota exceeded for {what}: {asked} requested, {used} of {limit} used",
        _LESS,
    ),
    (
        r"quota exceeded, too many (?P<what>server groups|servers in group)",
        "Quota exceeded for {what}",
        "have the quota raised, or choose another server_group_policies",
    ),
    (
        r"quota (?:exceeded|has been met) for resources: "
        r"\[?(?P<what>['\w, ]+)\]?",
        "Quota exceeded for {what}",
        _LESS,
    ),
    (
        r"maximum number of (?P<what>\w+) allowed \((?P<limit>\d+)\)",
        "Quota exceeded for {what}: {limit} allowed",
        _LESS,
    ),
    (
        r"requested volume or snapshot exceeds allowed (?P<what>\w+) quota"
        r"\. requested (?P<asked>\w+), quota is (?P<limit>\w+) and "
        r"(?P<used>\w+) has been consumed",
        "Quota exceeded for {what}: {asked} requested, {used} of {limit} used",
        _LESS,
    ),
    (
        r"no valid host was found",
        "No valid host was found",
        "the cloud has no room for a server of this flavor there; choose "
        "another flavor or availability zone, or ask the operator",
    ),
    (
        r"no images were found with the given image filter: "
        r"(?:name=(?P<name>[^\s,]+))?"
        r"|image (?P<id>[\w-]+) (?:could not be found|is not active)",
        "image {name}{id} does not exist or is not active",
        "it was deleted or hidden after the cluster was made; upgrade to a "
        "template with another image, or ask for it to be restored",
    ),
    (
        r"no flavors were found: name=(?P<name>\S+)"
        r"|flavor (?P<id>[\w.-]+) could not be found",
        "flavor {name}{id} does not exist",
        "it was deleted or is not open to the project; use another one, or "
        "ask the operator to restore it",
    ),
    (
        r"flavor's (?P<what>disk) is (?:too small|smaller than)",
        "the flavor's {what} is too small for the image",
        "choose a larger flavor, or give the label boot_volume_size",
    ),
    (
        r"flavor's (?P<what>memory) is (?:too small|smaller than)",
        "the flavor's {what} is too small for the image",
        "choose a larger flavor",
    ),
    (
        r"instance state (?:is not handled|is): (?P<state>SHUTOFF|SUSPENDED)",
        "the server is {state}",
        "start the server: `openstack server start`, or `resume`",
    ),
    (
        r"exceeds maxUnhealthy \(total: (?P<all>\d+), "
        r"unhealthy: (?P<ill>\d+), maxUnhealthy: (?P<most>[\d%]+)\)",
        "no machine is replaced: {ill} of {all} are unhealthy, at most {most} "
        "may be",
        "repair a machine, or ask the operator",
    ),
    (
        r"the application credential (?P<id>\w+) has expired"
        r"|application credential.{0,40} expired",
        "the cluster's application credential has expired",
        "ask the operator to replace it",
    ),
    (
        r"project .{0,64}(?:is|has been) disabled",
        "the project is disabled",
        _OPERATOR,
    ),
    (
        r"invalid key_name provided|keypair (?P<name>\S+) not found",
        "the keypair {name} does not exist",
        "it was deleted, or belongs to another user than the one whose "
        "credential the cluster has",
    ),
    (
        r"volume type .*?(?P<name>[\w.-]+)['\"]? (?:could not be|not) found",
        "volume type {name} does not exist",
        "choose another one with the label boot_volume_type",
    ),
    (
        r"volume (?P<id>[\w-]+) could not be made: schedule allocate "
        r"volume: ?(?P<why>could not find any available weighted backend)",
        "volume {id} could not be made: {why}",
        "no backend has its volume type and enough room; choose another "
        "boot_volume_type, or ask the operator",
    ),
    (
        r"volume (?P<id>[\w-]+) (?:is in error state"
        r"|did not (?:become available|finish being created))",
        "volume {id} could not be made",
        "`openstack volume message list` may say why; else ask the operator",
    ),
    (
        r"load balancer \"?(?P<name>[\w.-]+)\"? (?:with id [\w-]+ )?"
        r"(?P<what>is in state ERROR|is not active after timeout)",
        "load balancer {name} {what}",
        "`openstack loadbalancer delete --cascade` deletes it, and another "
        "one is made; or ask the operator",
    ),
    (
        r"availability zone '?(?P<name>[\w.-]+)'? (?:is not available"
        r"|is invalid|was not found)|requested availability zone",
        "availability zone {name} is not available",
        "choose another one",
    ),
    (
        r"no more ip addresses available on network (?P<id>[\w-]+)",
        "network {id} has no free address",
        "use another network, or free some addresses",
    ),
    (
        r"external network (?P<net>[\w-]+) is not reachable from subnet "
        r"(?P<sub>[\w-]+)",
        "external network {net} can't be reached from subnet {sub}",
        "put a router between them, or choose another fixed_subnet",
    ),
    (
        r"failed to (?:reconcile|get) external network.*"
        r"(?:no match|not found|multiple match)"
        r"|network (?P<id>[\w-]+) is not a valid external network",
        "the external network {id} does not exist, or is not external",
        "choose another external_network_id",
    ),
    (
        r"missing input for argument \[floatingnetworkid\]",
        "there is no external network to take a floating IP from",
        "choose an external_network_id",
    ),
    (
        rf"{_PODS}: cannot evict pod as it would violate the pod's "
        r"disruption budget",
        "pods {pods} keep it from being drained",
        "their PodDisruptionBudget allows no eviction; relax it or add "
        "replicas",
    ),
    (
        rf"{_PODS}: failed to evict pod, this pod has more than one "
        r"poddisruptionbudget",
        "pods {pods} keep it from being drained",
        "more than one PodDisruptionBudget selects them, and Kubernetes then "
        "evicts none; leave one",
    ),
    (
        rf"{_PODS}: failed to evict pod, (?P<why>[^;]{{1,200}})",
        "pods {pods} keep it from being drained: {why}",
        "delete them, or what refuses it",
    ),
    (
        r"admission webhook \"(?P<hook>[\w.-]+)\" denied the request: "
        r"(?P<why>.{1,200})",
        "refused by Cluster API: {why}",
        _OPERATOR,
    ),
    (
        r"instance state \"?error\"? is unexpected"
        r"|instance is in error state",
        "the server went into the state ERROR",
        "`openstack server show` says why, under the machine's name",
    ),
    (
        r"^instance deleted$|server was unexpectedly deleted"
        r"|virtual machine no longer exists",
        "the server was deleted, but not by Cluster API",
        "auto-healing replaces the machine; without auto_healing_enabled, "
        "resize with --nodes-to-remove",
    ),
    (
        r"x509: certificate signed by unknown authority",
        "OpenStack's certificate is not trusted by the management cluster",
        _OPERATOR,
    ),
    (
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


def plain(text: str) -> str:
    """Return one sentence of at most :data:`LONGEST` characters."""
    masked = _TOKEN.sub(encoding.MASK, encoding.mask_values(_one_line(text)))
    clean = _QUERY.sub(r"\1", masked)
    inner = _INNER.search(clean)
    # A pattern that matches the wrapper alone would hide the service's words.
    explained = _explained(inner[1] if inner else clean)
    return cut(explained or _shortened(clean))


def _explained(text: str) -> str:
    """Return fact and advice of a known message, or an empty string."""
    for pattern, fact, advice in KNOWN_MESSAGES:
        if match := re.search(pattern, text, re.IGNORECASE):
            sentence = f"{fact.format(**match.groupdict(''))}: {advice}"
            return " ".join(sentence.replace(" :", ":").split())
    return ""


def first(texts: Iterable[str]) -> str:
    """Return the first text that is not empty, or an empty one."""
    return next(filter(None, texts), "")


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
