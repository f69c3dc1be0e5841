# SPDX-License-Identifier: Apache-2.0

"""What would take most of a test's time, made once or made simple."""

from __future__ import annotations

import functools
from typing import Any

from cryptography.hazmat.primitives.asymmetric import rsa
from magnum.common.x509 import operations
from magnum.db.sqlalchemy import api as db_api
from magnum.db.sqlalchemy import models
from oslo_db.sqlalchemy import enginefacade  # type: ignore[import-untyped]

#: Making keys, and deriving keys from passphrases, takes most of a test's
#: time; one of each kind does for all.
private_key = functools.lru_cache(rsa.generate_private_key)
OPERATIONS = {
    name: functools.lru_cache(getattr(operations, name))
    for name in (
        "generate_ca_certificate",
        "generate_client_certificate",
        "decrypt_key",
    )
}

# No sleep(0) at the end of each transaction: on a machine that is busy, the
# others' turn takes longer than the transaction.
enginefacade.configure(thread_checkin=False)

_template_of = db_api.Connection.get_cluster_template_by_uuid


def template_by_uuid(connection: Any, context: Any, ident: str) -> Any:
    """Magnum's look-up of a template, as quick for an administrator.

    Magnum asks for all templates, united with the public and with the hidden
    ones. SQLAlchemy can't cache that statement, and compiling it anew for
    each poll took a tenth of all tests' time.
    """
    if context.is_admin and context.all_tenants:
        with db_api._session_for_read() as session:
            every = session.query(models.ClusterTemplate)
            if found := every.filter_by(uuid=ident).one_or_none():
                return found
    return _template_of(connection, context, ident)
