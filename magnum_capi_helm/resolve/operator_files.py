# SPDX-License-Identifier: Apache-2.0

"""Files and options of the operator for every cluster of this cloud.

Values files are read when a cluster is created, upgraded or changed by
``cluster apply``. The desired state stores the result, so a file that changes
later does not reach a cluster through a resize.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
import functools
import json
import pathlib
import re
from typing import Any

import certifi
from magnum.conf import kubernetes
from oslo_log import log
import yaml

from magnum_capi_helm import runtime
from magnum_capi_helm.chart import overlays
from magnum_capi_helm.config import conf
from magnum_capi_helm.features import audit
from magnum_capi_helm.features import authentication
from magnum_capi_helm.features import egress
from magnum_capi_helm.features import template
from magnum_capi_helm.helm import charts
from magnum_capi_helm.model import cluster_spec
from magnum_capi_helm.model import encoding
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import labels
from magnum_capi_helm.model import paths

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


def site(cluster_labels: labels.Values) -> cluster_spec.Site:
    """Return the operator's options that reach the values.

    :param cluster_labels: decide whether a file is needed
    :raises NotConfigured: a file that they name can't be read
    """
    options = conf.CONF.capi_helm
    return cluster_spec.Site(
        metadata=tuple(sorted(options.server_metadata.items())),
        keystone_policy=(
            _keystone_policy()
            if cluster_labels[authentication.KEYSTONE]
            else None
        ),
        registry_mirror=_registry_mirror(),
        addon_repository=options.addon_repository or None,
        registry_auth=_registry_auth(),
        trusted_cas=trusted_cas(),
        audit_policy=_audit_policy()
        if cluster_labels[audit.ENABLED]
        else None,
    )


def _audit_policy() -> str | None:
    """Return the operator's audit policy, as JSON.

    The API server does not start with anything else.
    """
    path = conf.CONF.capi_helm.audit_policy_file
    if not path:
        return None
    origin = f"[capi_helm] audit_policy_file {path}"
    policy = read_yaml(path, origin)
    kind = (policy.get("apiVersion"), policy.get("kind"))
    if kind != ("audit.k8s.io/v1", "Policy") or not policy.get("rules"):
        raise errors.NotConfigured(
            f"{origin}: must be a Policy of audit.k8s.io/v1 with rules"
        )
    return json.dumps(policy, indent=2)


def _keystone_policy() -> str | None:
    """Return Magnum's policy of the Keystone webhook, as JSON in one line.

    Magnum's default path may have no file. A path that the operator chose
    must have one: else users would silently get other rights than meant.
    """
    path = conf.CONF.kubernetes[_POLICY]
    if not path:
        return None
    try:
        policy = json.loads(pathlib.Path(path).read_text("utf-8"))
        if not isinstance(policy, list):
            raise ValueError("a policy is a list of rules")
        return json.dumps(policy)
    except (OSError, ValueError) as error:
        if isinstance(error, FileNotFoundError) and path == _DEFAULT_POLICY:
            return None
        raise errors.NotConfigured(
            f"[kubernetes] {_POLICY}={path}: no JSON list of rules can be "
            f"read there ({type(error).__name__})"
        ) from error


def _registry_mirror() -> str | None:
    mirror = str(conf.CONF.capi_helm.registry_mirror)
    if mirror and not egress.is_prefix(mirror):
        raise errors.NotConfigured(
            f"[capi_helm] registry_mirror={mirror}: give a registry such as "
            "mirror.example.org:5000/all, without https://"
        )
    return mirror.rstrip("/") or None


def _registry_auth() -> tuple[tuple[str, str, str], ...]:
    """Return host, user name and password of each registry."""
    path = conf.CONF.capi_helm.registry_auth_file
    if not path:
        return ()
    origin = f"[capi_helm] registry_auth_file {path}"
    logins = []
    for host, entry in sorted(read_yaml(path, origin).items()):
        if not egress.is_registry(host):
            # May be a password in the wrong place: not shown.
            raise errors.NotConfigured(
                f"{origin}: a key is no registry: each must be host or "
                "host:port"
            )
        logins.append((host, *_login(entry, f"{origin}: {host}")))
    return tuple(logins)


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
    """Return the CAs for new machines: name and certificate.

    :raises NotConfigured: a file that the options name can't be read
    """
    return _openstack_cas() + _trusted_cas()


def _openstack_cas() -> tuple[tuple[str, str], ...]:
    """Return the CAs of [drivers] openstack_ca_file that are not public.

    The file is often the bundle of a whole distribution. A file with too many
    other CAs is ignored with a warning, so clusters can still be made.
    """
    path = conf.CONF.drivers.openstack_ca_file
    if not path:
        return ()
    certificates = read_cas(path, f"[drivers] openstack_ca_file {path}")
    own = [pem for pem in certificates if pem not in public_cas()]
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
    by_name: dict[str, str] = {}
    for path in conf.CONF.capi_helm.trusted_ca_files:
        origin = f"[capi_helm] trusted_ca_files {path}"
        stem = pathlib.Path(path).stem
        if not _CA_NAME.fullmatch(stem):
            raise errors.NotConfigured(
                f"{origin}: give it a name of letters, digits, - and _"
            )
        for name, pem in _named(stem, read_cas(path, origin)):
            if by_name.setdefault(name, pem) != pem or name == "openstack":
                raise errors.NotConfigured(
                    f"{origin}: another one gives {name} as well; rename it"
                )
    if sum(map(len, by_name.values())) > _CAS_LIMIT:
        raise errors.NotConfigured(
            "[capi_helm] trusted_ca_files: larger than "
            f"{_CAS_LIMIT // 1024} KiB together, too much for user data"
        )
    return tuple(by_name.items())


def _named(name: str, pems: list[str]) -> Iterator[tuple[str, str]]:
    """Yield a name for each certificate: tools read only one from a file."""
    if len(pems) == 1:
        yield name, pems[0]
    else:
        for number, pem in enumerate(pems, 1):
            yield f"{name}-{number}", pem


#: Bytes of one file. All values of a cluster have to fit into one Secret.
LIMIT = 256 * 1024


def complete(
    rt: runtime.Runtime, cluster: cluster_spec.Cluster, built: paths.Values
) -> paths.Values:
    """Add the operator's values to those of the topics.

    :param built: values that the topics made of the cluster
    :raises InvalidInput: an overlay changes what it may not change
    :raises NotConfigured: a file of the operator can't be read
    """
    return mirrored(rt, cluster.chart, apply_overlays(built, cluster.labels))


def mirrored(
    rt: runtime.Runtime, chart: cluster_spec.Chart, values: paths.Values
) -> paths.Values:
    """Take addons from the operator's repository, if there is one.

    Another version of the chart may have more addons, so values that get
    another chart need this again.

    :raises ChartUnavailable: the chart's own values can't be read
    """
    url = conf.CONF.capi_helm.addon_repository
    if not url:
        return values
    package = charts.read(rt.charts.ensure(chart))
    defaults = paths.named({**package.values}, package.version)
    return overlays.with_repository(values, defaults, url)


def apply_overlays(
    values: paths.Values, cluster_labels: labels.Values, *, again: bool = False
) -> paths.Values:
    """Lay the operator's files, then the profiles, over the values.

    :param cluster_labels: the cluster's labels
    :param again: the values had them, or former ones, before
    :raises LabelError: there is no such profile
    :raises NotConfigured: a file can't be read, or says what it must not
    """
    for path in conf.CONF.capi_helm.values_files:
        origin = f"[capi_helm] values_files {path}"
        overlay = read_yaml(path, origin)
        values = overlays.apply(values, overlay, origin, again=again)
    for origin, overlay in _chosen(
        cluster_labels, template.PROFILE_NAMES, "values_profile_dir"
    ):
        values = overlays.apply(values, overlay, origin, again=again)
    return values


def add_profiles(
    group_labels: labels.Values,
    item: Mapping[str, Any] | None = None,
) -> paths.Values:
    """Lay the profiles of a nodegroup over its item of ``nodeGroups``.

    :param item: may have the profiles, or former ones; None: return what
        the profiles alone have
    :raises LabelError: there is no such profile
    :raises NotConfigured: a file can't be read, or has a key that is not
        allowed
    """
    result = dict(item or {})
    for origin, overlay in _chosen(
        group_labels, template.GROUP_PROFILE_NAMES, "nodegroup_profile_dir"
    ):
        result = overlays.apply_to_group(
            result, overlay, origin, again=item is not None
        )
    return result


def _chosen(
    settings: labels.Values,
    label: labels.Label[tuple[str, ...]],
    option: str,
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each profile that a label names, for messages and its content."""
    names = settings[label]
    profiles = _profiles(option) if names else {}
    for name in names:
        if name not in profiles:
            raise settings.refused(
                label,
                "names of the operator's profiles",
                f"there are {', '.join(profiles) or 'none'}",
            )
        origin = f"{option.removesuffix('_profile_dir')} profile {name}"
        yield origin, read_yaml(profiles[name], origin)


def read_yaml(path: str | pathlib.Path, origin: str) -> dict[str, Any]:
    """Return the mapping of a YAML file, which JSON can represent.

    :param origin: file and option, for the message
    :raises NotConfigured: as :func:`read_document`, or it is no mapping
    """
    document = read_document(path, origin)
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise errors.NotConfigured(f"{origin}: must be a mapping")
    return document


def read_document(path: str | pathlib.Path, origin: str) -> Any:
    """Return the document of a YAML file, which JSON can represent.

    :param origin: file and option, for the message
    :raises NotConfigured: it can't be read, or holds something else; never
        with its content
    """
    with errors.reading(origin), open(path, "rb") as source:
        text = source.read(LIMIT + 1)
    try:
        if len(text) > LIMIT:
            raise _Unusable(f"is larger than {LIMIT // 1024} KiB")
        # Its loader is one of yaml's safe ones.
        document = yaml.load(text.decode(), _Loader)  # noqa: S506  # nosec
    except _Unusable as error:
        raise errors.NotConfigured(f"{origin}: {error}") from error
    except _YAML_ERRORS as error:
        # Not chained: the texts of these quote the document.
        raise errors.NotConfigured(
            f"{origin}: is no YAML{_place_of(error)}"
        ) from None
    try:
        json.dumps(document, allow_nan=False)
    except (RecursionError, TypeError, ValueError) as error:
        raise errors.NotConfigured(
            f"{origin}: helm can't use it as JSON. {error}"
        ) from None
    return document


def _profiles(option: str) -> dict[str, pathlib.Path]:
    """Return the files of the operator's profiles, by name.

    :param option: names their directory
    """
    directory = conf.CONF.capi_helm[option]
    if not directory:
        return {}
    with errors.reading(f"[capi_helm] {option} {directory}"):
        files = sorted(pathlib.Path(directory).iterdir())
    return {
        path.stem: path
        for path in files
        if path.suffix == ".yaml" and template.is_profile_name(path.stem)
    }


class _Unusable(Exception):
    """A file is YAML, but can't be used as values."""


#: Exceptions of reading YAML; tags such as !!bool raise several of their own.
_YAML_ERRORS = (
    *encoding.DAMAGED,
    yaml.YAMLError,
    LookupError,
    RecursionError,
)


class _Loader(yaml.SafeLoader):  # type: ignore[misc]
    """Load YAML as helm does: dates are text, and no key occurs twice."""

    def construct_mapping(
        self, node: yaml.MappingNode, deep: bool = False
    ) -> dict[Any, Any]:
        keys = set()
        for key, _ in node.value:
            name = str(key.value)
            if name in keys:
                line = key.start_mark.line + 1
                raise _Unusable(f"has a key in line {line} a second time")
            keys.add(name)
        mapping: dict[Any, Any] = super().construct_mapping(node, deep)
        if not all(isinstance(key, str) for key in mapping):
            raise _Unusable("has a key that is no text: quote it")
        return mapping


_Loader.yaml_implicit_resolvers = {
    first: [each for each in found if each[0] != "tag:yaml.org,2002:timestamp"]
    for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _place_of(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return " in UTF-8"
    mark = getattr(error, "problem_mark", None)
    return f" in line {mark.line + 1}" if mark else ""


def read_cas(path: str, origin: str) -> list[str]:
    """Return the certificates of a PEM file, without the text between them.

    :param origin: names file and option, for the message
    :raises NotConfigured: it can't be read, or has none
    """
    with errors.reading(origin):
        text = pathlib.Path(path).read_text("latin-1")
    try:
        return encoding.pem_certificates(text)
    except ValueError as error:
        raise errors.NotConfigured(
            f"{origin}: holds no certificates in PEM"
        ) from error


@functools.lru_cache(maxsize=1)
def public_cas() -> frozenset[str]:
    """Return the CAs that every machine trusts: Mozilla's list."""
    return frozenset(read_cas(certifi.where(), "certifi"))
