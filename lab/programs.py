# SPDX-License-Identifier: Apache-2.0

"""Builds the management plane's programs from pinned Go modules.

One module means one version of every package that the programs share:
Kubernetes here is the one that Cluster API itself is built with. The OpenStack
provider needs an older controller-runtime and has a module of its own, and so
has each other Cluster API (``cluster_api.py``).
"""

from collections.abc import Callable
import dataclasses
import functools
import pathlib
import re
import shutil
from typing import TypeAlias

from lab import cluster_api
from lab import definitions
from lab import errors
from lab import golang
from lab import hurried
from lab import layout
from lab import stamps
from lab import tools

PLANE = cluster_api.MODULES
CAPO = PLANE / "capo"
_LOG = layout.log("programs")
_KUBERNETES = "k8s.io/kubernetes"
CLUSTER_API = cluster_api.MODULE
_VERSION = f"{CLUSTER_API}/version.gitVersion"
_HELM = "helm.sh/helm/v3"
GIGABYTE = 1024**3
_FASTER = hurried.CLUSTER_API


@dataclasses.dataclass(frozen=True)
class Program:
    """What to build, in which module, from which sources of our own.

    ``changed``: a module whose waits are shorter in it; ``loose``: Go may look
    beyond the go.mod
    """

    name: str
    package: str
    module: pathlib.Path = PLANE
    sources: pathlib.Path | None = None
    changed: hurried.Module | None = None
    loose: bool = False


PROGRAMS = (
    Program("etcd", "go.etcd.io/etcd/server/v3"),
    Program("kube-apiserver", f"{_KUBERNETES}/cmd/kube-apiserver"),
    Program(
        "kube-controller-manager",
        f"{_KUBERNETES}/cmd/kube-controller-manager",
    ),
    Program("kubectl", f"{_KUBERNETES}/cmd/kubectl"),
    Program("capi-core", CLUSTER_API, changed=_FASTER),
    Program(
        "capi-bootstrap",
        f"{CLUSTER_API}/bootstrap/kubeadm",
        changed=_FASTER,
    ),
    Program(
        "capi-kcp",
        f"{CLUSTER_API}/controlplane/kubeadm",
        changed=_FASTER,
    ),
    Program("helm", f"{_HELM}/cmd/helm"),
    # It has much of Cluster API in it, which is compiled once.
    Program(
        "labinfra",
        "./labinfra",
        sources=PLANE / "labinfra",
        changed=_FASTER,
    ),
    # It can't be tidied: a dependency of its tests is not to be had.
    Program(
        "capo",
        definitions.PROVIDER,
        module=CAPO,
        changed=hurried.CAPO,
        loose=True,
    ),
)

Other: TypeAlias = cluster_api.Release | None


def versions(go_mod: str) -> dict[str, str]:
    """The version of every module that a go.mod requires."""
    pattern = r"^\s*(?:require\s+)?(\S+) (v\d\S*)"
    return dict(re.findall(pattern, go_mod, re.MULTILINE))


def managers(release: cluster_api.Release) -> list[Program]:
    """What to build of another Cluster API."""
    return [
        Program(
            release.called(f"capi-{name}"),
            f"{CLUSTER_API}/{folder}",
            module=release.module,
            changed=_FASTER,
        )
        for name, folder in release.folders().items()
    ]


def path(name: str) -> pathlib.Path:
    """The program to run by that name."""
    return layout.BIN / _current(name)


def _current(name: str) -> str:
    other = cluster_api.other()
    if other and name.removeprefix("capi-") in other.folders():
        return other.called(name)
    return name


def version_flags(kubernetes: str) -> str:
    """Linker flags that tell Kubernetes' programs their version.

    Without them the API server says v0.0.0 and the core manager refuses it.
    """
    base = "k8s.io/component-base/version"
    values = {
        f"{base}.gitVersion": kubernetes,
        f"{base}.gitMajor": "1",
        f"{base}.gitMinor": kubernetes.split(".")[1],
        f"{base}.gitTreeState": "clean",
        f"{base}.gitCommit": "lab",
        f"{base}.buildDate": "2026-01-01T00:00:00Z",
    }
    return _linked_in(values)


def _linked_in(values: dict[str, str]) -> str:
    return " ".join(f"-X {name}={value}" for name, value in values.items())


@functools.cache
def _flags() -> str:
    """Linker flags that tell the programs their versions."""
    required = versions((PLANE / "go.mod").read_text())
    others = {
        _VERSION: required[CLUSTER_API],
        f"{_HELM}/internal/version.version": required[_HELM],
    }
    kubernetes = version_flags(required[_KUBERNETES])
    return f"-s -w {kubernetes} {_linked_in(others)}"


def stamp(name: str) -> pathlib.Path:
    """The file that tells from what the program of that name was built."""
    return layout.STAMPS / f"program-{_current(name)}"


def _stamp(program: Program) -> str:
    return f"program-{program.name}"


def _sources(program: Program, go: str) -> str:
    files = [program.module / "go.mod", program.module / "go.sum"]
    if program.sources:
        files += program.sources.glob("*.go")
    return stamps.fingerprint(
        golang.version(go),
        _flags(),
        program.package,
        program.changed.text() if program.changed else "",
        files=files,
    )


def outdated(other: Other = None) -> list[Program]:
    """The programs that have to be built."""
    go = golang.find()
    return [
        program
        for program in (*PROGRAMS, *(managers(other) if other else ()))
        if go is None
        or not (layout.BIN / program.name).exists()
        or not stamps.fresh(_stamp(program), _sources(program, go))
    ]


def ready(other: Other = None) -> bool:
    """Whether there is nothing to build and nothing to copy.

    :param other: besides what the lab has anyway
    """
    return not outdated(other) and definitions.ready(other)


def build(say: Callable[[str], None], other: Other = None) -> None:
    """Build what is outdated.

    :param other: besides what the lab has anyway
    """
    _need_space()
    say("looking for Go")
    go = golang.ensure()
    todo = outdated(other)
    layout.BIN.mkdir(parents=True, exist_ok=True)
    for number, program in enumerate(todo, 1):
        say(f"{number}/{len(todo)} {program.name}")
        _build(program, go)
    if not definitions.ready(other):
        say("custom resource definitions")
        definitions.copy(go, other)


def _build(program: Program, go: str) -> None:
    target = layout.BIN / program.name
    fresh = target.with_suffix(".new")  # the old one may be running
    # With whole paths, each checkout would compile its own Cluster API.
    mode = ["-trimpath", *(["-mod=mod"] if program.loose else [])]
    if program.changed:
        module = program.changed
        sources = golang.downloaded(go, module.path, program.module)
        mode += hurried.mode(module, sources, program.module)
    flags = ["-ldflags", _linked(program)]
    tools.run(
        [go, "build", *mode, *flags, "-o", fresh, program.package],
        log=_LOG,
        env=golang.environ(),
        cwd=program.module,
    )
    fresh.replace(target)
    stamps.write(_stamp(program), _sources(program, go))


def _linked(program: Program) -> str:
    if program.module == PLANE:
        return _flags()
    if program.loose:
        return "-s -w"
    required = versions((program.module / "go.mod").read_text())
    return f"-s -w -X {_VERSION}={required[CLUSTER_API]}"


def _need_space() -> None:
    """Ask for room before an hour-old build dies for the lack of it."""
    layout.STATE.mkdir(parents=True, exist_ok=True)
    warm = (pathlib.Path.home() / ".cache/go-build/ff").exists()
    wanted = 2 if warm else 8
    for folder in {layout.STATE, pathlib.Path.home()}:
        free = shutil.disk_usage(folder).free
        if free < wanted * GIGABYTE:
            raise errors.LabError(
                f"{free / GIGABYTE:.1f} GB free on the disk of {folder},"
                f" {wanted} GB wanted",
                hint="Free some disk space and run the command again.",
            )
