# SPDX-License-Identifier: Apache-2.0

"""Requests with hostile text in one or two of the fields that tenants set."""

from __future__ import annotations

from collections.abc import Iterator
import copy
import dataclasses
import pathlib
import random
from typing import Any

import yaml

from magnum_capi_helm import features
from magnum_capi_helm.tests import data

#: In every hostile text, in lower case: it survives where case does not.
MARK = "zq7x"

TEXTS = (
    # Paths and URLs.
    "../../{0}",
    "/etc/{0}",
    "{0}/../..",
    "file:///etc/{0}",
    "https://{0}.example.org/../x",
    "https://user:{0}@example.org/",
    "oci://{0}.example.org/chart",
    # Shells and command lines.
    "{0}; reboot",
    "$({0})",
    "`{0}`",
    "{0}|sh",
    "--{0}",
    "-o{0}",
    "${{{0}}}",
    # YAML.
    "{0}: {{a: b}}",
    "- {0}",
    "{0}\n  injected: true",
    "{0}\ninjected: true",
    "&{0} *{0}",
    "!!python/object/apply:os.{0} []",
    "{0} # comment",
    '"{0}',
    "'{0}",
    '"\n{0}: "',
    "|\n {0}",
    "---\n{0}: 1",
    "{{{0}}}",
    "[{0}]",
    # Go templates and Jinja2.
    "{{{{ .Release.{0} }}}}",
    '{{{{- fail "{0}" }}}}',
    "{{{{/* {0}",
    "{{% {0} %}}",
    "{{# {0} #}}",
    # helm --set, lists, maps, taints, flags.
    "{0}=a,b=c",
    "a.b={0}",
    "{0},{0}",
    "{0}=a:NoSchedule",
    "--profiling={0} --anonymous-auth=true",
    # TOML, JSON, cloud-init, systemd.
    '{0}"]\n[plugins."x"]\n  a = "',
    '{0}","a":"b',
    '{0}\\","a":"b',
    "#cloud-config\nruncmd: [{0}]",
    "{0}\n[Service]\nExecStart=/bin/sh",
    # Unicode.
    "{0}\u00e9",
    "\u202e{0}",
    "{0}\u2028x: 1",
    "{0}\u0085x: 1",
    "\uff0e\uff0e\uff0f{0}",
    "{0}\U0001f4a5",
    "{0}\u200b",
    # Size and nothing.
    "{0}" + "a" * 10_000,
    "{0} ",
    " {0}",
    "\t{0}",
)

_TEMPLATES = pathlib.Path(data.__file__).parent / "templates"
#: Fields of a template and of a cluster that are text.
_TEMPLATE_FIELDS = (
    "image_id",
    "flavor_id",
    "keypair_id",
    "network_driver",
    "volume_driver",
    "external_network_id",
    "dns_nameserver",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "insecure_registry",
    "apiserver_port",
)
_PROXIES = ("http_proxy", "https_proxy")
_CLUSTER_FIELDS = ("name", "keypair", "fixed_network", "fixed_subnet")
_GROUP_PARTS = ("name", "label", "node label", "node label's value", "taint")


@dataclasses.dataclass(frozen=True)
class Request:
    """A request, and the same without what is hostile in it.

    :param where: the fields that are hostile
    """

    where: tuple[str, ...]
    hostile: dict[str, Any]
    harmless: dict[str, Any]


def requests(number: int, seed: int) -> Iterator[Request]:
    """``number`` requests; the same ones for the same seed."""
    chance = random.Random(seed)  # noqa: S311 (nothing secret)
    bases = [
        yaml.safe_load(path.read_text())
        for path in sorted(_TEMPLATES.glob("*.yaml"))
    ]
    for _ in range(number):
        harmless = copy.deepcopy(chance.choice(bases))
        for part in ("cluster", "labels"):
            harmless[part] = dict(harmless.get(part) or {})
        harmless["nodegroups"] = list(harmless.get("nodegroups") or [])
        hostile = copy.deepcopy(harmless)
        where = tuple(
            chance.choice(_CHANGES)(chance, harmless, hostile)
            for _ in range(chance.choice((1, 1, 2)))
        )
        yield Request(where, hostile, harmless)


def text(chance: random.Random) -> str:
    """Hostile text."""
    return chance.choice(TEXTS).format(MARK)


def _label(
    chance: random.Random, harmless: dict[str, Any], hostile: dict[str, Any]
) -> str:
    """A label of the template, perhaps around a value that is allowed."""
    name = chance.choice(features.LABELS).name
    # It stays in the harmless request: another label may need it.
    allowed = str(harmless["labels"].get(name, ""))
    forms = (text(chance), allowed + text(chance), text(chance) + allowed)
    hostile["labels"][name] = chance.choice(forms)
    return name


def _strange_label(
    chance: random.Random, harmless: dict[str, Any], hostile: dict[str, Any]
) -> str:
    hostile["labels"][text(chance)] = text(chance)
    return "unknown label"


def _field(
    chance: random.Random, harmless: dict[str, Any], hostile: dict[str, Any]
) -> str:
    name = chance.choice(_TEMPLATE_FIELDS)
    harmless.pop(name, None)
    if name in _PROXIES:
        # With any proxy there are files that else are not there.
        harmless[name] = "http://proxy.example.org:3128"
    hostile[name] = text(chance)
    return name


def _cluster_field(
    chance: random.Random, harmless: dict[str, Any], hostile: dict[str, Any]
) -> str:
    name = chance.choice(_CLUSTER_FIELDS)
    if name != "name":
        harmless["cluster"].pop(name, None)
    hostile["cluster"][name] = text(chance)
    return f"cluster {name}"


def _group(
    chance: random.Random, harmless: dict[str, Any], hostile: dict[str, Any]
) -> str:
    """A nodegroup more, with one thing about it that is hostile."""
    part = chance.choice(_GROUP_PARTS)
    group: dict[str, Any] = {"name": "zz-more"}
    bad = text(chance)
    match part:
        case "name":
            group["name"] = bad
        case "label":
            group["labels"] = {chance.choice(features.LABELS).name: bad}
        case "node label":
            group["node_labels"] = {bad: "x"}
        case "node label's value":
            group["node_labels"] = {"example.org/a": bad}
        case "taint":
            keys = ("key", "value", "effect")
            taint = {"key": "a", "value": "b", "effect": "NoSchedule"}
            group["node_taints"] = [{**taint, chance.choice(keys): bad}]
    hostile["nodegroups"].append(group)
    harmless["nodegroups"].append({"name": "zz-more"})
    return f"nodegroup {part}"


#: Labels are most of what a tenant can write.
_CHANGES = (
    *(_label,) * 6,
    _strange_label,
    *(_field,) * 2,
    *(_cluster_field,) * 2,
    *(_group,) * 2,
)
