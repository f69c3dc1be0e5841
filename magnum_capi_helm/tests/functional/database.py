# SPDX-License-Identifier: Apache-2.0
"""Rows of the lab's Magnum, from whichever database it has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
import configparser
from typing import Any

import sqlalchemy

from magnum_capi_helm.tests.functional import programs


def url() -> str:
    """Where SQLAlchemy finds it."""
    options = configparser.RawConfigParser(strict=False)
    options.read(programs.configuration())
    return options["database"]["connection"]


def rows(statement: str, **values: Any) -> Sequence[dict[str, Any]]:
    """What a SELECT finds, a dictionary for each row.

    :param statement: has ``:name`` for each value; ``IN :name`` for a list
    """
    wanted = sqlalchemy.text(statement).bindparams(
        *(
            sqlalchemy.bindparam(name, value, expanding=True)
            if isinstance(value, list)
            else sqlalchemy.bindparam(name, value)
            for name, value in values.items()
        )
    )
    engine = sqlalchemy.create_engine(url())
    try:
        with engine.connect() as connection:
            return [
                dict(each) for each in connection.execute(wanted).mappings()
            ]
    finally:
        engine.dispose()


def write(statement: str, **values: Any) -> None:
    """Run one statement that changes rows, with a value for each ``:name``."""
    engine = sqlalchemy.create_engine(url())
    try:
        with engine.begin() as connection:
            connection.execute(sqlalchemy.text(statement), values)
    finally:
        engine.dispose()


def references(cluster: str) -> list[str]:
    """Which certificates Magnum has stored for a cluster: its four."""
    (found,) = rows(
        "SELECT ca_cert_ref, magnum_cert_ref, etcd_ca_cert_ref,"
        " front_proxy_ca_cert_ref FROM cluster WHERE uuid = :cluster",
        cluster=cluster,
    )
    return list(found.values())


def stored(certificates: Sequence[str]) -> list[str]:
    """Which of them are in Magnum's own table of certificates."""
    found = rows(
        "SELECT uuid FROM x509keypair WHERE uuid IN :wanted",
        wanted=list(certificates),
    )
    return [each["uuid"] for each in found]


def issued(issuer: Callable[[bytes], bool]) -> set[str]:
    """Certificates in that table that somebody's own authority signed.

    :param issuer: whether a certificate's PEM is of that authority
    """
    return {
        each["uuid"]
        for each in rows("SELECT uuid, certificate FROM x509keypair")
        if issuer(each["certificate"].encode())
    }
