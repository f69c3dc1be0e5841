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
"""Put the records of the last drills beside the page that shows them.

``python3 -m magnum_capi_helm.tests.drills.publish``, after the drills.
"""

from __future__ import annotations

from magnum_capi_helm.tests.drills import case
from magnum_capi_helm.tests.functional import base

PAGES = base.CHECKOUT / "doc" / "source" / "admin" / "drills"


def main() -> None:
    """Copy each record."""
    PAGES.mkdir(exist_ok=True)
    for each in sorted(case.RECORDS.glob("*.txt")):
        (PAGES / each.name).write_text(each.read_text())


if __name__ == "__main__":
    main()
