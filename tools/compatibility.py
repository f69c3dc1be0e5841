# SPDX-License-Identifier: Apache-2.0

"""Record of the versions that the tests were run with.

``python3 -m tools.compatibility run ENVIRONMENT...`` runs environments of
``tox.ini`` and adds a line for each to :data:`RECORD`; the page of the
documentation is made of the newest line of each.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import re
import subprocess
import sys
from typing import Any

from lab import cluster_api
from lab import magnums
from tools import archives

RECORD = (
    archives.CHECKOUT / "doc" / "source" / "reference" / "compatibility.jsonl"
)
#: Packages whose version is recorded.
PACKAGES = (
    "magnum",
    "keystonemiddleware",
    "openstacksdk",
    "oslo.config",
    "SQLAlchemy",
    "pykube-ng",
    "pyhelm3",
)
#: Its tests speak to a Magnum that has an environment of its own.
_CONDUCTORS = "compat-conductors"
_COUNT = re.compile(r"^ - (Passed|Skipped|Failed): (\d+)$", flags=re.MULTILINE)
_ASK = """
import importlib.metadata, json, platform, sys
found = {}
for name in sys.argv[1:]:
    try:
        found[name] = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        pass
print(json.dumps({"python": platform.python_version(), "packages": found}))
"""


class NoCounts(Exception):
    """An environment ended before a test ran; the text is its last lines."""


def counts(output: str) -> dict[str, int]:
    """Return how many tests passed, were skipped and failed.

    The last totals that stestr prints include all runs of an environment.

    :raises NoCounts: there are none in the output
    """
    totals = {name.lower(): int(n) for name, n in _COUNT.findall(output)}
    if not sum(totals.values()):
        raise NoCounts("\n".join(output.splitlines()[-20:]))
    return totals


def newest(record: str) -> list[dict[str, Any]]:
    """Return the last record of each environment and set of versions.

    :param record: the text of :data:`RECORD`
    """
    last: dict[tuple[str, ...], dict[str, Any]] = {}
    for each in filter(None, record.splitlines()):
        run = json.loads(each)
        beside = [run.get(name, "") for name in ("helm", "cluster_api")]
        beside.append(run["packages"].get("magnum", ""))
        last[(run["environment"], *beside)] = run
    return [last[key] for key in sorted(last)]


def run(environment: str) -> dict[str, Any]:
    """Run one environment of tox and return its record.

    Failed tests are counted, and are no error.

    :raises NoCounts: no test ran, or the environment can't be made
    """
    done = subprocess.run(
        [sys.executable, "-m", "tox", "-e", environment],
        cwd=archives.CHECKOUT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    counted = counts(done.stdout)
    today = datetime.datetime.now(datetime.timezone.utc).date()
    return {
        "date": str(today),
        "environment": environment,
        **_versions(environment),
        **counted,
    }


def _versions(environment: str) -> dict[str, Any]:
    """Return the versions in an environment."""
    programs = archives.CHECKOUT / ".tox" / environment / "bin"
    if environment == _CONDUCTORS:
        programs = magnums.programs()
    python = programs / "python"
    found: dict[str, Any] = json.loads(
        _said(str(python), "-c", _ASK, *PACKAGES)
    )
    helm = os.environ.get("HELM")
    if helm and environment in ("compat-helm", "compat-lab"):
        found["helm"] = _said(helm, "version", "--template={{.Version}}")
    if environment in ("compat-lab", _CONDUCTORS, "compat-v1beta1"):
        found["cluster_api"] = cluster_api.CHOICE.read()
    return found


def _said(*command: str) -> str:
    done = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, text=True, timeout=60
    )
    return done.stdout.strip()


def main(words: list[str]) -> int:
    """Run the command; return 1 if a test failed or none ran."""
    parser = argparse.ArgumentParser(prog="python3 -m tools.compatibility")
    parser.add_argument("command", choices=["run"])
    parser.add_argument("environments", nargs="+")
    asked = parser.parse_args(words)
    failed = False
    for environment in asked.environments:
        try:
            found = run(environment)
        except NoCounts as none:
            print(f"{environment}: no test ran:\n{none}", file=sys.stderr)
            failed = True
            continue
        with RECORD.open("a", encoding="utf-8") as sink:
            sink.write(json.dumps(found) + "\n")
        print(json.dumps(found))
        failed = failed or bool(found.get("failed"))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
