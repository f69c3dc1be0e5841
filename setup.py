import os
import shutil

import setuptools
from setuptools.command import build_py

_TESTS = "magnum_capi_helm/tests/"


class BuildPy(build_py.build_py):
    """Builds the package without its tests, which run in a checkout."""

    def run(self):
        # A directory build of an earlier release still has them.
        if os.path.abspath(self.build_lib) != os.getcwd():
            stale = os.path.join(self.build_lib, _TESTS)
            shutil.rmtree(stale, ignore_errors=True)
        super().run()

    def find_package_modules(self, package, package_dir):
        return [
            each
            for each in super().find_package_modules(package, package_dir)
            if not each[2].startswith(_TESTS)
        ]

    def find_data_files(self, package, src_dir):
        return [
            each
            for each in super().find_data_files(package, src_dir)
            if not each.startswith(_TESTS)
        ]


class Distribution(setuptools.Distribution):
    """Builds with the command above: pbr replaces ``cmdclass``."""

    def get_command_class(self, command):
        if command == "build_py":
            return BuildPy
        return super().get_command_class(command)


setuptools.setup(
    setup_requires=["pbr>=6.0.0"], pbr=True, distclass=Distribution
)
