# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

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
