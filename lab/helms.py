# SPDX-License-Identifier: Apache-2.0

"""Another helm for Magnum than the lab's own.

The driver takes the one that is first on its path, by the name ``helm``.
"""

import os
import pathlib
import shutil

from lab import errors
from lab import layout

FOLDER = layout.STATE / "other-helm"


def given(program: str) -> pathlib.Path:
    """A folder in which that program is called ``helm``.

    :param program: a path, or a name on the PATH
    :raises LabError: there is no such program
    """
    found = shutil.which(program)
    if found is None:
        raise errors.LabError(
            f"--helm: {program} is no program that can be run",
            hint="Give the path of a helm.",
        )
    FOLDER.mkdir(parents=True, exist_ok=True)
    link = FOLDER / "helm"
    link.unlink(missing_ok=True)
    link.symlink_to(os.path.abspath(found))
    return FOLDER
