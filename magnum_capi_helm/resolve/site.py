# SPDX-License-Identifier: Apache-2.0

"""What the operator wants for every cluster of this cloud."""

from __future__ import annotations

from collections.abc import Iterator
import json
import pathlib
import re
from typing import Any

from magnum.conf import kubernetes
from oslo_log import log

from magnum_capi_helm.config import conf
from magnum_capi_helm.features import audit
from magnum_capi_helm.features import authentication
from magnum_capi_helm.features import registries
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import labels
from magnum_capi_helm.resolve import ca_files
from magnum_capi_helm.resolve import overlays

LOG = log.getLogger(__name__)

_POLICY = "keystone_auth_default_policy"
_DEFAULT_POLICY = next(
    each.default for each in kubernetes.kubernetes_opts if each.name == _POLICY
)

#: Characters of all CAs for the machines. They travel in Nova's user data,
#: which has 64 KiB in base64 for everything.
_CAS_LIMIT = 16 * 1024

#: A name in a path on the machines.
_CA_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


def site(found: labels.Values) -> cluster_spec.Site:
    """The operator's options that reach the values.

    :param found: the cluster's labels: a file is read where it is needed
    :raises NotConfigured: a file that they name can't be read
    """
    options = conf.CONF.capi_helm
    return cluster_spec.Site(
        metadata=tuple(sorted(options.server_metadata.items())),
        keystone_policy=(
            _keystone_policy() if found[authentication.KEYSTONE] else None
        ),
        registry_mirror=_registry_mirror(),
        addon_repository=options.addon_repository or None,
        registry_auth=_registry_auth(),
        trusted_cas=trusted_cas(),
        audit_policy=_audit_policy() if found[audit.ENABLED] else None,
    )


def _audit_policy() -> str | None:
    """The operator's audit policy, as JSON.

    The API server does not start with anything else.
    """
    path = conf.CONF.capi_helm.audit_policy_file
    if not path:
        return None
    origin = f"[capi_helm] audit_policy_file {path}"
    policy = overlays.read(path, origin)
    kind = (policy.get("apiVersion"), policy.get("kind"))
    if kind != ("audit.k8s.io/v1", "Policy") or not policy.get("rules"):
        raise errors.NotConfigured(
            f"{origin}: must be a Policy of audit.k8s.io/v1 with rules"
        )
    return json.dumps(policy, indent=2)


def _keystone_policy() -> str | None:
    """Magnum's policy file of the Keystone webhook, as JSON in one line.

    Magnum's default path may have no file; a path that the operator chose
    must: without it, users would silently get other rights than meant.
    """
    path = conf.CONF.kubernetes[_POLICY]
    if not path:
        return None
    try:
        policy = json.loads(pathlib.Path(path).read_text("utf-8"))
        if not isinstance(policy, list):
            raise ValueError("a policy is a list of rules")
        return json.dumps(policy)
    except FileNotFoundError as error:
        if path == _DEFAULT_POLICY:
            return None
        problem: Exception = error
    except (OSError, ValueError) as error:
        problem = error
    raise errors.NotConfigured(
        f"[kubernetes] {_POLICY}={path}: no JSON list of rules can be read "
        f"there ({type(problem).__name__})"
    ) from problem


def _registry_mirror() -> str | None:
    mirror = str(conf.CONF.capi_helm.registry_mirror)
    if mirror and not registries.is_prefix(mirror):
        raise errors.NotConfigured(
            f"[capi_helm] registry_mirror={mirror}: give a registry such as "
            "mirror.example.org:5000/all, without https://"
        )
    return mirror.rstrip("/") or None


def _registry_auth() -> tuple[tuple[str, str, str], ...]:
    """Host, user name and password of each registry."""
    path = conf.CONF.capi_helm.registry_auth_file
    if not path:
        return ()
    origin = f"[capi_helm] registry_auth_file {path}"
    return tuple(
        (host, *_login(entry, f"{origin}: {host}"))
        for host, entry in sorted(overlays.read(path, origin).items())
        if _is_host(host, origin)
    )


def _is_host(host: str, origin: str) -> bool:
    if registries.is_registry(host):
        return True
    # May be a password in the wrong place: not shown.
    raise errors.NotConfigured(
        f"{origin}: a key is no registry: each must be host or host:port"
    )


def _login(entry: Any, origin: str) -> tuple[str, str]:
    wanted = {"username", "password"}
    if not isinstance(entry, dict) or set(entry) != wanted:
        raise errors.NotConfigured(
            f"{origin}: must be a mapping with username and password"
        )
    for key in sorted(wanted):
        value = entry[key]
        if not isinstance(value, str) or not value:
            raise errors.NotConfigured(f"{origin}: {key} must be a text")
        # The chart puts it between quotes as it is: containerd would not
        # start.
        if not value.isprintable() or set(value) & set('"\\'):
            raise errors.NotConfigured(
                f"{origin}: {key} has a character that containerd's "
                "configuration can't hold: quote, backslash or control"
            )
    return entry["username"], entry["password"]


def trusted_cas() -> tuple[tuple[str, str], ...]:
    """What machines that are made from now on trust: name and certificate.

    :raises NotConfigured: a file that the options name can't be read
    """
    return _openstack_cas() + _trusted_cas()


def _openstack_cas() -> tuple[tuple[str, str], ...]:
    """CAs of [drivers] openstack_ca_file that not everybody trusts anyway.

    Often that is the bundle of a whole distribution. One that stays too
    large never kept a cluster from being made, and does not now.
    """
    path = conf.CONF.drivers.openstack_ca_file
    if not path:
        return ()
    found = ca_files.read(path, f"[drivers] openstack_ca_file {path}")
    own = [pem for pem in found if pem not in ca_files.public()]
    if sum(map(len, own)) > _CAS_LIMIT:
        LOG.warning(
            "[drivers] openstack_ca_file %s: %d CAs are too many for user "
            "data; machines trust none of them. Name those that they need "
            "in [capi_helm] trusted_ca_files",
            path,
            len(own),
        )
        return ()
    return tuple(_named("openstack", own))


def _trusted_cas() -> tuple[tuple[str, str], ...]:
    found: dict[str, str] = {}
    for path in conf.CONF.capi_helm.trusted_ca_files:
        origin = f"[capi_helm] trusted_ca_files {path}"
        stem = pathlib.Path(path).stem
        if not _CA_NAME.fullmatch(stem):
            raise errors.NotConfigured(
                f"{origin}: give it a name of letters, digits, - and _"
            )
        for name, pem in _named(stem, ca_files.read(path, origin)):
            if found.setdefault(name, pem) != pem or name == "openstack":
                raise errors.NotConfigured(
                    f"{origin}: another one gives {name} as well; rename it"
                )
    if sum(map(len, found.values())) > _CAS_LIMIT:
        raise errors.NotConfigured(
            "[capi_helm] trusted_ca_files: larger than "
            f"{_CAS_LIMIT // 1024} KiB together, too much for user data"
        )
    return tuple(found.items())


def _named(name: str, pems: list[str]) -> Iterator[tuple[str, str]]:
    """Each certificate in a file of its own, or tools take only the first."""
    if len(pems) == 1:
        yield name, pems[0]
    else:
        for number, pem in enumerate(pems, 1):
            yield f"{name}-{number}", pem
