# SPDX-License-Identifier: Apache-2.0

"""Writes the configuration of the OpenStack services."""

import pathlib
import shutil

from lab import charts
from lab import layout
from lab import postgres
from lab.nodes import mode

KEYSTONE = "http://127.0.0.1:5000/v3"
PASSWORD = "lab"  # noqa: S105  everything listens on loopback only
REGION = "RegionOne"
# Availability zones of Nova; the first is that of hosts outside aggregates.
ZONES = ("nova", "az1", "az2")
# The compute host of each zone.
HOSTS = ("lab", "lab-az1", "lab-az2")
# Those first whose databases take longest.
NAMES = (
    "nova",
    "keystone",
    "neutron",
    "cinder",
    "glance",
    "placement",
    "barbican",
    "octavia",
    "magnum",
)
#: Type of each service in the catalogue.
TYPES = {
    "glance": "image",
    "placement": "placement",
    "cinder": "block-storage",
    "nova": "compute",
    "neutron": "network",
    "barbican": "key-manager",
    "magnum": "container-infra",
    "octavia": "load-balancer",
}
_TEMPLATES = layout.SOURCE / "cloud" / "etc"
_FILE_NAMES = {"glance": "glance-api.conf"}


def credentials(user: str) -> dict[str, str]:
    """Return the variables of a user in the project of the same name."""
    return {
        "OS_AUTH_URL": KEYSTONE,
        "OS_USERNAME": user,
        "OS_PASSWORD": PASSWORD,
        "OS_PROJECT_NAME": user,
        "OS_USER_DOMAIN_ID": "default",
        "OS_PROJECT_DOMAIN_ID": "default",
        "OS_IDENTITY_API_VERSION": "3",
        "OS_REGION_NAME": REGION,
    }


def home(name: str) -> pathlib.Path:
    """The folder of a service: configuration, keys, images."""
    return layout.CLOUD / name


def path(name: str) -> pathlib.Path:
    """The configuration file of a service."""
    return home(name) / _FILE_NAMES.get(name, f"{name}.conf")


def overrides() -> pathlib.Path:
    """A folder for Magnum's options that somebody wants otherwise."""
    return home("magnum") / "conf.d"


def of_predecessor() -> pathlib.Path:
    """Return the file with other options for the driver's predecessor."""
    return home("magnum") / "predecessor.conf"


def write(name: str) -> None:
    """Write one service's configuration, below its own folder."""
    folder = home(name)
    folder.mkdir(parents=True, exist_ok=True)
    words = {
        "name": name,
        "type": TYPES.get(name, "identity"),
        "home": str(folder),
        "log": str(layout.log(name)),
        "etc": str(layout.VENV / "etc"),  # where wheels put their data
        "database": postgres.url(name),
        "keystone": KEYSTONE,
        "password": PASSWORD,
        "region": REGION,
        "kubeconfig": str(layout.DRIVER_KUBECONFIG),
        "chart_url": charts.URL,
        "chart_name": charts.NAME,
        "chart_version": charts.VERSION,
        "chart_store": str(layout.CHART_STORE),
        "profiles": str(layout.PROFILES),
        "compute_driver": (
            "lab_nodes.Driver"
            if mode.chosen()
            else "fake.PredictableNodeUUIDDriver"
        ),
    }
    words["auth"] = _fill("auth", words)
    parts = ["common", name]
    if name != "keystone":
        parts.insert(1, "authtoken")
    path(name).write_text("\n".join(_fill(part, words) for part in parts))
    _copy_pipelines(name, folder)


def _fill(template: str, words: dict[str, str]) -> str:
    text = (_TEMPLATES / f"{template}.conf").read_text()
    return text.format_map(words)


def _copy_pipelines(name: str, folder: pathlib.Path) -> None:
    """Nova, Glance and Neutron look for paste files beside their own."""
    for paste in (layout.VENV / "etc" / name).glob("*paste.ini"):
        shutil.copy(paste, folder)


def write_all() -> None:
    """Write every configuration, and make the folders that it names."""
    for name in NAMES:
        write(name)
    for folder in (overrides(), layout.PROFILES):
        folder.mkdir(parents=True, exist_ok=True)
    # It asks for kinds and verbs that the driver's user has no need of.
    of_predecessor().write_text(
        f"[capi_helm]\nkubeconfig_file = {layout.KUBECONFIG}\n"
    )
