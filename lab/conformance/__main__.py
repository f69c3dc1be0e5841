# SPDX-License-Identifier: Apache-2.0

"""``python3 -m lab.conformance build | run``

``build`` makes the systems of machines, and the tests' programs and images.
``run`` makes a cluster through Magnum on the running lab (``python3 -m lab up
--nodes``), runs Kubernetes' conformance tests on it, prints what came of each
that did not pass, and deletes the cluster.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import time

from lab import environment
from lab import errors
from lab.conformance import images
from lab.conformance import results
from lab.demo import cloud
from lab.demo import follow
from lab.demo import terminal
from lab.nodes import machine
from lab.nodes import mode
from lab.nodes import programs
from lab.nodes import system

NAME = "conformance"
WORKERS = 2
_ALL = r"\[Conformance\]"
_RECORD = pathlib.Path(__file__).with_name("results.csv")
_FOLDER = images.FOLDER / "run"


def main() -> int:
    """Return 0 if each test passed, or is known not to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=("build", "run"))
    parser.add_argument(
        "--smoke", action="store_true", help="run ten quick tests only"
    )
    parser.add_argument(
        "--processes", type=int, default=4, help="tests at once"
    )
    parser.add_argument(
        "--record", action="store_true", help=f"write {_RECORD.name}"
    )
    parser.add_argument(
        "--keep", action="store_true", help="leave the cluster running"
    )
    options = parser.parse_args()
    try:
        if options.command == "build":
            system.build(_say)
            images.build(_say)
            return 0
        return run(options)
    except errors.LabError as error:
        print(errors.render("conformance", error), file=sys.stderr)
        return 1


def _say(text: str) -> None:
    print(text, flush=True)


def run(options: argparse.Namespace) -> int:
    """Run the tests on a cluster made for them.

    :raises LabError: there is no such lab, or no cluster comes of it
    """
    if not mode.chosen() or not images.ARCHIVE.exists():
        raise errors.LabError(
            "there are no machines that run, or no tests",
            hint="python3 -m lab up --nodes; python3 -m lab.conformance build",
        )
    wanted = results.smoke() if options.smoke else None
    kubeconfig = create()
    started = time.monotonic()
    report = test(kubeconfig, wanted, options.processes)
    took = time.monotonic() - started
    rows = results.read(report, wanted)
    reasons = results.explained()
    print(results.summary(rows, reasons))
    print(f"{options.processes} at once, {took / 60:.0f} minutes")
    if options.record:
        results.write(rows, _RECORD)
    if not options.keep:
        delete()
    return int(not rows or bool(results.unexplained(rows, reasons)))


def create() -> str:
    """Make the cluster unless it is there; return its kubeconfig."""
    magnum = cloud.Magnum()
    newest = system.name(programs.kubernetes()[-1])
    _FOLDER.mkdir(parents=True, exist_ok=True)
    if not magnum.state(NAME):
        if not magnum.has_template(NAME):
            terminal.run(
                *("openstack", "coe", "cluster", "template", "create", NAME),
                *("--coe", "kubernetes", "--image", newest),
                *("--external-network", "public"),
                *("--flavor", "m1.worker", "--master-flavor", "m1.control"),
            )
        terminal.run(
            *("openstack", "coe", "cluster", "create", NAME),
            *("--cluster-template", NAME, "--keypair", "demo"),
            *("--master-count", "1", "--node-count", str(WORKERS)),
        )
    follow.until(magnum, NAME, "CREATE_COMPLETE", f"create {NAME}")
    terminal.run(
        *("openstack", "coe", "cluster", "config", NAME, "--force"),
        *("--dir", os.path.relpath(_FOLDER)),
    )
    kubeconfig = str(_FOLDER / "config")
    _import(kubeconfig)
    return kubeconfig


def delete() -> None:
    """Delete the cluster and its template."""
    magnum = cloud.Magnum()
    terminal.run("openstack", "coe", "cluster", "delete", NAME)
    follow.until(magnum, NAME, None, f"delete {NAME}")
    magnum.delete_template(NAME)


def _import(kubeconfig: str) -> None:
    """Give the tests' images to the cluster's machines."""
    text = terminal.run("kubectl", "get", "nodes", kubeconfig=kubeconfig)
    nodes = {line.split()[0] for line in text.splitlines()[1:]}
    for each in machine.all_of(mode.PREFIX, mode.MACHINES):
        if each.running and each.hostname in nodes:
            print(f"images for {each.hostname}", flush=True)
            with images.ARCHIVE.open("rb") as archive:
                each.run(
                    *("ctr", "-n", "k8s.io", "images", "import", "--local"),
                    "-",
                    stdin=archive,
                )


def test(kubeconfig: str, wanted: list[str] | None, processes: int) -> str:
    """Run the tests; return Ginkgo's report in JUnit's format.

    :param wanted: names of tests; without it, all of conformance
    """
    focus = _ALL
    if wanted:
        # Names of others begin so, too; labels follow at once.
        focus = "|".join(rf"{re.escape(each)} \[" for each in wanted)
    kubectl = programs.BIN / programs.kubernetes()[-1] / "kubectl"
    report = _FOLDER / "junit.xml"
    report.unlink(missing_ok=True)
    log = _FOLDER / "tests.log"
    print(f"tests run; what they say is in {os.path.relpath(log)}", flush=True)
    with log.open("wb") as out:
        subprocess.run(
            [
                *(programs.BIN / "ginkgo", f"--procs={processes}"),
                *("--no-color", "--timeout=4h", f"--focus={focus}"),
                *(f"--junit-report={report.name}", f"--output-dir={_FOLDER}"),
                *(programs.BIN / "e2e.test", "--"),
                *(f"--kubeconfig={kubeconfig}", "--provider=skeleton"),
                *(f"--kubectl-path={kubectl}", "--disable-log-dump=true"),
            ],
            stdout=out,
            stderr=out,
            env=environment.inside(),
            cwd=_FOLDER,
            check=False,
        )
    if not report.exists():
        raise errors.LabError("Ginkgo wrote no report", log=log)
    return report.read_text()


if __name__ == "__main__":
    sys.exit(main())
