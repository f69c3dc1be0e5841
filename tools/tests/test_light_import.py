# SPDX-License-Identifier: Apache-2.0
"""Loading the driver is light, and so are the program's help and errors.

Magnum's API loads every installed driver. An operator waits for the help of a
command, for what completes its words and for what is wrong with them.
"""

from __future__ import annotations

import functools
import json
import subprocess
import sys

from oslotest import base

_BASE = "from magnum.drivers.common import driver"
_DRIVER = "from magnum_capi_helm import driver; driver.Driver()"
_REPORT = "import json, sys; print(json.dumps(sorted(sys.modules)))"
_PROGRAM = """\
import sys
from magnum_capi_helm.cli import main
try:
    code = main.main({words!r})
except SystemExit as ended:
    code = ended.code or 0
assert code == {code}, code
"""
#: No help needs these: magnum alone takes more than a second.
_HEAVY = frozenset(
    {
        *("cmd2", "cryptography", "eventlet", "keystoneauth1", "magnum"),
        *("msgspec", "openstack", "oslo_db", "oslo_log", "pydantic"),
        *("pydantic_core", "pyhelm3", "pykube", "requests", "rich"),
        "sqlalchemy",
    }
)
#: A file of the package is printed.
_HEAVY_FOR_PERMISSIONS = frozenset(
    {"openstack", "pydantic", "pyhelm3", "sqlalchemy"}
)


@functools.cache
def _loaded_by(code: str) -> frozenset[str]:
    """Modules that a fresh Python has loaded after ``code``."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", f"{code}\n{_REPORT}"],
        check=True,
        capture_output=True,
        timeout=50,
    )
    return frozenset(json.loads(done.stdout.splitlines()[-1]))


class LightImportTest(base.BaseTestCase):
    def test_driver_is_these_modules_and_no_other(self) -> None:
        """Options, labels and the rules of status come with the first call.

        0.015 seconds of CPU were measured with these modules, and 0.154 with
        the options and what writes rows, with Python 3.11.
        """
        added = _loaded_by(_DRIVER) - _loaded_by(_BASE)
        self.assertEqual(
            [
                "magnum_capi_helm",
                "magnum_capi_helm.driver",
                "magnum_capi_helm.model",
                "magnum_capi_helm.model.call",
                "magnum_capi_helm.model.errors",
                "magnum_capi_helm.model.names",
                "magnum_capi_helm.operations",
                "magnum_capi_helm.operations.magnum_errors",
            ],
            sorted(
                each
                for each in added
                if each.partition(".")[0] not in sys.stdlib_module_names
            ),
        )

    def test_help_completion_and_usage_errors_load_nothing_heavy(
        self,
    ) -> None:
        for words, code, unwanted in (
            ("--help", 0, _HEAVY),
            ("list --help", 0, _HEAVY),
            ("help cluster apply", 0, _HEAVY),
            # It makes the parser of every command.
            ("complete", 0, _HEAVY),
            ("no-such", 2, _HEAVY),
            ("list --no-such", 2, _HEAVY),
            ("describe", 2, _HEAVY),
            ("management-cluster permissions", 0, _HEAVY_FOR_PERMISSIONS),
            ("chart list", 0, frozenset[str]()),
        ):
            program = _PROGRAM.format(words=words.split(), code=code)
            loaded = {e.partition(".")[0] for e in _loaded_by(program)}
            self.assertEqual(set(), loaded & unwanted, words)
        # The packages are the ones that would be seen.
        self.assertIn("magnum", loaded)
