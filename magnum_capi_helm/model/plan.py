# SPDX-License-Identifier: Apache-2.0

"""A plan: an operation of several steps, such as a rotation of CAs.

Each step replaces the machines of one role. The plan is data in the Secret of
the desired state, and ``lifecycle/plan_steps.py`` takes its steps. A kind of
plan is a subclass, with content of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import dataclasses
from typing import ClassVar, NamedTuple, TypeVar

from magnum_capi_helm.model import encoding

_Kind = TypeVar("_Kind", bound="Plan")


class Step(NamedTuple):
    """A step of a plan.

    :ivar control_plane: whether it replaces machines of the control plane, or
        workers
    :ivar text: what the machines get, for ``status_reason``
    """

    control_plane: bool
    text: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Plan:
    """A plan that was accepted and has not ended.

    :cvar KEY: of the Secret
    :cvar NAME: of the operation, for users
    :cvar WAY_BACK: advice for users
    :cvar BY_HELM: helm takes each step, as in an upgrade; a step of the
        control plane ends when the control plane is complete, although
        workers may not be
    :param step: index in :attr:`steps`
    :param machines: UIDs of the machines that the step replaces; None: the
        step has still to begin
    """

    KEY: ClassVar[str]
    NAME: ClassVar[str]
    WAY_BACK: ClassVar[str]
    BY_HELM: ClassVar[bool] = False

    step: int = 0
    machines: Sequence[str] | None = None

    @property
    def steps(self) -> Sequence[Step]:
        """All steps."""
        raise NotImplementedError

    @property
    def now(self) -> Step:
        """The step that goes on, or begins next."""
        return self.steps[self.step]

    @property
    def ends_early(self) -> bool:
        """Whether the step ends as soon as the control plane is complete."""
        return self.BY_HELM and self.now.control_plane

    @property
    def is_last(self) -> bool:
        return self.step + 1 == len(self.steps)

    @property
    def text(self) -> str:
        """The step in words, for ``status_reason``."""
        number = f"step {self.step + 1} of {len(self.steps)}"
        return f"{self.NAME}, {number}: {self.now.text}"

    def failed(self, reason: str) -> str:
        """Return the reason of a step that failed, and what to do."""
        return (
            f"{self.text}: {reason}. The polls of the cluster's health try "
            "again; a resize to the present count does so at once. "
            f"{self.WAY_BACK}"
        )

    def to_secret(self) -> dict[str, str]:
        """Return the key of the Secret, with its content."""
        return {self.KEY: encoding.pack(dataclasses.asdict(self))}

    @classmethod
    def from_secret(cls: type[_Kind], data: Mapping[str, str]) -> _Kind | None:
        """Return the plan of a Secret; None: there is none of this kind.

        :raises Exception: one of :data:`encoding.DAMAGED`
        """
        return (
            cls(**encoding.unpack(data[cls.KEY])) if cls.KEY in data else None
        )
