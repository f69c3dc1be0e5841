# SPDX-License-Identifier: Apache-2.0

"""Kolla's image recipe and Kolla-Ansible's configuration of one release.

Both are packages of PyPI, which need neither a container engine nor a cloud to
render their files. Each release gets a virtual environment of its own, which
later runs use again.
"""

from __future__ import annotations

import dataclasses
import os
import pathlib
import shutil
import subprocess
import sys
from typing import Any

import yaml

from tools import archives

SAMPLES = archives.CHECKOUT / "samples" / "kolla"
_ENVIRONMENTS = pathlib.Path(
    os.environ.get(
        "DEPLOYERS_ENVIRONMENTS", archives.CHECKOUT / ".tox" / "deployers"
    )
)
#: Of one program: pip may wait for the index.
_SECONDS = 900
#: Magnum's conductor, on this host alone; site.yml has all services.
_PLAYBOOK = """
- hosts: magnum-conductor
  gather_subset: [min, network]
  tasks:
    - ansible.builtin.import_role: {name: magnum, tasks_from: config.yml}
    - ansible.builtin.copy:
        content: "{{ magnum_services['magnum-conductor'] | to_json }}"
        dest: "{{ node_config_directory }}/service.json"
        mode: "0600"
"""
#: Prints the version of helm in the conductor's image.
_HELM = """
from kolla.common import sources
name = "magnum-conductor-plugin-helm"
tables = [each for each in vars(sources).values() if isinstance(each, dict)]
print(next(each[name]["version"] for each in tables if name in each))
"""


@dataclasses.dataclass(frozen=True)
class Kolla:
    """kolla and kolla-ansible, installed.

    :param version: of both packages
    """

    version: str

    @property
    def _home(self) -> pathlib.Path:
        return _ENVIRONMENTS / f"kolla-{self.version}"

    @property
    def share(self) -> pathlib.Path:
        """Return the folder with Kolla-Ansible's roles and examples."""
        return self._home / "share" / "kolla-ansible"

    def install(self) -> None:
        """Install both packages, unless an earlier run did."""
        done = self._home / "installed"
        if done.exists():
            return
        shutil.rmtree(self._home, ignore_errors=True)
        self._home.mkdir(parents=True)
        _run(self._home, sys.executable, "-m", "venv", self._home)
        self.run(
            self._home,
            "pip",
            "install",
            "--quiet",
            "--no-compile",
            f"kolla=={self.version}",
            f"kolla-ansible=={self.version}",
            # kolla-build imports it; there is no engine to talk to.
            "docker",
        )
        done.touch()

    def run(self, folder: pathlib.Path, name: str, *words: object) -> str:
        """Run a program of the environment; return what it printed."""
        return _run(folder, self._home / "bin" / name, *words)

    def helm(self) -> str:
        """Return the version of helm in the conductor's image."""
        return self.run(self._home, "python", "-c", _HELM).strip()

    def pip_line(self, folder: pathlib.Path) -> str:
        """Return the command that installs packages into Magnum's images.

        :param folder: an empty one
        """
        self.run(
            folder,
            "kolla-build",
            "--template-override",
            SAMPLES / "template-overrides.j2",
            "--template-only",
            "--work-dir",
            folder,
            "magnum",
        )
        (dockerfile,) = folder.rglob("magnum-base/Dockerfile")
        (line,) = (
            each for each in dockerfile.open() if "magnum-capi-helm" in each
        )
        return line.strip(" &\\\n")

    def configure(self, folder: pathlib.Path) -> pathlib.Path:
        """Write the files of Magnum's containers, as the samples want them.

        :param folder: an empty one
        :returns: the folder with one folder for each container
        """
        for each in (self.share / "ansible").iterdir():
            if each.is_dir():
                (folder / each.name).symlink_to(each)
        config, written = folder / "config", folder / "written"
        (config / "magnum").mkdir(parents=True)
        written.mkdir()
        shutil.copy(SAMPLES / "magnum.conf", config)
        (config / "magnum" / "kubeconfig").write_text("kind: Config\n")
        passwords = folder / "passwords.yml"
        shutil.copy(self.share / "etc_examples/kolla/passwords.yml", passwords)
        self.run(folder, "kolla-genpwd", "--passwords", passwords)
        (folder / "play.yml").write_text(_PLAYBOOK)
        (folder / "host.yml").write_text(yaml.safe_dump(self._host(folder)))
        self.run(
            folder,
            "ansible-playbook",
            "--inventory=" + str(self.share / "ansible/inventory/all-in-one"),
            f"--extra-vars=@{SAMPLES / 'globals.yml'}",
            "--extra-vars=@passwords.yml",
            "--extra-vars=@host.yml",
            "play.yml",
        )
        return written

    def _host(self, folder: pathlib.Path) -> dict[str, Any]:
        """Return variables of a host whose only network is loopback."""
        user, group = os.getuid(), os.getgid()
        return {
            "ansible_become": False,
            "ansible_python_interpreter": str(self._home / "bin" / "python"),
            "config_owner_group": str(group),
            "config_owner_user": str(user),
            # Nobody listens there.
            "database_port": "1",
            "keystone_internal_url": "http://127.0.0.1:1/v3",
            "kolla_internal_vip_address": "127.0.0.1",
            "kolla_same_external_internal_vip": True,
            "network_interface": "lo",
            "node_config_directory": str(folder / "written"),
            "node_custom_config": str(folder / "config"),
            "openstack_service_workers": 2,
        }


def _run(folder: pathlib.Path, *command: object) -> str:
    """Run a program that sees nothing of this environment.

    :raises AssertionError: it failed; what it said is in the message
    """
    known = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("ANSIBLE_", "PYTHON", "VIRTUAL_ENV"))
    }
    # Ansible's files of a user stay out.
    own = {
        "ANSIBLE_HOME": str(folder / "ansible"),
        "ANSIBLE_REMOTE_TMP": str(folder / "ansible"),
        "LC_ALL": "C.UTF-8",
    }
    done = subprocess.run(
        [*map(str, command)],
        cwd=folder,
        env={**known, **own},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_SECONDS,
    )
    if done.returncode:
        raise AssertionError(
            f"{command} ended with {done.returncode}:\n"
            f"{done.stdout}\n{done.stderr}"
        )
    return done.stdout
