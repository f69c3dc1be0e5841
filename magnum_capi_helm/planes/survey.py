# SPDX-License-Identifier: Apache-2.0

"""The same question to several management clusters, at the same time.

Time-outs don't add up, and one that has just been silent is not asked: a
poll of some cluster must not wait for a management cluster that another
poll is waiting for already.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent import futures
from typing import TypeVar

from magnum_capi_helm import runtime
from magnum_capi_helm.model import errors

T = TypeVar("T")

#: Seconds for which the answers are waited for.
_PATIENCE = 5.0


def ask(
    whom: Sequence[str], question: Callable[[runtime.Runtime], T]
) -> dict[str, T | errors.CapiHelmError]:
    """Ask management clusters.

    :param whom: their names
    :returns: by name, what each answered, or why it did not
    """
    memory = runtime.places()
    answers: dict[str, T | errors.CapiHelmError] = {}
    for name in whom:
        if error := memory.silence(name):
            answers[name] = error
    left = [name for name in whom if name not in answers]
    if not left:
        return answers
    pool = futures.ThreadPoolExecutor(len(left))
    asked = {name: pool.submit(_put, name, question) for name in left}
    futures.wait(asked.values(), timeout=_PATIENCE)
    # Who is not done by now is not waited for.
    pool.shutdown(wait=False)
    for name, answer in asked.items():
        answers[name] = found = _outcome(name, answer)
        if isinstance(found, errors.ManagementUnreachable):
            memory.silent(name, found)
    return answers


def _put(name: str, question: Callable[[runtime.Runtime], T]) -> T:
    return question(runtime.get(name))


def _outcome(name: str, answer: futures.Future[T]) -> T | errors.CapiHelmError:
    if not answer.done():
        return errors.ManagementUnreachable(
            f"the management cluster {name} does not answer in time"
        )
    try:
        return answer.result()
    except errors.CapiHelmError as error:
        return error
