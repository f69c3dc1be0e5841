# SPDX-License-Identifier: Apache-2.0

"""A file that nobody but its owner can read, from its first byte on."""

from __future__ import annotations

import contextlib
import os
import pathlib
import tempfile

from magnum_capi_helm.model import errors


def check(path: pathlib.Path, force: bool) -> None:
    """Whether it can be written, before there is anything to write.

    :param force: whether another file may be there
    :raises InvalidInput: it may not, or there is no directory
    """
    if not path.parent.is_dir():
        raise errors.InvalidInput(
            f"--file {path}: there is no directory {path.parent}"
        )
    if path.is_dir():
        raise errors.InvalidInput(f"--file {path} is a directory")
    if not force and (path.exists() or path.is_symlink()):
        raise _taken(path)


def write(path: pathlib.Path, text: str, force: bool) -> None:
    """Write it as a whole, with mode 0600, whatever the umask is.

    What a symbolic link leads to is not touched.

    :param force: whether it may take the place of another file
    :raises InvalidInput: it may not, or it can't be written
    """
    try:
        # mkstemp gives it this mode.
        handle, temporary = tempfile.mkstemp(
            prefix=f".{path.name}.", dir=path.parent
        )
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                stream.write(text)
            if force:
                os.replace(temporary, path)
            else:
                os.link(temporary, path)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)
    except FileExistsError as error:
        raise _taken(path) from error
    except OSError as error:
        raise errors.InvalidInput(
            f"--file {path} can't be written: {error.strerror}"
        ) from error


def _taken(path: pathlib.Path) -> errors.InvalidInput:
    return errors.InvalidInput(
        f"--file {path} exists: give another one, or --force"
    )
