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
