# SPDX-License-Identifier: Apache-2.0

"""``python -m lab.terraform.build``: what of the programs is not there.

They are built from pinned Go modules, each with a go.mod of its own. OpenTofu
is built only where there is neither Terraform nor OpenTofu on the ``PATH``.
"""

import dataclasses
import pathlib
import shutil
import sys

from lab import environment
from lab import errors
from lab import golang
from lab import layout
from lab import tools

FOLDER = layout.STATE / "terraform"
_MODULES = pathlib.Path(__file__).parent
_LOG = layout.log("terraform")
#: Who runs configurations, the first that is there.
RUNNERS = ("terraform", "tofu")


@dataclasses.dataclass(frozen=True)
class Program:
    """What to build, in which module."""

    name: str
    package: str
    module: pathlib.Path

    @property
    def path(self) -> pathlib.Path:
        """Where it is once it is built."""
        return FOLDER / self.name


_PROVIDER = "terraform-provider-openstack"
PROVIDER = Program(
    _PROVIDER, f"github.com/{_PROVIDER}/{_PROVIDER}", _MODULES / "provider"
)
TOFU = Program(
    "tofu", "github.com/opentofu/opentofu/cmd/tofu", _MODULES / "tofu"
)


def wanted(path: str | None) -> list[Program]:
    """What has to be there.

    :param path: the user's ``PATH``
    """
    runs = any(shutil.which(name, path=path) for name in RUNNERS)
    return [PROVIDER] if runs else [PROVIDER, TOFU]


def missing(path: str | None) -> list[Program]:
    """What has to be built: it is not there, or of other versions."""
    return [each for each in wanted(path) if not _fresh(each)]


def _fresh(program: Program) -> bool:
    """Whether it was built from the go.sum of now."""
    built = program.path.with_suffix(".sum")
    return (
        program.path.exists()
        and built.exists()
        and built.read_bytes() == (program.module / "go.sum").read_bytes()
    )


def build(program: Program) -> None:
    """Build one.

    :raises errors.LabError: Go or the network is missing
    """
    go = golang.ensure()
    FOLDER.mkdir(parents=True, exist_ok=True)
    tools.run(
        [
            *(go, "build", "-trimpath", "-ldflags", "-s -w"),
            *("-o", program.path, program.package),
        ],
        log=_LOG,
        env=golang.environ(),
        cwd=program.module,
    )
    shutil.copy(program.module / "go.sum", program.path.with_suffix(".sum"))


def main() -> int:
    """0: all of them are there."""
    try:
        for each in missing(environment.outside().get("PATH")):
            print(f"building {each.name}", flush=True)
            build(each)
    except errors.LabError as error:
        print(errors.render("build", error), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
