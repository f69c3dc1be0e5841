"""``demo``: the lab up, then the story."""

from lab import lock
from lab.commands import up


def run(held: int | None, *, keep: bool) -> int:
    """0 only when the cluster lived and died as it should."""
    up.run()
    if held is not None:
        lock.release(held)  # services may be stopped while we look on
    from lab.demo import story

    return story.run(keep=keep)
