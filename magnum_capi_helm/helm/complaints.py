# SPDX-License-Identifier: Apache-2.0

"""Exceptions of the driver for helm's standard error.

helm has no exit codes to tell its failures apart: the texts are all there
is (helm 3.16 to 4.2, and the API server's behind them).
"""

from __future__ import annotations

import re

from magnum_capi_helm.model import encoding
from magnum_capi_helm.model import errors

#: The second text: two helms raced for the record of one revision.
_BUSY = re.compile(
    r"another operation \(install/upgrade/rollback\) is in progress"
    r"|sh\.helm\.release\.v1\S* already exists"
)
_UNREACHABLE: list[str] = encoding.package_data("helm/unreachable.yaml")
#: A limit of etcd: each try meets it again (``ErrRequestTooLarge`` in etcd's
#: ``server/etcdserver/errors``).
_TOO_LARGE = "etcdserver: request is too large"
#: The API server's whole answer to an expired token.
_UNAUTHORIZED = re.compile(r"\bunauthorized$")
#: helm has written nothing by then (``performUpgrade`` in helm's
#: ``pkg/action/upgrade.go``), except that it is about to uninstall. The cause
#: of a failed uninstall is only in its debug log (``Run`` in
#: ``uninstall.go``).
_STRANDED = re.compile(
    r"from current release manifest|^current release manifest contains removed"
    r"|^failed to delete release"
)
#: About the chart's own objects, and not those that exist. helm renders and
#: looks them up first (``prepareUpgrade``), and names each of them.
_CHART_STRANDED = re.compile(
    r'no matches for kind "[^"]*" in version "([^"]+)"'
)
_CHART_MISSING = re.compile(
    r"chart .*not found|404 not found|is not a valid chart repository"
    r"|failed to fetch|no chart name found|path .* not found"
    r"|looks like .* is not a valid",
    re.IGNORECASE,
)
#: The conductor's own disk; the text before it has a path.
_DISK = re.compile(
    r"(no space left on device|disk quota exceeded|read-only file system"
    r"|input/output error)$"
)
_NOISE = re.compile(
    r"^(error: )?((upgrade|uninstallation|installation) failed: )?"
    r"(execution error at )?",
    re.IGNORECASE,
)
#: Warnings of helm, for example about merged values ("coalesce.go:319:
#: warning: destination for ... is a table"), or of the API server
#: ('I1121 19:21:11.056413   18485 warnings.go:107] "Warning: ...
#: is deprecated"').
_WARNING = re.compile(
    r"([IWE]\d{4} [\d:.]+ +\d+ )?(\S+\.go:\d+[:\]] )?\"?warning\b",
    re.IGNORECASE,
)
_LONGEST_REASON = 600


def translated(what: str, stderr: bytes) -> errors.HelmError:
    """Return helm's complaint as an exception with one sentence."""
    lines = [
        line.strip()
        for line in stderr.decode(errors="replace").splitlines()
        if line.strip() and not _WARNING.match(line.strip())
    ]
    text = " ".join(lines)
    while (shorter := _NOISE.sub("", text)) != text:
        text = shorter
    folded = text.lower()
    message = f"helm {what}: {text[:_LONGEST_REASON] or 'failed'}"
    if _BUSY.search(folded):
        return errors.HelmBusy(message)
    final = _TOO_LARGE in folded
    if not final and any(each in folded for each in _UNREACHABLE):
        return errors.HelmUnreachable(message)
    if what != "pull" and _UNAUTHORIZED.search(folded):
        return errors.HelmUnreachable(message)
    if what == "pull" and (disk := _DISK.search(folded)):
        return errors.ChartUnstorable(f"helm pull: {disk[0]}")
    if what == "pull" or _CHART_MISSING.search(folded):
        return errors.ChartUnavailable(message)
    if _STRANDED.search(folded):
        return errors.ReleaseStranded(message)
    if "error while running post render" in folded:
        return errors.Unconvertible(message)
    if unserved := sorted(set(_CHART_STRANDED.findall(text))):
        message = (
            f"helm {what}: the chart makes objects of {', '.join(unserved)}, "
            "which the management cluster does not serve: it takes another "
            "chart, or a management cluster that serves this again; after a "
            "resize that failed, resize back to the count that it had before "
            "you upgrade: Magnum upgrades nothing that is UPDATE_FAILED"
        )
        return errors.ChartStranded(message)
    return errors.HelmError(message)
