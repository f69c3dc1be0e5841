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

"""What is mended in Horizon for magnum-ui, when it starts.

magnum-ui 19 reads a zone's name from ``zoneName``, as Horizon up to 26 gave
it; 27 gives what openstacksdk calls ``name``. Its dialog for a new cluster
would offer one zone, "undefined", and as it insists on a zone, could never be
sent.
"""

from typing import Any

from openstack_dashboard import api
from openstack_dashboard.api.rest import nova
from openstack_dashboard.api.rest import utils


def _zones(view: Any, request: Any) -> dict[str, Any]:
    detailed = request.GET.get("detailed") == "true"
    zones = api.nova.availability_zone_list(request, detailed)
    return {
        "items": [{**zone.to_dict(), "zoneName": zone.name} for zone in zones]
    }


nova.AvailabilityZones.get = utils.ajax()(_zones)
