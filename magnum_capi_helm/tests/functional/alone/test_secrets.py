# SPDX-License-Identifier: Apache-2.0

"""What is secret is seen in its store alone, whatever is logged."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
import json
import os
import pathlib
import re
import stat
import tempfile
import time
from typing import Any

import yaml

from magnum_capi_helm.kubernetes import kinds
from magnum_capi_helm.model import names
from magnum_capi_helm.tests.functional import base
from magnum_capi_helm.tests.functional import beside
from magnum_capi_helm.tests.functional import programs

#: A token of Keystone's.
_TOKEN = re.compile(r"gAAAA[\w-]{60,}")
#: Magnum's API writes each request into the log, at debug.
_MAGNUMS_OWN = "DEBUG magnum.api.controllers.v1 "
_PROXY_PASSWORD = "canary-of-the-proxy"


class _Arguments(beside.Beside):
    """The command lines of all processes, until it is left."""

    def __init__(self) -> None:
        super().__init__(0.05)
        self.seen: set[str] = set()

    def look(self) -> bool:
        """Those that run now."""
        for process in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = process.read_bytes().split(b"\0")
            except OSError:
                continue
            self.seen.add(" ".join(map(os.fsdecode, words)))
        return True


class SecretsTest(base.LabCase):
    """A cluster's life with Magnum's log at debug, and all that it leaves."""

    def test_no_secret_leaves_its_store(self) -> None:
        self.configure_sections(
            {
                "DEFAULT": {"debug": "true"},
                "oslo_messaging_notifications": {"driver": "log"},
            }
        )
        began, logged = time.time(), len(base.magnum_log())
        texts: dict[str, str] = {}
        with _Arguments() as arguments:
            cluster = self._life(texts)
            found = self.magnum.find(cluster)
            assert found is not None
            secrets = self._secrets(found["stack_id"])
            texts |= self._printed(cluster)
            self.delete(cluster)
        texts["arguments"] = "\n".join(arguments.seen)
        texts["log"] = "\n".join(
            line
            for line in base.magnum_log()[logged:].splitlines()
            if _MAGNUMS_OWN not in line
        )
        texts |= _readable_by_all(began)

        helm = names.release(found["name"], cluster)
        self.assertIn(f"upgrade {helm}", texts["arguments"])
        self.assertIn(" DEBUG ", texts["log"])
        self.assertIn("magnum.cluster.create", texts["log"])
        print(f"{len(secrets)} secrets looked for in {len(texts)} places")
        self.assertEqual([], _shown(secrets, texts))
        self.assertGreater(len(secrets), 8)

    def _life(self, texts: dict[str, str]) -> str:
        """Create, resize, rotate, and one that fails."""
        proxy = f"http://user:{_PROXY_PASSWORD}@proxy.example.org:3128"
        cluster = self.cluster(self.template(http_proxy=proxy))
        self.until_status(cluster, ("CREATE_COMPLETE",))
        self.resize(cluster, 2)
        self.magnum.rotate(cluster)
        bad = self.cluster(self.template(flavor_id="m1.worker.nohost"))
        self.until(lambda: self._reason(bad), 120)
        for each in (cluster, bad):
            texts[f"status of {each}"] = json.dumps(self._statuses(each))
        return cluster

    def _reason(self, cluster: str) -> str:
        found = self.magnum.find(cluster) or {}
        return str(found.get("status_reason") or "")

    def _statuses(self, cluster: str) -> list[Any]:
        found = [self.magnum.find(cluster) or {}]
        found += self.magnum.nodegroups(cluster).values()
        keys = ("status_reason", "health_status_reason", "faults", "labels")
        return [{key: each.get(key) for key in keys} for each in found]

    def _printed(self, cluster: str) -> dict[str, str]:
        """What the operator's commands print."""
        rows = (
            ("check",),
            ("list",),
            ("values", cluster),
            ("render", cluster),
            ("diff", cluster),
        )
        return {words[0]: _printed(*words) for words in rows}

    def _secrets(self, release: str) -> dict[str, str]:
        """A part of each secret that nothing else would contain."""
        kubeconfig = yaml.safe_load(
            (programs.LAB / "driver-kubeconfig").read_text()
        )
        found = {
            "the driver's token": kubeconfig["users"][0]["user"]["token"],
            "the proxy's password": _PROXY_PASSWORD,
        }
        for secret in self.plane.list(kinds.SECRET, self.namespace):
            name = secret["metadata"]["name"]
            if release not in name:
                continue
            for key, value in _decoded(secret.get("data") or {}):
                for number, words in enumerate(_canaries(key, value)):
                    found[f"{name} {key} {number}"] = words
        return found


def _shown(secrets: dict[str, str], texts: dict[str, str]) -> list[str]:
    """Which secrets are where."""
    found = [
        f"{secret} in {where}"
        for where, text in texts.items()
        for secret, words in secrets.items()
        if words in text
    ]
    return found + [
        f"a token in {where}"
        for where, text in texts.items()
        if _TOKEN.search(text)
    ]


def _printed(*words: str) -> str:
    try:
        return programs.command(*words)
    except AssertionError as error:
        # A difference or a finding is an exit code, too.
        return str(error)


def _decoded(data: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for key, value in data.items():
        yield key, base64.b64decode(value).decode(errors="replace")


def _canaries(key: str, value: str) -> Iterator[str]:
    """What is secret in one value of a Secret."""
    for body in re.findall(
        r"PRIVATE KEY-----\s+(.+?)\s+-----END", value, re.DOTALL
    ):
        # A line of its own, not of the common beginning of all keys.
        yield body.split()[len(body.split()) // 2]
    yield from re.findall(r"client-key-data: (\S+)", value)
    if key == "clouds.yaml":
        for cloud in yaml.safe_load(value)["clouds"].values():
            yield cloud["auth"]["application_credential_secret"]


def _readable_by_all(since: float) -> dict[str, str]:
    """Files made since then that every user of the host could read."""
    found = {}
    for top in (pathlib.Path(tempfile.gettempdir()), programs.LAB / "cloud"):
        for path in top.rglob("*"):
            try:
                info = path.stat()
                if (
                    stat.S_ISREG(info.st_mode)
                    and info.st_mode & stat.S_IROTH
                    and info.st_mtime >= since
                ):
                    found[str(path)] = path.read_text(errors="replace")
            except OSError:
                continue
    return found
