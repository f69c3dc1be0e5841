# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Builds the management plane's programs from two pinned Go modules.

One module means one version of every package that the programs share:
Kubernetes here is the one that Cluster API itself is built with. The OpenStack
provider needs an older controller-runtime and has a module of its own.
"""

from collections.abc import Callable
import dataclasses
import functools
import pathlib
import re
import shutil

from lab import errors
from lab import golang
from lab import hurried
from lab import layout
from lab import stamps
from lab import tools

PLANE = layout.SOURCE / "plane"
CAPO = PLANE / "capo"
_LOG = layout.log("programs")
_KUBERNETES = "k8s.io/kubernetes"
CLUSTER_API = "sigs.k8s.io/cluster-api"
_PROVIDER = "sigs.k8s.io/cluster-api-provider-openstack"
_RESOURCES = "github.com/k-orc/openstack-resource-controller/v2"
_HELM = "helm.sh/helm/v3"
GIGABYTE = 1024**3


@dataclasses.dataclass(frozen=True)
class Program:
    """What to build, in which module, from which sources of our own.

    ``hurried``: with a Cluster API that waits less
    """

    name: str
    package: str
    module: pathlib.Path = PLANE
    sources: pathlib.Path | None = None
    hurried: bool = False


PROGRAMS = (
    Program("etcd", "go.etcd.io/etcd/server/v3"),
    Program("kube-apiserver", f"{_KUBERNETES}/cmd/kube-apiserver"),
    Program(
        "kube-controller-manager",
        f"{_KUBERNETES}/cmd/kube-controller-manager",
    ),
    Program("kubectl", f"{_KUBERNETES}/cmd/kubectl"),
    Program("capi-core", CLUSTER_API, hurried=True),
    Program(
        "capi-bootstrap", f"{CLUSTER_API}/bootstrap/kubeadm", hurried=True
    ),
    Program("capi-kcp", f"{CLUSTER_API}/controlplane/kubeadm", hurried=True),
    Program("helm", f"{_HELM}/cmd/helm"),
    # It has much of Cluster API in it, which is compiled once.
    Program(
        "labinfra", "./labinfra", sources=PLANE / "labinfra", hurried=True
    ),
    Program("capo", _PROVIDER, module=CAPO),
)

# Module, folder inside it: where each provider keeps CRDs and webhooks.
CONFIGS = {
    "core": (CLUSTER_API, "config"),
    "bootstrap": (CLUSTER_API, "bootstrap/kubeadm/config"),
    "kcp": (CLUSTER_API, "controlplane/kubeadm/config"),
    "capo": (_PROVIDER, "config"),
    "orc": (_RESOURCES, "config"),
}


def versions(go_mod: str) -> dict[str, str]:
    """The version of every module that a go.mod requires."""
    pattern = r"^\s*(?:require\s+)?(\S+) (v\d\S*)"
    return dict(re.findall(pattern, go_mod, re.MULTILINE))


@functools.cache
def _flags() -> str:
    """Linker flags that tell the programs their versions.

    Without them the API server says v0.0.0 and the core manager refuses it.
    """
    required = versions((PLANE / "go.mod").read_text())
    kubernetes = required[_KUBERNETES]
    minor = kubernetes.split(".")[1]
    base = "k8s.io/component-base/version"
    values = {
        f"{base}.gitVersion": kubernetes,
        f"{base}.gitMajor": "1",
        f"{base}.gitMinor": minor,
        f"{base}.gitTreeState": "clean",
        f"{base}.gitCommit": "lab",
        f"{base}.buildDate": "2026-01-01T00:00:00Z",
        f"{CLUSTER_API}/version.gitVersion": required[CLUSTER_API],
        f"{_HELM}/internal/version.version": required[_HELM],
    }
    words = (f"-X {name}={value}" for name, value in values.items())
    return " ".join(["-s", "-w", *words])


def stamp(name: str) -> pathlib.Path:
    """The file that tells from what a program was built."""
    return layout.STAMPS / f"program-{name}"


def _sources(program: Program, go: str) -> str:
    files = [program.module / "go.mod", program.module / "go.sum"]
    if program.sources:
        files += program.sources.glob("*.go")
    return stamps.fingerprint(
        golang.version(go),
        _flags(),
        program.package,
        hurried.CHANGE if program.hurried else "",
        files=files,
    )


def outdated() -> list[Program]:
    """The programs that have to be built."""
    go = golang.find()
    return [
        program
        for program in PROGRAMS
        if go is None
        or not (layout.BIN / program.name).exists()
        or not stamps.fresh(stamp(program.name).name, _sources(program, go))
    ]


def ready() -> bool:
    """Whether there is nothing to build and nothing to copy."""
    return not outdated() and _configs_ready()


def build(say: Callable[[str], None]) -> None:
    """Build what is outdated."""
    _need_space()
    say("looking for Go")
    go = golang.ensure()
    todo = outdated()
    layout.BIN.mkdir(parents=True, exist_ok=True)
    for number, program in enumerate(todo, 1):
        say(f"{number}/{len(todo)} {program.name}")
        _build(program, go)
    if not _configs_ready():
        say("custom resource definitions")
        _copy_configs(go)


def _build(program: Program, go: str) -> None:
    target = layout.BIN / program.name
    fresh = target.with_suffix(".new")  # the old one may be running
    own = program.module != PLANE
    # With whole paths, each checkout would compile its own Cluster API.
    # The provider's module can't be tidied (a dependency of its tests is not
    # to be had), so Go must be allowed to look beyond its go.mod.
    mode = ["-trimpath", *(["-mod=mod"] if own else [])]
    if program.hurried:
        mode += hurried.mode(downloaded(go, CLUSTER_API), PLANE)
    flags = "-s -w" if own else _flags()
    tools.run(
        [go, "build", *mode, "-ldflags", flags, "-o", fresh, program.package],
        log=_LOG,
        env=golang.environ(),
        cwd=program.module,
    )
    fresh.replace(target)
    stamps.write(stamp(program.name).name, _sources(program, go))


def downloaded(go: str, module: str) -> pathlib.Path:
    """The folder of a module's sources."""
    tools.run(
        [go, "mod", "download", module],
        log=_LOG,
        env=golang.environ(),
        cwd=PLANE,
    )
    found = tools.output(
        [go, "list", "-m", "-f", "{{.Dir}}", module],
        env=golang.environ(),
        cwd=PLANE,
    )
    return pathlib.Path(found.strip())


def _configs_stamp() -> str:
    return stamps.fingerprint(str(CONFIGS), files=[PLANE / "go.mod"])


def _configs_ready() -> bool:
    return stamps.fresh("crds", _configs_stamp())


def _copy_configs(go: str) -> None:
    """Keep the CRDs and webhooks: Go's cache may be cleaned any time."""
    for name, (module, folder) in CONFIGS.items():
        config = downloaded(go, module) / folder
        target = layout.CRDS / name
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        for path in config.glob("crd/bases/*.yaml"):
            (target / path.name).write_bytes(path.read_bytes())
        webhooks = config / "webhook" / "manifests.yaml"
        if webhooks.exists():
            hooks = target / "webhooks"
            hooks.mkdir()
            (hooks / webhooks.name).write_bytes(webhooks.read_bytes())
    stamps.write("crds", _configs_stamp())


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
