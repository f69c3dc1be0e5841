"""Rendering the lab's chart with the real helm."""

from collections.abc import Iterator
import os
import pathlib
import re
import shutil
import subprocess
from typing import Any

import yaml

Object = dict[str, Any]

_CHECKOUT = pathlib.Path(__file__).resolve().parents[3]
_VALUES = pathlib.Path(__file__).with_name("values")
LAB_DIR = pathlib.Path(os.environ.get("LAB_DIR") or _CHECKOUT / ".lab")
CHART = _CHECKOUT / "lab" / "chart" / "openstack-cluster"
RELEASE = "rel"
NAMESPACE = "magnum-p"

# Kinds whose names end in a hash of their spec.
HASHED = ("KubeadmConfigTemplate", "OpenStackMachineTemplate")


class RefusedError(Exception):
    """The chart does not accept the values; the text is helm's."""


def find_helm() -> str:
    """The helm binary: $HELM, or else the lab's, or the one on the PATH."""
    built = LAB_DIR / "bin" / "helm"
    given = os.environ.get("HELM")
    for candidate in [given] if given else [str(built), "helm"]:
        found = shutil.which(candidate)
        if found:
            return found
    if given:
        raise RuntimeError(f"HELM is {given}, which is no program")
    raise RuntimeError(
        f"no helm: set HELM, build the lab (it makes {built}), or put helm "
        "on the PATH"
    )


def value_files() -> list[str]:
    """The names of the values files of these tests."""
    return sorted(path.stem for path in _VALUES.glob("*.yaml"))


def load_values(name: str) -> dict[str, Any]:
    """Fresh values, free to be changed."""
    values: dict[str, Any] = load((_VALUES / f"{name}.yaml").read_text())[0]
    return values


def load(text: str) -> list[Any]:
    """All documents of a YAML text that are not empty."""
    documents = yaml.load_all(text, Loader=yaml.CSafeLoader)
    return [document for document in documents if document]


class Rendered:
    """The objects of one release."""

    def __init__(self, objects: list[Object]) -> None:
        self.objects = objects

    def __iter__(self) -> Iterator[Object]:
        return iter(self.objects)

    def of(self, kind: str) -> list[Object]:
        return [item for item in self.objects if item["kind"] == kind]

    def names(self, kind: str) -> set[str]:
        return {item["metadata"]["name"] for item in self.of(kind)}

    def get(self, kind: str, name: str) -> Object:
        """The one object whose name, but for a hash, is this."""
        (found,) = [i for i in self.of(kind) if _name(i) == name]
        return found

    def inventory(self) -> list[tuple[str, str]]:
        """(kind, name) of each, sorted, hashes replaced by a word."""
        return sorted((item["kind"], _name(item)) for item in self.objects)


def _name(item: Object) -> str:
    name: str = item["metadata"]["name"]
    if item["kind"] in HASHED:
        return re.sub(r"-[0-9a-f]{8}$", "-<hash>", name)
    return name


def render(
    values: dict[str, Any],
    release: str = RELEASE,
    chart: str | pathlib.Path = CHART,
) -> Rendered:
    """What helm would apply for these values."""
    command = [find_helm(), "template", release, str(chart)]
    done = subprocess.run(
        [*command, "--namespace", NAMESPACE, "--values", "-"],
        input=yaml.safe_dump(values),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if done.returncode:
        raise RefusedError(done.stderr)
    return Rendered(load(done.stdout))
