# SPDX-License-Identifier: Apache-2.0

"""Looks at many releases: lists of all namespaces, or of each."""

from __future__ import annotations

import contextlib
import time
from typing import Any
from unittest import mock

import fixtures
import testtools

from magnum_capi_helm.kubernetes import reads
from magnum_capi_helm.kubernetes import responses
from magnum_capi_helm.kubernetes import shared_reads
from magnum_capi_helm.status import view
from magnum_capi_helm.tests.unit.kubernetes import api
from magnum_capi_helm.tests.unit.kubernetes import reads_case


class ManyTest(reads_case.ReadsTestCase):
    """Looks at more than one release."""

    def test_many_releases_take_as_many_lists_as_one(self) -> None:
        self.put(
            "machines", "m-2", {"cluster.x-k8s.io/cluster-name": "demo-2"}
        )
        second = (reads_case.SCOPE[0], "demo-2")
        seen = self.observe(reads_case.SCOPE, second, whole=False)
        self.assertEqual(6, len(self.asked))
        self.assertEqual(
            [["m-1"], ["m-2"]],
            [
                [view.name_of(each) for each in seen[scope].decode().machines]
                for scope in (reads_case.SCOPE, second)
            ],
        )

    def test_more_than_a_hundred_releases_are_not_named(self) -> None:
        selectors: list[str] = []
        real = self.api.request

        def request(
            method: str, version: str, url: str = "", **more: Any
        ) -> Any:
            if url:
                selectors.append(more["params"]["labelSelector"])
            return real(method, version, url, **more)

        self.api.request = request  # type: ignore[method-assign]
        for number, named in ((100, True), (101, False)):
            selectors.clear()
            scopes = [
                (reads_case.SCOPE[0], f"r-{each}") for each in range(number)
            ]
            scopes.append(reads_case.SCOPE)
            seen = self.observe(*scopes[1:], whole=False, many=999)
            self.assertEqual(6, len(self.asked))
            self.assertEqual(scopes[1:], list(seen))
            self.assertIsNotNone(seen[reads_case.SCOPE].decode().cluster)
            self.assertEqual(named, "r-7" in selectors[0])

    def test_all_releases_are_followed_where_many_are_asked_for(
        self,
    ) -> None:
        asked: list[str] = []
        real = self.api.request

        def request(method: str, version: str, url: str, **more: Any) -> Any:
            if url:
                params = more["params"]
                asked.append("watch" if "watch" in params else "list")
                if "watch" in params:
                    return api.Answer(200, "")
            return real(method, version, url, **more)

        self.api.request = request  # type: ignore[assignment, method-assign]
        observer = reads.Reader(self.api.client(), whole=False, follow_from=2)
        for scopes, expected in (
            ([reads_case.SCOPE], ["list"] * 6),
            ([reads_case.SCOPE, ("magnum-p2", "demo-3")], ["list"] * 6),
            # Addons are read once a minute.
            ([reads_case.SCOPE, ("magnum-p2", "demo-3")], ["watch"] * 4),
        ):
            asked.clear()
            seen = observer.read(scopes, False)
            self.assertEqual(expected, asked)
            self.assertEqual(set(scopes), set(seen))
            self.assertIsNotNone(seen[reads_case.SCOPE].decode().cluster)
        asked.clear()
        observer.read([reads_case.SCOPE, ("magnum-p2", "demo-3")], True)
        self.assertEqual(["list"] * 8, asked)
        asked.clear()
        later = time.monotonic() + 61.0
        with mock.patch.object(time, "monotonic", return_value=later):
            observer.read([reads_case.SCOPE], False)
        self.assertEqual(["list"] * 6, asked)

    def test_equal_names_in_two_namespaces_are_two_releases(self) -> None:
        there = ("magnum-p2", reads_case.SCOPE[1])
        seen = self.observe(reads_case.SCOPE, there, whole=False)
        self.assertIsNotNone(seen[reads_case.SCOPE].decode().cluster)
        self.assertIsNone(seen[there].decode().cluster)

    def test_without_the_right_to_list_all_namespaces_are_read_one_by_one(
        self,
    ) -> None:
        there = ("magnum-p2", "demo-3")
        places: list[str | None] = []
        real = self.api.request

        def request(
            method: str, version: str, url: str = "", **more: Any
        ) -> Any:
            if url:
                places.append(more.get("namespace"))
            if url == "clusters" and not more.get("namespace"):
                return api.status(403)
            return real(method, version, url, **more)

        self.api.request = request  # type: ignore[method-assign]
        seen = self.observe(reads_case.SCOPE, there, whole=False)
        self.assertIsNotNone(seen[reads_case.SCOPE].decode().cluster)
        # The other kinds may be read in all of them.
        self.assertEqual([None, "magnum-p1", "magnum-p2", *[None] * 5], places)

    def test_secrets_are_read_in_the_namespaces_of_projects(self) -> None:
        """As the shipped roles allow it; it is tried again after a while."""
        scopes = (reads_case.SCOPE, ("magnum-p2", "demo-3"))
        asked: list[str | None] = []
        log = self.useFixture(fixtures.FakeLogger("magnum_capi_helm"))
        self._refuse_secrets(asked, None)
        for many in (2, 100):
            observer = reads.Reader(
                self.api.client(), whole=True, follow_from=many
            )
            asked.clear()
            for _ in range(2):
                observer.read(scopes, False)
            self.assertEqual([None, *["magnum-p1", "magnum-p2"] * 2], asked)
        self.assertNotIn("one by one", log.output)

    def test_a_namespace_without_the_role_fails_its_own_polls(self) -> None:
        scopes = (reads_case.SCOPE, ("magnum-p2", "demo-3"))
        self._refuse_secrets([], None, "magnum-p2")
        observer = reads.Reader(self.api.client(), whole=True)
        shared = shared_reads.SharedReads(observer.read, 0, 60, gathering=0)
        for scope, good in ((scopes[1], False), (scopes[0], True)):
            with contextlib.ExitStack() as stack:
                if not good:
                    stack.enter_context(
                        testtools.ExpectedException(responses.ForbiddenError)
                    )
                self.assertIsNotNone(shared.get(scope).decode().cluster)
        found = observer.read(scopes, False)
        self.assertEqual(
            [None, responses.ForbiddenError],
            [
                each and type(each)
                for each in (found[scope].refused for scope in scopes)
            ],
        )

    def _refuse_secrets(
        self, asked: list[str | None], *refused: str | None
    ) -> None:
        """Refuse lists of Secrets in namespaces; None: in all at once."""
        real = self.api.request

        def request(
            method: str, version: str, url: str = "", **more: Any
        ) -> Any:
            if url == "secrets":
                asked.append(more.get("namespace"))
                if asked[-1] in refused:
                    return api.status(403)
            if "watch" in more.get("params", {}):
                return api.Answer(200, "")
            return real(method, version, url, **more)

        self.api.request = request  # type: ignore[method-assign]

    def test_without_the_right_to_watch_all_namespaces_are_read_one_by_one(
        self,
    ) -> None:
        scopes = (reads_case.SCOPE, ("magnum-p2", "demo-3"))
        asked: list[tuple[str, str | None]] = []
        real = self.api.request

        def request(
            method: str, version: str, url: str = "", **more: Any
        ) -> Any:
            if "watch" in more.get("params", {}):
                return api.status(403)
            if url == "clusters":
                asked.append((url, more.get("namespace")))
            return real(method, version, url, **more)

        self.api.request = request  # type: ignore[method-assign]
        log = self.useFixture(fixtures.FakeLogger("magnum_capi_helm"))
        observer = reads.Reader(self.api.client(), whole=False, follow_from=2)
        observer.read(scopes, False)
        for _ in range(2):
            asked.clear()
            seen = observer.read(scopes, False)
            self.assertIsNotNone(seen[reads_case.SCOPE].decode().cluster)
            self.assertEqual(
                [("clusters", "magnum-p1"), ("clusters", "magnum-p2")], asked
            )
        self.assertEqual(1, log.output.count("Namespaces are read one by one"))

    def test_a_fresh_look_asks_etcd_in_each_namespace(self) -> None:
        asked: list[tuple[Any, Any]] = []
        real = self.api.request

        def request(
            method: str, version: str, url: str = "", **more: Any
        ) -> Any:
            if more.get("params"):
                version_asked = more["params"].get("resourceVersion")
                asked.append((more.get("namespace"), version_asked))
            return real(method, version, url, **more)

        self.api.request = request  # type: ignore[method-assign]
        scopes = (reads_case.SCOPE, ("magnum-p2", "demo-3"))
        self.observe(*scopes, whole=False, fresh=True)
        self.assertEqual([("magnum-p1", None), ("magnum-p2", None)], asked[:2])
        asked.clear()
        self.observe(*scopes, whole=False)
        self.assertEqual({(None, "0")}, set(asked))
