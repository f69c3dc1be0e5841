# SPDX-License-Identifier: Apache-2.0

"""Kolla's image recipe and Kolla-Ansible's configuration of one release.

Both are packages of PyPI, which need neither a container engine nor a cloud to
render their files. Each release gets a virtual environment of its own, which
later runs use again.
"""

from __future__ import annotations

import os
import pathlib
import shutil

import yaml

from tools import archives
from tools import environments

SAMPLES = archives.CHECKOUT / "samples" / "kolla"
_ENVIRONMENTS = pathlib.Path(
    os.environ.get(
        "DEPLOYERS_ENVIRONMENTS", archives.CHECKOUT / ".tox" / "deployers"
    )
)
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


class Kolla:
    """kolla and kolla-ansible, installed unless an earlier run did.

    :param version: of both packages
    """

    def __init__(self, version: str) -> None:
        home = _ENVIRONMENTS / f"kolla-{version}"
        done = home / "venv" / "installed"
        if not done.exists():
            shutil.rmtree(home, ignore_errors=True)
        self._environment = environments.Environment(home)
        #: Runs a program of the environment.
        self.run = self._environment.run
        #: Kolla-Ansible's roles and examples.
        self.share = self._environment.share / "kolla-ansible"
        if not done.exists():
            packages = [
                f"{name}=={version}" for name in ("kolla", "kolla-ansible")
            ]
            # kolla-build imports the last one; there is no engine to talk to.
            self._environment.pip("install", *packages, "docker")
            done.touch()

    def helm(self) -> str:
        """Return the version of helm in the conductor's image."""
        return self.run("python", "-c", _HELM).strip()

    def pip_line(self, folder: pathlib.Path) -> str:
        """Return the command that installs packages into Magnum's images.

        :param folder: an empty one
        """
        override = ("--template-override", SAMPLES / "template-overrides.j2")
        render = ("--template-only", "--work-dir", folder)
        self.run("kolla-build", *override, *render, "magnum", folder=folder)
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
        self.run("kolla-genpwd", "--passwords", passwords, folder=folder)
        (folder / "play.yml").write_text(_PLAYBOOK)
        # A host whose only network is loopback.
        host = {
            "ansible_become": False,
            "ansible_python_interpreter": str(
                self._environment.bin / "python"
            ),
            "config_owner_group": str(os.getgid()),
            "config_owner_user": str(os.getuid()),
            # Nobody listens there.
            "database_port": "1",
            "keystone_internal_url": "http://127.0.0.1:1/v3",
            "kolla_internal_vip_address": "127.0.0.1",
            "kolla_same_external_internal_vip": True,
            "network_interface": "lo",
            "node_config_directory": str(written),
            "node_custom_config": str(config),
            "openstack_service_workers": 2,
        }
        (folder / "host.yml").write_text(yaml.safe_dump(host))
        files = (SAMPLES / "globals.yml", "passwords.yml", "host.yml")
        self.run(
            "ansible-playbook",
            f"--inventory={self.share / 'ansible/inventory/all-in-one'}",
            *(f"--extra-vars=@{each}" for each in files),
            "play.yml",
            folder=folder,
        )
        return written
