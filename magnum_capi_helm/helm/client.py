# SPDX-License-Identifier: Apache-2.0

"""helm against one management cluster."""

from __future__ import annotations

from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
import contextlib
import functools
import json
import os
import tempfile
import time
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import yaml

from magnum_capi_helm.chart import patches
from magnum_capi_helm.helm import post_renderer
from magnum_capi_helm.model import encoding
from magnum_capi_helm.model import errors

if TYPE_CHECKING:
    from magnum_capi_helm.helm import command

T = TypeVar("T")
Timed: TypeAlias = Callable[[str], contextlib.AbstractContextManager[object]]

#: Revisions that helm keeps of a release, as in 1.4.0.
HISTORY = 10

#: Seconds beyond helm's own time-out for reading the chart and giving up.
_GRACE = 30

#: Option of helm 4 for what helm 3 always does. Else the API server merges a
#: release that helm 4 installed: it refuses a field that anybody else changed
#: meanwhile, and does not remove fields that helm wrote in an API version that
#: is no longer served (structured-merge-diff, ``merge/update.go``).
_MERGED_BY_HELM = "--server-side=false"

#: helm's directories, for the commands that use none of them: all but pull.
_NO_HOME = "/nonexistent/helm"


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
    file = os.path.join(config, "registry", "config.json")
    return {name: file} if os.access(file, os.R_OK) else {}


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
        self._kubeconfig = kubeconfig
        self._timeout = timeout
        self._timed = timed

    @functools.cached_property
    def _command(self) -> command.Command:
        from magnum_capi_helm.helm import command

        env = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith(("HELM_", "OS_")) and key != "KUBECONFIG"
        }
        env |= _homes(_NO_HOME)
        return command.Command(
            deadline=self._timeout + _GRACE,
            env=env,
            kubeconfig=self._kubeconfig,
            default_timeout=f"{self._timeout}s",
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
        convert: Collection[str] = (),
        patch: Sequence[patches.Patch] = (),
    ) -> float:
        """Install or upgrade the release, without waiting for its objects.

        :param chart: path of a chart on this host
        :param within: seconds, if helm has fewer than usual
        :param convert: API groups whose objects are applied in v1beta2, and
            not in the version that the chart renders
        :param patch: fields of objects that the chart does not set
        :returns: seconds that helm took
        :raises HelmBusy: the newest revision is pending
        :raises HelmUnreachable: worth trying again
        :raises HelmError: helm, or a webhook, refused it
        """
        options: list[str] = []
        variables: Mapping[str, str] = {}
        if convert or patch:
            options, variables = post_renderer.options(
                self._major, convert, patch
            )
        if self._major >= 4:
            options.append(_MERGED_BY_HELM)
        return self._run(
            "upgrade",
            self._command.adapted(
                within, variables, options
            ).install_or_upgrade(
                release,
                chart,
                dict(values),
                namespace=namespace,
                create_namespace=False,
            ),
        )

    def uninstall(self, release: str, namespace: str) -> float:
        """Remove the release if there is one."""
        try:
            return self._run(
                "uninstall",
                self._command.uninstall(release, namespace=namespace),
            )
        except errors.ReleaseAbsent:
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
            variables = {**_homes(home), **_registry_login()}
            helm = self._command.adapted(variables=variables)
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
        convert: Collection[str] = (),
        patch: Sequence[patches.Patch] = (),
    ) -> tuple[dict[str, Any], ...]:
        """Return the objects that the chart makes of values; write nothing.

        :param chart: path of a chart on this host
        :param live: as an upgrade: the chart's ``lookup`` reads live objects
        :param hooks: with the objects of hooks, which are in no manifest
        :param convert: API groups whose objects are applied in v1beta2; helm
            4, which asks the API server for the kind of each live object,
            returns them so, and helm 3 in the chart's version
        :param patch: fields of objects that the chart does not set
        :raises Unconvertible: there is nothing to patch
        :raises HelmError: the chart refuses the values
        :raises ChartStranded: a version is not served, says helm 4
        :raises ManifestUnreadable: helm's output is not YAML
        """
        command = ["template", release, chart, "--namespace", namespace]
        command += ["--values", "-"]
        command += ["--dry-run=server", "--is-upgrade"] if live else []
        command.append("--skip-tests" if hooks else "--no-hooks")
        variables: Mapping[str, str] = {}
        if convert and self._major >= 4:
            words, variables = post_renderer.options(
                self._major, convert, patch
            )
            patch = ()
            command += words
        helm = self._command.adapted(variables=variables)
        run = helm.run(command, json.dumps(values).encode())
        text = self._answer("template", run).decode()
        try:
            return patches.applied(encoding.objects(text), patch)
        except yaml.YAMLError as error:
            # Not chained: its text quotes the manifest, which has secrets.
            raise errors.ManifestUnreadable(
                f"helm template: {chart} makes no YAML "
                f"({type(error).__name__})"
            ) from None

    def package(self, source: str, directory: str) -> None:
        """Package a chart's directory as ``<name>-<version>.tgz``."""
        command = ["package", source, "--destination", directory]
        self._run("package", self._command.run(command))

    def index(self, directory: str) -> None:
        """Write index.yaml, so that a directory of charts is a repository."""
        self._run("repo", self._command.run(["repo", "index", directory]))

    def version(self) -> str:
        """Return the version of the helm program.

        :raises NotConfigured: there is none
        """
        return str(self._answer("version", self._command.version())).strip()

    @functools.cached_property
    def _major(self) -> int:
        major, _, _ = self.version().lstrip("v").partition(".")
        return int(major) if major.isdigit() else 3

    def _run(self, what: str, coroutine: Coroutine[Any, Any, Any]) -> float:
        started = time.monotonic()
        self._answer(what, coroutine)
        return time.monotonic() - started

    def _answer(self, what: str, coroutine: Coroutine[Any, Any, T]) -> T:
        from magnum_capi_helm.helm import command

        with self._timed(what):
            return command.result(coroutine)
