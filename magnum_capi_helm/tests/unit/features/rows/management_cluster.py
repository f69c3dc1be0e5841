# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from typing import Any

CHANGES: dict[str, Any] = {"capi_management_cluster": ("east", {})}

#: Which names there are, only the operator's configuration says.
ANY_TEXT = {"capi_management_cluster": ""}
