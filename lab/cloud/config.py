"""Writes the configuration of the OpenStack services."""

import pathlib
import shutil

from lab import charts, layout, postgres

KEYSTONE = "http://127.0.0.1:5000/v3"
PASSWORD = "lab"  # noqa: S105  everything listens on loopback only
REGION = "RegionOne"
NAMES = (
    "keystone",
    "glance",
    "placement",
    "cinder",
    "nova",
    "neutron",
    "magnum",
)
_TEMPLATES = layout.SOURCE / "cloud" / "etc"
_FILE_NAMES = {"glance": "glance-api.conf"}


def home(name: str) -> pathlib.Path:
    """The folder of a service: configuration, keys, images."""
    return layout.CLOUD / name


def path(name: str) -> pathlib.Path:
    """The configuration file of a service."""
    return home(name) / _FILE_NAMES.get(name, f"{name}.conf")


def overrides() -> pathlib.Path:
    """A folder for Magnum's options that somebody wants otherwise."""
    return home("magnum") / "conf.d"


def write(name: str) -> None:
    """Write one service's configuration, below its own folder."""
    folder = home(name)
    folder.mkdir(parents=True, exist_ok=True)
    words = {
        "name": name,
        "home": str(folder),
        "log": str(layout.log(name)),
        "etc": str(layout.VENV / "etc"),  # where wheels put their data
        "database": postgres.url(name),
        "keystone": KEYSTONE,
        "password": PASSWORD,
        "kubeconfig": str(layout.KUBECONFIG),
        "chart_url": charts.URL,
        "chart_name": charts.NAME,
        "chart_version": charts.VERSION,
        "chart_store": str(layout.CHART_STORE),
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
    """Write every configuration, and the folder for overrides."""
    for name in NAMES:
        write(name)
    overrides().mkdir(parents=True, exist_ok=True)
