# SPDX-License-Identifier: Apache-2.0

"""Magnum's rows of the population.

They are the rows that Magnum itself wrote for the recorded cluster, with
other names and ids.
"""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import json
import types
from typing import Any

from bench import members
from bench import places
from bench import template
from lab import layout
from lab import postgres
from lab import tools
from magnum_capi_helm.database import rows
from magnum_capi_helm.model import requested_groups

Rows = dict[str, list[dict[str, Any]]]
_TABLES = ("cluster_template", "cluster", "nodegroup")
_IN_PROGRESS = "UPDATE_IN_PROGRESS"
_COMPLETE = "UPDATE_COMPLETE"
#: The group that is scaled in the recorded state "scaling".
_SCALED = "storage"

_CONF = """\
[DEFAULT]
transport_url = fake:/
log_file = {log}
state_path = {state}
[database]
connection = {database}
# Magnum asks for as many connections as it has threads.
max_pool_size = 100
max_overflow = 100
pool_timeout = 600
[oslo_concurrency]
lock_path = {state}
[keystone_auth]
auth_url = {keystone}
auth_type = password
username = magnum
password = bench
project_name = service
user_domain_id = default
project_domain_id = default
[keystone_authtoken]
www_authenticate_uri = {keystone}
[certificates]
cert_manager_type = x509keypair
[oslo_messaging_notifications]
driver = noop
[capi_helm]
kubeconfig_file = {kubeconfig}
# 1.4.0 can't read its own default.
api_resources = {{}}
# What was recorded is old.
operation_timeout = 0
"""


def configure() -> None:
    """Write the configuration that every driver runs with."""
    places.MAGNUM_CONF.write_text(
        _CONF.format(
            log=places.log("magnum"),
            state=places.STATE,
            database=places.DATABASE,
            keystone=places.KEYSTONE,
            kubeconfig=places.KUBECONFIG,
        )
    )


@contextlib.contextmanager
def _cursor(database: str) -> Iterator[Any]:
    with (
        contextlib.closing(
            postgres.connect(database, places.POSTGRES_PORT)
        ) as connection,
        connection.cursor() as cursor,
    ):
        yield cursor


def make_tables() -> None:
    """Make Magnum's database, from Magnum's own models."""
    with _cursor("postgres") as cursor:
        cursor.execute("CREATE DATABASE magnum")
    program = (
        "import sqlalchemy; import magnum.db.sqlalchemy.models as models;"
        " models.Base.metadata.create_all("
        f"sqlalchemy.create_engine({places.DATABASE!r}))"
    )
    tools.run(
        [layout.PYTHON, "-W", "ignore", "-c", program],
        log=places.log("database"),
    )


def of(member: members.Member, recorded: template.Template, own: str) -> Rows:
    """The rows of one cluster.

    :param own: identity of the management cluster
    """
    found: Rows = recorded.rows(member.identity, own)
    cluster = found["cluster"][0]
    cluster["name"] = member.name
    made = template.made(member.identity.cluster, "template")
    cluster["cluster_template_id"] = made
    found["cluster_template"][0]["uuid"] = made
    # Numbers of rows are of this database alone.
    for table in _TABLES:
        for place, row in enumerate(found[table]):
            row["id"] = member.number * 10 + place + 1
    return found


def fingerprint(found: Rows) -> str:
    """Return the fingerprint that the driver computes for these rows."""
    cluster = found["cluster"][0]
    groups = []
    for row in found["nodegroup"]:
        meant = {
            key: json.loads(row.get(key) or "null")
            for key in ("node_labels", "node_taints")
        }
        whole = types.SimpleNamespace(**{**row, **meant, "is_default": True})
        groups.append(rows.group(whole, cluster["stack_id"]))
    return requested_groups.Rows(
        uuid=cluster["uuid"], release=cluster["stack_id"], groups=tuple(groups)
    ).fingerprint()


def insert(found: list[Rows]) -> None:
    """Write the rows of clusters."""
    with _cursor("magnum") as cursor:
        for table in _TABLES:
            listed = [row for each in found for row in each[table]]
            cursor.execute(
                f"INSERT INTO {table} SELECT * FROM "  # noqa: S608
                f"json_populate_recordset(null::{table}, %s::json)",
                (json.dumps(listed),),
            )


def settle(in_progress: int) -> None:
    """Let the first so many clusters be in progress, all others complete."""
    first = [
        members.Member(number).identity.cluster
        for number in range(in_progress)
    ]
    with _cursor("magnum") as cursor:
        for table in ("cluster", "nodegroup"):
            cursor.execute(
                f"UPDATE {table} SET status = %s,"  # noqa: S608
                " status_reason = NULL",
                (_COMPLETE,),
            )
        cursor.execute(
            "UPDATE cluster SET status = %s WHERE uuid = ANY(%s)",
            (_IN_PROGRESS, first),
        )
        cursor.execute(
            "UPDATE nodegroup SET status = %s"
            " WHERE name = %s AND cluster_id = ANY(%s)",
            (_IN_PROGRESS, _SCALED, first),
        )


def statuses() -> dict[str, str]:
    """Status of each cluster by UUID."""
    with _cursor("magnum") as cursor:
        cursor.execute("SELECT uuid, status FROM cluster")
        return dict(cursor.fetchall())
