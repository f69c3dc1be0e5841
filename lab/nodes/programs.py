# SPDX-License-Identifier: Apache-2.0

"""Build the programs of machines from pinned Go modules.

The management cluster has one of their versions of Kubernetes: what both have
is compiled once. Other programs that use Kubernetes' libraries are in that
module too, as far as their versions let it. runc and flannel need a C
compiler. Versions that are older than the management cluster's are built only
for those who ask (``up --nodes --minors``). The choice stays.
"""

from collections.abc import Callable, Iterable
import dataclasses
import os
import pathlib

from lab import choices
from lab import cluster_api
from lab import errors
from lab import golang
from lab import layout
from lab import programs
from lab import stamps
from lab import tools

_PLANE = cluster_api.MODULES
_MODULES = _PLANE / "nodes"
_RUNTIME = _MODULES / "runtime"
_LOG = layout.log("programs")
_CONTAINERD = "github.com/containerd/containerd/v2/cmd"
_CNI = "github.com/containernetworking/plugins/plugins"
_KUBERNETES = "k8s.io/kubernetes"
_ETCD = "go.etcd.io/etcd/server/v3"
_OLDER = choices.Choice("with-minors", "no")
_OPENSTACK = "k8s.io/cloud-provider-openstack/cmd"
FOLDER = layout.STATE / "nodes"
BIN = FOLDER / "bin"
CNI_PLUGINS = (
    "main/bridge",
    "main/loopback",
    "main/ptp",
    "ipam/host-local",
    "meta/firewall",
    "meta/portmap",
)


@dataclasses.dataclass(frozen=True)
class Program:
    """A program of machines.

    :param path: file below the folder of programs
    :param module: folder with its go.mod
    :param tags: Go's build tags
    :param cgo: it has parts in C
    :param static: it needs no library of C, for an image without one
    :param suite: it is the package's tests
    """

    path: str
    package: str
    module: pathlib.Path = _PLANE
    tags: str = ""
    cgo: bool = False
    static: bool = False
    suite: bool = False


_COMMON = (
    *(
        Program(name, f"{_CONTAINERD}/{name}", _RUNTIME)
        for name in ("containerd", "containerd-shim-runc-v2", "ctr")
    ),
    Program(
        "runc",
        "github.com/opencontainers/runc",
        _RUNTIME,
        tags="seccomp",
        cgo=True,
    ),
    *(
        Program(f"cni/{path.split('/')[1]}", f"{_CNI}/{path}", _RUNTIME)
        for path in CNI_PLUGINS
    ),
    Program("pause", "./pause", _RUNTIME),
    Program(
        "flanneld",
        "github.com/flannel-io/flannel",
        _MODULES / "flannel",
        tags="netgo osusergo",
        cgo=True,
        static=True,
    ),
    Program("coredns", "./coredns"),
    *(
        Program(name, f"{_OPENSTACK}/{name}")
        for name in ("openstack-cloud-controller-manager", "k8s-keystone-auth")
    ),
    # Version 0.8.0 panics with libraries of Kubernetes 1.35.
    Program(
        "metrics-server",
        "sigs.k8s.io/metrics-server/cmd/metrics-server",
        _MODULES / "metrics",
    ),
)
#: Programs that users run beside kubectl.
CLIENTS = (
    Program("client-keystone-auth", f"{_OPENSTACK}/client-keystone-auth"),
)
_OF_KUBERNETES = (
    "kubelet",
    "kubeadm",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-proxy",
    "kube-scheduler",
    "kubectl",
)


def choose(*, minors: bool | None) -> None:
    """Remember whether machines may have older versions of Kubernetes.

    :param minors: None: the choice stays
    """
    if minors is not None:
        _OLDER.write("yes" if minors else "no")


def kubernetes() -> list[str]:
    """Return the versions of Kubernetes that machines may have, oldest first.

    With a minor version in ``$LAB_KUBERNETES`` it is that one alone, which is
    half of the work to build.
    """
    return list(_modules())


def _modules() -> dict[str, pathlib.Path]:
    """Return each version of Kubernetes, oldest first, with its module.

    :raises LabError: there is none of the wanted minor version
    """
    planes, with_older = _required(_PLANE)[_KUBERNETES], _OLDER.read() == "yes"
    folders = (_PLANE, *_MODULES.glob("1.*"))
    found = {_required(each)[_KUBERNETES]: each for each in folders}
    known = {
        version: found[version]
        for version in sorted(found)
        if with_older or version >= planes
    }
    wanted = os.environ.get("LAB_KUBERNETES")
    if not wanted:
        return known
    found = {
        version: folder
        for version, folder in known.items()
        if version.startswith(f"v{wanted}.")
    }
    if not found:
        raise errors.LabError(
            f"LAB_KUBERNETES is {wanted}, and machines have {', '.join(known)}"
        )
    return found


def _required(module: pathlib.Path) -> dict[str, str]:
    """Return the version of every module that a folder's go.mod requires."""
    return programs.versions((module / "go.mod").read_text())


def of_machines() -> list[Program]:
    """Return the programs that images of machines are made of."""
    found = [*_COMMON, _agnhost()]
    for version, module in _modules().items():
        found += (
            Program(f"{version}/{name}", f"{_KUBERNETES}/cmd/{name}", module)
            for name in _OF_KUBERNETES
        )
        if _has_own_etcd(module):
            found.append(Program(f"{version}/etcd", _ETCD, module))
    return found


def etcd(version: str) -> pathlib.Path:
    """Return the etcd of a version of Kubernetes.

    It is the management cluster's, if Kubernetes is built with libraries of
    the same minor version of etcd.
    """
    own = _has_own_etcd(_modules()[version])
    return BIN / version / "etcd" if own else layout.BIN / "etcd"


def _has_own_etcd(module: pathlib.Path) -> bool:
    """Return whether a module and the plane differ in etcd's minor version."""
    own, planes = (
        _required(each)[_ETCD].rpartition(".")[0] for each in (module, _PLANE)
    )
    return own != planes


def _agnhost() -> Program:
    """Return Kubernetes' program for tests: it serves, calls and waits."""
    package = f"{_KUBERNETES}/test/images/agnhost"
    return Program("agnhost", package, _newest())


def _newest() -> pathlib.Path:
    """Return the module of the newest Kubernetes."""
    *_, module = _modules().values()
    return module


def of_conformance() -> list[Program]:
    """Return the tests of clusters of the newest Kubernetes, with images'."""
    package = f"{_KUBERNETES}/test/e2e"
    return [
        Program("e2e.test", package, _newest(), suite=True),
        Program("ginkgo", "github.com/onsi/ginkgo/v2/ginkgo", _newest()),
    ]


def _flags(program: Program) -> str:
    """Return linker flags that tell a program of Kubernetes its version."""
    version, _, name = program.path.rpartition("/")
    if program.static:
        return "-s -w -linkmode external -extldflags -static"
    if name not in _OF_KUBERNETES:
        return "-s -w"
    return f"-s -w {programs.version_flags(version)}"


def _stamp(program: Program) -> tuple[str, str]:
    module = program.module
    described = dataclasses.replace(program, module=pathlib.Path(module.name))
    value = stamps.fingerprint(
        golang.version(golang.find() or ""),
        repr(described),
        _flags(program),
        files=[
            *module.glob("go.*"),
            # The sources of one that is not of another module.
            *module.glob(f"{program.package}/*.go"),
        ],
    )
    return f"node-program-{program.path.replace('/', '-')}", value


def _outdated(wanted: Iterable[Program]) -> list[Program]:
    return [
        each
        for each in wanted
        if not (BIN / each.path).exists() or not stamps.fresh(*_stamp(each))
    ]


def ready() -> bool:
    """Whether there is nothing to build for machines."""
    return not _outdated(of_machines())


def build(say: Callable[[str], None], wanted: Iterable[Program] = ()) -> None:
    """Build what is outdated.

    :param wanted: if there are none, the programs of machines
    """
    go = golang.ensure()
    todo = _outdated(wanted or of_machines())
    for number, program in enumerate(todo, 1):
        say(f"{number}/{len(todo)} {program.path}")
        _build(program, go)


def _build(program: Program, go: str) -> None:
    target = BIN / program.path
    target.parent.mkdir(parents=True, exist_ok=True)
    # The old one may be running.
    fresh: pathlib.Path = target.with_name(f"{target.name}.new")
    verb = ("test", "-c", "-vet=off") if program.suite else ("build",)
    tools.run(
        [
            *(go, *verb, "-trimpath", "-mod=mod", "-buildvcs=false"),
            *("-tags", program.tags, "-ldflags", _flags(program)),
            *("-o", fresh, program.package),
        ],
        log=_LOG,
        env={**golang.environ(), "CGO_ENABLED": str(int(program.cgo))},
        cwd=program.module,
    )
    fresh.replace(target)
    stamps.write(*_stamp(program))
