# SPDX-License-Identifier: Apache-2.0

"""addons.py KUBECONFIG CHARTS FOLDER: install the addons of clusters.

It does for clusters of machines what the addon provider does: it renders the
values of each HelmRelease and each of the Manifests with Jinja2, and runs helm
against the cluster. The table in ``lab/README.rst`` says what the provider
does beyond that. CHARTS has a folder for each chart: no repository of charts
can be reached.
"""

import base64
from collections.abc import Iterator
from concurrent import futures
import contextlib
import hashlib
import json
import pathlib
import subprocess
import sys
import tempfile
import time
from typing import Any

import jinja2
import pykube
import yaml

Object = dict[str, Any]

_ADDONS = "addons.stackhpc.com/v1alpha1"
_FINALIZER = "addons.stackhpc.com/finalizer"
_INSTALLED = "lab.example.org/installed"
_CLUSTERS = "cluster.x-k8s.io/v1beta2"
#: Where a cluster's infrastructure and identity are.
_CAPO = "infrastructure.cluster.x-k8s.io/v1beta1"
_PAUSE = 1.0
#: Seconds until an addon that is as it was is looked at again.
_AGAIN = 10.0
#: Seconds until helm is tried again after an error that is no refusal
#: (``DEFAULT_RETRY_DELAY`` of kopf), and kopf's note of such an error
#: (``ProgressRecord`` in ``kopf/_cogs/configs/progress.py``).
_RETRY = 60.0
_NOTE = "addons.stackhpc.com/handle_addon_updated"
#: Addons for which helm waits at the same time.
_AT_ONCE = 16


class AddonError(Exception):
    """An addon can't be installed; the text is for its status."""


class LateError(AddonError):
    """Helm has waited in vain for what an addon has started."""


class NotReadyError(Exception):
    """The cluster has no API yet, or an object is not there yet."""


class Management:
    """The API of the management cluster."""

    def __init__(self, kubeconfig: str) -> None:
        config = pykube.KubeConfig.from_file(kubeconfig)
        self._api = pykube.HTTPClient(config, timeout=10)

    def all(self, kind: str) -> list[Object]:
        """Return all objects of a kind of addons."""
        return list(self._get(f"/apis/{_ADDONS}/{kind}")["items"])

    def get(
        self, version: str, kind: str, namespace: str, name: str
    ) -> Object:
        """Return an object.

        :raises NotReadyError: it is not there
        """
        root = "api" if version == "v1" else "apis"
        path = f"/{root}/{version}/namespaces/{namespace}/{kind}/{name}"
        return self._get(path)

    def _get(self, path: str) -> Object:
        answer = self._api.session.get(f"{self._api.url}{path}")
        if answer.status_code == 404:
            raise NotReadyError(path)
        answer.raise_for_status()
        found: Object = answer.json()
        return found

    def patch(self, addon: Object, change: Object, part: str = "") -> None:
        """Change an addon by a merge patch.

        :param part: ``/status`` or nothing
        """
        meta = addon["metadata"]
        kind = _plural(addon)
        answer = self._api.session.patch(
            f"{self._api.url}/apis/{_ADDONS}/namespaces/{meta['namespace']}"
            f"/{kind}/{meta['name']}{part}",
            json=change,
            headers={"Content-Type": "application/merge-patch+json"},
        )
        if answer.status_code != 404:
            answer.raise_for_status()


def _plural(addon: Object) -> str:
    return {"HelmRelease": "helmreleases", "Manifests": "manifests"}[
        addon["kind"]
    ]


def _yaml(value: Any) -> str:
    return str(yaml.safe_dump(value, default_flow_style=False))


def _environment() -> jinja2.Environment:
    """Return Jinja2 with the filters that charts use."""
    found = jinja2.Environment(autoescape=False)  # noqa: S701  it is YAML
    found.filters |= {
        "b64decode": lambda text: base64.b64decode(text).decode(),
        "b64encode": lambda text: base64.b64encode(text.encode()).decode(),
        "fromyaml": yaml.safe_load,
        "toyaml": _yaml,
    }
    return found


class Installer:
    """Installs addons with helm.

    :param charts: folder with the lab's charts
    :param folder: for files of one run
    """

    def __init__(
        self,
        management: Management,
        charts: pathlib.Path,
        folder: pathlib.Path,
    ) -> None:
        self._management = management
        self._charts = charts
        self._folder = folder
        self._jinja = _environment()
        #: UID of an addon -> when to look again, and its generation.
        self._later: dict[str, tuple[float, int]] = {}
        #: UID of an addon -> its handler that runs.
        self._running: dict[str, futures.Future[None]] = {}

    def look(self, pool: futures.Executor) -> None:
        """Handle each addon once; each is alone with its helm."""
        for kind in ("helmreleases", "manifests"):
            singular = {"helmreleases": "HelmRelease"}.get(kind, "Manifests")
            for addon in self._management.all(kind):
                addon["kind"] = singular
                uid = addon["metadata"]["uid"]
                running = self._running.get(uid)
                if self._rests(addon) or (running and not running.done()):
                    continue
                self._running[uid] = pool.submit(self._try, addon)

    def _try(self, addon: Object) -> None:
        """Handle an addon, and write down why that fails."""
        meta, pause = addon["metadata"], _AGAIN
        try:
            self._handle(addon)
        except NotReadyError:
            return
        except LateError as error:
            self._note(addon, str(error))
            pause = _RETRY
        except AddonError as error:
            self._tell(addon, "Failed", str(error))
        except Exception as error:  # of the API's client, of several libraries
            print(f"addons: {type(error).__name__}: {error}", file=sys.stderr)
            return
        self._later[meta["uid"]] = time.monotonic() + pause, meta["generation"]

    def _note(self, addon: Object, message: str) -> None:
        """Write kopf's note of a handler that is tried again."""
        before = json.loads(_annotations(addon).get(_NOTE) or "{}")
        retries = int(before.get("retries") or 0) + 1
        note = {"retries": retries, "success": False, "message": message}
        change = {"metadata": {"annotations": {_NOTE: json.dumps(note)}}}
        self._management.patch(addon, change)

    def _rests(self, addon: Object) -> bool:
        """Return whether an addon was handled a moment ago as it is."""
        meta = addon["metadata"]
        later, generation = self._later.get(meta["uid"], (0.0, 0))
        return (
            generation == meta["generation"]
            and "deletionTimestamp" not in meta
            and time.monotonic() < later
        )

    def _handle(self, addon: Object) -> None:
        meta = addon["metadata"]
        if "deletionTimestamp" in meta:
            self._uninstall(addon)
            return
        cluster = self._cluster(addon)
        if _FINALIZER not in meta.get("finalizers", ()):
            self._adopt(addon, cluster)
        if not _has_api(cluster):
            raise NotReadyError(cluster["metadata"]["name"])
        if addon["spec"].get("paused"):
            return
        context = self._context(addon, cluster)
        if addon["kind"] == "HelmRelease":
            chart, values = self._chart(addon), self._values(addon, context)
            source, content = chart, _yaml(values)
            digest = _digest(*_files(chart), content)
        else:
            source, content = None, self._manifests(addon, context)
            digest = _digest(content)
        if _annotations(addon).get(_INSTALLED) == digest:
            return
        self._tell(addon, "Installing", "")
        with self._kubeconfig(cluster) as kubeconfig:
            self._install(addon, source, content, kubeconfig)
        annotations = {_INSTALLED: digest, _NOTE: None}
        self._management.patch(
            addon, {"metadata": {"annotations": annotations}}
        )
        self._tell(addon, "Deployed", "")

    def _cluster(self, addon: Object) -> Object:
        return self._management.get(
            _CLUSTERS,
            "clusters",
            addon["metadata"]["namespace"],
            addon["spec"]["clusterName"],
        )

    def _adopt(self, addon: Object, cluster: Object) -> None:
        """Let an addon go with its cluster, and not before helm is done."""
        owner = {
            "apiVersion": cluster["apiVersion"],
            "kind": "Cluster",
            "name": cluster["metadata"]["name"],
            "uid": cluster["metadata"]["uid"],
            "blockOwnerDeletion": True,
        }
        meta = addon["metadata"]
        change = {
            "finalizers": [*meta.get("finalizers", ()), _FINALIZER],
            "ownerReferences": [*meta.get("ownerReferences", ()), owner],
        }
        self._management.patch(addon, {"metadata": change})
        self._tell(addon, "Pending", "")

    def _tell(self, addon: Object, phase: str, message: str) -> None:
        status = {"phase": phase, "failureMessage": message}
        told = addon.get("status") or {}
        if {key: told.get(key, "") for key in status} != status:
            self._management.patch(addon, {"status": status}, "/status")
            addon["status"] = {**told, **status}

    def _context(self, addon: Object, cluster: Object) -> Object:
        """Return the objects that templates know."""
        namespace = cluster["metadata"]["namespace"]
        reference = cluster["spec"]["infrastructureRef"]
        infrastructure = self._management.get(
            _CAPO, "openstackclusters", namespace, reference["name"]
        )
        identity = infrastructure["spec"]["identityRef"]["name"]
        return {
            "cluster": cluster,
            "infra_cluster": infrastructure,
            "cloud_identity": self._management.get(
                "v1", "secrets", namespace, identity
            ),
        }

    def _render(self, text: str, context: Object) -> str:
        try:
            return self._jinja.from_string(text).render(context)
        except jinja2.UndefinedError as error:
            # A field of a status that is yet to be written.
            raise NotReadyError(str(error)) from error
        except jinja2.TemplateError as error:
            raise AddonError(f"template: {error}") from error

    def _source(self, addon: Object, source: Object, context: Object) -> str:
        """Return the rendered text of one source of values or manifests."""
        if "template" in source:
            return self._render(source["template"], context)
        named = source["secret"]
        secret = self._management.get(
            "v1", "secrets", addon["metadata"]["namespace"], named["name"]
        )
        keys = [named["key"]] if "key" in named else sorted(secret["data"])
        texts = (
            base64.b64decode(secret["data"][key]).decode() for key in keys
        )
        return "\n---\n".join(self._render(text, context) for text in texts)

    def _values(self, addon: Object, context: Object) -> Object:
        values: Object = {}
        for source in addon["spec"].get("valuesSources", ()):
            text = self._source(addon, source, context)
            _merge(values, yaml.safe_load(text) or {})
        return values

    def _manifests(self, addon: Object, context: Object) -> str:
        return "\n---\n".join(
            self._source(addon, source, context)
            for source in addon["spec"].get("manifestSources", ())
        )

    def _chart(self, addon: Object) -> pathlib.Path:
        """Return the lab's chart of that name, or one for those it lacks."""
        chart = self._charts / str(addon["spec"]["chart"]["name"])
        return chart if chart.is_dir() else self._charts / "placeholder"

    @contextlib.contextmanager
    def _kubeconfig(self, cluster: Object) -> Iterator[str]:
        """Write the kubeconfig of a cluster for the time of one run."""
        meta = cluster["metadata"]
        name = f"{meta['name']}-kubeconfig"
        secret = self._management.get("v1", "secrets", meta["namespace"], name)
        with tempfile.NamedTemporaryFile(dir=self._folder) as file:
            file.write(base64.b64decode(secret["data"]["value"]))
            file.flush()
            yield file.name

    def _install(
        self,
        addon: Object,
        chart: pathlib.Path | None,
        content: str,
        kubeconfig: str,
    ) -> None:
        """Run helm.

        :param chart: None: content is manifests, which become a chart
        """
        with tempfile.TemporaryDirectory(dir=self._folder) as folder:
            values = ""
            if chart is None:
                chart = _as_chart(pathlib.Path(folder), addon, content)
            else:
                values = content
            spec = addon["spec"]
            _helm(
                kubeconfig,
                "upgrade",
                spec.get("releaseName") or addon["metadata"]["name"],
                str(chart),
                *("--install", "--values", "-", "--create-namespace"),
                "--wait",
                *("--namespace", spec["targetNamespace"]),
                text=values,
            )

    def _uninstall(self, addon: Object) -> None:
        """Run helm unless the cluster goes; then let the addon go."""
        meta, spec = addon["metadata"], addon["spec"]
        left = [each for each in meta["finalizers"] if each != _FINALIZER]
        with contextlib.suppress(NotReadyError):
            cluster = self._cluster(addon)
            if "deletionTimestamp" not in cluster["metadata"]:
                self._tell(addon, "Uninstalling", "")
                with self._kubeconfig(cluster) as kubeconfig:
                    _helm(
                        kubeconfig,
                        "uninstall",
                        spec.get("releaseName") or meta["name"],
                        *("--ignore-not-found", "--namespace"),
                        spec["targetNamespace"],
                    )
        if len(left) < len(meta["finalizers"]):
            self._management.patch(addon, {"metadata": {"finalizers": left}})


def _has_api(cluster: Object) -> bool:
    """Return whether the control plane of a cluster is initialized."""
    status = cluster.get("status") or {}
    started = (status.get("initialization") or {}).get(
        "controlPlaneInitialized"
    )
    return bool(started)


def _annotations(addon: Object) -> dict[str, str]:
    found: dict[str, str] = addon["metadata"].get("annotations") or {}
    return found


def _merge(values: Object, more: Object) -> None:
    """Add values; those of dictionaries one by one, as helm does."""
    for key, value in more.items():
        if isinstance(value, dict) and isinstance(values.get(key), dict):
            _merge(values[key], value)
        else:
            values[key] = value


def _files(chart: pathlib.Path) -> list[str]:
    files = sorted(each for each in chart.rglob("*") if each.is_file())
    return [each.read_text() for each in files]


def _digest(*texts: str) -> str:
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()


def _as_chart(
    folder: pathlib.Path, addon: Object, content: str
) -> pathlib.Path:
    """Write manifests as a chart; helm must leave their braces alone."""
    name = addon["metadata"]["name"]
    chart = {"apiVersion": "v2", "name": name, "version": "1.0.0"}
    (folder / "Chart.yaml").write_text(_yaml(chart))
    (folder / "manifests.yaml").write_text(content)
    (folder / "templates").mkdir()
    template = folder / "templates" / "all.yaml"
    template.write_text('{{ .Files.Get "manifests.yaml" }}\n')
    return folder


def _helm(kubeconfig: str, *words: str, text: str = "") -> None:
    """Run helm.

    :raises AddonError: as helm says, in one line
    :raises LateError: helm has waited for too long
    """
    done = subprocess.run(
        ["helm", *words, "--kubeconfig", kubeconfig, "--timeout", "60s"],
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        said = " ".join(done.stderr.split())[:600]
        late = "deadline exceeded" in said or "timed out waiting" in said
        raise (LateError if late else AddonError)(said)


def main(kubeconfig: str, charts: str, folder: str) -> None:
    """Install addons until killed."""
    pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    management = Management(kubeconfig)
    installer = Installer(
        management, pathlib.Path(charts), pathlib.Path(folder)
    )
    with futures.ThreadPoolExecutor(_AT_ONCE) as pool:
        while True:
            try:
                installer.look(pool)
            except Exception as error:  # as in _try
                print(f"addons: {error}", file=sys.stderr)
            time.sleep(_PAUSE)


if __name__ == "__main__":
    main(*sys.argv[1:4])
