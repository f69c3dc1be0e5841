# SPDX-License-Identifier: Apache-2.0

"""The OpenStack services as processes."""

import dataclasses
import os
import pathlib

from lab import environment
from lab import layout
from lab import postgres
from lab import predecessor
from lab import service
from lab import virtualenv
from lab.cloud import config
from lab.nodes import mode

MAGNUM_PORT = 9511
_OCTAVIA_PORT = 9876
_HERE = pathlib.Path(__file__).resolve().parent
# Name: WSGI module, port, path of the first version.
_APIS = {
    "keystone": ("keystone.wsgi.api", 5000, "/v3"),
    "glance": ("glance.wsgi.api", 9292, ""),
    "placement": ("placement.wsgi.api", 8778, ""),
    "cinder": ("cinder.wsgi.api", 8776, "/v3"),
    "nova": ("nova", 8774, "/v2.1"),
    "neutron": ("neutron.wsgi.api", 9696, ""),
    "barbican": ("barbican", 9311, ""),
}
# These do more than answer.
_SCRIPTS = {
    "barbican": "barbican_api.py",
    "cinder": "cinder_all.py",
    "neutron": "neutron_all.py",
    "nova": "nova_all.py",
}
_MAGNUM = "magnum_all.py"
# The driver is read from the checkout: a change of it needs a restart.
_DRIVER = layout.CHECKOUT / "magnum_capi_helm"
_NODES = layout.SOURCE / "nodes"
#: These leave to machines and their network what they play otherwise.
_WITH_NODES = ("nova", "neutron", "octavia")


def catalogue() -> dict[str, tuple[str, str]]:
    """Service name -> type and URL, of all but Keystone itself."""
    found = {
        name: (config.TYPES[name], f"http://127.0.0.1:{port}{path}")
        for name, (_, port, path) in _APIS.items()
        if name in config.TYPES
    }
    found["magnum"] = (
        config.TYPES["magnum"],
        f"http://127.0.0.1:{MAGNUM_PORT}/v1",
    )
    found["octavia"] = (
        config.TYPES["octavia"],
        f"http://127.0.0.1:{_OCTAVIA_PORT}",
    )
    return found


def services() -> list[service.Service]:
    """All of them, in the order of starting."""
    return [*map(_api, _APIS), _octavia(), magnum()]


def with_predecessor(ours: service.Service) -> service.Service:
    """A process of Magnum's, on the same options, with 1.4.0 as its driver."""
    return dataclasses.replace(
        ours,
        argv=(*ours.argv, "--config-file", str(config.of_predecessor())),
        env={**ours.env, "PYTHONPATH": str(predecessor.FOLDER)},
        inputs=lambda: [
            *ours.inputs(),
            config.of_predecessor(),
            *predecessor.files(),
        ],
    )


def with_checkout(
    ours: service.Service, folder: pathlib.Path
) -> service.Service:
    """Return a process of Magnum's that runs the driver of a checkout."""
    return dataclasses.replace(
        ours, env={**ours.env, "PYTHONPATH": str(folder)}
    )


def with_helm(ours: service.Service, folder: pathlib.Path) -> service.Service:
    """A process of Magnum's that finds the helm of a folder first."""
    known = environment.inside(**ours.env)["PATH"]
    path = os.pathsep.join([str(folder), known])
    return dataclasses.replace(ours, env={**ours.env, "PATH": path})


def _python(script: str) -> tuple[str, ...]:
    # -P: the script's own folder must not hide packages of that name.
    return (
        str(layout.PYTHON),
        "-P",
        "-W",
        "ignore",
        str(_HERE / script),
    )


def _environment(name: str) -> dict[str, str]:
    """Where the WSGI modules look for their configuration."""
    env = {f"OS_{name.upper()}_CONFIG_DIR": str(config.home(name))}
    if name in ("glance", "neutron"):
        env[f"OS_{name.upper()}_CONFIG_FILES"] = config.path(name).name
    if name == "barbican":
        env["HOME"] = env["OS_BARBICAN_CONFIG_DIR"]
    return env


def _api(name: str) -> service.Service:
    module, port, path = _APIS[name]
    script = _SCRIPTS.get(name, "serve.py")
    # Cinder alone reads its configuration from its command line.
    options: dict[str, tuple[str, ...]] = {
        "cinder": ("--config-file", str(config.path(name))),
        "neutron": (postgres.url(name), *config.HOSTS),
        "nova": config.HOSTS,
    }
    return service.Service(
        name,
        (
            *_python(script),
            module,
            str(port),
            *options.get(name, ()),
        ),
        layer=6,
        ports=(port,),
        probe=service.answers(f"http://127.0.0.1:{port}{path}"),
        env={**_environment(name), **_of_nodes(name)},
        inputs=lambda: [
            config.path(name),
            virtualenv.PACKAGES,
            _HERE / script,
            *(_NODES.glob("*.py") if _of_nodes(name) else ()),
        ],
        grace=5.0,
    )


def _of_nodes(name: str) -> dict[str, str]:
    """Return the variables of a service for machines that run."""
    if not mode.chosen() or name not in _WITH_NODES:
        return {}
    return {
        "PYTHONPATH": str(layout.CHECKOUT),
        "LAB_NODES_PREFIX": mode.PREFIX,
        "LAB_NODES_MACHINES": str(mode.MACHINES),
        "LAB_NODES_IMAGES": str(mode.IMAGES),
    }


def _octavia() -> service.Service:
    return service.Service(
        "octavia",
        (
            *_python("octavia_all.py"),
            str(_OCTAVIA_PORT),
            postgres.url("octavia"),
            "--config-file",
            str(config.path("octavia")),
        ),
        layer=6,
        env=_of_nodes("octavia"),
        ports=(_OCTAVIA_PORT,),
        probe=service.answers(f"http://127.0.0.1:{_OCTAVIA_PORT}/"),
        inputs=lambda: [
            config.path("octavia"),
            virtualenv.PACKAGES,
            _HERE / "octavia_all.py",
        ],
        grace=5.0,
    )


def magnum() -> service.Service:
    """Magnum's API, conductor and periodic tasks in one process."""
    return service.Service(
        "magnum",
        (
            *_python(_MAGNUM),
            str(MAGNUM_PORT),
            "--config-file",
            str(config.path("magnum")),
            "--config-dir",
            str(config.overrides()),
        ),
        layer=7,
        ports=(MAGNUM_PORT,),
        probe=service.answers(f"http://127.0.0.1:{MAGNUM_PORT}/"),
        inputs=_magnum_inputs,
        grace=5.0,
    )


def _magnum_inputs() -> list[pathlib.Path]:
    return [config.path("magnum"), _HERE / _MAGNUM, *of_magnum()]


def of_magnum() -> list[pathlib.Path]:
    """Return the files that all processes of Magnum have in common."""
    return [
        *config.overrides().glob("*.conf"),
        virtualenv.PACKAGES,
        virtualenv.DRIVER,
        *_DRIVER.rglob("*.py"),
    ]
