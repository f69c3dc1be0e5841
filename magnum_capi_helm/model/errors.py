# SPDX-License-Identifier: Apache-2.0

"""Exceptions of the driver.

The text of each is one line: the problem, and how to solve it.
Its first sentence names the field and the rule; values, names and examples,
which may have full stops, follow. Magnum's API cuts the title of an error at
the first full stop (``magnum.api.middleware.parsable_error``), and ``openstack
coe`` prints the title alone.

The text may be shown to a tenant, so it never holds a secret, a manifest, or a
path, address, option or UID of the operator's: those are the ``detail``, which
the log and the command line show (:func:`explained`). Only the texts of
:class:`NotConfigured` are the operator's; tenants get :func:`for_users`.
:mod:`magnum_capi_helm.operations.magnum_errors` maps
them to exceptions of Magnum, in one place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
import contextlib
import difflib
import os
import ssl

#: Characters of one value that a text shows at most.
_SHOWN = 100
#: Characters of a whole text: names that are not quoted may be long as well.
_LONGEST = 2000


def shown(value: object) -> str:
    """Quote a user's value for a message, in one line and shortened."""
    quoted = repr(value)
    if len(quoted) <= _SHOWN:
        return quoted
    return f"{quoted[: _SHOWN - 4]}...{quoted[-1]}"


def one_of(words: Iterable[str]) -> str:
    """Return "a, b or c"."""
    *first, last = words
    return f"{', '.join(first)} or {last}" if first else last


def shortened(items: Sequence[str], limit: int) -> str:
    """Return the first items, and the number of the others."""
    text = ", ".join(items[:limit])
    more = len(items) - limit
    return f"{text} and {more} more" if more > 0 else text


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the known name that is most like this one, as a hint, or ""."""
    nearest = difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.7)
    return f" (did you mean {nearest[0]}?)" if nearest else ""


def _one_line(text: str) -> str:
    """Escape characters that would begin another line of a log."""
    cut = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
    return "".join(
        each
        if each.isprintable()
        else each.encode("unicode_escape").decode("ascii")
        for each in cut
    )


class CapiHelmError(Exception):
    """Base of the driver's exceptions.

    ``retriable``: the same call may succeed later.

    :param text: made one line, since names that users chose may be in it
    :param detail: a sentence for the operator alone
    """

    retriable = False

    def __init__(self, text: str = "", *, detail: str = "") -> None:
        super().__init__(_one_line(text))
        self.detail = _one_line(detail)


class InvalidInput(CapiHelmError):
    """The request can't be served as it stands; the user can correct it."""


class LabelError(InvalidInput):
    """A label's value is not allowed.

    :param name: the label
    :param value: the user's value
    :param allowed: the allowed values, in words without a full stop
    :param details: more advice, such as an example
    """

    def __init__(
        self, name: str, value: object, allowed: str, details: str = ""
    ) -> None:
        more = f"; {details}" if details else ""
        super().__init__(
            f"label {name}: give {allowed}. It is {shown(value)}{more}"
        )
        self.name = name
        self.value = value
        self.allowed = allowed


class NotSupported(CapiHelmError):
    """A request this driver does not serve."""


class Frozen(NotSupported):
    """The management cluster is frozen: nothing begins on it for now.

    :param called: the management cluster
    :param reason: the operator's
    """

    retriable = True

    def __init__(self, called: str, reason: str) -> None:
        super().__init__(
            f"{called} is frozen for maintenance, try again when that is "
            f"over. The operator says: {reason}"
        )


class WouldReplace(NotSupported):
    """A change would replace machines that the request does not concern.

    Retriable: it works again once the chart is what it was.
    """

    retriable = True


class NotConfigured(CapiHelmError):
    """The operator has to change the configuration of the conductor."""


class CloudError(CapiHelmError):
    """An OpenStack service refused a request or did not answer."""


class CloudUnreachable(CloudError):
    """An OpenStack service did not answer; it may later."""

    retriable = True


class ManagementError(CapiHelmError):
    """The Kubernetes API of the management cluster refused a request."""


class ManagementUnreachable(ManagementError):
    """The management cluster did not answer in time, or with a 5xx."""

    retriable = True


class ManagementUnserved(ManagementUnreachable):
    """The management cluster serves no such kind, at least for now."""


class Conflict(ManagementError):
    """Another client changed the object first (409)."""

    retriable = True


class HelmError(CapiHelmError):
    """helm refused the release."""


class HelmBusy(HelmError):
    """Another helm works on the release, or died while it did."""

    retriable = True


class NoTurn(HelmError):
    """The maximum number of helm processes runs already.

    :param before: number of operations that wait already
    """

    retriable = True

    def __init__(self, before: int) -> None:
        super().__init__(f"waiting for helm: {before} before it")


class HelmUnreachable(HelmError):
    """helm could not reach the management cluster, or ran out of time."""

    retriable = True


class ManifestUnreadable(HelmError):
    """helm renders the chart, but the result can't be read as YAML."""


class Unconvertible(HelmError):
    """An object of a chart can't be converted or patched."""


class ChartStranded(HelmError):
    """The chart makes objects in versions that are not served.

    helm has written nothing.
    """


class ReleaseStranded(HelmError):
    """helm can't find objects of its record in the versions that it names.

    Their API versions may no longer be served. ``helm uninstall`` does not say
    whether this is the cause.
    """


class ReleaseAbsent(HelmError):
    """There is no such release."""


class ChartUnavailable(HelmError):
    """The chart is neither in the chart store nor in the repository."""


class ChartUnstorable(ChartUnavailable):
    """The conductor can't write the chart to its disk."""


class LeaseHeld(CapiHelmError):
    """Another conductor, or thread, holds the Lease of the cluster."""

    retriable = True


class LeaseMissing(CapiHelmError):
    """A part of the driver was about to write without the Lease."""


class LeaseLost(LeaseHeld):
    """This conductor stood still so long that another one took over.

    It must write nothing more: not to the management cluster, and no status.

    :param holder: present holder of the Lease, if it is known
    """

    def __init__(self, release: str, holder: str | None = None) -> None:
        self.holder = holder
        by = f" by {holder}" if holder else ""
        super().__init__(f"the Lease of {release} was taken over{by}")


def causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an exception and its causes."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def explained(error: BaseException) -> str:
    """Return the text for operators: with the details of all causes."""
    own = [each for each in causes(error) if isinstance(each, CapiHelmError)]
    details = (each.detail for each in own)
    return ". ".join(filter(None, dict.fromkeys([str(error), *details])))


def for_users(error: CapiHelmError) -> str:
    """Return the text for tenants, in a status or an answer."""
    if any(isinstance(each, NotConfigured) for each in causes(error)):
        return (
            "Magnum is not configured for this: its operator finds the reason "
            "in the log of the conductor"
        )
    return str(error)


def certificate_problem(error: Exception) -> str:
    """Return why a server's certificate was refused, or ""."""
    for each in causes(error):
        if isinstance(each, ssl.SSLCertVerificationError):
            return str(each.verify_message).rstrip(".")
    return ""


def reason(error: Exception) -> str:
    """Return the message of the operating system or TLS, or the class.

    Messages of libraries contain URLs and requests, so they are not shown.
    """
    why = type(error).__name__
    for each in causes(error):
        if isinstance(each, ssl.SSLError):
            why = each.reason or "no TLS"
        elif isinstance(each, OSError) and each.strerror:
            # Under eventlet the text is the number's name; those of name
            # look-ups are below zero, and have texts of their own.
            number = each.errno or 0
            why = os.strerror(number) if number > 0 else each.strerror
    return why


@contextlib.contextmanager
def in_field(field: str) -> Iterator[None]:
    """Name the field or label whose value the block looks up.

    :raises InvalidInput: in place of one that was raised inside
    """
    try:
        yield
    except InvalidInput as error:
        raise InvalidInput(f"{field}: {error}") from error


@contextlib.contextmanager
def reading(origin: str) -> Iterator[None]:
    """Name the file that the block reads, and the option that names it.

    :raises NotConfigured: the file can't be read
    """
    try:
        yield
    except OSError as error:
        raise NotConfigured(f"{origin}: {error.strerror}") from error
