# SPDX-License-Identifier: Apache-2.0
"""octavia_tables.py DATABASE: Octavia's tables, with their first rows.

Its migrations are for MySQL alone, its models are not.
"""

import sys

from octavia.common import constants
from octavia.db import base_models
from octavia.db import models
import sqlalchemy
from sqlalchemy.dialects import postgresql

_NAMES = {
    models.ProvisioningStatus: constants.SUPPORTED_PROVISIONING_STATUSES,
    models.OperatingStatus: constants.SUPPORTED_OPERATING_STATUSES,
    models.HealthMonitorType: constants.SUPPORTED_HEALTH_MONITOR_TYPES,
    models.Algorithm: constants.SUPPORTED_LB_ALGORITHMS,
    models.Protocol: constants.SUPPORTED_PROTOCOLS,
    models.SessionPersistenceType: constants.SUPPORTED_SP_TYPES,
    models.AmphoraRoles: constants.SUPPORTED_AMPHORA_ROLES,
    models.LBTopology: constants.SUPPORTED_LB_TOPOLOGIES,
    models.VRRPAuthMethod: constants.SUPPORTED_VRRP_AUTH,
    models.L7RuleType: constants.SUPPORTED_L7RULE_TYPES,
    models.L7RuleCompareType: constants.SUPPORTED_L7RULE_COMPARE_TYPES,
    models.L7PolicyAction: constants.SUPPORTED_L7POLICY_ACTIONS,
    models.ClientAuthenticationMode: constants.SUPPORTED_CLIENT_AUTH_MODES,
}

#: One flavor and one availability zone, as an operator offers them.
_PROFILE = "00000000-0000-4000-8000-000000000001"
_OFFERED = (
    (
        models.FlavorProfile,
        {
            "id": _PROFILE,
            "name": "single",
            "provider_name": "amphora",
            "flavor_data": '{"loadbalancer_topology": "SINGLE"}',
        },
    ),
    (
        models.Flavor,
        {
            "id": _PROFILE,
            "name": "small",
            "enabled": True,
            "flavor_profile_id": _PROFILE,
        },
    ),
    (
        models.AvailabilityZoneProfile,
        {
            "id": _PROFILE,
            "name": "az1",
            "provider_name": "amphora",
            "availability_zone_data": '{"compute_zone": "az1"}',
        },
    ),
    (
        models.AvailabilityZone,
        {
            "name": "az1",
            "enabled": True,
            "availability_zone_profile_id": _PROFILE,
        },
    ),
)

engine = sqlalchemy.create_engine(sys.argv[1])
base_models.BASE.metadata.create_all(engine)
with engine.begin() as connection:
    for model, names in _NAMES.items():
        rows = [{"name": name} for name in names]
        insert = postgresql.insert(model.__table__).values(rows)
        connection.execute(insert.on_conflict_do_nothing())
    for model, row in _OFFERED:
        insert = postgresql.insert(model.__table__).values([row])
        connection.execute(insert.on_conflict_do_nothing())
