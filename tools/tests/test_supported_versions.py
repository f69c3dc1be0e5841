# SPDX-License-Identifier: Apache-2.0

"""A supported version is in each file that lists the supported versions.

``tox.ini`` decides which Magnums are supported, the ``go.mod`` of the lab
which Cluster APIs and CAPO, the record of the runs of ``compat-helm`` which
helms were tested, and ``check_host`` which one is the oldest.
"""

from __future__ import annotations

from collections.abc import Iterator
import json
import re

from oslotest import base

from lab import magnums
from magnum_capi_helm.cli import check_host
from magnum_capi_helm.config import conf
from magnum_capi_helm.model import versions
from tools import archives
from tools import conditions

_README = "README.rst"
_RECORD = "doc/source/reference/compatibility.jsonl"
_CONDITIONS = "magnum_capi_helm/tests/data/condition-types.yaml"
_VERSIONS = "magnum_capi_helm/tests/unit/status/documents.py"
_PLANE = archives.CHECKOUT / "lab" / "plane"
_ENVIRONMENTS = re.compile(r"compat-magnum\{(.*?)\}\{(.*?)\}\]")
_MODULE = re.compile(r"^\tsigs\.k8s\.io/([\w-]+) v([\d.]+)", re.MULTILINE)
#: File -> the helm that it installs; the last one counts.
_INSTALLED_HELMS = (
    ("doc/source/install/packages.rst", r"V=v([\d.]+)"),
    ("lab/plane/go.mod", r"helm\.sh/helm/v\d v([\d.]+)"),
    # tools/management-cluster and DevStack.
    ("magnum_capi_helm/versions.yaml", r'helm: "([\d.]+)"'),
)


def _text(file: str) -> str:
    return (archives.CHECKOUT / file).read_text()


def _magnums() -> Iterator[tuple[str, str]]:
    """Yield files, and what they must have of each Magnum and Python."""
    [(listed, pythons)] = _ENVIRONMENTS.findall(_text("tox.ini"))
    for each in re.findall(r"-py3(\d+)", pythons):
        yield "setup.cfg", f"Python :: 3.{each}\n"
    for each in re.findall(r"Python :: 3\.(\d+)", _text("setup.cfg")):
        yield "tox.ini", f"-py3{each}"
    found = listed.split(",")
    for each in found:
        yield "zuul.d/jobs.yaml", f"magnum-capi-helm-compat-magnum{each}\n"
        yield "zuul.d/project.yaml", f"magnum-capi-helm-compat-magnum{each}\n"
        yield "doc/source/install/packages.rst", f" {each}"
        yield _RECORD, f'"compat-magnum{each}-'
        if each != magnums.OWN:
            yield "tox.ini", f"magnum{each}: PACKAGE_MAGNUM = "
            yield "zuul.d/jobs.yaml", f",installed-magnum{each}"
            yield "doc/source/contributor/releasing.rst", f"-magnum{each}``"
            yield "lab/magnums.py", f'("{each}", "{each}.'
    last = max(found, key=int)
    yield _README, f" {last}; most tests run with "
    yield "doc/source/install/index.rst", f"(2025.1) to {last}, helm"
    yield "doc/source/reference/versioning.rst", f"(2025.1) to {last}, with"
    yield "doc/source/reference/compatibility.rst", f"compat-magnum{last}``"


def _modules() -> Iterator[tuple[str, str]]:
    """Yield the same for Cluster API and CAPO."""
    for file in (_PLANE / "go.mod", *sorted(_PLANE.glob("*.*/go.mod"))):
        required = dict(_MODULE.findall(file.read_text()))
        for name in (conditions.CORE, conditions.CAPO):
            if name not in required:
                continue
            yield _README, required[name]
            yield "tools/conditions.py", f'"{required[name]}"'
            yield _CONDITIONS, f" {required[name]}"
        minor = required[conditions.CORE].rpartition(".")[0]
        yield "lab/cluster_api.py", f'"{minor}"'
        yield _RECORD, f'"cluster_api": "{minor}"'
        yield _VERSIONS, f'    "{minor}": '


def _helms() -> Iterator[tuple[str, str]]:
    """Yield the same for helm."""
    tested = set()
    for line in _text(_RECORD).splitlines():
        run = json.loads(line)
        if run["environment"] == "compat-helm" and not run["failed"]:
            major, minor, *_ = run["helm"].removeprefix("v").split(".")
            tested.add((int(major), int(minor)))
    for major, minor in tested:
        if (major, minor) >= check_host.OLDEST_HELM[:2]:
            yield _README, f" {major}.{minor}"
    major, minor = max(tested)
    yield "magnum_capi_helm/helm/complaints.py", f" to {major}.{minor}, and"


def _oldest_helm() -> Iterator[tuple[str, str]]:
    """Yield the same for the helm that ``check`` asks for."""
    oldest = ".".join(map(str, check_host.OLDEST_HELM[:2]))
    for file in (
        _README,
        "bindep.txt",
        "doc/source/install/index.rst",
        "doc/source/reference/versioning.rst",
        "magnum_capi_helm/cli/check_host.py",
        "magnum_capi_helm/helm/command.py",
    ):
        yield file, f"{oldest} or later"
    yield "devstack/lib/capi-helm.sh", f" {oldest}.0 "
    yield "devstack/README.rst", f"helm older than {oldest}."


def _samples() -> Iterator[tuple[str, str]]:
    """Yield the same for the chart and the driver of deployment tools."""
    chart = conf.CONF.capi_helm.default_helm_chart_version
    [tested] = (e for e in versions.tested_releases() if chart in e.charts)
    ansible = "samples/openstack-ansible"
    for name, version in (
        ("k8s_all.yml", f"clusterctl_version: {tested.cluster_api}\n"),
        ("k8s_all.yml", f"cluster_api_version: {tested.cluster_api}\n"),
        ("k8s_all.yml", f"infrastructure_version: {tested.provider}\n"),
        ("magnum_all.yml", f"helm_charts_version: {chart}\n"),
        ("magnum_all.yml", f"addon_provider_version: {tested.addons}\n"),
    ):
        yield f"{ansible}/{name}", version
    [driver] = re.findall(r"^version = (.*)$", _text("setup.cfg"), re.M)
    # A shell would take ">=" for a redirection.
    for file in (
        f"{ansible}/user_variables_magnum.yml",
        "samples/openstack-helm/Dockerfile",
        "samples/kolla/template-overrides.j2",
    ):
        yield file, f"magnum-capi-helm=={driver}"


class SupportedVersionsTest(base.BaseTestCase):
    def test_each_list_has_each_version(self) -> None:
        faults = {
            f"{file}: {text.strip()} is missing"
            for rows in (
                *(_magnums(), _modules(), _helms(), _oldest_helm()),
                _samples(),
            )
            for file, text in rows
            if text not in _text(file)
        }
        self.assertEqual(set(), faults)

    def test_each_helm_that_is_installed_is_new_enough(self) -> None:
        old = []
        for file, pattern in _INSTALLED_HELMS:
            newest = re.findall(pattern, _text(file))[-1]
            number = versions.number(newest)
            if number is None or number < check_host.OLDEST_HELM:
                old.append(f"{file}: helm {newest}")
        self.assertEqual([], old)
