# SPDX-License-Identifier: Apache-2.0

"""The story: create, use, resize, delete, and nothing is left."""

import os
import shutil

from lab import errors
from lab import layout
from lab.demo import cloud
from lab.demo import follow
from lab.demo import remains
from lab.demo import terminal
from lab.nodes import mode
from lab.nodes import programs
from lab.nodes import system

NAME = "demo"
TEMPLATE = "demo-template"
WORKERS = 2


def run(*, keep: bool) -> int:
    """Tell it; 0 when everything went as told."""
    magnum = cloud.Magnum()
    _clear(magnum)
    before = remains.look()
    _create(magnum)
    kubeconfig = _connect()
    _nodes(kubeconfig, 1 + WORKERS)
    _resize(magnum)
    _nodes(kubeconfig, 2 + WORKERS)
    if keep:
        _explain(kubeconfig)
        return 0
    _delete(magnum)
    return _prove(remains.left(before))


def _clear(magnum: cloud.Magnum) -> None:
    """Remove what an earlier demo left, interrupted or kept."""
    if magnum.state(NAME):
        terminal.heading("A cluster of an earlier demo is there: it goes")
        magnum.delete(NAME)
        follow.until(magnum, NAME, None, f"delete {NAME}")
    magnum.delete_template(TEMPLATE)
    shutil.rmtree(layout.DEMO, ignore_errors=True)


def _openstack(*words: str) -> str:
    return terminal.run("openstack", "coe", "cluster", *words)


def _create(magnum: cloud.Magnum) -> None:
    terminal.heading(f"A cluster: 1 control plane node, {WORKERS} workers")
    print(f"$ . {os.path.relpath(layout.OPENRC)}")
    _openstack(
        *("template", "create", TEMPLATE, "--coe", "kubernetes"),
        *("--image", _image(), "--external-network", "public"),
        *("--flavor", "m1.worker", "--master-flavor", "m1.control"),
        *("--network-driver", "calico", "--master-lb-enabled"),
    )
    _openstack(
        *("create", NAME, "--cluster-template", TEMPLATE),
        *("--keypair", "demo", "--master-count", "1"),
        *("--node-count", str(WORKERS)),
    )
    follow.until(magnum, NAME, "CREATE_COMPLETE", f"create {NAME}")
    _openstack("show", NAME)


def _image() -> str:
    """Return an image; machines that run have others."""
    if not mode.chosen():
        return "ubuntu-v1.34.2"
    return system.name(programs.kubernetes()[-1])


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


def _resize(magnum: cloud.Magnum) -> None:
    terminal.heading("One more worker")
    _openstack("resize", NAME, str(WORKERS + 1))
    follow.until(magnum, NAME, "UPDATE_COMPLETE", f"resize {NAME}")


def _delete(magnum: cloud.Magnum) -> None:
    terminal.heading("And back to nothing")
    _openstack("delete", NAME)
    follow.until(magnum, NAME, None, f"delete {NAME}")
    _openstack("template", "delete", TEMPLATE)


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
