# SPDX-License-Identifier: Apache-2.0

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
