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

"""promtool, with which tests ask whether alert rules do what they say.

It is in Debian's package prometheus, which is unpacked below the lab's folder
and not installed: no server is started, and root is needed for a list of
packages alone, where there is none.
"""

import os
import pathlib
import shutil

from lab import environment
from lab import errors
from lab import layout
from lab import tools

FOLDER = layout.STATE / "promtool"
_PACKAGE = "prometheus"
_PROGRAM = FOLDER / "usr" / "bin" / "promtool"
_LOG = layout.log("promtool")


def folder() -> pathlib.Path | None:
    """Where promtool is, when it is not on the ``PATH`` anyway.

    :returns: None where it can't be had; the tests that ask it are skipped
    """
    if shutil.which("promtool"):
        return None
    if not _PROGRAM.exists():
        try:
            _fetch()
        except (OSError, errors.LabError) as error:
            print(f"no promtool, whose tests are skipped: {error}")
            return None
    return _PROGRAM.parent


def _fetch() -> None:
    if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
        raise errors.LabError("it is taken from a Debian package")
    FOLDER.mkdir(parents=True, exist_ok=True)
    env = environment.outside(DEBIAN_FRONTEND="noninteractive")
    download = ["apt-get", "download", "-q", _PACKAGE]
    try:
        tools.run(download, log=_LOG, env=env, cwd=FOLDER)
    except errors.LabError:
        if os.getuid():
            raise
        tools.run(["apt-get", "update", "-q"], log=_LOG, env=env)
        tools.run(download, log=_LOG, env=env, cwd=FOLDER)
    for package in FOLDER.glob(f"{_PACKAGE}_*.deb"):
        tools.run(["dpkg-deb", "-x", package, FOLDER], log=_LOG)
        package.unlink()
