import setuptools
from setuptools.command import build_py

# These tests need the lab of a checkout, so a wheel does not have them.
_NEED_A_CHECKOUT = (
    "magnum_capi_helm/tests/contract/",
    "magnum_capi_helm/tests/functional/",
)


class BuildPy(build_py.build_py):
    """Builds the package without the tests that need a checkout."""

    def find_package_modules(self, package, package_dir):
        return [
            each
            for each in super().find_package_modules(package, package_dir)
            if not each[2].startswith(_NEED_A_CHECKOUT)
        ]

    def find_data_files(self, package, src_dir):
        return [
            each
            for each in super().find_data_files(package, src_dir)
            if not each.startswith(_NEED_A_CHECKOUT)
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
