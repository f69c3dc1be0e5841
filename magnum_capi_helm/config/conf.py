# SPDX-License-Identifier: Apache-2.0

"""The driver's options: ``[capi_helm]`` and ``[capi_helm_cluster_labels]``.

Names, types and defaults of magnum-capi-helm 1.4.0 stay as they are, so its
configuration file goes on working; the one default that changed is the
chart's version. The second group is generated from the labels that the
topics declare. Options for the delivery of kubeconfigs are checked together
with the files that they name: the key that signs, and the receiver's CAs.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
import contextlib
import dataclasses
import glob
import os
import ssl
import stat
from typing import Any, cast
from urllib import parse

import magnum.conf
from oslo_config import cfg
from oslo_config import types

from magnum_capi_helm import features
from magnum_capi_helm.config import options
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import labels

CONF = magnum.conf.CONF

#: One process that hangs does not block the others.
_FEWEST_HELMS = 2

capi_helm_group = cfg.OptGroup(
    name="capi_helm", title="Cluster API driver for Magnum"
)
labels_group = cfg.OptGroup(
    name="capi_helm_cluster_labels",
    title="Defaults of cluster labels, for every cluster of this cloud",
)

_MANAGEMENT = "capi_helm_management_"
#: As the sample configuration shows it: one for each name in the list.
management_group = cfg.OptGroup(
    name=f"{_MANAGEMENT}name",
    title="A management cluster, of several",
    help="One group for each name in [capi_helm] management_clusters, with "
    "that name at its end.",
    dynamic_group_owner="management_clusters",
)


def _option(label: labels.Label[Any]) -> cfg.Opt:
    old = [
        cfg.DeprecatedOpt(name, group=capi_helm_group.name)
        for name in label.former
    ]
    old += [
        cfg.DeprecatedOpt(name, group=labels_group.name)
        for name in label.aliases
        if name in label.former
    ]
    return cfg.Opt(
        label.name,
        type=cast("types.ConfigType", label.type),
        default=label.default,
        deprecated_opts=old,
        help=f"{label.help} Allowed: {label.rule}.",
    )


label_opts = [
    _option(label)
    for label in features.LABELS
    if label.scope is not labels.Scope.TEMPLATE
]

ALL_OPTS = {
    capi_helm_group: options.OPTIONS,
    labels_group: label_opts,
}

for _group, _opts in ALL_OPTS.items():
    CONF.register_group(_group)
    CONF.register_opts(_opts, group=_group)


NO_FILES = (
    "no configuration file was found, so all options have their defaults: "
    "give --config-file"
)


def files() -> list[str]:
    """Return the configuration files and directories that were read."""
    # oslo.config has these two only after it was called.
    return [
        *(getattr(CONF, "config_file", None) or ()),
        *(getattr(CONF, "config_dir", None) or ()),
    ]


def unknown_options() -> Iterator[str]:
    """Yield the driver's groups and options in the files that do not exist.

    oslo.config ignores names that nobody has registered.
    """
    known = _known_options()
    groups: dict[str, dict[str, Any]] = {}
    for each in files():
        for path in (each, *glob.glob(os.path.join(each, "*.conf"))):
            # A directory, or a file that was changed after the start.
            with contextlib.suppress(OSError, ValueError, cfg.ParseError):
                cfg.ConfigParser(path, groups).parse()
    for group, used in groups.items():
        section = group.lower()
        if section in known:
            for name in sorted(used.keys() - known[section]):
                hint = errors.did_you_mean(name, known[section])
                yield f"[{group}] has no option {name}{hint}"
        elif section.replace("-", "_").startswith(capi_helm_group.name):
            hint = errors.did_you_mean(section, known)
            yield f"the driver has no group [{group}]{hint}"


def _known_options() -> dict[str, set[str]]:
    """Return the names of all options by group, former ones included."""
    known = {g.name: {each.dest for each in opts} for g, opts in list_opts()}
    for opt in label_opts:
        for old in opt.deprecated_opts:
            known[str(old.group)].add(str(old.name))
    of_each = known.pop(management_group.name)
    names = CONF.capi_helm.management_clusters
    return known | {_MANAGEMENT + name: of_each for name in names}


def list_opts() -> list[tuple[cfg.OptGroup, list[cfg.Opt]]]:
    """Return all options, for the sample file (oslo.config.opts)."""
    return [
        *ALL_OPTS.items(),
        (management_group, options.MANAGEMENT_CLUSTER_OPTIONS),
    ]


def label_defaults() -> dict[str, Any]:
    """Return the operator's default of each label."""
    group = CONF[labels_group.name]
    return {opt.name: getattr(group, opt.dest) for opt in label_opts}


def interface() -> str:
    """Return the clusters' endpoint interface: public, internal or admin."""
    return str(CONF.capi_helm.app_cred_interface_type).removesuffix("URL")


def helm_processes() -> int:
    """Return the number of helm processes that may run at once.

    Magnum runs as many workers as there are processors, unless told
    otherwise; each is a process that takes requests.
    """
    if configured := CONF.capi_helm.max_helm_processes:
        return int(configured)
    processors = len(os.sched_getaffinity(0))
    workers = CONF.conductor.workers or processors
    return int(max(_FEWEST_HELMS, processors // workers))


def chart_store_is_set() -> bool:
    """Return whether the operator chose the directory of the charts."""
    origin = CONF.get_location("chart_store", capi_helm_group.name)
    return bool(origin.location.is_user_controlled)


def management_clusters() -> tuple[options.ManagementCluster, ...]:
    """Return every management cluster; a single one has no name.

    :raises NotConfigured: naming the option that is missing or wrong
    """
    names = CONF.capi_helm.management_clusters
    if not names:
        option = f"[{capi_helm_group.name}] kubeconfig_file"
        return (options.ManagementCluster("", kubeconfig_path(), option),)
    for name in names:
        if (
            not options.is_management_cluster_name(name)
            or names.count(name) > 1
        ):
            raise errors.NotConfigured(
                f"[capi_helm] management_clusters has {name!r}: give each "
                "management cluster a name of its own, of lower case "
                "letters, digits, - and _"
            )
    return tuple(map(_management_cluster, names))


def _management_cluster(name: str) -> options.ManagementCluster:
    group = _MANAGEMENT + name
    CONF.register_opts(options.MANAGEMENT_CLUSTER_OPTIONS, group=group)
    option = f"[{group}] kubeconfig_file"
    kubeconfig = CONF[group].kubeconfig_file
    if not kubeconfig:
        raise errors.NotConfigured(
            f"[capi_helm] management_clusters names {name}: set {option} to "
            "its kubeconfig"
        )
    return options.ManagementCluster(
        name, os.path.expanduser(kubeconfig), option
    )


def kubeconfig_path() -> str:
    """Return the path of the kubeconfig, in the order that helm uses."""
    configured = CONF.capi_helm.kubeconfig_file
    if configured:
        return os.path.expanduser(str(configured))
    from_environment = os.environ.get("KUBECONFIG", "").split(os.pathsep)[0]
    return from_environment or os.path.expanduser("~/.kube/config")


# Delivery of kubeconfigs

_KEY_OPTION = "[capi_helm] delivery_key_file"
_KEY_PREFIX = b"whsec_"
#: Bytes of a key.
_SHORTEST, _LONGEST = 24, 64
#: Bytes of a key file: two keys and their prefixes are 184.
_KEY_FILE = 1024
#: Modes that a key file must not have: any for others, write for a group.
_TOO_OPEN = stat.S_IRWXO | stat.S_IWGRP


@dataclasses.dataclass(frozen=True)
class Delivery:
    """The receiver, and how kubeconfigs are sent to it.

    :param host: host of the URL: the rest of the URL may be secret
    :param keys: the keys that sign, the one in use first
    :param ca_file: empty: the CAs that requests trusts
    :param user: user of the kubeconfig
    :param interval: seconds between two looks for a change
    """

    url: str = dataclasses.field(repr=False)
    host: str
    port: int
    keys: tuple[bytes, ...] = dataclasses.field(repr=False)
    ca_file: str
    user: str
    interval: float

    @property
    def receiver(self) -> str:
        """Return the part of the URL that may be logged."""
        return f"https://{self.host}:{self.port}"


def delivery_enabled() -> bool:
    """Return whether kubeconfigs are delivered. Reads no file."""
    return bool(CONF.capi_helm.delivery_url)


def delivery() -> Delivery:
    """Return the settings; the files are read each time.

    :raises NotConfigured: naming the option that is missing or wrong
    """
    group = CONF.capi_helm
    try:
        host, port = _delivery_host(group.delivery_url)
        return Delivery(
            url=group.delivery_url,
            host=host,
            port=port,
            keys=read_keys(group.delivery_key_file),
            ca_file=_ca_file(group.delivery_ca_file),
            user=group.delivery_user,
            interval=float(group.delivery_check_interval),
        )
    except cfg.ConfigFileValueError as error:
        raise errors.NotConfigured(str(error)) from error


def _delivery_host(url: str) -> tuple[str, int]:
    """Return host and port of a URL that may be sent to.

    Errors do not quote the URL, because its path may be a secret.
    """
    try:
        parts = parse.urlsplit(url)
        port = 443 if parts.port is None else parts.port
    except ValueError:
        parts, port = parse.urlsplit(""), 0
    if (
        parts.scheme != "https"
        or not parts.hostname
        or not port
        or "@" in parts.netloc
        or parts.fragment
        or not (url.isascii() and url.isprintable())
        or " " in url
    ):
        raise errors.NotConfigured(
            "[capi_helm] delivery_url is not a URL to send to: give "
            "https://host[:port]/path, without user, password and fragment"
        )
    return parts.hostname, port


def _ca_file(path: str) -> str:
    """Return the path if the file has certificates."""
    if not path:
        return ""
    try:
        ssl.create_default_context(cafile=path)
    except OSError as error:
        why = str(error.strerror)
        if isinstance(error, ssl.SSLError):
            # Its text names lines of OpenSSL.
            why = "it has no certificates in PEM"
        raise errors.NotConfigured(
            f"[capi_helm] delivery_ca_file {path} can't be used: {why}"
        ) from None
    return path


def read_keys(path: str) -> tuple[bytes, ...]:
    """Return the keys in a file, the one in use first.

    :raises NotConfigured: the file has none, or others can read it
    """
    if not path:
        raise errors.NotConfigured(
            f"{_KEY_OPTION} is empty: name a file with the key that signs "
            "kubeconfigs for delivery_url"
        )
    option, keys = f"{_KEY_OPTION} {path}", []
    try:
        mode = os.stat(path).st_mode
        # Opening a pipe would wait for a writer.
        if not stat.S_ISREG(mode) or mode & _TOO_OPEN:
            raise errors.NotConfigured(
                f"{option} has mode {stat.S_IMODE(mode):04o}: give a regular "
                "file that others can't read and a group can't write, with "
                "mode 0600 or 0640"
            )
        with open(path, "rb") as stream:
            for line in stream.read(_KEY_FILE).split():
                text = line.removeprefix(_KEY_PREFIX)
                keys.append(base64.b64decode(text, validate=True))
    except OSError as error:
        why = error.strerror
        raise errors.NotConfigured(f"{option} can't be read: {why}") from None
    except ValueError:
        keys.clear()
    if len(keys) not in (1, 2) or not all(
        _SHORTEST <= len(each) <= _LONGEST for each in keys
    ):
        # Not quoted: it may be a key.
        raise errors.NotConfigured(
            f"{option} has no key: give one, or the new one and the former "
            f"one, each in a line of its own, of {_SHORTEST} to {_LONGEST} "
            "bytes in base64, such as the output of openssl rand -base64 32"
        )
    return tuple(keys)
