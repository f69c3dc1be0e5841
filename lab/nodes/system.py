# SPDX-License-Identifier: Apache-2.0

"""The systems of machines: what an image of a cluster's node has in it.

Like the images of image-builder: an operating system with cloud-init,
containerd, kubelet and kubeadm of one version of Kubernetes, and the
container images that kubeadm wants, so that no registry is asked. The
operating system is Debian; the images' names say ubuntu, as clusters'
templates expect.
"""

from collections.abc import Callable, Iterator
import contextlib
import pathlib
import re
import shutil
import subprocess
import time

from lab import debian
from lab import errors
from lab import layout
from lab import stamps
from lab import tools
from lab.nodes import containers
from lab.nodes import programs

BASE = programs.FOLDER / "base"
IMAGES = programs.FOLDER / "images"
_LOG = layout.log("nodes")
_FILES = pathlib.Path(__file__).with_name("files")
#: Debian's packages on this host, and a file of each.
_HOST_PACKAGES = {
    "gcc": pathlib.Path("/usr/bin/gcc"),
    "haproxy": pathlib.Path("/usr/sbin/haproxy"),
    "iproute2": pathlib.Path("/usr/bin/ip"),
    "libseccomp-dev": pathlib.Path("/usr/include/seccomp.h"),
    "mmdebstrap": pathlib.Path("/usr/bin/mmdebstrap"),
    "nftables": pathlib.Path("/usr/sbin/nft"),
    "pkg-config": pathlib.Path("/usr/bin/pkg-config"),
}
#: Debian's packages in a machine. kubeadm looks for some of them.
_PACKAGES = (
    *("systemd", "systemd-sysv", "dbus", "cloud-init", "ca-certificates"),
    *("conntrack", "ethtool", "iproute2", "iptables", "kmod", "nftables"),
    *("procps", "socat", "util-linux", "libseccomp2"),
)
_SUITE = "bookworm"
#: kube-proxy's image has them.
_FIREWALL = (
    "/usr/sbin/xtables-nft-multi",
    "/usr/sbin/nft",
    "/usr/sbin/conntrack",
    "/usr/bin/kmod",
)
_SHELL = tuple(f"/usr/bin/{each}" for each in ("cat", "dash", "rm", "sleep"))
_IPTABLES = ("iptables", "iptables-save", "iptables-restore")
_MERGED = ("bin", "lib", "lib64", "sbin")
_REGISTRY = "registry.k8s.io"
#: The name that containerd's configuration has for the pause image.
_PAUSE = f"{_REGISTRY}/pause:lab"
_FLANNEL = "docker.io/lab/flannel:v0.28.10"
#: Images with the program of their name.
_WITH_ONE_PROGRAM = (
    "docker.io/lab/openstack-cloud-controller-manager:v1.35.0",
    "docker.io/lab/k8s-keystone-auth:v1.35.0",
    "docker.io/lab/metrics-server:v0.8.0",
    "docker.io/lab/agnhost:v1",
)
_PATIENCE = 30.0


def name(version: str) -> str:
    """Return the name of the image with a version of Kubernetes."""
    return f"ubuntu-{version}"


def missing() -> list[str]:
    """Return Debian's packages that this host does not have."""
    return debian.missing(_HOST_PACKAGES)


def _stamp(version: str) -> tuple[str, str]:
    built = [
        (programs.BIN / each.path).stat() for each in programs.of_machines()
    ]
    value = stamps.fingerprint(
        version,
        repr([(each.st_size, each.st_mtime_ns) for each in built]),
        repr(_PACKAGES),
        files=[*_FILES.iterdir(), pathlib.Path(__file__)],
    )
    return f"node-image-{version}", value


def ready() -> bool:
    """Whether there is nothing to build."""
    return programs.ready() and all(
        stamps.fresh(*_stamp(each)) for each in programs.kubernetes()
    )


def build(say: Callable[[str], None]) -> None:
    """Build programs, the operating system and an image for each version.

    :raises LabError: a package of this host is missing
    """
    if packages := missing():
        say("Debian's packages")
        debian.install(packages)
    programs.build(say)
    if not stamps.fresh("node-base", repr(_PACKAGES)):
        say("Debian")
        _bootstrap()
        stamps.write("node-base", repr(_PACKAGES))
    for version in programs.kubernetes():
        stamp, value = _stamp(version)
        if not stamps.fresh(stamp, value):
            say(f"image {name(version)}")
            _build_image(version)
            stamps.write(stamp, value)


def _bootstrap() -> None:
    """Make the operating system.

    mmdebstrap and not debootstrap: the latter can't resolve the packages that
    cloud-init needs.
    """
    shutil.rmtree(BASE, ignore_errors=True)
    BASE.parent.mkdir(parents=True, exist_ok=True)
    packages = f"--include={','.join(_PACKAGES)}"
    command = ["mmdebstrap", "--variant=minbase", packages, _SUITE, str(BASE)]
    tools.run(command, log=_LOG)


def _build_image(version: str) -> None:
    folder = IMAGES / name(version)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "base").symlink_to(BASE)
    _fill(folder / "system", version)
    archives = folder / "archives"
    archives.mkdir()
    for number, image in enumerate(_container_images(version)):
        containers.write([image], archives / f"{number}.tar")
    _import(archives, folder / "containerd")
    shutil.rmtree(archives)


def _fill(root: pathlib.Path, version: str) -> None:
    """Put programs and configuration into the layer above Debian."""
    own = root / "usr/local/bin"
    own.mkdir(parents=True)
    for each in ("containerd", "containerd-shim-runc-v2", "ctr", "runc"):
        shutil.copy(programs.BIN / each, own)
    for each in ("kubelet", "kubeadm", "kubectl"):
        shutil.copy(programs.BIN / version / each, own)
    plugins = root / "opt/cni/bin"
    shutil.copytree(programs.BIN / "cni", plugins)
    for source, target in {
        "containerd.toml": "etc/containerd/config.toml",
        "cloud.cfg": "etc/cloud/cloud.cfg.d/90-lab.cfg",
        "kubelet.yaml": "etc/kubernetes/kubelet.conf.d/10-lab.conf",
        "sysctl.conf": "etc/sysctl.d/90-kubernetes.conf",
        "containerd.service": "etc/systemd/system/containerd.service",
        "kubelet.service": "etc/systemd/system/kubelet.service",
        "kubeadm": "usr/local/sbin/kubeadm",
    }.items():
        file = root / target
        file.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(_FILES / source, file)
    wanted = root / "etc/systemd/system/multi-user.target.wants"
    wanted.mkdir()
    for unit, folder in {
        "containerd": "/etc/systemd/system",
        "kubelet": "/etc/systemd/system",
        "systemd-networkd": "/lib/systemd/system",
    }.items():
        service = f"{unit}.service"
        (wanted / service).symlink_to(f"{folder}/{service}")


def _container_images(version: str) -> Iterator[containers.Image]:
    """Yield the images of a machine: kubeadm's, and those of addons.

    Of other versions as well what a cluster runs everywhere while it is
    upgraded.
    """
    names = _names(version)
    for each in ("apiserver", "controller-manager", "scheduler"):
        program = f"kube-{each}"
        file = programs.BIN / version / program
        path = f"usr/local/bin/{program}"
        yield containers.Image((names[program],), {path: file}, (program,))
    yield containers.Image(
        (names["etcd"],),
        {"usr/local/bin/etcd": programs.etcd(version)},
        ("etcd",),
    )
    yield containers.Image(
        (names["pause"], _PAUSE),
        {"pause": programs.BIN / "pause"},
        ("/pause",),
        user="65535:65535",
    )
    for other in programs.kubernetes():
        yield from _everywhere(other)
    yield from _addons()


def _names(version: str) -> dict[str, str]:
    """Return kubeadm's names of images, by the last word of their path."""
    kubeadm = programs.BIN / version / "kubeadm"
    words = ["config", "images", "list", "--kubernetes-version", version]
    listed = tools.output([str(kubeadm), *words])
    return {
        re.split("[/:]", line)[-2]: line
        for line in listed.split()
        if line.startswith(_REGISTRY)
    }


def _everywhere(version: str) -> Iterator[containers.Image]:
    """Yield the images of a version that run on nodes of any version."""
    names = _names(version)
    proxy = programs.BIN / version / "kube-proxy"
    yield containers.Image(
        (names["kube-proxy"],),
        {"usr/local/bin/kube-proxy": proxy, **_of_debian()},
        ("kube-proxy",),
        links=_links(),
    )
    yield containers.Image(
        (names["coredns"],),
        {"coredns": programs.BIN / "coredns"},
        ("/coredns",),
    )


def _addons() -> Iterator[containers.Image]:
    """Yield the images of the lab's own charts, and one for tests."""
    for name in _WITH_ONE_PROGRAM:
        program = re.split("[/:]", name)[-2]
        yield containers.Image(
            (name,), {program: programs.BIN / program}, (f"/{program}",)
        )
    yield containers.Image(
        (_FLANNEL,),
        {"flanneld": programs.BIN / "flanneld", **_of_debian(*_SHELL)},
        ("/flanneld",),
        links=_links(),
    )


def _links() -> dict[str, str]:
    """Return Debian's links for the programs of its firewall."""
    return {
        **{each: f"usr/{each}" for each in _MERGED},
        "usr/sbin/modprobe": "/usr/bin/kmod",
        **{
            f"usr/sbin/{family}{each.removeprefix('ip')}": _FIREWALL[0]
            for each in _IPTABLES
            for family in ("ip", "ip6")
        },
    }


def _of_debian(*more: str) -> dict[str, pathlib.Path | bytes]:
    """Return Debian's programs that make firewall rules, and others."""
    extensions = BASE / "usr/lib/x86_64-linux-gnu/xtables"
    plugins = (f"/{each.relative_to(BASE)}" for each in extensions.iterdir())
    paths = [*_FIREWALL, *more, *plugins]
    found = containers.copied(
        BASE, [*paths, *containers.libraries(BASE, paths)]
    )
    # /lib and the like are links in Debian, and in the image.
    return {
        f"usr/{path}" if path.split("/")[0] in _MERGED else path: source
        for path, source in found.items()
    }


def _import(archives: pathlib.Path, store: pathlib.Path) -> None:
    """Unpack images into a folder that a machine's containerd starts with."""
    with _containerd(store) as socket:
        for each in sorted(archives.iterdir()):
            ctr = [str(programs.BIN / "ctr"), "-a", str(socket)]
            words = ["-n", "k8s.io", "images", "import", "--local", str(each)]
            tools.run([*ctr, *words], log=_LOG)


@contextlib.contextmanager
def _containerd(store: pathlib.Path) -> Iterator[pathlib.Path]:
    """Run a containerd of this host; yield its socket."""
    store.mkdir(parents=True)
    work = store.with_name("importing")
    work.mkdir()
    socket = work / "socket"
    config = work / "config.toml"
    config.write_text(
        "version = 3\n"
        f'root = "{store}"\nstate = "{work / "state"}"\n'
        'disabled_plugins = ["io.containerd.cri.v1.images", '
        '"io.containerd.cri.v1.runtime", "io.containerd.grpc.v1.cri"]\n'
        f'[grpc]\n  address = "{socket}"\n'
        f'[ttrpc]\n  address = "{socket}.ttrpc"\n'
    )
    with _LOG.open("ab") as out:
        child = subprocess.Popen(
            [programs.BIN / "containerd", "-c", config],
            stdout=out,
            stderr=out,
        )
    try:
        _until_it_answers(socket)
        yield socket
    finally:
        child.terminate()
        child.wait()
        shutil.rmtree(work, ignore_errors=True)


def _until_it_answers(socket: pathlib.Path) -> None:
    deadline = time.monotonic() + _PATIENCE
    version = [str(programs.BIN / "ctr"), "-a", str(socket), "version"]
    while subprocess.run(version, capture_output=True, check=False).returncode:
        if time.monotonic() > deadline:
            raise errors.LabError("containerd does not start", log=_LOG)
        tools.pause(0.2)
