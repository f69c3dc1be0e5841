# SPDX-License-Identifier: Apache-2.0

"""The program that helm runs to convert and patch what a chart renders.

``python -m magnum_capi_helm.helm.post_renderer [PATCH...] [GROUP...]``:
objects of these API groups come out in v1beta2. A patch is a JSON list of
kind, field and value. Manifests have secrets, so they pass through standard
input and output alone.

helm 3 runs any program. helm 4 runs plugins: the package has one in
``plugins``, which starts this module.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
import json
import pathlib
import sys

from magnum_capi_helm.chart import patches
from magnum_capi_helm.helm import manifests
from magnum_capi_helm.model import errors

_PLUGINS = pathlib.Path(__file__).with_name("plugins")
#: Folder below it, and the name that its plugin.yaml says.
_PLUGIN = "magnum-capi-helm"
#: The plugin starts this program.
_PYTHON = "MAGNUM_CAPI_HELM_PYTHON"


def options(
    helm: int, groups: Collection[str], patch: Iterable[patches.Patch]
) -> tuple[list[str], Mapping[str, str]]:
    """Return options and environment variables that make helm convert.

    :param helm: its major version
    """
    words = [*map(json.dumps, patch), *sorted(groups)]
    variables = {}
    if helm < 4:
        program = sys.executable
        words = ["-m", "magnum_capi_helm.helm.post_renderer", *words]
    else:
        program = _PLUGIN
        variables = {"HELM_PLUGINS": str(_PLUGINS), _PYTHON: sys.executable}
    arguments = [f"--post-renderer-args={each}" for each in words]
    return ["--post-renderer", program, *arguments], variables


def main() -> int:
    """Convert standard input; return the exit code."""
    text = sys.stdin.buffer.read().decode()
    words = sys.argv[1:]
    lists = [word for word in words if word.startswith("[")]
    groups = [word for word in words if word not in lists]
    patch = [patches.Patch(*json.loads(each)) for each in lists]
    try:
        result = manifests.converted(text, groups, patch=patch)
    except errors.CapiHelmError as error:
        print(error, file=sys.stderr)
        return 1
    sys.stdout.buffer.write(result.encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
