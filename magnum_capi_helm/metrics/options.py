# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

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
