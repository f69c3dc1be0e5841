# SPDX-License-Identifier: Apache-2.0

"""What ``check`` looks at of the options, and of the files that they name.

All of it is read as a create reads it, which refuses what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from oslo_config import cfg

from magnum_capi_helm import runtime
from magnum_capi_helm.config import conf
from magnum_capi_helm.credentials import access_rules
from magnum_capi_helm.features import audit
from magnum_capi_helm.model import errors
from magnum_capi_helm.model import labels
from magnum_capi_helm.resolve import overlays
from magnum_capi_helm.resolve import site


def configuration(_: runtime.Runtime) -> str:
    """Return the configuration files that were read.

    :raises NotConfigured: there is none, or an option has a value that it
        can't have
    """
    # Files named by options can't be read while an option is no number.
    wrong = list(wrong_options()) or list(_refusals())
    found = conf.files()
    if not found:
        wrong.append(conf.NO_FILES)
    if wrong:
        raise errors.NotConfigured("; ".join(wrong))
    return ", ".join(found)


def wrong_options() -> Iterator[str]:
    """Those whose value is of another type.

    One that nobody reads before a create would fail only then.
    """
    for group, options in conf.ALL_OPTS.items():
        for each in options:
            try:
                getattr(conf.CONF[group.name], each.dest)
            except cfg.ConfigFileValueError as error:
                why = str(error).rpartition(" is not valid: ")[2]
                yield f"[{group.name}] {each.name}: {why}"


def _refusals() -> Iterator[str]:
    """What a cluster with the operator's defaults would be refused for."""
    # Any template may ask for it.
    audited = {**conf.label_defaults(), audit.ENABLED.name: True}
    found = labels.Values(audited)
    looks: tuple[Callable[[], object], ...] = (
        lambda: site.site(found),
        lambda: overlays.apply({}, found),
        access_rules.configured,
    )
    for look in looks:
        try:
            look()
        except errors.CapiHelmError as error:
            yield str(error)
