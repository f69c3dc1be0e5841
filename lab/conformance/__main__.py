# SPDX-License-Identifier: Apache-2.0

"""``python3 -m lab.conformance build | run``

``build`` makes the systems of machines, and the tests' programs and images.
``run`` makes a cluster through Magnum on the running lab (``python3 -m lab up
--nodes``), runs ten of Kubernetes' conformance tests on it, prints those that
failed, and deletes the cluster.
"""

import argparse
import os
import re
import subprocess
import sys

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
#: Tests at once.
_PROCESSES = 4
_FOLDER = images.FOLDER / "run"


def main() -> int:
    """Return 0 if each test passed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=("build", "run"))
    try:
        if parser.parse_args().command == "run":
            return run()
        system.build(print)
        images.build(print)
    except errors.LabError as error:
        print(errors.render("conformance", error), file=sys.stderr)
        return 1
    return 0


def run() -> int:
    """Run the tests on a cluster made for them.

    :raises LabError: there is no such lab, or no cluster comes of it
    """
    if not mode.chosen() or not images.ARCHIVE.exists():
        raise errors.LabError(
            "there are no machines that run, or no tests",
            hint="python3 -m lab up --nodes; python3 -m lab.conformance build",
        )
    names = results.wanted()
    rows = results.read(test(create(), names), names)
    print(results.summary(rows))
    delete()
    return int(not rows or not all(each.passed for each in rows))


def create() -> str:
    """Make the cluster unless it is there; return its kubeconfig."""
    magnum = cloud.Magnum()
    newest = system.name(programs.kubernetes()[-1])
    _FOLDER.mkdir(parents=True, exist_ok=True)
    if not magnum.state(NAME):
        magnum.delete_template(NAME)
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


def test(kubeconfig: str, names: list[str]) -> str:
    """Run tests; return Ginkgo's report in JUnit's format."""
    # Names of others begin so, too; labels follow at once.
    focus = "|".join(rf"{re.escape(each)} \[" for each in names)
    kubectl = programs.BIN / programs.kubernetes()[-1] / "kubectl"
    report = _FOLDER / "junit.xml"
    report.unlink(missing_ok=True)
    log = _FOLDER / "tests.log"
    print(f"tests run; what they say is in {os.path.relpath(log)}", flush=True)
    with log.open("wb") as out:
        subprocess.run(
            [
                *(programs.BIN / "ginkgo", f"--procs={_PROCESSES}"),
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
