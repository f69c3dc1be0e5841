# SPDX-License-Identifier: Apache-2.0

"""The container images that conformance tests want.

They are made as ``test/images`` of Kubernetes says, with Debian in place of
Alpine. No registry is asked: machines import them from an archive.
"""

from collections.abc import Callable, Iterator
import pathlib
import tarfile
import tempfile

from lab import layout
from lab import stamps
from lab import tools
from lab.nodes import containers
from lab.nodes import programs

FOLDER = programs.FOLDER / "conformance"
ARCHIVE = FOLDER / "images.tar"
_BASE = FOLDER / "base.tar"
_LOG = layout.log("conformance-images")
_SUITE = "bookworm"
#: What tests call in images of agnhost, nginx and glibc-dns-testing.
_PACKAGES = (
    *("bash", "bash-static", "busybox-static", "curl", "dnsutils", "iperf"),
    *("iproute2", "netcat-openbsd", "nginx-light", "util-linux"),
)
_STATIC = ("bash-static", "busybox")
_REGISTRY = "registry.k8s.io/"


def build(say: Callable[[str], None]) -> None:
    """Build the programs of the tests, and the archive of their images."""
    programs.build(say, programs.of_conformance())
    name, value = _stamp()
    if ARCHIVE.exists() and stamps.fresh(name, value):
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    say("Debian")
    _bootstrap()
    say("images")
    with tempfile.TemporaryDirectory(dir=FOLDER) as scratch:
        images = [*_images(_names(), pathlib.Path(scratch))]
        containers.write(images, ARCHIVE)
    stamps.write(name, value)


def _stamp() -> tuple[str, str]:
    built = [
        (programs.BIN / each.path).stat() for each in programs.of_conformance()
    ]
    value = stamps.fingerprint(
        repr(_PACKAGES),
        repr([(each.st_size, each.st_mtime_ns) for each in built]),
        files=[pathlib.Path(__file__), pathlib.Path(containers.__file__)],
    )
    return "conformance-images", value


def _bootstrap() -> None:
    """Make the layer that most images share."""
    _BASE.unlink(missing_ok=True)
    packages = f"--include={','.join(_PACKAGES)}"
    words = ["--variant=minbase", packages, _SUITE, str(_BASE)]
    tools.run(["mmdebstrap", *words], log=_LOG)


def _names() -> dict[str, list[str]]:
    """Return the names that the tests have for images, by their last word."""
    listed = tools.output([programs.BIN / "e2e.test", "--list-images"])
    found: dict[str, list[str]] = {}
    for line in listed.split():
        if line.startswith(_REGISTRY):
            word = line.rpartition("/")[2].partition(":")[0]
            found.setdefault(word, []).append(line)
    return found


def _images(
    names: dict[str, list[str]], scratch: pathlib.Path
) -> Iterator[containers.Image]:
    """Yield the images of ten tests; the others want more.

    :param scratch: a folder for files of images
    """
    yield containers.Image(
        (*names["agnhost"],),
        {"agnhost": programs.BIN / "agnhost"},
        ("/agnhost",),
        arguments=("pause",),
        base=_BASE,
    )
    # Kubernetes 1.36 has another name than 1.35.
    resolver = {"glibc-dns-testing", "jessie-dnsutils"}.intersection(names)
    for word, *command in (
        ("nginx", "nginx", "-g", "daemon off;"),
        *((each, "sleep", "infinity") for each in resolver),
    ):
        yield containers.Image((*names[word],), {}, (*command,), base=_BASE)
    program = {"pause": programs.BIN / "pause"}
    yield containers.Image((*names["pause"],), program, ("/pause",))
    yield _busybox((*names["busybox"],), scratch)


def _busybox(
    names: tuple[str, ...], scratch: pathlib.Path
) -> containers.Image:
    """Return an image of Debian's busybox, with links for its commands.

    Its shell is bash: that of busybox loses variables whose names it could
    not set itself, such as ``data-1``.
    """
    with tarfile.open(_BASE) as archive:
        for name in _STATIC:
            member = archive.getmember(f"./usr/bin/{name}")
            member.name = name
            archive.extract(member, scratch, filter="data")
    program = scratch / "busybox"
    commands = tools.output([program, "--list"]).split()
    return containers.Image(
        names,
        {
            **{f"bin/{each}": scratch / each for each in _STATIC},
            "etc/passwd": b"root:x:0:0:root:/root:/bin/sh\n",
            "etc/group": b"root:x:0:\n",
        },
        (),
        links={
            **{f"bin/{each}": "busybox" for each in {*commands} - {*_STATIC}},
            "bin/sh": "bash-static",
        },
        arguments=("sh",),
    )
