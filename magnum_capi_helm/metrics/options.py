# SPDX-License-Identifier: Apache-2.0

"""The option of ``[capi_helm]`` for what conductors measure."""

from __future__ import annotations

from oslo_config import cfg

OPTIONS: list[cfg.Opt] = [
    cfg.StrOpt(
        "metrics_dir",
        default="",
        help="Directory for node_exporter's textfile collector, where each "
        "process of magnum-conductor that polls writes a file with what it "
        "measures, every 15 seconds. Magnum's user must be able to write "
        "there. Empty: nothing is measured.",
    ),
]
