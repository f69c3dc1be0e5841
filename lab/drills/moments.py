# SPDX-License-Identifier: Apache-2.0
"""The moments at which Magnum's database says COMPLETE, and how it is then.

PostgreSQL copies the rows in the transaction that writes COMPLETE and tells
it at once. Then Cluster API's managers are stopped until everything is read.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Sequence
import contextlib
import json
import pathlib
import select
import signal
import threading
import time
from typing import Any
import urllib.request

from keystoneauth1 import adapter
import psycopg2
import psycopg2.extras
import sqlalchemy

from lab import processes
from lab.drills import judgement
from magnum_capi_helm.kubernetes import client
from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.tests.functional import base
from magnum_capi_helm.tests.functional import beside
from magnum_capi_helm.tests.functional import database
from magnum_capi_helm.tests.functional import programs

MANAGERS = ("capi-core", "capi-kcp", "capi-bootstrap", "capo")
_TRIES = 5
_ADDONS = "http://127.0.0.1:9547/addons"
_TABLE = """
CREATE TABLE completes (id serial, what text, was text,
  at float DEFAULT extract(epoch FROM clock_timestamp()), rows json);
CREATE FUNCTION note_complete() RETURNS trigger AS $$
DECLARE cluster_uuid text := to_json(NEW)->>
    CASE WHEN TG_TABLE_NAME = 'cluster' THEN 'uuid' ELSE 'cluster_id' END;
BEGIN
  INSERT INTO completes (what, was, rows) SELECT
    CASE WHEN TG_TABLE_NAME = 'cluster' THEN '' ELSE to_json(NEW)->>'name' END,
    OLD.status, json_build_object('cluster', to_json(c), 'groups',
      (SELECT json_agg(n) FROM nodegroup n WHERE n.cluster_id = c.uuid))
    FROM cluster c WHERE c.uuid = cluster_uuid;
  NOTIFY completes;
  RETURN NULL;
END $$ LANGUAGE plpgsql;
"""
_TRIGGER = """
CREATE TRIGGER note_complete AFTER UPDATE ON {table} FOR EACH ROW
WHEN (NEW.status LIKE '%\\_COMPLETE' AND OLD.status <> NEW.status)
EXECUTE FUNCTION note_complete();
"""
_NEWER = (
    "SELECT id, what, was, at, rows FROM completes WHERE id > %s ORDER BY id"
)
_DROP = (
    "DROP FUNCTION IF EXISTS note_complete CASCADE;"
    "DROP TABLE IF EXISTS completes"
)


class World:
    """Cluster API's managers as processes, and the addon provider."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._stopped: set[str] = set()
        #: Seconds since 1970 of the last moment in which all stood.
        self.stood = 0.0

    def stop(self, name: str) -> None:
        """Stop one until somebody lets it go on."""
        with self._lock:
            self._stopped.add(name)
            _send(name, signal.SIGSTOP)

    def go_on(self, name: str) -> None:
        """Let one go on."""
        with self._lock:
            self._stopped.discard(name)
            _send(name, signal.SIGCONT)

    def kill(self, name: str) -> None:
        """Kill one."""
        _send(name, signal.SIGKILL)

    @contextlib.contextmanager
    def still(self) -> Iterator[None]:
        """Stop all managers, and then have them as they were."""
        with self._lock:
            for each in MANAGERS:
                _send(each, signal.SIGSTOP)
            self.stood = time.time()
            try:
                yield
            finally:
                for each in set(MANAGERS) - self._stopped:
                    _send(each, signal.SIGCONT)


def _send(name: str, number: signal.Signals) -> None:
    record = processes.read(programs.LAB / "run" / f"{name}.pid")
    if record is not None:
        processes.send(record, number)


def hold_addons(seconds: float) -> None:
    """Let the addon provider do nothing for a time."""
    _request(f"{_ADDONS}?hold={seconds:.1f}s", "POST")


def _request(url: str, method: str) -> bytes:
    request = urllib.request.Request(url, method=method)  # noqa: S310
    with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310
        return bytes(answer.read())


class Database:
    """Magnum's database; a connection for all threads."""

    def __init__(self) -> None:
        url = sqlalchemy.make_url(database.url())
        self.connection = psycopg2.connect(
            url.set(drivername="postgresql").render_as_string(False)
        )
        self.connection.autocommit = True
        self._lock = threading.Lock()

    def run(self, statement: str, *values: Any) -> list[dict[str, Any]]:
        """Return the rows of a statement."""
        factory = psycopg2.extras.RealDictCursor
        with self._lock, self.connection.cursor(None, factory) as cursor:
            cursor.execute(statement, values or None)
            return list(cursor.fetchall()) if cursor.description else []

    def wait(self) -> None:
        """Wait up to a second until something is told."""
        if not self.connection.notifies:
            select.select([self.connection], [], [], 1)
            self.connection.poll()
        self.connection.notifies.clear()


class Completes(beside.Beside):
    """Calls ``seen`` with all COMPLETEs that were just written.

    :param seen: is called while nothing moves, with rows of the table
    """

    def __init__(
        self,
        world: World,
        seen: Callable[[list[judgement.Object]], None],
    ) -> None:
        super().__init__(0)
        self._world, self._seen = world, seen
        self._last = 0
        self.problem: Exception | None = None
        self._database = Database()
        for each in (
            _DROP,
            _TABLE,
            *(_TRIGGER.format(table=e) for e in ("cluster", "nodegroup")),
            "LISTEN completes",
        ):
            self._database.run(each)

    def close(self) -> None:
        """Remove the triggers."""
        self._database.run(_DROP)
        self._database.connection.close()

    def look(self) -> bool:
        """Wait for the next ones."""
        self._database.wait()
        try:
            if found := self._newer():
                with self._world.still():
                    while found:
                        self._seen(found)
                        found = self._newer()
        except Exception as problem:
            self.problem = problem
            return False
        return True

    def _newer(self) -> list[judgement.Object]:
        found = self._database.run(_NEWER, self._last)
        self._last = found[-1]["id"] if found else self._last
        return found


_NODE = kinds.Kind("Node", "", ("v1",), fixed=True)
_CONFIG = kinds.Kind(
    "KubeadmConfig", kinds.CONFIG_TEMPLATE.group, kinds.MACHINE.versions
)
_CLUSTER_NAME = "cluster.x-k8s.io/cluster-name"
_CHART = "capi.stackhpc.com/cluster"
#: Kinds, and the label that has the release.
_READ = {
    kinds.CLUSTER: _CHART,
    kinds.OPENSTACK_CLUSTER: _CHART,
    kinds.CONTROL_PLANE: _CHART,
    kinds.MACHINE_DEPLOYMENT: _CHART,
    kinds.MACHINE: _CLUSTER_NAME,
    _CONFIG: _CLUSTER_NAME,
    kinds.OPENSTACK_MACHINE: _CLUSTER_NAME,
    kinds.OPENSTACK_SERVER: _CLUSTER_NAME,
    kinds.HELM_RELEASE: _CHART,
    kinds.MANIFESTS: _CHART,
    kinds.SECRET: _CHART,
}


class Reader:
    """Reads snapshots.

    :param folder: for kubeconfigs
    """

    def __init__(self, case: base.LabCase, folder: pathlib.Path) -> None:
        self._plane, self._namespace = case.plane, case.namespace
        self._folder = folder
        self._users: dict[str, client.Client] = {}
        self._nova = adapter.Adapter(
            case.magnum.session,
            service_type="compute",
            default_microversion="2.64",
        )

    def read(self, release: str) -> judgement.Snapshot:
        """Return a cluster as it is now."""
        for _ in range(_TRIES):
            # On a busy host an API may answer too late.
            with contextlib.suppress(errors.CapiHelmError, OSError):
                return self._read(release)
        return self._read(release)

    def _read(self, release: str) -> judgement.Snapshot:
        # The oldest first: the addon provider goes on.
        installed = json.loads(_request(_ADDONS, "GET"))
        objects = {
            kind.name: self._named(kind, f"{label}={release}")
            for kind, label in _READ.items()
        }
        name = names.credentials(release)
        objects["Secret"][name] = self._secret(name)
        records = self._plane.list(
            kinds.SECRET,
            self._namespace,
            f"owner=helm,name={release}",
            metadata_only=True,
        )
        newest = max(int(e["metadata"]["labels"]["version"]) for e in records)
        user = self._user(release)
        config = user.get(kinds.SECRET, "openstack-system", "cloud-config")
        url = f"/servers/detail?name=^{release}-"
        return judgement.Snapshot(
            objects,
            self._secret(names.helm_record(release, newest)),
            _by_name(user.list(_NODE, None)),
            {e["name"]: e for e in self._nova.get(url).json()["servers"]},
            installed or {},
            (config or {}).get("data", {}),
        )

    def _named(
        self, kind: kinds.Kind, selector: str
    ) -> dict[str, judgement.Object]:
        return _by_name(self._plane.list(kind, self._namespace, selector))

    def _secret(self, name: str) -> judgement.Object:
        found = self._plane.get(kinds.SECRET, self._namespace, name)
        assert found is not None, name
        return found

    def _user(self, release: str) -> client.Client:
        """Return a client of the users' cluster."""
        if release not in self._users:
            secret = self._secret(names.kubeconfig(release))
            path = self._folder / release
            path.touch(0o600)
            path.write_bytes(base64.b64decode(secret["data"]["value"]))
            self._users[release] = base.management(path)
        return self._users[release]


def _by_name(found: Sequence[judgement.Object]) -> dict[str, Any]:
    return {each["metadata"]["name"]: each for each in found}
