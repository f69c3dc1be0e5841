# SPDX-License-Identifier: Apache-2.0

"""What Magnum needs until 22 for the trusts that it makes for each cluster.

A domain for users whom they trust, and a user who makes those.
"""

from typing import Any

from lab import stamps
from lab.cloud import config

_STAMP = "trustees"
_DOMAIN = "magnum"
_ADMIN = "magnum_domain_admin"
OPTIONS = f"""\
[trust]
trustee_domain_name = {_DOMAIN}
trustee_domain_admin_name = {_ADMIN}
trustee_domain_admin_password = {config.PASSWORD}
trustee_domain_admin_domain_name = {_DOMAIN}
trustee_keystone_interface = public
trustee_keystone_region_name = {config.REGION}
"""


def ready() -> bool:
    """Whether Keystone has them."""
    return stamps.fresh(_STAMP, stamps.fingerprint(OPTIONS))


def make() -> None:
    """Make them in Keystone; may be done again."""
    # Only now: the SDK takes a second to import.
    from lab.cloud import catalogue

    identity: Any = catalogue.connect("admin").identity
    domain = identity.find_domain(_DOMAIN) or identity.create_domain(
        name=_DOMAIN
    )
    user = identity.find_user(
        _ADMIN, domain_id=domain.id
    ) or identity.create_user(
        name=_ADMIN, password=config.PASSWORD, domain_id=domain.id
    )
    role = identity.find_role("admin")
    identity.assign_domain_role_to_user(domain, user, role)
    stamps.write(_STAMP, stamps.fingerprint(OPTIONS))
