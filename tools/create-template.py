#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Make a cluster template of Magnum from a file.

The file is one that ``magnum-capi-helm values --template FILE`` reads: the
fields of a template as Magnum's API names them. What is below ``cluster`` and
``nodegroups`` there is no part of a template. Needs PyYAML and, unless with
``--dry-run``, the ``openstack`` command with python-magnumclient.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
import pathlib
import re
import shlex
import subprocess
import sys
from typing import Any

import yaml

#: Field -> option of the openstack command.
OPTIONS = {
    "image_id": "--image",
    "external_network_id": "--external-network",
    "fixed_network": "--fixed-network",
    "fixed_subnet": "--fixed-subnet",
    "flavor_id": "--flavor",
    "master_flavor_id": "--master-flavor",
    "keypair_id": "--keypair",
    "network_driver": "--network-driver",
    "volume_driver": "--volume-driver",
    "dns_nameserver": "--dns-nameserver",
    "docker_volume_size": "--docker-volume-size",
    "http_proxy": "--http-proxy",
    "https_proxy": "--https-proxy",
    "no_proxy": "--no-proxy",
    "insecure_registry": "--insecure-registry",
}
#: Field -> option when it is true, option when it is false.
SWITCHES = {
    "master_lb_enabled": ("--master-lb-enabled", ""),
    "floating_ip_enabled": (
        "--floating-ip-enabled",
        "--floating-ip-disabled",
    ),
}
#: In the file for other readers.
_NO_TEMPLATE = {"cluster", "nodegroups"}
_KNOWN = {"name", "labels", *OPTIONS, *SWITCHES}
_LABEL = re.compile(r"[^=\s,;]+")


class WrongInput(Exception):
    """A file or an argument is wrong; the text says what is allowed."""


def command(fields: Mapping[str, Any], *, public: bool) -> list[str]:
    """Return the command that makes the template.

    :param fields: of a file
    :raises WrongInput: a field is unknown, or has no such value
    """
    given = {k: v for k, v in fields.items() if k not in _NO_TEMPLATE}
    unknown = sorted(set(given) - _KNOWN)
    if unknown:
        raise WrongInput(
            f"there is no field {unknown[0]}: give {', '.join(sorted(_KNOWN))}"
        )
    for name in ("name", "image_id"):
        if not given.get(name):
            raise WrongInput(f"{name} is missing: a template needs one")
    found = ["openstack", "coe", "cluster", "template", "create"]
    found += [str(given["name"]), "--coe", "kubernetes"]
    for name, option in OPTIONS.items():
        if given.get(name) is not None:
            found += [option, _text(name, given[name])]
    for name, options in SWITCHES.items():
        if given.get(name) is not None:
            found += filter(None, [options[not _truth(name, given[name])]])
    found += _labels(given.get("labels") or {})
    return [*found, "--public"] if public else found


def _text(name: str, value: Any) -> str:
    """Return a value that can't be mistaken for an option."""
    text = str(value)
    if not isinstance(value, str | int) or text.startswith("-"):
        raise WrongInput(f"{name} is {value!r}: give a name, ID or number")
    return text


def _truth(name: str, value: Any) -> bool:
    known = {"true": True, "false": False}
    text = str(value).lower()
    if text not in known:
        raise WrongInput(f"{name} is {value!r}: give true or false")
    return known[text]


def _labels(labels: Any) -> list[str]:
    """Return one option for each label: the client splits one at commas."""
    if not isinstance(labels, dict):
        raise WrongInput(f"labels is {labels!r}: give names and values")
    found = []
    for name, value in labels.items():
        if not _LABEL.fullmatch(str(name)):
            raise WrongInput(
                f"label {name!r} is no name: give one without spaces, commas "
                "and ="
            )
        if len(labels) == 1 and "=" in str(value) and "," in str(value):
            raise WrongInput(
                f"label {name} is the only one, and the client would split "
                "its value at the commas: give a second label"
            )
        found += ["--labels", f"{name}={value}"]
    return found


def read(path: str, changes: Sequence[str]) -> dict[str, Any]:
    """Return the fields of a file, some of them changed.

    :param changes: ``FIELD=VALUE``, or ``labels.NAME=VALUE``
    :raises WrongInput: it can't be read, or a label has no value
    """
    try:
        fields = yaml.safe_load(pathlib.Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise WrongInput(f"{path} can't be read: {error}") from error
    if not isinstance(fields, dict):
        raise WrongInput(f"{path}: give the fields of a cluster template")
    for each in changes:
        name, equals, value = each.partition("=")
        if not equals:
            raise WrongInput(f"--set {each}: give FIELD=VALUE")
        label = name.removeprefix("labels.")
        if label != name:
            fields["labels"] = {**(fields.get("labels") or {}), label: value}
        else:
            fields[name] = value
    labels = fields.get("labels")
    for label, value in labels.items() if isinstance(labels, dict) else ():
        # An empty text switches a default off; nothing at all is forgotten.
        if value is None:
            raise WrongInput(
                f"{path}: label {label} has no value: give one, or '' to "
                "switch off a default"
            )
    return fields


def main(argv: Sequence[str] | None = None) -> int:
    """Make the template, or print the command; return its exit code."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n")[0])
    parser.add_argument("file", metavar="FILE")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="FIELD=VALUE",
        help="another value than the file's, such as image_id=my-image or "
        "labels.boot_volume_size=40; may be given more than once",
    )
    parser.add_argument(
        "--public", action="store_true", help="for all projects"
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="print the command alone"
    )
    arguments = parser.parse_args(argv)
    try:
        fields = read(arguments.file, arguments.set)
        wanted = command(fields, public=arguments.public)
    except WrongInput as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    if arguments.dry_run:
        print(shlex.join(wanted))
        return 0
    return subprocess.run(wanted, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
