# SPDX-License-Identifier: Apache-2.0

"""Container images made of programs, without a registry.

A node's containerd imports them as archives in the format of ``docker save``,
which ``ctr images import`` reads.
"""

from collections.abc import Iterable, Mapping, Sequence
import dataclasses
import hashlib
import io
import json
import pathlib
import tarfile

from lab import tools

_VARIABLE = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_FOLDERS = ("etc", "tmp", "usr", "usr/bin", "usr/sbin", "usr/local/bin", "var")
_STICKY = frozenset({"tmp"})


@dataclasses.dataclass(frozen=True)
class Image:
    """One image.

    :param names: with registry and tag
    :param files: path in the image -> file on this machine, or the content
    :param links: path in the image -> target of a symbolic link
    :param base: an archive of files below these; images may share it
    """

    names: tuple[str, ...]
    files: Mapping[str, pathlib.Path | bytes]
    entrypoint: tuple[str, ...]
    links: Mapping[str, str] = dataclasses.field(default_factory=dict)
    arguments: tuple[str, ...] = ()
    user: str = ""
    base: pathlib.Path | None = None


def libraries(root: pathlib.Path, programs: Iterable[str]) -> set[str]:
    """Return the shared libraries that programs and plugins need.

    :param root: folder of the system
    :param programs: paths in it
    """
    text = tools.output(["chroot", root, "ldd", *programs])
    words = text.replace("=>", " ").replace(":\n", "\n").split()
    return {each for each in words if each.startswith("/")} - {*programs}


def copied(
    root: pathlib.Path, paths: Iterable[str]
) -> dict[str, pathlib.Path | bytes]:
    """Return files of a system under the same paths, links followed."""
    return {
        each.lstrip("/"): _resolved(root, pathlib.Path(each)) for each in paths
    }


def _resolved(root: pathlib.Path, path: pathlib.Path) -> pathlib.Path:
    """Return the file that a path means inside another root."""
    found = root
    for part in path.parts[1:]:
        found /= part
        while found.is_symlink():
            target = found.readlink()
            below = root if target.is_absolute() else found.parent
            found = below / str(target).lstrip("/")
    return found


def write(images: Sequence[Image], target: pathlib.Path) -> None:
    """Write images as one archive."""
    manifest = []
    with tarfile.open(target, "w") as archive:
        bases = {
            base: _add_base(archive, base)
            for base in {each.base for each in images}
            if base is not None
        }
        for image in images:
            layer = _layer(image)
            digests = [hashlib.sha256(layer).hexdigest()]
            _add(archive, _path(digests[0]), layer)
            if image.base is not None:
                digests.insert(0, bases[image.base])
            config = _config(image, digests)
            name = f"{hashlib.sha256(config).hexdigest()}.json"
            _add(archive, name, config)
            manifest.append(
                {
                    "Config": name,
                    "RepoTags": list(image.names),
                    "Layers": [*map(_path, digests)],
                }
            )
        _add(archive, "manifest.json", json.dumps(manifest).encode())


def _path(digest: str) -> str:
    """Return the path of a layer in an archive."""
    return f"{digest}/layer.tar"


def _add_base(archive: tarfile.TarFile, base: pathlib.Path) -> str:
    """Add a layer that several images have; return its digest."""
    with base.open("rb") as source:
        digest = hashlib.file_digest(source, "sha256").hexdigest()
    archive.add(base, _path(digest))
    return digest


def _config(image: Image, digests: Iterable[str]) -> bytes:
    """Return the configuration of an image with these layers."""
    layers = [f"sha256:{each}" for each in digests]
    return json.dumps(
        {
            "architecture": "amd64",
            "os": "linux",
            "config": {
                "Entrypoint": list(image.entrypoint),
                "Cmd": list(image.arguments),
                "User": image.user,
                "Env": [_VARIABLE],
            },
            "rootfs": {"type": "layers", "diff_ids": layers},
            "history": [{"created_by": "lab"} for _ in layers],
        }
    ).encode()


def _layer(image: Image) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        folders = {*_FOLDERS}
        for path in (*image.files, *image.links):
            parents = pathlib.PurePosixPath(path).parents
            folders |= {str(each) for each in parents} - {"."}
        for path in sorted(folders):
            entry = tarfile.TarInfo(path)
            entry.type = tarfile.DIRTYPE
            entry.mode = 0o1777 if path in _STICKY else 0o755
            archive.addfile(entry)
        for path, source in image.files.items():
            if isinstance(source, bytes):
                _add(archive, path, source)
            else:
                mode = source.stat().st_mode & 0o7777
                _add(archive, path, source.read_bytes(), mode)
        for path, to in image.links.items():
            entry = tarfile.TarInfo(path)
            entry.type, entry.linkname = tarfile.SYMTYPE, to
            archive.addfile(entry)
    return buffer.getvalue()


def _add(
    archive: tarfile.TarFile, name: str, content: bytes, mode: int = 0o644
) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(content), mode
    archive.addfile(entry, io.BytesIO(content))
