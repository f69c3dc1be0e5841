# SPDX-License-Identifier: Apache-2.0

"""Whatever tenants write changes nothing outside their own values.

``FUZZ_INPUTS`` is how many requests are made up (tox -e fuzz: 10,000),
``FUZZ_SEED`` which ones.
"""

from __future__ import annotations

import collections
from collections.abc import Collection, Iterator, Mapping
import copy
import dataclasses
import os
import pathlib
import random
import re
from typing import Any

import fixtures
from oslotest import base
import yaml

from magnum_capi_helm import features
from magnum_capi_helm import runtime
from magnum_capi_helm.chart import values
from magnum_capi_helm.config import conf
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.resolve import cluster as resolve_cluster
from magnum_capi_helm.resolve import offline
from magnum_capi_helm.resolve import operator_files
from magnum_capi_helm.tests import data
from magnum_capi_helm.tests.fakes import plane
from magnum_capi_helm.tests.fakes import sample_cloud
from magnum_capi_helm.tests.unit.lifecycle import base as flows

Path = tuple[str, ...]

#: Kubernetes' DNS label, RFC 1123.
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
#: What a template of the addon provider begins with.
_TEMPLATE = re.compile(r"\{\{|\{%|\{#")
#: Maps whose keys a tenant may choose, by the last part of their path.
_FREE_KEYS = frozenset({"nodeLabels"})
#: And those whose keys labels called ``*_options`` give: they are flags.
_FLAGS = frozenset({"extraArgs", "kubeletExtraArgs"})
#: Made from the UUID, which a request's file makes from the name.
_DERIVED = frozenset({"magnum_cluster_uuid"})


def leaves(values: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Everything that is neither a map nor a list, by its path."""
    if isinstance(values, Mapping):
        for key, item in values.items():
            yield from leaves(item, (*path, str(key)))
        if not values:
            yield path, {}
    elif isinstance(values, list):
        for number, item in enumerate(values):
            yield from leaves(item, (*path, str(number)))
        if not values:
            yield path, []
    else:
        yield path, values


def problems(
    release: str,
    values: dict[str, Any],
    harmless: dict[str, Any],
    where: Collection[str] = (),
) -> Iterator[str]:
    """What is wrong with the values of a hostile request.

    :param harmless: the values of the same request without what is hostile
    :param where: the fields that are hostile
    """
    flags = any(each.endswith("_options") for each in where)
    named, taints = "nodegroup name" in where, "node_taints" in where
    free = _FREE_KEYS | _FLAGS if flags else _FREE_KEYS
    if not _NAME.fullmatch(release):
        yield f"the release is called {release!r}"
    if yaml.safe_load(yaml.safe_dump(values)) != values:
        yield "YAML makes something else of the values"
    for group in values.get("nodeGroups") or ():
        if not _NAME.fullmatch(group["name"]):
            yield f"a group is called {group['name']!r}"
    found, before = dict(leaves(values)), dict(leaves(harmless))
    for path, item in found.items():
        yield from _of_leaf(path, item, free)
        own = _own(path, item, release) or (
            (flags and _is_flag(path))
            or (named and _is_group_name(path))
            # The label gives key, value and effect; one of them has the mark.
            or (taints and "taints" in path)
        )
        if (path not in before or before[path] != item) and not own:
            yield f"{'.'.join(path)} became {item!r:.60}"
    for path in before.keys() - found.keys():
        # A label's other flags take the place of those that it had.
        if not (flags and _is_flag(path)):
            yield f"{'.'.join(path)} is gone"


def _of_leaf(path: Path, item: Any, free: Collection[str]) -> Iterator[str]:
    for number, key in enumerate(path):
        if _hostile(key) and path[number - 1] not in free:
            yield f"{key!r:.60} is a key of {'.'.join(path[:number])}"
    if path[0] == "addons" and _TEMPLATE.search(str(item)):
        yield f"{'.'.join(path)} is a template: {item!r:.60}"


def _own(path: Path, item: Any, release: str) -> bool:
    # What a name becomes may have lost the mark.
    if path[-1] in _DERIVED or str(item).startswith(f"{release}-"):
        return True
    return _hostile(item) or any(map(_hostile, path))


def _is_flag(path: Path) -> bool:
    return not _FLAGS.isdisjoint(path[-2:-1])


def _is_group_name(path: Path) -> bool:
    """What becomes of a long name is cut, and may have lost the mark."""
    return path[0] == "nodeGroups" and path[2:] == ("name",)


def _hostile(item: Any) -> bool:
    return MARK in str(item).lower()


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


_INPUTS = int(os.environ.get("FUZZ_INPUTS") or 120)
_SEED = int(os.environ.get("FUZZ_SEED") or 1)
_PROFILES = pathlib.Path(data.__file__).parent / "profiles"


class HostileTenantsTest(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        flows.configure(self)
        conf.CONF.set_override(
            "values_profile_dir", str(_PROFILES), "capi_helm"
        )
        made = plane.Plane(conf.CONF.capi_helm.chart_store)
        flows.install(self, made.runtime())
        folder = self.useFixture(fixtures.TempDir()).path
        self.file = pathlib.Path(folder) / "request.yaml"
        self.cloud: Any = sample_cloud.cloud(None)

    def _values(self, request: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """The release's name, and the values that helm would get."""
        self.file.write_text(yaml.safe_dump(request))
        row = offline.read(str(self.file))
        row.project_id = "p1"
        release = names.release(row.name, row.uuid)
        found = resolve_cluster.resolve(row, self.cloud, release)
        return release, operator_files.complete(
            runtime.get(), found, values.checked(found)
        )

    def test_no_request_reaches_beyond_its_own_values(self) -> None:
        outcomes: collections.Counter[str] = collections.Counter()
        wrong = []
        for request in requests(_INPUTS, _SEED):
            try:
                release, values = self._values(request.hostile)
            except errors.InvalidInput as error:
                outcomes["refused"] += 1
                if len(str(error)) > 2000 or not str(error).isprintable():
                    wrong.append((request.where, str(error)))
                continue
            outcomes["taken"] += 1
            _, harmless = self._values(request.harmless)
            wrong += [
                (request.where, problem)
                for problem in problems(
                    release, values, harmless, request.where
                )
            ]
        print(f"{_INPUTS} hostile requests: {dict(outcomes)}")
        self.assertEqual([], wrong)
        self.assertGreater(min(outcomes.values()), _INPUTS // 20)
