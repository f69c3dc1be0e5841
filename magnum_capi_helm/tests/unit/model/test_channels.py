# SPDX-License-Identifier: Apache-2.0

"""The newest template of a channel for each cluster."""

from __future__ import annotations

import types

from oslotest import base

from magnum_capi_helm.model import channels


def _template(
    name: str,
    version: str,
    day: int = 1,
    channel: str = "stable",
    distro: str = "ubuntu",
    flavor: str = "m1.medium",
) -> channels.Template:
    row = types.SimpleNamespace(
        name=name,
        created_at=day,
        cluster_distro=distro,
        network_driver="calico",
        flavor_id=flavor,
        master_flavor_id="m1.medium",
    )
    return channels.Template(row, channel, version)


_KNOWN = (
    _template("a", "1.34.2"),
    _template("b", "1.34.9", 2),
    _template("c", "1.34.10", 3),
    _template("rebuilt", "1.34.10", 5),
    _template("d", "1.35.1", 4),
    _template("e", "1.36.0", 6),
    _template("early", "1.34.11", channel="early"),
    _template("flatcar", "1.34.12", distro="flatcar"),
    _template("large", "1.34.12", flavor="m1.large"),
    _template("unknown", "", 9),
)

#: A cluster and the newest template of its minor version, and up to the next.
_ROWS: tuple[tuple[channels.Template, tuple[str, str]], ...] = (
    (_template("a", "1.34.2"), ("rebuilt", "d")),
    (_template("c", "1.34.10", 3), ("rebuilt", "d")),
    (_template("rebuilt", "1.34.10", 5), ("", "d")),
    # The image of its template was replaced by a newer one since.
    (_template("b", "1.34.1", 2), ("rebuilt", "d")),
    (_template("own", "1.34.11", 1), ("", "d")),
    (_template("d", "1.35.1", 4), ("", "e")),
    (_template("old", "1.33.4"), ("", "rebuilt")),
    (_template("older", "1.32.9"), ("", "")),
    (_template("a", "1.34.2", channel="early"), ("early", "early")),
    (_template("a", "1.34.2", channel="other"), ("", "")),
    (_template("a", "1.34.2", distro="flatcar"), ("flatcar", "flatcar")),
    (_template("a", "1.34.2", flavor="m1.large"), ("large", "large")),
    # 1.4.0 left clusters without a version in the values.
    (_template("a", ""), ("", "")),
)


class ChannelsTest(base.BaseTestCase):
    def test_each_cluster_gets_the_newest_template_of_its_family(self) -> None:
        for present, names in _ROWS:
            for minor, name in zip((False, True), names, strict=True):
                newest = channels.newest(present, _KNOWN, minor=minor)
                self.assertEqual(
                    name,
                    newest.row.name if newest is not present else "",
                    f"{present} {minor}",
                )
