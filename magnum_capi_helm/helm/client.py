# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""The helm program: one process per call, with a hard deadline.

The only module that imports pyhelm3, which builds the command lines; how
they run is decided here. No event loop (Magnum up to 2026.1 runs under
eventlet, where asyncio breaks), no shell, values on standard input alone.
helm gets a process group of its own and dies with its conductor, so no
orphan goes on writing when another conductor has taken over.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
import contextlib
import copy
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from typing import Any, TypeAlias, TypeVar

from oslo_log import log
import pyhelm3

from magnum_capi_helm import actor
from magnum_capi_helm import exceptions
from magnum_capi_helm import fence
from magnum_capi_helm.helm import complaints
from magnum_capi_helm.helm import deadlines
from magnum_capi_helm.operations import spent

LOG = log.getLogger(__name__)
T = TypeVar("T")
Timed: TypeAlias = Callable[[str], contextlib.AbstractContextManager[object]]

#: Revisions that helm keeps of a release, as in 1.4.0.
HISTORY = 10

#: Seconds beyond helm's own time-out for reading the chart and giving up.
_GRACE = 30

#: helm's directories, for the commands that use none of them: all but pull.
_NO_HOME = "/nonexistent/helm"

_NO_HELM = (
    "helm can't be started: install helm 3.16 or later on the PATH of "
    "magnum-conductor"
)


class _Command(pyhelm3.Command):  # type: ignore[misc]
    """pyhelm3's command lines, run our way."""

    def __init__(
        self, *, deadline: float, env: Mapping[str, str], **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self._deadline = deadline
        self._env = dict(env)
        self._guard = _dies_with_parent()

    def within(self, seconds: float | None) -> _Command:
        """The same commands, with less time; None: with all of it."""
        found = copy.copy(self)
        found._deadline = min(seconds or self._deadline, self._deadline)
        return found

    def with_environment(self, extra: Mapping[str, str]) -> _Command:
        """Return the same commands with more variables for helm."""
        found = copy.copy(self)
        found._env = {**self._env, **extra}
        return found

    async def run(
        self, command: list[Any], input: bytes | None = None
    ) -> bytes:
        if shutil.which(self._executable) is None:
            raise exceptions.NotConfigured(_NO_HELM)
        argv = [*self._guard, self._executable, *map(str, command)]
        if command[0] == "upgrade" and (asked := actor.current()):
            argv += ["--description", str(asked)]
        if self._kubeconfig:
            argv += ["--kubeconfig", str(self._kubeconfig)]
        fence.check()
        try:
            process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL if input is None else subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=self._env,
                start_new_session=True,
            )
        except OSError as error:
            raise exceptions.NotConfigured(
                f"{_NO_HELM} ({error.strerror})"
            ) from error
        with (
            spent.waiting(spent.HELM),
            deadlines.Deadline(process, self._deadline) as deadline,
        ):
            out, err = process.communicate(input)
        _check_ended(command[0], deadline)
        _check_alive(command[0], process.returncode)
        if process.returncode:
            absent = b"release: not found" in err.lower()
            kind = pyhelm3.ReleaseNotFoundError if absent else pyhelm3.Error
            raise kind(process.returncode, b"", err)
        return bytes(out)


def _check_ended(what: str, deadline: deadlines.Deadline) -> None:
    """Whoever was told to end says nothing of the release."""
    if deadline.lost:
        # That the Lease is lost is what this raises.
        fence.check()
    if deadline.expired:
        raise exceptions.HelmUnreachable(
            f"helm {what} did not end within {deadline.seconds:.0f} s"
        )


def _check_alive(what: str, code: int) -> None:
    """Whoever is killed, for its memory for instance, has refused nothing."""
    if code < 0:
        name = signal.Signals(-code).name
        raise exceptions.HelmUnreachable(f"helm {what} was killed ({name})")


def _dies_with_parent() -> list[str]:
    """The prefix that makes helm get SIGTERM when its conductor dies.

    setpriv (util-linux) and not ``preexec_fn``, which may deadlock in a
    process with threads. helm marks its revision failed on SIGTERM, which
    the next apply can go on from; on SIGKILL it would stay pending.
    """
    found = shutil.which("setpriv")
    return [found, "--pdeathsig", "TERM", "--"] if found else []


def _homes(directory: str) -> dict[str, str]:
    """Return the variables that put helm's directories below another one."""
    return {
        f"HELM_{kind}_HOME": os.path.join(directory, kind.lower())
        for kind in ("CACHE", "CONFIG", "DATA")
    }


def _registry_login() -> dict[str, str]:
    """Return the variable that names the file of ``helm registry login``.

    The place is helm's own (``pkg/cli/environment.go`` and
    ``pkg/helmpath/lazypath.go`` of helm 3.20). helm can't start with a file
    that it may not read, so a default that this process can't read is left
    out: the home directory may be another user's.
    """
    name = "HELM_REGISTRY_CONFIG"
    if name in os.environ:
        return {name: os.environ[name]}
    config = os.environ.get("HELM_CONFIG_HOME") or os.path.join(
        os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config"),
        "helm",
    )
    found = os.path.join(config, "registry", "config.json")
    return {name: found} if os.access(found, os.R_OK) else {}


def _drive(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never suspends, without an event loop."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    coroutine.close()
    raise RuntimeError("a helm coroutine suspended")


class Helm:
    """helm against one management cluster.

    :param kubeconfig: path; helm reads it itself
    :param timeout: seconds for helm's own ``--timeout``
    :param timed: measures each run, by helm's command
    """

    def __init__(
        self,
        kubeconfig: str,
        timeout: int,
        timed: Timed = contextlib.nullcontext,
    ) -> None:
        self._timed = timed
        env = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith(("HELM_", "OS_")) and key != "KUBECONFIG"
        }
        env |= _homes(_NO_HOME)
        self._command = _Command(
            deadline=timeout + _GRACE,
            env=env,
            kubeconfig=kubeconfig,
            default_timeout=f"{timeout}s",
            history_max_revisions=HISTORY,
        )

    def upgrade(
        self,
        release: str,
        namespace: str,
        chart: str,
        values: Mapping[str, Any],
        *,
        within: float | None = None,
    ) -> float:
        """Install the release, or bring it to ``values``; never waits.

        :param chart: path of a chart on this host
        :param within: seconds, where there are fewer than usual
        :returns: seconds that helm took
        :raises HelmBusy: the newest revision is pending
        :raises HelmUnreachable: worth trying again
        :raises HelmError: helm, or a webhook, refused it
        """
        return self._run(
            "upgrade",
            self._command.within(within).install_or_upgrade(
                release,
                chart,
                dict(values),
                namespace=namespace,
                create_namespace=False,
            ),
        )

    def uninstall(self, release: str, namespace: str) -> float:
        """Remove the release; that there is none is fine."""
        try:
            return self._run(
                "uninstall",
                self._command.uninstall(release, namespace=namespace),
            )
        except exceptions.ReleaseAbsent:
            return 0.0

    def pull(
        self, chart: str, version: str, repository: str, directory: str
    ) -> None:
        """Download a chart as ``<name>-<version>.tgz`` into a directory.

        helm keeps its caches in the same directory meanwhile, and logs in to
        a registry as ``helm registry login`` of this process's user said.

        :raises ChartUnavailable: there is no such chart
        """
        command: list[Any] = ["pull", chart, "--version", version]
        if repository:
            command += ["--repo", repository]
        command += ["--destination", directory]
        with tempfile.TemporaryDirectory(
            dir=directory, prefix=".helm-"
        ) as home:
            helm = self._command.with_environment(
                {**_homes(home), **_registry_login()}
            )
            self._run("pull", helm.run(command))

    def render(
        self,
        release: str,
        namespace: str,
        chart: str,
        values: Mapping[str, Any],
        *,
        live: bool = False,
        hooks: bool = False,
    ) -> str:
        """The YAML that the chart makes of values; nothing is written.

        :param chart: path of a chart on this host
        :param live: as an upgrade: the chart's ``lookup`` finds what is there
        :param hooks: with the objects of hooks, which are in no manifest
        :raises HelmError: the chart refuses the values
        """
        command = ["template", release, chart, "--namespace", namespace]
        command += ["--values", "-"]
        command += ["--dry-run=server", "--is-upgrade"] if live else []
        command.append("--skip-tests" if hooks else "--no-hooks")
        stdin = json.dumps(values).encode()
        run = self._command.run(command, stdin)
        return self._answer("template", run).decode()

    def package(self, source: str, directory: str) -> None:
        """Make ``<name>-<version>.tgz`` of the directory of a chart."""
        command = ["package", source, "--destination", directory]
        self._run("package", self._command.run(command))

    def index(self, directory: str) -> None:
        """Write index.yaml: a directory of charts becomes a repository."""
        self._run("repo", self._command.run(["repo", "index", directory]))

    def version(self) -> str:
        """The version of the helm program.

        :raises NotConfigured: there is none
        """
        return str(self._answer("version", self._command.version())).strip()

    def _run(self, what: str, coroutine: Coroutine[Any, Any, Any]) -> float:
        started = time.monotonic()
        self._answer(what, coroutine)
        return time.monotonic() - started

    def _answer(self, what: str, coroutine: Coroutine[Any, Any, T]) -> T:
        with self._timed(what):
            try:
                return _drive(coroutine)
            except pyhelm3.ReleaseNotFoundError as error:
                raise exceptions.ReleaseAbsent("release not found") from error
            except pyhelm3.Error as error:
                raise complaints.translated(what, error.stderr) from None
