# SPDX-License-Identifier: Apache-2.0

"""Count the code that a resize runs: ``python3 -m bench.trace``.

The resize runs through Magnum's own handler, with the fakes of the unit
tests behind the driver. Only code of the driver counts.
"""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import dataclasses
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


@dataclasses.dataclass
class Trace:
    """The code that ran: functions, and lines by file."""

    functions: set[CodeType] = dataclasses.field(default_factory=set)
    lines: set[tuple[str, int]] = dataclasses.field(default_factory=set)

    @property
    def files(self) -> list[str]:
        """Return the files, relative to the package."""
        names = {code.co_filename for code in self.functions}
        return sorted(
            str(pathlib.Path(each).relative_to(_PACKAGE)) for each in names
        )

    def called(self, frame: FrameType, event: str, _arg: Any) -> Any:
        """Record a call: the global trace function of a thread."""
        code = frame.f_code
        name = code.co_filename
        if not name.startswith(str(_PACKAGE)) or name.startswith(_TESTS):
            return None
        if code.co_name == "<module>":
            return None
        if code.co_name not in _NO_FUNCTIONS:
            self.functions.add(code)
        return self._ran

    def _ran(self, frame: FrameType, event: str, _arg: Any) -> Any:
        if event == "line":
            self.lines.add((frame.f_code.co_filename, frame.f_lineno))
        return self._ran


@contextlib.contextmanager
def traced() -> Iterator[Trace]:
    """Record what runs, in this thread and in new ones."""
    trace = Trace()
    threading.settrace(trace.called)
    sys.settrace(trace.called)
    try:
        yield trace
    finally:
        sys.settrace(None)
        threading.settrace(None)


class _Resize(base.FlowTestCase):
    """A resize of a complete cluster from 2 to 3 workers."""

    trace: Trace

    def runTest(self) -> None:  # noqa: N802 (the name that unittest wants)
        """Create a cluster, then resize it twice.

        The second resize counts: the first one imports modules.
        """
        self.complete()
        self.resize(1)
        self.capi.settle()
        self.poll()
        self.resize(2)
        self.capi.settle()
        self.poll()
        with traced() as type(self).trace:
            self.resize(3)


def resize() -> Trace:
    """Return the code that a resize runs.

    :raises RuntimeError: the resize failed
    """
    result = unittest.TestResult()
    _Resize("runTest").run(result)
    if not result.wasSuccessful():
        raise RuntimeError(str(result.errors or result.failures))
    return _Resize.trace


def main() -> int:
    """Print the figures and the files."""
    trace = resize()
    print("\n".join(trace.files))
    print(
        f"resize 2 -> 3: {len(trace.files)} files, "
        f"{len(trace.functions)} functions, {len(trace.lines)} lines"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
