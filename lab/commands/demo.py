# SPDX-License-Identifier: Apache-2.0

"""``demo``: the lab up, then the story."""

from lab import errors
from lab import layout
from lab import lock
from lab.commands import up


def run(held: int | None, *, keep: bool) -> int:
    """0 only when the cluster lived and died as it should."""
    up.run()
    if held is not None:
        lock.release(held)  # services may be stopped while we look on
    # Only now: these take a second to import.
    from keystoneauth1 import exceptions as keystone_exceptions
    from openstack import exceptions as sdk_exceptions

    from lab.demo import story

    try:
        return story.run(keep=keep)
    except (
        keystone_exceptions.ClientException,
        sdk_exceptions.SDKException,
    ) as error:
        raise errors.LabError(
            f"the cloud's answer: {error}",
            log=layout.log("magnum"),
            hint="See whether all services run: python3 -m lab status",
        ) from error
