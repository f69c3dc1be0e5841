# SPDX-License-Identifier: Apache-2.0

"""A folder with a configuration, and Terraform or OpenTofu in it.

No registry is asked: the provider is the program that the lab has built.
"""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
import json
import os
import pathlib
import shutil
import subprocess
from typing import Any

from magnum_capi_helm.tests.functional import base
from magnum_capi_helm.tests.functional import programs

SAMPLE = programs.CHECKOUT / "samples" / "terraform"
PROGRAMS = programs.LAB / "terraform"
_PROVIDER = "terraform-provider-openstack"
#: Of a plan: nothing is to do, an error, something is to do.
_NOTHING, _SOMETHING = 0, 2
#: Seconds: the provider waits a minute before it looks first.
_LONGEST = 1500


@dataclasses.dataclass(frozen=True)
class Plan:
    """What Terraform would do: addresses of resources, and how.

    :param actions: address -> ``create``, ``update``, ``delete``; the first
        and the last together are a replacement
    :param changed: address -> arguments that are changed in place
    """

    actions: dict[str, list[str]]
    changed: dict[str, set[str]]


class Workspace:
    """One configuration with its state.

    :param folder: an empty one; the sample is copied there
    :param variables: for every command
    """

    def __init__(
        self, folder: pathlib.Path, variables: Mapping[str, Any]
    ) -> None:
        self._folder = folder
        self.variables = dict(variables)
        for each in SAMPLE.glob("*.tf"):
            shutil.copy(each, folder)
        provider = PROGRAMS / _PROVIDER
        if not provider.exists():
            raise AssertionError(
                f"no {provider}: `python -m lab.terraform.build` first"
            )
        rc = folder / "cli.tfrc"
        rc.write_text(_CLI.format(folder=PROGRAMS, name=_PROVIDER))
        self._env = {
            **os.environ,
            "OS_CLIENT_CONFIG_FILE": str(programs.LAB / "clouds.yaml"),
            "OS_CLOUD": "demo",
            "CHECKPOINT_DISABLE": "1",
            "TF_CLI_CONFIG_FILE": str(rc),
            "TF_IN_AUTOMATION": "1",
            "TF_INPUT": "0",
        }

    def write(self, name: str, text: str) -> None:
        """Add a file to the configuration."""
        (self._folder / name).write_text(text)

    def remove(self, name: str) -> None:
        """Take a file out of the configuration."""
        (self._folder / name).unlink()

    def apply(self) -> None:
        """Let it be as the configuration says."""
        self._run("apply", "-auto-approve", *self._options())

    def destroy(self) -> None:
        """Let nothing of it be left."""
        self._run("destroy", "-auto-approve", *self._options())

    def refusal(self, *words: str) -> str:
        """What a command says that has to fail."""
        done = self._try(*words, *self._options())
        if not done.returncode:
            raise AssertionError(f"{words}: {done.stdout}")
        return f"{done.stdout}{done.stderr}"

    def plan(self) -> Plan:
        """What an apply would do."""
        done = self._try(
            "plan", "-detailed-exitcode", "-out=plan", *self._options()
        )
        if done.returncode not in (_NOTHING, _SOMETHING):
            raise AssertionError(f"{done.stdout}{done.stderr}")
        shown = json.loads(self._run("show", "-json", "plan"))
        found = {
            each["address"]: each["change"]
            for each in shown.get("resource_changes", [])
            if each["change"]["actions"] not in (["no-op"], ["read"])
        }
        # An output that would change is no change of a resource.
        if bool(found) != (done.returncode == _SOMETHING):
            raise AssertionError(f"{found}: {done.stdout}")
        return Plan(
            {address: each["actions"] for address, each in found.items()},
            {address: _changed(each) for address, each in found.items()},
        )

    def _options(self) -> list[str]:
        return [
            "-no-color",
            *(
                f"-var={name}={json.dumps(value)}"
                if isinstance(value, dict)
                else f"-var={name}={value}"
                for name, value in self.variables.items()
            ),
        ]

    def _run(self, *words: str) -> str:
        done = self._try(*words)
        if done.returncode:
            raise AssertionError(f"{words}: {done.stdout}{done.stderr}")
        return done.stdout

    def _try(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [program(), *words],
            cwd=self._folder,
            env=self._env,
            capture_output=True,
            text=True,
            timeout=_LONGEST * base.SLOWER,
            check=False,
        )


def program() -> str:
    """Terraform, or OpenTofu: what there is."""
    for name in ("terraform", "tofu"):
        path = shutil.which(name) or shutil.which(name, path=str(PROGRAMS))
        if path:
            return path
    raise AssertionError(
        "neither terraform nor tofu: `python -m lab.terraform.build` first"
    )


def _changed(change: dict[str, Any]) -> set[str]:
    """Arguments that are otherwise after an update in place."""
    before, after = change["before"] or {}, change["after"] or {}
    return {name for name in after if before.get(name) != after[name]}


#: Nothing but this provider may be installed, and this one needs not.
_CLI = """
disable_checkpoint = true
provider_installation {{
  dev_overrides {{
    "terraform-provider-openstack/openstack" = "{folder}"
  }}
}}
"""
