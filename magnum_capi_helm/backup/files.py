# SPDX-License-Identifier: Apache-2.0

"""The directory of exports on this host.

Files appear whole or not at all, and nobody but their owner can read them.
"""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import os
import pathlib
import stat
import tempfile

from magnum_capi_helm.backup import bundle
from magnum_capi_helm.backup import encoding
from magnum_capi_helm.model import errors

#: Below the directory: the charts that the clusters were made with.
CHARTS = "charts"

_OURS_ALONE = 0o700
#: Who may not be let in: others at all, and a group to write.
_TOO_MUCH = stat.S_IRWXO | stat.S_IWGRP
#: Bytes that have the header in them, packed.
_HEAD = 64 * 1024


def prepare(directory: pathlib.Path) -> None:
    """Make the directory, or refuse one that others can look into.

    :raises InvalidInput: naming the mode that it has
    """
    with _doing(directory, "made"):
        with contextlib.suppress(FileExistsError):
            directory.mkdir(mode=_OURS_ALONE)
        mode = directory.stat().st_mode
    if not stat.S_ISDIR(mode):
        raise errors.InvalidInput(f"{directory} is no directory")
    if mode & _TOO_MUCH:
        raise errors.InvalidInput(
            f"{directory} has mode {stat.S_IMODE(mode):04o}, and the files "
            "hold keys: give a directory that others can't enter and a group "
            "can't write to (0700 or 0750), or one that is to be made"
        )


def write(directory: pathlib.Path, found: bundle.Bundle) -> pathlib.Path:
    """Write an export, or what replaces an older one of the same cluster.

    :raises InvalidInput: what is there must not be lost
    """
    target = directory / found.header.file
    if target.exists():
        _check_replaced(target, found)
    _put(target, encoding.written(found))
    return target


def keep_chart(directory: pathlib.Path, chart: pathlib.Path) -> None:
    """Copy a chart into the directory, unless it is there.

    :raises InvalidInput: another chart of that name and version is there
    """
    target = directory / CHARTS / chart.name
    with _doing(target, "read"):
        content = chart.read_bytes()
        target.parent.mkdir(mode=_OURS_ALONE, exist_ok=True)
        there = target.read_bytes() if target.exists() else None
    if there is None:
        _put(target, content)
    elif there != content:
        raise errors.InvalidInput(
            f"{target} is another chart than {chart}: which of the two is "
            "the right one, somebody has to know"
        )


def listed(path: pathlib.Path) -> list[pathlib.Path]:
    """The exports in a directory, or the file itself.

    :raises InvalidInput: there is neither
    """
    if path.is_dir():
        found = [
            each
            for each in sorted(path.glob(f"*{bundle.SUFFIX}"))
            if not each.name.startswith(".")
        ]
        if not found:
            raise errors.InvalidInput(f"{path} has no file *{bundle.SUFFIX}")
        return found
    if not path.exists():
        raise errors.InvalidInput(f"there is no {path}")
    return [path]


def header(path: pathlib.Path) -> bundle.Header:
    """Whose export a file is.

    :raises UnreadableError: it can't be told
    """
    with _of(path), _doing(path, "read"), path.open("rb") as file:
        return encoding.header(file.read(_HEAD))


def read(path: pathlib.Path) -> bundle.Bundle:
    """An export, whole.

    :raises UnreadableError: it can't be used
    """
    with _of(path), _doing(path, "read"):
        return encoding.read(path.read_bytes())


def _check_replaced(target: pathlib.Path, found: bundle.Bundle) -> None:
    """Refuse to write over what can't be read anywhere else."""
    try:
        before = read(target)
    except encoding.UnreadableError as error:
        # It may be a newer driver's.
        raise encoding.UnreadableError(f"{error}: move it away") from None
    if before.header.cluster != found.header.cluster:
        raise errors.InvalidInput(
            f"{target} is the export of cluster {before.header.cluster}: "
            "move it away"
        )
    if lost := bundle.lost(before, found):
        raise errors.InvalidInput(
            f"{target} has what the management cluster has no more: Secret "
            f"{', Secret '.join(lost)}. Import it, or move the file away"
        )


def _put(target: pathlib.Path, content: bytes) -> None:
    with _doing(target, "written"):
        # For the owner alone, from the beginning.
        handle, name = tempfile.mkstemp(
            dir=target.parent, prefix=f".{target.name}."
        )
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(name, target)
        except BaseException:
            pathlib.Path(name).unlink(missing_ok=True)
            raise


@contextlib.contextmanager
def _doing(path: pathlib.Path, done: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise errors.InvalidInput(
            f"{path} can't be {done}: {error.strerror}"
        ) from error


@contextlib.contextmanager
def _of(path: pathlib.Path) -> Iterator[None]:
    try:
        yield
    except encoding.UnreadableError as error:
        raise encoding.UnreadableError(f"{path}: {error}") from None
