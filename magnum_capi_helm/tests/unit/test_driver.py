# SPDX-License-Identifier: Apache-2.0

"""The driver as Magnum's handlers see it."""

from __future__ import annotations

from collections.abc import Callable
import inspect
import pathlib
from typing import Any

from magnum.common import exception
from magnum.drivers.common import driver as magnum_driver

from magnum_capi_helm import driver
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import names
from magnum_capi_helm.operations import magnum_errors
from magnum_capi_helm.tests.unit.lifecycle import base


def _refusal(theirs: Callable[..., Any], ours: Callable[..., Any]) -> str:
    """Return why a method of the driver does not accept Magnum's call.

    Parameters of another Magnum may follow, if they have a default.
    """
    given = list(inspect.signature(theirs).parameters)
    accepted = inspect.signature(ours).parameters
    call = f"Magnum gives ({', '.join(given)})"
    if list(accepted)[: len(given)] != given:
        return f"{call}, it accepts ({', '.join(accepted)})"
    needed = [
        each.name
        for each in list(accepted.values())[len(given) :]
        if each.default is each.empty
    ]
    return f"{call}, it needs {', '.join(needed)}" if needed else ""


class DriverTest(base.FlowTestCase):
    """What Magnum finds when it loads the driver."""

    def test_magnum_loads_it_by_its_name(self) -> None:
        found = magnum_driver.Driver.get_driver(
            "vm", "ubuntu", "kubernetes", "k8s_capi_helm_v1"
        )
        self.assertIsInstance(found, driver.Driver)

    def test_only_the_model_names_the_driver(self) -> None:
        self.assertEqual("k8s_capi_helm_v1", names.DRIVER)
        package = pathlib.Path(driver.__file__).parent
        holders = {
            path.relative_to(package).parts[0]
            for path in package.rglob("*.py")
            if names.DRIVER in path.read_text()
        }
        self.assertEqual({"model", "tests"}, holders)

    def test_the_driver_serves_each_distribution(self) -> None:
        distros = (
            "ubuntu",
            "debian",
            "rocky",
            "rockylinux",
            "flatcar",
            # An older name of ubuntu.
            "capi-kubeadm-cloudinit",
        )
        self.assertEqual(
            [
                {"server_type": "vm", "os": each, "coe": "kubernetes"}
                for each in distros
            ],
            self.driver.provides,
        )

    def test_making_one_connects_to_nothing(self) -> None:
        driver.Driver()
        self.assertEqual([], self.management.requests)
        self.assertEqual(0, self.openstack.mocker.call_count)

    def test_the_driver_accepts_each_call_of_magnum(self) -> None:
        methods = inspect.getmembers(magnum_driver.Driver, inspect.isfunction)
        faults = [
            f"driver.py, {name}: {fault}"
            for name, theirs in methods
            if (fault := _refusal(theirs, getattr(driver.Driver, name)))
        ]
        self.assertEqual([], faults)

    def test_a_call_that_the_driver_does_not_accept_is_named(self) -> None:
        def theirs(cluster: Any, count: Any = 0) -> None: ...
        def less(cluster: Any) -> None: ...
        def otherwise(count: Any, cluster: Any) -> None: ...
        def needs(cluster: Any, count: Any, more: Any) -> None: ...
        def newer(cluster: Any, count: Any, more: Any = 0) -> None: ...

        given = "Magnum gives (cluster, count)"
        for ours, fault in (
            (theirs, ""),
            (newer, ""),
            (less, f"{given}, it accepts (cluster)"),
            (otherwise, f"{given}, it accepts (count, cluster)"),
            (needs, f"{given}, it needs more"),
        ):
            self.assertEqual(fault, _refusal(theirs, ours), str(ours))


class RefusedTest(base.FlowTestCase):
    """What is not served is refused before anything is saved."""

    def refused(self, call: Callable[..., Any], *args: Any) -> str:
        before = self.snapshot()
        self.management.requests.clear()
        error = self.assertRaises(
            exception.NotSupported, call, self.context, *args
        )
        self.assertEqual(before, self.snapshot())
        self.assertEqual([], self.management.requests)
        self.assertNotIn("\n", str(error))
        self.assertIn("k8s_capi_helm_v1", str(error))
        return str(error)

    def snapshot(self) -> dict[str, Any]:
        """All rows, as they are saved."""
        rows = {"cluster": self.row(), **self.groups()}
        return {name: row.as_dict() for name, row in rows.items()}

    def test_each_method_that_is_not_served(self) -> None:
        row = self.complete()
        group = self.groups()["default-worker"]
        for call, args in (
            (self.driver.delete_nodegroup, (row, group)),
            (self.driver.create_federation, (None,)),
            (self.driver.update_federation, (None,)),
            (self.driver.delete_federation, (None,)),
        ):
            self.refused(call, *args)


class FaultTest(base.FlowTestCase):
    """The driver's exceptions as Magnum's."""

    def test_each_class_has_its_counterpart(self) -> None:
        for ours, theirs in (
            (errors.InvalidInput, exception.InvalidParameterValue),
            (errors.NotSupported, exception.NotSupported),
            (errors.LeaseHeld, exception.OperationInProgress),
            (errors.CloudError, exception.MagnumException),
            (errors.HelmError, exception.MagnumException),
            (errors.ManagementError, exception.MagnumException),
        ):
            found = magnum_errors.as_magnum(
                ours("a text of 100% and {braces}")
            )
            self.assertIs(theirs, type(found))
            self.assertIn("a text of 100% and {braces}", str(found))

    def test_other_exceptions_pass_as_they_are(self) -> None:
        with (
            self.assertRaisesRegex(ValueError, "a bug"),
            magnum_errors.translated("create", base.UUID),
        ):
            raise ValueError("a bug")

    def test_no_secret_is_told_or_logged(self) -> None:
        self.complete()
        self.resize(3)
        self.delete()
        self.openstack.refusals["DELETE"] = 403
        self.capi.finish()
        self.poll()
        for secret in ("s3cret", "user-token", "service-token"):
            self.assertNotIn(secret, self.log.output)
            self.assertNotIn(secret, self.row().status_reason)
