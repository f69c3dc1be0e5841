# SPDX-License-Identifier: Apache-2.0
"""configure.py FOLDER: configuration of Tempest for the lab.

Tempest gets users that exist already. Those that it makes itself are deleted
after the first test of a class, and the later ones go on with their tokens:
that works only as long as all services have them in one cache.
"""

import configparser
import pathlib
import sys
from typing import Any

import yaml

from lab import layout

_Sections = dict[str, dict[str, str]]


def settings(auth: dict[str, str], folder: pathlib.Path) -> _Sections:
    """What Tempest has to know of the cloud."""
    return {
        "DEFAULT": {"log_file": str(folder / "tempest.log")},
        "auth": {
            "use_dynamic_credentials": "false",
            "test_accounts_file": str(folder / "accounts.yaml"),
            "admin_username": auth["username"],
            "admin_password": auth["password"],
            "admin_project_name": auth["project_name"],
            "admin_domain_name": "Default",
        },
        "identity": {
            "auth_version": "v3",
            "uri_v3": auth["auth_url"],
            "region": "RegionOne",
        },
        "oslo_concurrency": {"lock_path": str(folder / "locks")},
        "magnum": {
            "image_id": "ubuntu-v1.34.2",
            "flavor_id": "m1.worker",
            "master_flavor_id": "m1.control",
            "nic_id": "public",
            "network_driver": "calico",
            # Made, under this name, for each of the users.
            "keypair_name": "tempest",
            # There are no machines to log in to.
            "copy_logs": "false",
            "copy_logs_success": "false",
        },
    }


def accounts(clouds: dict[str, Any]) -> list[dict[str, Any]]:
    """The lab's users; who is an administrator says so."""
    found = []
    for name, cloud in clouds.items():
        auth = cloud["auth"]
        account: dict[str, Any] = {
            "username": auth["username"],
            "password": auth["password"],
            "project_name": auth["project_name"],
            "domain_name": "Default",
            "roles": ["member", "reader"],
        }
        if name == "admin":
            account.update(roles=["admin"], types=["admin"])
        found.append(account)
    return found


def write(folder: pathlib.Path) -> None:
    """Write the files that a run needs."""
    folder.mkdir(parents=True, exist_ok=True)
    clouds = yaml.safe_load(layout.CLOUDS_YAML.read_text())["clouds"]
    users = yaml.safe_dump(accounts(clouds))
    (folder / "accounts.yaml").write_text(users)
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_dict(settings(clouds["admin"]["auth"], folder))
    with (folder / "tempest.conf").open("w") as stream:
        parser.write(stream)


if __name__ == "__main__":
    write(pathlib.Path(sys.argv[1]).resolve())
