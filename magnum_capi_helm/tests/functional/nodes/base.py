# SPDX-License-Identifier: Apache-2.0

"""A cluster whose servers are machines that run, and a workload in it.

``python3 -m lab up --nodes`` first. Machines share the cores of this host:
times are those of a busy one.
"""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import json
import pathlib
import ssl
import subprocess
import time
from typing import Any

import fixtures
import requests
import yaml

from lab.demo import workload
from lab.nodes import machine as machines
from lab.nodes import mode
from lab.nodes import programs as node_programs
from lab.nodes import system
from magnum_capi_helm.status import machine as machine_status
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.functional import magnum_api
from magnum_capi_helm.tests.functional import people
from magnum_capi_helm.tests.functional import programs
from magnum_capi_helm.tests.functional import project
from magnum_capi_helm.tests.functional import records
from magnum_capi_helm.tests.functional import test_resize
from magnum_capi_helm.tests.functional.nodes import inside

#: The image that clusters begin with, and the one that they are upgraded to.
*_, OLDER, NEWER = map(system.name, node_programs.kubernetes())
#: Seconds for machines to come or go, where nothing else is going on.
PATIENCE = 600
#: Share of requests that may be lost while nodes go: Cluster API stops a
#: server before its load balancers know.
LOST = 0.05


class NodesCase(test_resize.ResizeCase):
    """A test with one cluster: ``make`` it first.

    The cluster's UUID is ``uuid``, its release ``release``. ``record`` has
    what a page of the documentation shows.
    """

    #: Name of the record; empty: there is none.
    record_name = ""

    def setUp(self) -> None:
        super().setUp()
        if not mode.chosen():
            self.fail("servers do not run: `python3 -m lab up --nodes` first")
        self.nova = people.nova(self.magnum)
        folder = self.useFixture(fixtures.TempDir()).path
        self.kubeconfig = pathlib.Path(folder) / "config"
        self._record: list[str] = []
        self._began = time.monotonic()

    def record(self, text: str) -> None:
        """Print a line with the time since the test began, and keep it."""
        minutes, seconds = divmod(int(time.monotonic() - self._began), 60)
        line = f"{minutes:3}:{seconds:02}  {text}"
        print(line, flush=True)
        self._record.append(line)
        if self.record_name:
            text = "".join(f"{each}\n" for each in self._record)
            records.write(self.record_name, text)

    # The cluster

    def template(self, **fields: Any) -> str:
        """The UUID of a new template, with an image that has a system."""
        return super().template(**{"image_id": OLDER, **fields})

    def make(self, **fields: Any) -> None:
        """Make a cluster, wait until it is complete, take its kubeconfig.

        :param fields: of the cluster
        """
        self.uuid = self.cluster(self.template(), **fields)
        done = self.until_status(
            self.uuid, ("CREATE_COMPLETE", "CREATE_FAILED"), PATIENCE
        )
        self.assertEqual("CREATE_COMPLETE", done["status"], str(done))
        self.release = str(done["stack_id"])
        self.take_kubeconfig()

    def take_kubeconfig(self) -> None:
        """``openstack coe cluster config``."""
        words = ("coe", "cluster", "config", self.uuid, "--dir")
        programs.openstack(*words, str(self.kubeconfig.parent))

    def row(self) -> dict[str, Any]:
        """Return the cluster as Magnum shows it."""
        found = self.magnum.find(self.uuid)
        assert found is not None
        return found

    def complete(self, seconds: float = PATIENCE) -> dict[str, Any]:
        """Return the cluster, once the update is over."""
        self.until_status(self.uuid, ("UPDATE_IN_PROGRESS",), 90)
        done = self.until_status(
            self.uuid, ("UPDATE_COMPLETE", "UPDATE_FAILED"), seconds
        )
        self.assertEqual("UPDATE_COMPLETE", done["status"], str(done))
        return done

    def until_reason(self, words: str, seconds: float = 120) -> str:
        """Return ``status_reason`` of the cluster, once it has some words."""
        last = ""

        def shown() -> str:
            nonlocal last
            last = str(self.row()["status_reason"])
            return last if words in last else ""

        self.until(shown, seconds, lambda: f"{words!r} not in {last!r}")
        return last

    def server(self, machine: view.Object) -> str:
        """Return the UUID of a machine's server in Nova."""
        return str(view.spec_of(machine)["providerID"]).rpartition("/")[2]

    def stop_server(self, machine: view.Object) -> None:
        """``openstack server stop``."""
        self._act(machine, "os-stop", "SHUTOFF")

    def start_server(self, machine: view.Object) -> None:
        """``openstack server start``."""
        self._act(machine, "os-start", "ACTIVE")

    def _act(self, machine: view.Object, action: str, status: str) -> None:
        path = f"/servers/{self.server(machine)}"
        self.nova.post(f"{path}/action", json={action: None})
        self.until(
            lambda: self.nova.get(path).json()["server"]["status"] == status,
            60,
            status,
        )

    def endpoint(self) -> tuple[str, int]:
        """Return host and port of the Kubernetes API."""
        _, _, server = self.row()["api_address"].rpartition("/")
        host, _, port = server.partition(":")
        return host, int(port)

    def api(self) -> inside.Api:
        """Return the Kubernetes API for clients without kubectl."""
        return inside.Api(
            self.row()["api_address"],
            self.magnum.authority(self.uuid),
            self.kubeconfig.parent,
        )

    def profile(self, values: dict[str, Any]) -> str:
        """Write a profile of the operator's; return its name."""
        name = self.unique("nodes")
        file = programs.LAB / "profiles" / f"{name}.yaml"
        file.parent.mkdir(exist_ok=True)
        self.addCleanup(file.unlink)
        file.write_text(yaml.safe_dump(values))
        return name

    # In the cluster

    def kubectl(self, *words: str, given: str = "") -> str:
        """Return the output of ``kubectl``, as the cluster's user.

        :param given: its input
        """
        return programs.kubectl(self.kubeconfig, *words, given=given)

    def get(self, *words: str) -> Any:
        """Return what ``kubectl get`` lists, or the one object it names."""
        found = json.loads(self.kubectl("get", *words, "--output=json"))
        return found["items"] if found["kind"] == "List" else found

    def apply(self, manifest: str) -> None:
        """``kubectl apply`` of a text."""
        self.kubectl("apply", "--filename=-", given=manifest)

    def nodes(self) -> dict[str, view.Object]:
        """Return the nodes by name."""
        return {view.name_of(each): each for each in self.get("nodes")}

    def node_of(self, machine: view.Object) -> str:
        """Return the name of a machine's node."""
        return str(view.status_of(machine)["nodeRef"]["name"])

    def address_of(self, node: str) -> str:
        """Return the fixed address of a node."""
        [found] = [
            each["address"]
            for each in view.status_of(self.nodes()[node])["addresses"]
            if each["type"] == "InternalIP"
        ]
        return str(found)

    def foreign_machine(self) -> machines.Machine:
        """Return a machine of another project.

        Its network has the same addresses as the cluster's.
        """
        other = magnum_api.keystone_session("other")
        theirs = project.Project(self, other)
        name = self.unique("foreign")
        subnet = theirs.network(name, cidr="10.0.0.0/24")
        theirs.router(name, subnet)
        theirs.server(name, OLDER, subnet)
        found = inside.machine_of(name)
        # Keystone answers, though without TLS.
        cloud = mode.ADDRESS, 5000
        self.until(
            lambda: inside.connects(found, *cloud) == "closed",
            120,
            lambda: inside.connects(found, *cloud),
        )
        return found

    @contextlib.contextmanager
    def forwarded(self, pod: str, port: int) -> Iterator[int]:
        """``kubectl port-forward`` to a pod of the control plane.

        :returns: the port on this host
        """
        program = str(programs.LAB / "bin" / "kubectl")
        words = ("--namespace=kube-system", "port-forward", pod, f":{port}")
        with subprocess.Popen(
            [program, f"--kubeconfig={self.kubeconfig}", *words],
            stdout=subprocess.PIPE,
            text=True,
        ) as child:
            try:
                assert child.stdout is not None
                line = child.stdout.readline()
                yield int(line.partition(" -> ")[0].rpartition(":")[2])
            finally:
                child.terminate()

    def control_plane_nodes(self) -> set[str]:
        """Return the names of the control plane's nodes."""
        machines = self.machines("control-plane").values()
        return set(map(self.node_of, machines))

    def etcd_members(self) -> set[str]:
        """Return the names of etcd's members, as one of them lists them."""
        # Any of a node that is there: the list is the same everywhere.
        [pod, *_] = self.etcd_pods()
        listed = self.ask_etcd(pod, "cluster/member/list")["members"]
        return {each["name"] for each in listed}

    def etcd_versions(self) -> set[str]:
        """Return the versions of etcd that the members run."""
        return {
            self.ask_etcd(pod, "maintenance/status")["version"]
            for pod in self.etcd_pods()
        }

    def etcd_pods(self) -> list[str]:
        """Return the names of etcd's pods on nodes that are ready."""
        ready = {name for name, node in self.nodes().items() if is_ready(node)}
        words = ("--namespace=kube-system", "--selector=component=etcd")
        return [
            view.name_of(each)
            for each in self.get("pods", *words)
            if view.spec_of(each)["nodeName"] in ready
        ]

    def ask_etcd(self, pod: str, path: str) -> Any:
        """Return the answer of a member, by etcd's own gateway for JSON.

        With a certificate that Magnum signs with the CA of etcd.
        """
        authority, client = (
            self.kubeconfig.with_name(f"etcd-{each}.pem")
            for each in ("ca", "client")
        )
        authority.write_bytes(self.magnum.authority(self.uuid, "etcd"))
        client.write_bytes(self.magnum.sign(self.uuid, "etcd"))
        with self.forwarded(pod, 2379) as port:
            answer = requests.post(
                f"https://127.0.0.1:{port}/v3/{path}",
                json={},
                cert=str(client),
                verify=str(authority),
                timeout=10,
            )
        answer.raise_for_status()
        return answer.json()

    # A workload

    def serve(
        self, manifest: pathlib.Path = workload.MANIFEST, name: str = "web"
    ) -> workload.Requests:
        """Start a workload; return requests to it, which go on.

        Two pods stay apart behind a load balancer of Octavia, and a
        PodDisruptionBudget keeps one of them.

        :param name: of its Deployment and its Service
        """
        self.apply(manifest.read_text())
        self.kubectl("rollout", "status", f"deployment/{name}", "--timeout=5m")
        address = workload.address(str(self.kubeconfig), name)
        return self.ask_all_the_time(f"http://{address}/hostname")

    def new_client(self, name: str = "client") -> pathlib.Path:
        """Return a new certificate with its key; beside it are the CAs."""
        path = self.kubeconfig.with_name(f"{name}.pem")
        path.write_bytes(self.magnum.sign(self.uuid))
        path.with_suffix(".ca").write_bytes(self.magnum.authority(self.uuid))
        return path

    def ask_api(self, client: pathlib.Path | None = None) -> workload.Requests:
        """Return requests to the Kubernetes API, which go on.

        They read an object, as users do. ``/readyz`` is for load balancers:
        an API server that begins serves users before it calls itself ready.

        :param client: its certificate; none: a new client
        """
        client = client or self.new_client()
        authority = client.with_suffix(".ca")
        context = ssl.create_default_context(cafile=str(authority))
        context.load_cert_chain(client)
        url = f"{self.row()['api_address']}/api/v1/namespaces/default"
        return self.ask_all_the_time(url, context)

    def ask_all_the_time(
        self, url: str, context: ssl.SSLContext | None = None
    ) -> workload.Requests:
        """Return requests to a URL, which go on until the test ends."""
        client = workload.Requests(url, context)
        client.start()
        self.addCleanup(client.stop)
        return client

    def assert_served(self, counts: workload.Counts) -> None:
        """Fail if too many requests were lost."""
        self.assertGreater(counts.answered, 0)
        self.assertLessEqual(counts.lost, LOST * counts.asked, str(counts))


def is_ready(node: view.Object) -> bool:
    """Return whether a node is ready."""
    return any(
        each["type"] == "Ready" and each["status"] == "True"
        for each in view.status_of(node)["conditions"]
    )


def has_node(machine: view.Object) -> bool:
    """Return whether a machine has a node that is ready."""
    condition = machine_status.node_condition(machine)
    return condition is not None and condition.well
