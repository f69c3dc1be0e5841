# SPDX-License-Identifier: Apache-2.0

"""The story: create, use, resize, delete, and nothing is left.

Where servers are machines, a workload answers meanwhile, and the cluster is
upgraded as well.
"""

import os
import shutil

from lab import errors
from lab import layout
from lab.demo import cloud
from lab.demo import follow
from lab.demo import remains
from lab.demo import terminal
from lab.demo import timing
from lab.demo import workload
from lab.nodes import mode
from lab.nodes import programs
from lab.nodes import system

NAME = "demo"
TEMPLATE = "demo-template"
NEWER = "demo-template-newer"
WORKERS = 2


def run(*, keep: bool) -> int:
    """Tell it; 0 when everything went as told."""
    magnum = cloud.Magnum()
    _clear(magnum)
    before = remains.look()
    log = timing.Log()
    parts = [_create(magnum, log)]
    kubeconfig = _connect()
    _nodes(kubeconfig, 1 + WORKERS)
    requests = _serve(kubeconfig) if mode.chosen() else None
    parts.append(_resize(magnum, log))
    _nodes(kubeconfig, 2 + WORKERS)
    if requests:
        requests.tell()
        workload.tell_memory()
        parts.append(_upgrade(magnum, log))
        _nodes(kubeconfig, 2 + WORKERS)
        requests.tell()
        requests.stop()
    if keep:
        _explain(kubeconfig)
        return 0
    parts.append(_delete(magnum, log))
    terminal.heading("What took how long")
    print(timing.table(parts))
    return _prove(remains.left(before))


def _clear(magnum: cloud.Magnum) -> None:
    """Remove what an earlier demo left, interrupted or kept."""
    if magnum.state(NAME):
        terminal.heading("A cluster of an earlier demo is there: it goes")
        magnum.delete(NAME)
        follow.until(magnum, NAME, None, f"delete {NAME}")
    for template in (TEMPLATE, NEWER):
        if magnum.has_template(template):
            magnum.delete_template(template)
    shutil.rmtree(layout.DEMO, ignore_errors=True)


def _openstack(*words: str) -> str:
    return terminal.run("openstack", "coe", "cluster", *words)


def _create(magnum: cloud.Magnum, log: timing.Log) -> timing.Part:
    terminal.heading(f"A cluster: 1 control plane node, {WORKERS} workers")
    print(f"$ . {os.path.relpath(layout.OPENRC)}")
    _template(TEMPLATE, _images()[0])
    _openstack(
        *("create", NAME, "--cluster-template", TEMPLATE),
        *("--keypair", "demo", "--master-count", "1"),
        *("--node-count", str(WORKERS)),
    )
    took = follow.until(magnum, NAME, "CREATE_COMPLETE", f"create {NAME}")
    _openstack("show", NAME)
    return log.part("create", _release(magnum), took)


def _images() -> tuple[str, str]:
    """Return the image to begin with and a newer one."""
    if not mode.chosen():
        return "ubuntu-v1.34.2", "ubuntu-v1.35.1"
    *_, older, newer = map(system.name, programs.kubernetes())
    return older, newer


def _template(name: str, image: str) -> None:
    _openstack(
        *("template", "create", name, "--coe", "kubernetes"),
        *("--image", image, "--external-network", "public"),
        *("--flavor", "m1.worker", "--master-flavor", "m1.control"),
        *("--network-driver", "calico", "--master-lb-enabled"),
    )


def _serve(kubeconfig: str) -> workload.Requests:
    terminal.heading("A workload behind a load balancer")
    return workload.start(kubeconfig)


def _upgrade(magnum: cloud.Magnum, log: timing.Log) -> timing.Part:
    _, image = _images()
    terminal.heading(f"All nodes to {image}")
    _template(NEWER, image)
    _openstack("upgrade", NAME, NEWER)
    took = follow.until(magnum, NAME, "UPDATE_COMPLETE", f"upgrade {NAME}")
    return log.part("upgrade", _release(magnum), took)


def _release(magnum: cloud.Magnum) -> str:
    state = magnum.state(NAME)
    return state.release if state else ""


def _connect() -> str:
    terminal.heading("Its kubeconfig")
    folder = os.path.relpath(layout.DEMO)
    layout.DEMO.mkdir(parents=True)
    _openstack("config", NAME, "--dir", folder, "--force")
    return str(layout.DEMO / "config")


def _nodes(kubeconfig: str, wanted: int) -> None:
    text = terminal.run("kubectl", "get", "nodes", kubeconfig=kubeconfig)
    rows = [line.split() for line in text.splitlines()[1:]]
    ready = sum(1 for row in rows if row[1] == "Ready")
    if ready != wanted or len(rows) != wanted:
        raise errors.LabError(f"{ready} nodes are Ready, not {wanted}")


def _resize(magnum: cloud.Magnum, log: timing.Log) -> timing.Part:
    terminal.heading("One more worker")
    _openstack("resize", NAME, str(WORKERS + 1))
    took = follow.until(magnum, NAME, "UPDATE_COMPLETE", f"resize {NAME}")
    return log.part("resize", _release(magnum), took)


def _delete(magnum: cloud.Magnum, log: timing.Log) -> timing.Part:
    terminal.heading("And back to nothing")
    release = _release(magnum)
    _openstack("delete", NAME)
    took = follow.until(magnum, NAME, None, f"delete {NAME}")
    for template in (TEMPLATE, NEWER):
        if magnum.has_template(template):
            _openstack("template", "delete", template)
    return log.part("delete", release, took)


def _prove(left: remains.Look) -> int:
    terminal.heading("What is left of it")
    for what, names in left.items():
        print(f"  {'✗' if names else '✓'} {what}: {len(names) or 'none'}")
        for name in sorted(names):
            print(f"      {name}")
    if any(left.values()):
        print("Something is left: the demo failed.")
        return 1
    print("Nothing is left: the demo is complete.")
    return 0


def _explain(kubeconfig: str) -> None:
    openrc = os.path.relpath(layout.OPENRC)
    terminal.heading("The cluster stays. To use it:")
    print(
        f"  . {openrc}\n"
        f"  openstack coe cluster show {NAME}\n"
        f"  KUBECONFIG={os.path.relpath(kubeconfig)} kubectl get nodes\n"
        f"  KUBECONFIG={os.path.relpath(layout.KUBECONFIG)}"
        " kubectl get machines --all-namespaces\n"
        f"To be rid of it: openstack coe cluster delete {NAME}"
    )
