# SPDX-License-Identifier: Apache-2.0

"""Run the tests of each folder, or those that a pattern selects.

``tox -e py3 -- unit.chart`` passes its words to stestr. stestr fails if they
select no test of a folder; this program fails if they select none at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
import subprocess
import sys

FOLDERS = (
    "magnum_capi_helm/tests/unit",
    "tools/tests",
    "lab/tests",
    "bench/tests",
)
_NONE = "regex doesn't match with anything"


def stestr(words: Sequence[str]) -> tuple[int, bool]:
    """Run stestr; return its exit code, and whether it found a test."""
    found = True
    with subprocess.Popen(
        ["stestr", "run", *words], stdout=subprocess.PIPE, text=True
    ) as process:
        for line in process.stdout or ():
            found = found and _NONE not in line
            sys.stdout.write(line if found else "")
            sys.stdout.flush()
    return process.returncode, found


def run(
    words: Sequence[str],
    start: Callable[[Sequence[str]], tuple[int, bool]] = stestr,
) -> int:
    """Run stestr in each folder; return the first exit code that is not 0.

    :param words: options and patterns of ``stestr run``
    """
    combine: list[str] = []
    failed = 0
    for folder in FOLDERS:
        code, found = start([*combine, "--test-path", folder, *words])
        if words and not found:
            continue
        failed = failed or code
        combine = ["--combine"]
    if not combine:
        sys.stderr.write(f"no test matches {' '.join(words)}\n")
    return failed if combine else 1


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
