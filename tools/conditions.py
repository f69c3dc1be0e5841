# SPDX-License-Identifier: Apache-2.0

"""List of the conditions that Cluster API and CAPO set, from their sources.

``python3 -m tools.conditions`` writes the list to :data:`LIST`. ``go``
downloads the sources.

A new release is a new version in :data:`RELEASES`. Keys of the file from
``by_hand`` on were written by hand, and are kept.

Cluster API declares a type in a block of constants; the comment above the
block names the kind. CAPO names no kind: its controllers set a type on an
object, and the name of the variable is the kind.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
import json
import pathlib
import re
import subprocess
from typing import Any, NamedTuple

import yaml

from tools import archives

LIST = archives.CHECKOUT.joinpath(
    "magnum_capi_helm", "tests", "data", "condition-types.yaml"
)
CORE = "cluster-api"
CAPO = "cluster-api-provider-openstack"
#: One patch release of each minor release, the oldest first. The checksum
#: database of Go does not have CAPO 0.13.
RELEASES: Mapping[str, tuple[str, ...]] = {
    CORE: (
        "1.8.12",
        "1.9.6",
        "1.10.4",
        "1.11.3",
        "1.12.8",
        "1.13.3",
        "1.14.2",
    ),
    CAPO: ("0.10.5", "0.11.3", "0.12.1", "0.14.6"),
}
#: Folders of the constants: up to 1.10, from 1.11, and from 1.14 on, which has
#: them in a module of its own. The core comes first.
_CORE_FOLDERS = (
    *("api/v1beta1", "api/core/v1beta2", "core/v1beta2"),
    *("controlplane/kubeadm/api/v1beta1", "bootstrap/kubeadm/api/v1beta1"),
    *("api/controlplane/kubeadm/v1beta2", "api/bootstrap/kubeadm/v1beta2"),
    *("controlplane/kubeadm/v1beta2", "bootstrap/kubeadm/v1beta2"),
)
_CAPO_FOLDERS = ("api/v1alpha1", "api/v1beta1", "api/v1beta2")

_KINDS = (
    *("Cluster", "KubeadmControlPlane", "MachineDeployment", "MachineSet"),
    *("Machine", "MachineHealthCheck", "KubeadmConfig"),
)
#: The chart makes no objects of these kinds.
_UNUSED = ("ClusterClass", "MachinePool")
_ANY = "any"
#: Types that are declared once for several kinds. The kinds are those of the
#: callers of ``SetSummary``, ``SetMirror`` and ``EnsurePausedCondition``.
_SHARED = {
    ("v1beta1", "Ready"): tuple(k for k in _KINDS if "Health" not in k),
    ("v1beta1", "InfrastructureReady"): ("Cluster", "Machine"),
    ("v1beta2", "Paused"): _KINDS,
}

_CONSTANT = re.compile(r"\t(\w+)(?: ([\w.]+))? += (\"[^\"]*\"|[\w.]+)$")
_KIND = re.compile(rf"\b({'|'.join((*_KINDS, *_UNUSED))})(?:s|'s)?\b")
_SET_ON = re.compile(r"is set on (machine\w*?)s\b", re.IGNORECASE)
_OF_MACHINE = re.compile(r"Machine[A-Z]")
#: Object and type of a call; up to CAPO 0.14, and later.
_CALL = re.compile(
    r"(?:Mark(?:True|False|Unknown)\((\w+), "
    r"|onditions\.Set\((\w+), metav1\.Condition\{\s*Type: +)"
    r"([\w.]+|\"\w+\")"
)
_SUMMARY = re.compile(r"SetSummary\((\w+)")
_NEGATIVE = re.compile(r"negativePolarityConditions := [^(]*\(([^)]*)\)")


class Constant(NamedTuple):
    """A constant of Go.

    :ivar declared: its type in Go, or an empty string
    :ivar value: in quotes, or the name of another constant
    :ivar about: the comment above its block, or above an earlier block
    """

    name: str
    declared: str
    value: str
    about: str
    comment: str


class Found(NamedTuple):
    """A type of a kind."""

    kind: str
    type: str
    set: str


def source(module: str, version: str) -> pathlib.Path:
    """Return the folder with a module of Cluster API.

    :raises subprocess.CalledProcessError: Go does not find this version
    """
    done = subprocess.run(
        ["go", "mod", "download", "-json", f"sigs.k8s.io/{module}@v{version}"],
        cwd=pathlib.Path.home(),
        check=True,
        stdout=subprocess.PIPE,
        timeout=600,
    )
    return pathlib.Path(json.loads(done.stdout)["Dir"])


def constants(folder: pathlib.Path) -> Iterator[Constant]:
    """Yield the constants of a package."""
    for path in sorted(folder.glob("*.go")):
        about, inside = "", False
        comment: list[str] = []
        for line in path.read_text().splitlines():
            text = " ".join(comment)
            if line.lstrip().startswith("//"):
                comment.append(line.strip("/ \t"))
                continue
            if line.startswith("const ("):
                about, inside = text or about, True
            elif inside and (match := _CONSTANT.match(line)):
                name, declared, value = match.groups("")
                yield Constant(name, declared, value, about, text)
            if line:
                inside, comment = inside and line != ")", []


def _resolved(
    value: str, own: Mapping[str, str], core: Mapping[str, str] | None = None
) -> str:
    """Return the text of a constant; a name with a dot is of the core."""
    while value and not value.startswith('"'):
        table = (core or own) if "." in value else own
        value = table.get(value.rpartition(".")[2], "")
    return value.strip('"')


def _kinds(constant: Constant, text: str, which: str) -> tuple[str, ...]:
    """Return the kinds that have a type."""
    about = constant.about
    if "used by" in about or "used across" in about:
        return _SHARED.get((which, text), (_ANY,))
    if match := _SET_ON.search(constant.comment):
        return tuple(k for k in _KINDS if k.lower() == match[1].lower())
    match = _KIND.search(about)
    kind = match[1] if match else _ANY
    if "controlled machines" in about or (
        kind == "KubeadmControlPlane" and _OF_MACHINE.match(constant.name)
    ):
        return ("Machine",)
    return (kind,)


def declared(folder: pathlib.Path, core: Mapping[str, str]) -> Iterator[Found]:
    """Yield the types that a package declares.

    :param core: constants to which the package refers, by name
    """
    listed = list(constants(folder))
    own = {each.name: each.value for each in listed}
    for each in listed:
        go_type = each.declared.rpartition(".")[2]
        if go_type == "ConditionType" or (
            go_type in ("", "string") and each.name.endswith("Condition")
        ):
            text = _resolved(each.value, own, core)
            infix = re.search("V1Beta[12]", each.name)
            which = infix[0].lower() if infix else folder.name
            for kind in _kinds(each, text, which):
                yield Found(kind, text, which)


def of_core(version: str) -> set[Found]:
    """Return what a version of Cluster API declares."""
    top = source(CORE, version)
    if not (top / "api").exists():
        top = source(f"{CORE}/api", version)
    folders = [top / each for each in _CORE_FOLDERS if (top / each).is_dir()]
    core = {each.name: each.value for each in constants(folders[0])}
    found = {each for folder in folders for each in declared(folder, core)}
    known = {(e.set, e.type) for e in found if e.kind != _ANY}
    return {
        each
        for each in found
        if each.kind not in _UNUSED
        and (each.kind != _ANY or (each.set, each.type) not in known)
    }


def of_capo(version: str) -> set[Found]:
    """Return what the controllers of a version of CAPO set."""
    top = source(CAPO, version)
    folders = [top / each for each in _CAPO_FOLDERS if (top / each).is_dir()]
    own = {"ReadyCondition": '"Ready"'}
    for folder in folders:
        own |= {each.name: each.value for each in constants(folder)}
    found = set()
    for path in sorted((top / "controllers").glob("*_controller.go")):
        text = path.read_text()
        calls = [(name, '"Ready"') for name in _SUMMARY.findall(text)]
        calls += [(e[1] or e[2], e[3]) for e in _CALL.finditer(text)]
        for name, condition in calls:
            # As openStackServer, openstackCluster or pool.
            kind = name[9:] if name != "pool" else "FloatingIPPool"
            each = _resolved(condition, own)
            found.add(Found(f"OpenStack{kind}", each, folders[-1].name))
    return found


def negative() -> list[str]:
    """Return the types that are well when False, of the newest Cluster API."""
    version = RELEASES[CORE][-1]
    api = source(f"{CORE}/api", version) / "core" / "v1beta2"
    own = {each.name: each.value for each in constants(api)}
    tree = source(CORE, version) / "internal" / "util" / "tree" / "tree.go"
    match = _NEGATIVE.search(tree.read_text())
    names = re.findall(r"\.(\w+)", match[1]) if match else []
    return sorted(_resolved(name, own) for name in names)


def component(releases: Mapping[str, set[Found]]) -> dict[str, Any]:
    """Return the part of the file for one component.

    :param releases: by minor version, the oldest first
    """
    kinds: dict[str, Any] = {}
    for kind, name, _ in sorted(set().union(*releases.values())):
        minors = [
            (minor, each.set)
            for minor, found in releases.items()
            for each in found
            if (each.kind, each.type) == (kind, name)
        ]
        (first, _), (last, _) = minors[0], minors[-1]
        sets = {each for _, each in minors}
        kinds.setdefault(kind, {})[name] = {
            "releases": " to ".join(dict.fromkeys((first, last))),
            "set": sets.pop() if len(sets) == 1 else "both",
        }
    return kinds


def main() -> None:
    """Write the list."""
    parts = {
        name: component(
            {each.rpartition(".")[0]: reader(each) for each in RELEASES[name]}
        )
        for name, reader in ((CORE, of_core), (CAPO, of_capo))
    }
    versions = {name: list(each) for name, each in RELEASES.items()}
    new = {"sources": versions, "negative": negative(), "components": parts}
    dump = yaml.safe_dump(
        new, default_flow_style=None, sort_keys=False, width=79
    )
    text = LIST.read_text()
    start, end = text.index("sources:"), text.index("by_hand:")
    LIST.write_text(f"{text[:start]}{dump}{text[end:]}")


if __name__ == "__main__":
    main()
