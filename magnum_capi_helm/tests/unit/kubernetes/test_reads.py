# SPDX-License-Identifier: Apache-2.0

"""Which requests a look at one release costs, and what they find."""

from __future__ import annotations

from collections.abc import Callable
import contextlib
import itertools
import json
import time
from typing import Any
from unittest import mock
import zlib

import fixtures
from oslotest import base
import testtools

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.kubernetes import reads
from magnum_capi_helm.kubernetes import responses
from magnum_capi_helm.kubernetes import shared_reads
from magnum_capi_helm.model import errors
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.unit.kubernetes import api

SCOPE = ("magnum-p1", "demo-1")
#: Of another project.
THERE = ("magnum-p2", "demo-3")
OWNED = {"cluster.x-k8s.io/cluster-name": "demo-1"}
ACTIVE = {"instanceState": "ACTIVE"}
CAPI = ("v1beta1", "v1beta2")


class ReadsTestCase(base.BaseTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.api = api.Memory(
            **dict.fromkeys(("cluster", "controlplane"), CAPI),
            infrastructure=("v1beta1",),
            addons=("v1alpha1",),
        )
        self.asked: list[str] = []
        self.api.before = self._note
        chart = {"capi.stackhpc.com/cluster": "demo-1"}

        well = {"conditions": [{"type": "Available", "status": "True"}]}
        self.put("clusters", "demo-1", chart, well)
        self.put("clusters", "demo-2", {}, well)
        self.put("kubeadmcontrolplanes", "demo-1-cp", chart)
        self.put("machinedeployments", "demo-1-w", chart)
        self.put("machines", "m-1", OWNED, {"nodeRef": {"name": "n"}})
        self.put("helmreleases", "demo-1-cni", chart)
        self.put("manifests", "demo-1-config", chart)
        self.put("openstackclusters", "demo-1", chart)
        for name in ("s-1", "s-2"):
            self.put("openstackmachines", name, OWNED, ACTIVE)
        record = {
            "owner": "helm",
            "name": "demo-1",
            "version": "1",
            "status": "deployed",
            "modifiedAt": "1764000000",
        }
        self.put("secrets", "sh.helm.release.v1.demo-1.v1", record)

    def _note(self, method: str, path: str) -> None:
        if not path.startswith("/apis/"):
            self.asked.append(path)

    def put(
        self,
        plural: str,
        name: str,
        labels: dict[str, str],
        status: Any = None,
    ) -> None:
        meta = {"name": name, "namespace": SCOPE[0], "labels": labels}
        reference = {"infrastructureRef": {"name": name.replace("m-", "s-")}}
        obj = {"metadata": meta, "spec": reference, "status": status or {}}
        self.api.put(plural, obj)

    def intercept(self, answer: Callable[[str, Any], Any]) -> None:
        """Ask ``answer`` about path and options first; None: as ever."""
        real = self.api.request

        def request(
            method: str, version: str, url: str = "", **more: Any
        ) -> Any:
            found = answer(url, more) if url else None
            return found or real(method, version, url, **more)

        self.api.request = request  # type: ignore[method-assign]

    def observe(
        self,
        *scopes: tuple[str, str],
        whole: bool = True,
        fresh: bool = False,
        many: int = reads.FOLLOW_FROM,
    ) -> dict[tuple[str, str], reads.ReleaseObjects]:
        self.asked.clear()
        observer = reads.Reader(
            self.api.client(), whole=whole, follow_from=many
        )
        return observer.read(scopes or (SCOPE,), fresh)

    def read(self) -> view.View:
        return self.observe()[SCOPE].decode()


class ReadTest(ReadsTestCase):
    ADDONS = ("helmreleases", "manifests")

    def test_a_ready_release_takes_seven_lists(self) -> None:
        seen = self.read()
        self.assertEqual(
            [
                *("clusters", "kubeadmcontrolplanes", "machinedeployments"),
                *("machines", "secrets", *self.ADDONS),
            ],
            self.asked,
        )
        assert seen.cluster is not None and seen.control_plane is not None
        self.assertEqual(
            (
                ("demo-1", "demo-1-cp", ["demo-1-w"], ["m-1"]),
                ["demo-1-cni", "demo-1-config"],
                (view.Revision(1, "deployed", 1764000000.0),),
                None,
            ),
            (
                (
                    view.name_of(seen.cluster),
                    view.name_of(seen.control_plane),
                    _names(seen.deployments),
                    _names(seen.machines),
                ),
                _names(seen.addons),
                seen.revisions,
                seen.infrastructure,
            ),
        )

    def test_a_machine_without_a_node_asks_for_its_server_too(self) -> None:
        self.put("machines", "m-2", OWNED)
        seen = self.read()
        self.assertEqual(
            ["openstackclusters", "openstackmachines", *self.ADDONS],
            self.asked[5:],
        )
        assert seen.infrastructure is not None
        self.assertEqual("demo-1", view.name_of(seen.infrastructure))
        self.assertEqual(["s-2"], _names(seen.infra_machines))
        self.assertTrue(seen.addons_known)

    def test_servers_are_read_where_capo_has_them(self) -> None:
        labels = OWNED
        for name in ("s-1", "s-2"):
            self.put("openstackservers", name, labels, ACTIVE)
        self.put("openstackservers", "bastion", {})
        self.api.served["infrastructure"] = ("v1alpha1", "v1beta1")
        self.assertEqual((), self.read().servers)
        self.assertNotIn("openstackservers", self.asked)
        self.put("machines", "m-2", labels)
        self.assertEqual(["s-2"], _names(self.read().servers))
        self.assertEqual(
            [
                *("openstackclusters", "openstackmachines"),
                *("openstackservers", *self.ADDONS),
            ],
            self.asked[5:],
        )
        failed = {"instanceState": "ERROR"}
        self.put("openstackservers", "s-1", labels, failed)
        self.assertEqual(["s-1", "s-2"], sorted(_names(self.read().servers)))

    def test_an_older_capo_or_role_hides_servers_alone(self) -> None:
        self.put("machines", "m-2", OWNED)
        # 0.10 has another kind in v1alpha1.
        self.api.served["infrastructure"] = ("v1alpha1", "v1beta1")

        def answer(url: str, more: Any) -> Any:
            if url == "openstackservers":
                return self.refusal
            return api.Answer(200, "") if "watch" in more["params"] else None

        self.intercept(answer)
        scopes = (SCOPE, THERE)
        log = self.useFixture(fixtures.FakeLogger("magnum_capi_helm"))
        # A line for each of four clients, where the role is too old.
        for self.refusal, lines in (
            (api.unserved(), 0),
            (api.status(403), 4),
        ):
            for many, fresh in itertools.product((1, 100), (True, False)):
                observer = reads.Reader(
                    self.api.client(), whole=True, follow_from=many
                )
                for _ in range(2):
                    found = observer.read(scopes, fresh)
                seen = found[SCOPE].decode()
                self.assertEqual((), seen.servers)
                self.assertEqual(1, len(seen.infra_machines))
            self.assertEqual(
                lines, log.output.count("OpenStackServers can't be read, so")
            )
        self.assertNotIn("one by one", log.output)

    def test_revisions_that_were_superseded_are_not_asked_for(self) -> None:
        record = {"owner": "helm", "name": "demo-1", "version": "0"}
        record["status"] = "superseded"
        self.put("secrets", "sh.helm.release.v1.demo-1.v0", record)
        self.assertEqual(1, len(self.read().revisions))

    def test_an_absent_release_has_an_empty_view(self) -> None:
        gone = ("magnum-p1", "gone")
        seen = self.observe(gone)[gone].decode()
        self.assertEqual(view.View(release="gone", addons_known=False), seen)

    def test_a_failed_list_fails_the_view(self) -> None:
        def refuse(method: str, path: str) -> None:
            if path == "manifests":
                raise errors.ManagementUnreachable("no answer")

        self.api.before = refuse
        self.assertRaises(errors.ManagementUnreachable, self.read)


def _names(objects: tuple[view.Object, ...]) -> list[str]:
    return [view.name_of(each) for each in objects]


MACHINE: dict[str, Any] = {
    "apiVersion": "cluster.x-k8s.io/v1beta2",
    "kind": "Machine",
    "metadata": {
        "name": "m-1",
        "resourceVersion": "7",
        "deletionTimestamp": "2026-01-02T00:00:00Z",
        "labels": OWNED,
        "ownerReferences": [{"kind": "MachineSet", "name": "s"}],
        "finalizers": ["machine.cluster.x-k8s.io"],
    },
    "spec": {"version": "v1.34.2", "taints": [{"key": "\u00e4"}]},
    "status": {"nodeRef": {"name": "n"}, "conditions": [{"type": "Ready"}]},
}


QUERY = reads.Query(kinds.MACHINE, "cluster.x-k8s.io/cluster-name")


def _scan(*contents: str) -> tuple[reads.Items, str]:
    """Return the items of a LIST with these pages, and its version."""
    pages = [api.Answer(200, each) for each in contents]
    management, _ = api.over(api.group("v1beta1"), *pages)
    items, version = QUERY.scan(management, None, cached=True)
    return tuple(itertools.chain.from_iterable(items.values())), version


def _page(*found: Any, **meta: str) -> str:
    return json.dumps({"metadata": meta, "items": list(found)})


def _item(obj: dict[str, Any]) -> reads.Item:
    return _scan(_page(obj))[0][0]


class ItemTest(base.BaseTestCase):
    def test_an_item_is_the_whole_object(self) -> None:
        found = _item(MACHINE)
        self.assertEqual(("m-1", "7"), found[:2])
        self.assertEqual(MACHINE, found.decode(kinds.MACHINE))

    def test_an_item_without_a_kind_gets_that_of_its_query(self) -> None:
        bare = {"metadata": {"name": "a", "resourceVersion": "1"}}
        self.assertEqual(
            {**bare, "kind": "Machine"}, _item(bare).decode(kinds.MACHINE)
        )

    def test_repeated_conditions_take_little_memory(self) -> None:
        conditions = [{"type": f"C{n}", "status": "True"} for n in range(99)]
        machine = {**MACHINE, "status": {"conditions": conditions}}
        kept = len(_item(machine).body)
        self.assertLess(kept, len(json.dumps(machine)) / 5)


class PageTest(base.BaseTestCase):
    def test_all_pages_are_read(self) -> None:
        other = {"metadata": {"name": "a", "resourceVersion": "1"}}
        items, version = _scan(
            _page(other, **{"continue": "x", "resourceVersion": "3"}),
            _page(MACHINE, resourceVersion="3"),
        )
        self.assertEqual(["a", "m-1"], [each.name for each in items])
        self.assertEqual("3", version)

    def test_a_list_may_have_no_items(self) -> None:
        self.assertEqual(((), ""), _scan('{"metadata":{},"items":null}'))

    def test_an_answer_that_is_no_list_of_objects_is_refused(self) -> None:
        items = [_page(each) for each in (7, {}, {"metadata": {"name": "a"}})]
        secret = '{"items": secret'
        broken = ("", "{", "[]", '{"items":[', '{"items":7}', secret)
        for content in (*broken, *items):
            error = self.assertRaises(
                errors.ManagementUnreachable, _scan, content
            )
            self.assertNotIn("secret", str(error))


class SameTest(ReadsTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.reader = reads.Reader(self.api.client(), whole=True)

    def _read(self) -> reads.ReleaseObjects:
        return self.reader.read([SCOPE], False)[SCOPE]

    def test_unchanged_objects_keep_their_version_undecoded(self) -> None:
        decoded = []
        real = zlib.decompress

        def decompress(body: bytes) -> bytes:
            decoded.append(body)
            return real(body)

        self.useFixture(fixtures.MockPatch("zlib.decompress", decompress))
        first = self._read()
        self.assertEqual(5, len(decoded))
        second = self._read()
        self.assertEqual(5, len(decoded))
        self.assertEqual(first.version, second.version)

    def test_any_change_makes_another_version(self) -> None:
        chart = {"capi.stackhpc.com/cluster": "demo-1"}
        before = self._read()
        for plural, name, labels in (
            ("clusters", "demo-1", chart),
            ("machines", "m-3", OWNED),
            ("kubeadmcontrolplanes", "demo-1-cp", chart),
        ):
            status = {"conditions": [{"type": "Available", "status": "True"}]}
            self.put(plural, name, labels, status)
            after = self._read()
            self.assertNotEqual(before.version, after.version)
            before = after

    def test_a_release_that_stops_being_ready_is_noticed(self) -> None:
        before = self._read()
        self.put("machines", "m-2", OWNED)
        found = [
            bool(each.decode().infra_machines)
            for each in (before, self._read(), self._read())
        ]
        self.assertEqual([False, True, True], found)


_SCOPE, _THERE = _SCOPES = (SCOPE, THERE)


class ManyTest(ReadsTestCase):
    def reader(self, many: int, whole: bool = False) -> reads.Reader:
        return reads.Reader(self.api.client(), whole=whole, follow_from=many)

    def test_many_releases_take_as_many_lists_as_one(self) -> None:
        self.put(
            "machines", "m-2", {"cluster.x-k8s.io/cluster-name": "demo-2"}
        )
        second = (_SCOPE[0], "demo-2")
        seen = self.observe(_SCOPE, second, whole=False)
        self.assertEqual(6, len(self.asked))
        self.assertEqual(
            [["m-1"], ["m-2"]],
            [
                [view.name_of(each) for each in seen[scope].decode().machines]
                for scope in (_SCOPE, second)
            ],
        )

    def test_more_than_a_hundred_releases_are_not_named(self) -> None:
        selectors: list[str] = []
        self.intercept(
            lambda _, more: selectors.append(more["params"]["labelSelector"])
        )
        for number, named in ((100, True), (101, False)):
            selectors.clear()
            scopes = [(_SCOPE[0], f"r-{each}") for each in range(1, number)]
            scopes.append(_SCOPE)
            seen = self.observe(*scopes, whole=False, many=999)
            self.assertEqual(6, len(self.asked))
            self.assertEqual(scopes, list(seen))
            self.assertIsNotNone(seen[_SCOPE].decode().cluster)
            self.assertEqual(named, "r-7" in selectors[0])

    def test_all_releases_are_followed_if_many_are_asked_for(self) -> None:
        asked: list[str] = []

        def answer(_: str, more: Any) -> Any:
            asked.append("watch" if "watch" in more["params"] else "list")
            return api.Answer(200, "") if asked[-1] == "watch" else None

        self.intercept(answer)
        observer = self.reader(2)
        later = time.monotonic() + 61.0
        for scopes, fresh, now, expected in (
            ([_SCOPE], False, None, ["list"] * 6),
            (_SCOPES, False, None, ["list"] * 6),
            # Addons are read once a minute.
            (_SCOPES, False, None, ["watch"] * 4),
            (_SCOPES, True, None, ["list"] * 8),
            ([_SCOPE], False, later, ["list"] * 6),
        ):
            asked.clear()
            with contextlib.ExitStack() as stack:
                if now:
                    clock = mock.patch.object(time, "monotonic", lambda: later)
                    stack.enter_context(clock)
                seen = observer.read(scopes, fresh)
            self.assertEqual(expected, asked)
            self.assertEqual(set(scopes), set(seen))
            self.assertIsNotNone(seen[_SCOPE].decode().cluster)

    def test_equal_names_in_two_namespaces_are_two_releases(self) -> None:
        there = ("magnum-p2", _SCOPE[1])
        seen = self.observe(_SCOPE, there, whole=False)
        self.assertIsNotNone(seen[_SCOPE].decode().cluster)
        self.assertIsNone(seen[there].decode().cluster)

    def test_without_the_right_to_list_each_namespace_is_read(self) -> None:
        places: list[str | None] = []

        def answer(url: str, more: Any) -> Any:
            places.append(more.get("namespace"))
            if url == "clusters" and not places[-1]:
                return api.status(403)
            return None

        self.intercept(answer)
        seen = self.observe(*_SCOPES, whole=False)
        self.assertIsNotNone(seen[_SCOPE].decode().cluster)
        # The other kinds may be read in all of them.
        self.assertEqual([None, "magnum-p1", "magnum-p2", *[None] * 5], places)

    def test_secrets_are_read_in_the_namespaces_of_projects(self) -> None:
        """As the shipped roles allow it; it is tried again after a while."""
        asked: list[str | None] = []
        log = self.useFixture(fixtures.FakeLogger("magnum_capi_helm"))
        self._refuse_secrets(asked, None)
        for many in (2, 100):
            observer = self.reader(many, whole=True)
            asked.clear()
            for _ in range(2):
                observer.read(_SCOPES, False)
            self.assertEqual([None, *["magnum-p1", "magnum-p2"] * 2], asked)
        self.assertNotIn("one by one", log.output)

    def test_a_namespace_without_the_role_fails_its_own_polls(self) -> None:
        self._refuse_secrets([], None, "magnum-p2")
        observer = reads.Reader(self.api.client(), whole=True)
        shared = shared_reads.SharedReads(observer.read, 0, 60, gathering=0)
        with testtools.ExpectedException(responses.ForbiddenError):
            shared.get(_THERE).decode()
        self.assertIsNotNone(shared.get(_SCOPE).decode().cluster)
        found = observer.read(_SCOPES, False)
        self.assertIsNone(found[_SCOPE].refused)
        self.assertIsInstance(found[_THERE].refused, responses.ForbiddenError)

    def _refuse_secrets(
        self, asked: list[str | None], *refused: str | None
    ) -> None:
        """Refuse lists of Secrets in namespaces; None: in all at once."""

        def answer(url: str, more: Any) -> Any:
            if url == "secrets":
                asked.append(more.get("namespace"))
                if asked[-1] in refused:
                    return api.status(403)
            return api.Answer(200, "") if "watch" in more["params"] else None

        self.intercept(answer)

    def test_without_the_right_to_watch_each_namespace_is_read(self) -> None:
        asked: list[str | None] = []

        def answer(url: str, more: Any) -> Any:
            if "watch" in more["params"]:
                return api.status(403)
            if url == "clusters":
                asked.append(more.get("namespace"))
            return None

        self.intercept(answer)
        log = self.useFixture(fixtures.FakeLogger("magnum_capi_helm"))
        observer = self.reader(2)
        observer.read(_SCOPES, False)
        for _ in range(2):
            asked.clear()
            seen = observer.read(_SCOPES, False)
            self.assertIsNotNone(seen[_SCOPE].decode().cluster)
            self.assertEqual(["magnum-p1", "magnum-p2"], asked)
        self.assertEqual(1, log.output.count("Namespaces are read one by one"))

    def test_a_fresh_look_asks_etcd_in_each_namespace(self) -> None:
        asked: list[tuple[Any, Any]] = []

        def answer(_: str, more: Any) -> None:
            version = more["params"].get("resourceVersion")
            asked.append((more.get("namespace"), version))

        self.intercept(answer)
        self.observe(*_SCOPES, whole=False, fresh=True)
        self.assertEqual([("magnum-p1", None), ("magnum-p2", None)], asked[:2])
        asked.clear()
        self.observe(*_SCOPES, whole=False)
        self.assertEqual({(None, "0")}, set(asked))
