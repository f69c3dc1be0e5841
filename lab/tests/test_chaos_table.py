# SPDX-License-Identifier: Apache-2.0

"""Steps of operations, as the requests that they are; and their table."""

from __future__ import annotations

from collections.abc import Sequence
import json
import pathlib

from oslotest import base

from lab.chaos import endings
from lab.chaos import faults
from lab.chaos import steps
from lab.chaos import table

_SECRETS = "/api/v1/namespaces/magnum-1/secrets"
_APIS = "/apis/cluster.x-k8s.io/v1beta2/namespaces/magnum-1"
_RELEASE = "web-0123456789ab"
_CONTROL_PLANE = (
    "/apis/controlplane.cluster.x-k8s.io/v1beta2/namespaces/magnum-1"
    f"/kubeadmcontrolplanes/{_RELEASE}-control-plane"
)
_RECORD = f"sh.helm.release.v1.{_RELEASE}"

#: Operation, number of the step, a request that it is.
_REQUESTS = (
    ("create", 0, "PATCH", f"{_SECRETS}/{_RELEASE}-cloud-credentials?a=b", ""),
    ("create", 1, "POST", _SECRETS, f'{{"name":"{_RELEASE}-intent"}}'),
    ("resize", 1, "PATCH", f"{_SECRETS}/{_RELEASE}-intent?a=b", ""),
    ("create", 2, "POST", f"{_SECRETS}?a=b", f'{{"name":"{_RECORD}.v1"}}'),
    ("create", 3, "POST", f"{_APIS}/clusters?a=b", f'"name":"{_RELEASE}"'),
    ("resize", 3, "PUT", f"{_SECRETS}/{_RECORD}.v12?a=b", ""),
    (
        "delete group",
        1,
        "DELETE",
        f"{_APIS}/machinedeployments/{_RELEASE}-extra",
        "",
    ),
    ("upgrade", 1, "PATCH", f"{_CONTROL_PLANE}?force=true&dryRun=All", ""),
    ("upgrade", 3, "PATCH", f"{_CONTROL_PLANE}?fieldManager=helm", ""),
    ("upgrade", 3, "PATCH", _CONTROL_PLANE, ""),
    ("delete", 1, "DELETE", f"{_APIS}/clusters/{_RELEASE}", ""),
    ("delete", 2, "DELETE", f"{_SECRETS}/{_RECORD}.v3", ""),
)


class StepsTest(base.BaseTestCase):
    def test_each_request_is_its_step_of_its_cluster_alone(self) -> None:
        for operation, number, method, path, body in _REQUESTS:
            step = steps.KUBERNETES[operation][number]
            request = faults.Request(method, path, body.encode(), 1)
            what = f"{operation} {step}"
            mine = step.asks(lambda: r"web-\w{12}")
            self.assertTrue(mine(request), what)
            other = step.asks(lambda: r"other-\w{12}")
            self.assertFalse(other(request), what)
            read = faults.Request("GET", path, b"", 1)
            self.assertFalse(mine(read), what)

    def test_a_request_is_one_step_of_its_operation(self) -> None:
        for operation, number, method, path, body in _REQUESTS:
            request = faults.Request(method, path, body.encode(), 1)
            found = [
                at
                for at, step in enumerate(steps.KUBERNETES[operation])
                if step.asks(lambda: r"web-\w{12}")(request)
            ]
            self.assertEqual([number], found, f"{operation} {path}")


class TableTest(base.BaseTestCase):
    def test_what_was_not_run_is_left_out(self) -> None:
        lease, intent, *_ = (each.name for each in steps.KUBERNETES["resize"])
        cells = [
            endings.Cell("resize", lease, "lost", endings.DONE, 21.4),
            endings.Cell("resize", intent, "lost", endings.FAILED, 3, "why"),
            endings.Cell("resize", intent, "500", endings.DONE, 9),
            endings.Cell(
                "resize", "no helm", "", endings.DONE, 50, "is gone | ?_"
            ),
        ]
        ended = [
            _ending("ours", "Lease", "DONE", seconds=3),
            _ending("ours", "intent", "DONE", seconds=4),
            _ending("old", "Lease", "STUCK", "?\n!", 300, list("abcde")),
            _ending("old", "intent", "IN_PROGRESS", seconds=300, met=False),
        ]
        self.assertEqual(_TABLE, table.tables(cells, ended))

    def test_the_last_run_counts(self) -> None:
        stuck = endings.Cell("resize", "Lease", "lost", endings.STUCK, 400)
        done = endings.Cell("resize", "Lease", "lost", endings.DONE, 21.4)
        ours = endings.Ending("ours", "create", "Lease", "lost", "DONE")
        old = endings.Ending("old", "create", "Lease", "lost", "STUCK")
        paths = self.create_tempfiles(
            [
                (name, "\n".join(json.dumps(vars(each)) for each in rows))
                for name, rows in (
                    ("kept", [stuck, old]),
                    ("new", [ours, done]),
                )
            ]
        )
        missing = pathlib.Path("missing")
        self.assertEqual(
            ([done], [old, ours]),
            table.read(*map(pathlib.Path, paths), missing),
        )

    def test_the_page_is_made_of_what_is_kept(self) -> None:
        self.assertEqual(
            table.TABLES.read_text(), table.tables(*table.read(table.KEPT))
        )


def _ending(
    driver: str,
    step: str,
    status: str,
    reason: str = "",
    seconds: float = 0,
    left: Sequence[str] = (),
    met: bool = True,
) -> endings.Ending:
    return endings.Ending(
        driver, "create", step, "lost", status, reason, seconds, [*left], met
    )


_TABLE = """\
.. Written by "python3 -m lab.chaos.table".

4 operations with a fault: 3 done, 1 failed with a reason and done when asked \
again, 0 lost by Magnum, 0 stuck.

.. list-table:: Requests to the management cluster
   :header-rows: 1
   :stub-columns: 1

   * - Step
     - lost
     - 500
   * - resize: the Lease is taken
     - 21
     -
   * - resize: what is wanted is stored
     - failed 3
     - 9

.. list-table:: While a cluster is resized
   :header-rows: 1
   :widths: 40 15 45

   * - What happens
     - Done after, s
     - The user reads
   * - no helm
     - 50
     - ``is gone``, ``?_``

.. list-table:: The same faults with magnum-capi-helm 1.4.0
   :header-rows: 1

   * - Step
     - Fault
     - ours
     - old
   * - create: Lease
     - lost
     - ``DONE`` after 3 s
     - ``STUCK`` after 300 s: ``? !``; left behind: a, b, c and 2 more
   * - create: intent
     - lost
     - ``DONE`` after 4 s
     - ``IN_PROGRESS`` after 300 s, and did not come to this step
"""
