# SPDX-License-Identifier: Apache-2.0

"""Whether the views of one tree agree: reason, health and describe."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from magnum_capi_helm.status import cluster as cluster_status
from magnum_capi_helm.status import health
from magnum_capi_helm.status import tree
from magnum_capi_helm.status import view


def disagreements(
    root: tree.Branch, objects: view.View, verdict: cluster_status.Verdict
) -> Iterator[str]:
    """Yield what one view says and another one denies."""
    shown = [each.shown_reason for each in tree.walk(root)]
    judged = health.judge(root, objects)
    of_helm = cluster_status.release_reason(objects)
    if (of_helm or tree.told(root)) != verdict.reason:
        yield f"reason {verdict.reason!r}, tree {tree.told(root)!r}"
    if judged.status == health.UNHEALTHY and (root.well or not any(shown)):
        yield f"health {judged.reason}, and no reason in the tree"
    if not root.well and not any(shown):
        yield "a part is not ready, and no reason is in the tree"


def watched(wrong: list[str]) -> Callable[..., cluster_status.Verdict]:
    """Return the driver's judge, which also looks for disagreements.

    :param wrong: gets the disagreements
    """
    real = cluster_status.judge

    def judge(
        root: tree.Branch,
        objects: view.View,
        expected: cluster_status.Expected,
    ) -> cluster_status.Verdict:
        verdict = real(root, objects, expected)
        wrong.extend(disagreements(root, objects, verdict))
        return verdict

    return judge
