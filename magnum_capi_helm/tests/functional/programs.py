# SPDX-License-Identifier: Apache-2.0

"""Programs that the tests run on the lab, and where its files are.

Tests run side by side, and only those in the packages of ``ALONE`` may control
services.
"""

from __future__ import annotations

from collections.abc import Mapping
import contextlib
import os
import pathlib
import subprocess
import sys

import yaml

CHECKOUT = pathlib.Path(__file__).parents[3]
LAB = pathlib.Path(os.environ.get("LAB_DIR") or CHECKOUT / ".lab")
#: Tests in these packages run one after the other, and nothing beside them.
ALONE = (
    f"{__package__}.alone.",
    f"{__package__}.nodes.",
    f"{__package__}.cloud.",
    "lab.chaos.",
    "lab.drills.",
)


class Running:
    """The test that this process runs: it runs one at a time."""

    module = ""


def refuse_in_company(what: str) -> None:
    """Fail when other tests may run beside this one.

    :param what: what would disturb them
    """
    if not Running.module.startswith(ALONE):
        raise AssertionError(
            f"{what} disturbs the tests beside {Running.module}: "
            f"move it into {' or '.join(ALONE)}"
        )


def run(
    *words: str,
    env: Mapping[str, str] | None = None,
    seconds: float = 120,
    given: str = "",
) -> str:
    """Return the output of a program, which must exit with 0.

    :param env: beside, or in the place of, the environment of the tests
    :param given: its input
    """
    done = subprocess.run(
        words,
        cwd=CHECKOUT,
        env={**os.environ, **(env or {})},
        input=given,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    if done.returncode:
        raise AssertionError(f"{words}: {done.stdout}{done.stderr}")
    return done.stdout


def openstack(*words: str) -> str:
    """Return the output of ``openstack``, as the lab's user."""
    clouds = yaml.safe_load((LAB / "clouds.yaml").read_text())
    auth = clouds["clouds"]["demo"]["auth"]
    environment = {
        **{f"OS_{name.upper()}": word for name, word in auth.items()},
        "OS_IDENTITY_API_VERSION": "3",
        # The client looks for whose syntax to print, and tox hides it.
        "SHELL": "/bin/sh",
    }
    program = str(LAB / "venv/bin/openstack")
    return run(program, *words, env=environment, seconds=300)


def kubectl(
    config: pathlib.Path,
    *words: str,
    env: Mapping[str, str] | None = None,
    given: str = "",
) -> str:
    """Return the output of ``kubectl``, with a user's kubeconfig.

    :param env: for the plugin that the kubeconfig names
    """
    program = str(LAB / "bin" / "kubectl")
    return run(program, f"--kubeconfig={config}", *words, env=env, given=given)


def lab(*words: str, seconds: float = 180) -> str:
    """``python3 -m lab``: control a service of the lab."""
    refuse_in_company(f"lab {' '.join(words)}")
    return run(
        sys.executable,
        "-m",
        "lab",
        *words,
        env={"LAB_DIR": str(LAB)},
        seconds=seconds,
    )


def older_driver(commit: str, folder: str) -> pathlib.Path:
    """Write the driver of a commit into a folder, and return it."""
    packed = subprocess.run(
        ["git", "archive", commit, "magnum_capi_helm"],
        cwd=CHECKOUT,
        capture_output=True,
        check=True,
    )
    subprocess.run(
        ["tar", "-x", "-C", folder], input=packed.stdout, check=True
    )
    return pathlib.Path(folder)


def configuration() -> list[pathlib.Path]:
    """The files of the Magnum that runs; what the last one says counts."""
    names = ["magnum.conf"]
    # There as long as its own programs run, in the place of one process.
    if (LAB / "run" / "rabbitmq.pid").exists():
        names.append("ha.conf")
    return [LAB / "cloud" / "magnum" / name for name in names]


def older_magnum() -> str:
    """Which older Magnum runs as its own programs; empty: the lab's own."""
    if len(configuration()) > 1:
        with contextlib.suppress(FileNotFoundError):
            return (LAB / "magnum").read_text().strip()
    return ""


def _python() -> str:
    """Ours, or that of the older Magnum that runs: rows differ."""
    older = LAB / f"magnum-{older_magnum()}" / "bin" / "python"
    return str(older) if older.exists() else sys.executable


def command_line(*words: str) -> list[str]:
    """``magnum-capi-helm`` on the configuration of the lab."""
    files = configuration()
    return [
        _python(),
        "-m",
        "magnum_capi_helm.cli.main",
        *(f"--config-file={path}" for path in files),
        f"--config-dir={files[0].with_name('conf.d')}",
        *words,
    ]


def command_path() -> dict[str, str]:
    """Where it finds helm, and a width that breaks no sentence."""
    path = f"{LAB / 'bin'}:{os.environ['PATH']}"
    return {"PATH": path, "COLUMNS": "1000"}


def completed(
    *words: str,
    env: Mapping[str, str] | None = None,
    seconds: float = 300,
) -> subprocess.CompletedProcess[str]:
    """Run ``magnum-capi-helm``, with any exit code.

    :param env: more variables of its environment
    """
    return subprocess.run(
        command_line(*words),
        cwd=CHECKOUT,
        env={**os.environ, **command_path(), **(env or {})},
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )


def command(*words: str, seconds: float = 120) -> str:
    """Return the output of ``magnum-capi-helm``."""
    return run(*command_line(*words), env=command_path(), seconds=seconds)
