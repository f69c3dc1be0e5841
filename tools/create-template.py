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

#: ``image_id`` is the option ``--image``, ``no_proxy`` is ``--no-proxy``.
_FIELDS = (
    *("image_id", "external_network_id", "fixed_network", "fixed_subnet"),
    *("flavor_id", "master_flavor_id", "keypair_id", "network_driver"),
    *("volume_driver", "dns_nameserver", "docker_volume_size", "http_proxy"),
    *("https_proxy", "no_proxy", "insecure_registry"),
)
#: Field -> its options, by its value.
_SWITCHES = {
    "master_lb_enabled": {"true": ["--master-lb-enabled"], "false": []},
    "floating_ip_enabled": {
        "true": ["--floating-ip-enabled"],
        "false": ["--floating-ip-disabled"],
    },
}
#: In the file for other readers.
_NO_TEMPLATE = {"cluster", "nodegroups"}
_KNOWN = {"name", "labels", *_FIELDS, *_SWITCHES}
_LABEL = re.compile(r"[^=\s,;]+")


class WrongInput(Exception):
    """A file or an argument is wrong; the text says what is allowed."""


def command(fields: Mapping[str, Any], *, public: bool) -> list[str]:
    """Return the command that makes the template.

    :param fields: of a file
    :raises WrongInput: a field is unknown, or has no such value
    """
    if unknown := sorted(set(fields) - _NO_TEMPLATE - _KNOWN):
        raise WrongInput(
            f"there is no field {unknown[0]}: give {', '.join(sorted(_KNOWN))}"
        )
    for name in ("name", "image_id"):
        if not fields.get(name):
            raise WrongInput(f"{name} is missing: a template needs one")
    found = ["openstack", "coe", "cluster", "template", "create"]
    found += [str(fields["name"]), "--coe=kubernetes"]
    for name in _FIELDS:
        if fields.get(name) is not None:
            option = name.removesuffix("_id").replace("_", "-")
            found.append(f"--{option}={fields[name]}")
    for name, options in _SWITCHES.items():
        value = str(fields.get(name, "false")).lower()
        if value not in options:
            raise WrongInput(f"{name} is {value!r}: give true or false")
        found += options[value] if name in fields else []
    found += _labels(fields.get("labels") or {})
    return [*found, "--public"] if public else found


def _labels(labels: Any) -> list[str]:
    """Return one option for each label: the client splits one at commas."""
    if not isinstance(labels, dict):
        raise WrongInput(f"labels is {labels!r}: give names and values")
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
    return [f"--labels={name}={value}" for name, value in labels.items()]


def read(path: str, changes: Sequence[str]) -> dict[str, Any]:
    """Return the fields of a file, some of them changed.

    :param changes: ``FIELD=VALUE``, or ``labels.NAME=VALUE``
    :raises WrongInput: it can't be read, or a label has no value
    """
    try:
        fields = yaml.safe_load(pathlib.Path(path).read_bytes())
    except (OSError, yaml.YAMLError) as error:
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
