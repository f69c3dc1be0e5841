# SPDX-License-Identifier: Apache-2.0

"""What OpenStack and Cluster API say, in words that a tenant can act on.

Their messages are those of programs to programmers: Go's chains of errors,
JSON in text, identifiers of requests. Of those that are known, the decisive
fact is kept (which resource, how many, which name) and what to do is added.
Any other is passed on in one line, cut, and without secrets.

Texts: Nova's, Neutron's, Cinder's and Octavia's quota errors; Cluster API's
provider for OpenStack 0.10 to 0.15; gophercloud 1 and 2.
"""

from __future__ import annotations

import dataclasses
import re

from magnum_capi_helm.model import masking

#: Longer ones are cut at a word: the column takes them, terminals don't.
LONGEST = 300


@dataclasses.dataclass(frozen=True)
class Saying:
    """One thing that may be said.

    :param pattern: the known text
    :param fact: the sentence, with the pattern's groups
    :param advice: what to do
    """

    pattern: re.Pattern[str]
    fact: str
    advice: str

    def of(self, text: str) -> str:
        """The sentence, or nothing when ``text`` says something else."""
        found = self.pattern.search(text)
        if found is None:
            return ""
        facts = {key: item or "" for key, item in found.groupdict().items()}
        return f"{self.fact.format(**facts)}: {self.advice}"


def _saying(pattern: str, fact: str, advice: str) -> Saying:
    return Saying(re.compile(pattern, re.IGNORECASE), fact, advice)


_LESS = "delete something, ask for less, or have the quota raised"
_OPERATOR = "ask the operator"

#: The first that fits is said: the more telling come first.
SAYINGS = (
    _saying(
        r"quota exceeded for (?P<what>[\w, ]+?): requested "
        r"(?P<asked>[\d, ]+), but already used (?P<used>[\d, ]+) of "
        r"(?P<limit>\d+(?:, \d+)*)",
        "Quota exceeded for {what}: {asked} requested, {used} of {limit} used",
        _LESS,
    ),
    _saying(
        r"quota exceeded, too many (?P<what>server groups|servers in group)",
        "Quota exceeded for {what}",
        "have the quota raised, or choose another server_group_policies",
    ),
    _saying(
        r"quota exceeded for resources: \[?(?P<what>['\w, ]+)\]?",
        "Quota exceeded for {what}",
        _LESS,
    ),
    _saying(
        r"quota has been met for resources: (?P<what>[\w ]+)",
        "Quota exceeded for {what}",
        _LESS,
    ),
    _saying(
        r"maximum number of (?P<what>\w+) allowed \((?P<limit>\d+)\)",
        "Quota exceeded for {what}: {limit} allowed",
        _LESS,
    ),
    _saying(
        r"requested volume or snapshot exceeds allowed (?P<what>\w+) quota"
        r"\. requested (?P<asked>\w+), quota is (?P<limit>\w+) and "
        r"(?P<used>\w+) has been consumed",
        "Quota exceeded for {what}: {asked} requested, {used} of {limit} used",
        _LESS,
    ),
    _saying(
        r"no valid host was found",
        "No valid host was found",
        "the cloud has no room for a server of this flavor there; choose "
        "another flavor or availability zone, or ask the operator",
    ),
    _saying(
        r"no images were found with the given image filter: "
        r"(?:name=(?P<name>[^\s,]+))?"
        r"|image (?P<id>[\w-]+) (?:could not be found|is not active)",
        "image {name}{id} is not there or not active",
        "it was deleted or hidden after the cluster was made; upgrade to a "
        "template with another image, or have it put back",
    ),
    _saying(
        r"no flavors were found: name=(?P<name>\S+)"
        r"|flavor (?P<id>[\w.-]+) could not be found",
        "flavor {name}{id} is not there",
        "it was deleted or is not open to the project; use another one, or "
        "have it put back",
    ),
    _saying(
        r"flavor's (?P<what>disk|memory) is too small",
        "the flavor's {what} is too small for the image",
        "choose a larger flavor, or give the label boot_volume_size",
    ),
    _saying(
        r"invalid key_name provided|keypair (?P<name>\S+) not found",
        "the keypair {name} is not there",
        "it was deleted, or belongs to another user than the one whose "
        "credential the cluster has",
    ),
    _saying(
        r"volume type .*?(?P<name>[\w.-]+)['\"]? (?:could not be|not) found",
        "volume type {name} is not there",
        "choose another one with the label boot_volume_type",
    ),
    _saying(
        r"volume (?P<id>[\w-]+) (?:is in error state"
        r"|did not (?:become available|finish being created))",
        "volume {id} could not be made",
        "look at it with `openstack volume show`, or ask the operator",
    ),
    _saying(
        r"availability zone '?(?P<name>[\w.-]+)'? (?:is not available"
        r"|is invalid|was not found)|requested availability zone",
        "availability zone {name} is not there",
        "choose another one",
    ),
    _saying(
        r"no more ip addresses available on network (?P<id>[\w-]+)",
        "network {id} has no free address",
        "use another network, or have addresses freed",
    ),
    _saying(
        r"external network (?P<net>[\w-]+) is not reachable from subnet "
        r"(?P<sub>[\w-]+)",
        "external network {net} can't be reached from subnet {sub}",
        "put a router between them, or choose another fixed_subnet",
    ),
    _saying(
        r"failed to (?:reconcile|get) external network.*"
        r"(?:no match|not found|multiple match)"
        r"|network (?P<id>[\w-]+) is not a valid external network",
        "the external network {id} is not there, or is not external",
        "choose another external_network_id",
    ),
    _saying(
        r"missing input for argument \[floatingnetworkid\]",
        "there is no external network to take a floating IP from",
        "choose an external_network_id",
    ),
    _saying(
        r"pods? (?P<pods>[\w./, -]+?): cannot evict pod as it would violate "
        r"the pod's disruption budget",
        "pods {pods} keep it from being drained",
        "their PodDisruptionBudget allows no eviction; relax it or add "
        "replicas",
    ),
    _saying(
        r"admission webhook \"(?P<hook>[\w.-]+)\" denied the request: "
        r"(?P<why>.{1,200})",
        "refused by Cluster API: {why}",
        _OPERATOR,
    ),
    _saying(
        r"instance state \"?error\"? is unexpected"
        r"|instance is in error state",
        "the server went into the state ERROR",
        "`openstack server show` says why, under the machine's name",
    ),
    _saying(
        r"^instance deleted$",
        "the server was deleted behind Cluster API's back",
        "it is replaced where auto_healing_enabled is on; else scale the "
        "nodegroup",
    ),
    _saying(
        r"x509: certificate signed by unknown authority",
        "OpenStack's certificate is not trusted by the management cluster",
        _OPERATOR,
    ),
    _saying(
        r"the request you have made requires authentication"
        r"|could not find application credential"
        r"|authentication failed",
        "OpenStack does not accept the cluster's application credential",
        "it was deleted or its user is gone; ask the operator to replace it",
    ),
)

_BULLET = re.compile(r"^\s*\* ")
#: What stands in messages beside the point.
_NOISE = re.compile(
    r"\s*\((?:HTTP \d{3}|Request-ID: [\w-]+)\)"
    r"|\s*\breq-[0-9a-f]{8}-[0-9a-f-]{27}\b"
    r"|<[^<>]{1,200}>"
    r"|\bTraceback \(most recent call last\):.*"
)
#: gophercloud's wrapping of what a service answered.
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
#: Tokens of Keystone and of Kubernetes, wherever they come from.
_TOKEN = re.compile(r"\b(?:gAAAA|eyJ)[\w=.-]{16,}|(?<=earer )\S+")
_QUERY = re.compile(r"(https?://[^\s\"'?\]]+)\?[^\s\"'\]]*")


def plain(text: str) -> str:
    """One sentence of at most :data:`LONGEST` characters, or nothing."""
    clean = _without_secrets(_one_line(text))
    inner = _INNER.search(clean)
    for candidate in (inner.group(1) if inner else "", clean):
        for saying in SAYINGS:
            if said := saying.of(candidate):
                return cut(" ".join(said.replace(" :", ":").split()))
    return cut(_shortened(clean))


def cut(text: str) -> str:
    """``text``, cut behind a word when it is too long."""
    if len(text) <= LONGEST:
        return text
    return text[: LONGEST - 3].rsplit(" ", 1)[0].rstrip(" ,;:") + "..."


def _one_line(text: str) -> str:
    """The lines of a list, as Cluster API writes one, in a row."""
    rows = [_BULLET.sub("", each).strip() for each in text.splitlines()]
    joined = ""
    for row in filter(None, rows):
        listed = f"* {row}" in text and not joined.endswith(":")
        joined += ("; " if joined and listed else " ") + row
    return " ".join(joined.split())


def _without_secrets(text: str) -> str:
    shown = _TOKEN.sub(masking.MASK, masking.values(text))
    return _QUERY.sub(r"\1", shown)


def _shortened(text: str) -> str:
    """An unknown text, without what only programmers read."""
    inner = _INNER.search(text)
    said = inner.group(1).replace('\\"', '"') if inner else ""
    short = _JSON.sub(said.replace("\\n", " "), text)
    short = _ANSWER.sub(
        lambda found: (
            f"OpenStack answered {found['code'] or 'with an error'}:"
        ),
        short,
    )
    return " ".join(_NOISE.sub("", short).split()).rstrip(" :;")


def _answer(found: re.Match[str]) -> str:
    return f"OpenStack answered {found['code'] or 'with an error'}:"
