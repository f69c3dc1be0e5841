# SPDX-License-Identifier: Apache-2.0

"""Count the code that a resize runs: ``python3 -m bench.trace``.

The resize runs through Magnum's own handler, with the fakes of the unit
tests behind the driver. Only code of the driver counts.
"""

from __future__ import annotations

import pathlib
import sys
import threading
from types import CodeType
from types import FrameType
from typing import Any
import unittest

import magnum_capi_helm
from magnum_capi_helm.tests.unit.lifecycle import base

_PACKAGE = pathlib.Path(magnum_capi_helm.__file__).parent
_TESTS = str(_PACKAGE / "tests")
#: Code of comprehensions and class bodies belongs to what contains it.
_NO_FUNCTIONS = ("<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>")


class Trace:
    """The code that ran, in this thread and in new ones, while it is entered.

    :ivar functions: their code
    :ivar lines: file and number of each line
    """

    def __init__(self) -> None:
        self.functions: set[CodeType] = set()
        self.lines: set[tuple[str, int]] = set()

    def __enter__(self) -> None:
        threading.settrace(self._called)
        sys.settrace(self._called)

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)
        threading.settrace(None)

    def _called(self, frame: FrameType, event: str, _arg: Any) -> Any:
        """Record a call: the global trace function of a thread."""
        code = frame.f_code
        name = code.co_filename
        if (
            not name.startswith(str(_PACKAGE))
            or name.startswith(_TESTS)
            or code.co_name == "<module>"
        ):
            return None
        if code.co_name not in _NO_FUNCTIONS:
            self.functions.add(code)
        return self._ran

    def _ran(self, frame: FrameType, event: str, _arg: Any) -> Any:
        if event == "line":
            self.lines.add((frame.f_code.co_filename, frame.f_lineno))
        return self._ran


class _Resize(base.FlowTestCase):
    """A resize of a complete cluster from 2 to 3 workers."""

    trace = Trace()

    def runTest(self) -> None:  # noqa: N802 (the name that unittest wants)
        """Create a cluster, then resize it twice.

        The second resize counts: the first one imports modules.
        """
        self.complete()
        for count in (1, 2):
            self.resize(count)
            self.capi.settle()
            self.poll()
        with self.trace:
            self.resize(3)


def main() -> int:
    """Print the figures and the files.

    :raises RuntimeError: the resize failed
    """
    result = unittest.TestResult()
    _Resize("runTest").run(result)
    if not result.wasSuccessful():
        raise RuntimeError(str(result.errors or result.failures))
    trace = _Resize.trace
    files = sorted(
        str(pathlib.Path(name).relative_to(_PACKAGE))
        for name in {code.co_filename for code in trace.functions}
    )
    print("\n".join(files))
    print(
        f"resize 2 -> 3: {len(files)} files, {len(trace.functions)} functions,"
        f" {len(trace.lines)} lines"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
