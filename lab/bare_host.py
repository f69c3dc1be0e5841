# SPDX-License-Identifier: Apache-2.0
"""Run Magnum on a host where it can write nothing but its /tmp.

So it is where operators install 1.4.0: all file systems are read-only, Magnum
is not root, has no home directory of its own, and its configuration is the one
that 1.4.0 needs.
"""

import dataclasses
import os
import pathlib

from lab import errors
from lab import service
from lab.cloud import config

#: What 1.4.0 and Magnum do without. Logs then go to the standard error, which
#: the lab has opened before.
_LEFT_OUT = (
    "state_path",
    "log_file",
    "lock_path",
    "chart_store",
    "values_profile_dir",
)
_NOBODY = 65534
#: Arguments: a user, and the program with its arguments. The mounts are those
#: of a new namespace. The user reads the lab's files by a capability, and
#: writes none.
_SCRIPT = """
set -eu
user=$1
shift
mount --make-rprivate /
mount --bind /tmp /tmp
while read -r _ _ _ _ place _; do
    case $place in
        /proc* | /sys* | /dev* | /tmp) ;;
        *) mount -o remount,bind,ro "$place" ;;
    esac
done </proc/self/mountinfo
for place in / /root /var/lib /var/tmp; do
    if touch "$place/written-by-magnum" 2>/dev/null; then
        echo "$place can be written" >&2
        exit 1
    fi
done
cd /
exec setpriv --reuid="$user" --regid="$user" --clear-groups \
    --inh-caps=+dac_read_search --ambient-caps=+dac_read_search -- "$@"
"""


def around(ours: service.Service) -> service.Service:
    """Return a service that runs Magnum so.

    :raises LabError: we are not root
    """
    if os.getuid():
        raise errors.LabError(
            "root alone can make file systems read-only",
            hint="Run the lab as root for --bare-host.",
        )
    first = ours.argv.index("--config-file")
    return dataclasses.replace(
        ours,
        argv=(
            "unshare",
            "--mount",
            "/bin/sh",
            "-c",
            _SCRIPT,
            "bare-host",
            str(_NOBODY),
            *ours.argv[:first],
            "--config-file",
            str(write_configuration()),
        ),
        inputs=lambda: [*ours.inputs(), config.path("magnum")],
    )


def write_configuration() -> pathlib.Path:
    """Write Magnum's configuration as 1.4.0 needs it; return its path."""
    found = config.home("magnum") / "bare-host.conf"
    lines = config.path("magnum").read_text().splitlines(keepends=True)
    found.write_text(
        "".join(
            each
            for each in lines
            if each.partition("=")[0].strip() not in _LEFT_OUT
        )
    )
    return found
