# SPDX-License-Identifier: Apache-2.0

"""cinder_all.py cinder PORT [OPTION...]: Cinder's services in one process.

API, scheduler and one backend talk over oslo.messaging's in-process
transport. The backend's volumes hold nothing: they are rows that Cinder's own
code makes available, attaches and deletes.
"""

import os
import sys
from typing import Any

# Before Cinder is imported: threads, no eventlet.
os.environ["OS_CINDER_DISABLE_EVENTLET_PATCHING"] = "1"
from cinder import monkey_patch  # isort: skip

monkey_patch.patch(backend="threading")

from cheroot import wsgi  # noqa: E402
from cinder import objects  # noqa: E402
from cinder import policy  # noqa: E402
from cinder import service  # noqa: E402
from cinder.volume import driver  # noqa: E402

_BACKEND = "lab"


class Volumes(driver.VolumeDriver):  # type: ignore[misc]
    """A backend that keeps no bytes; Cinder loads it by this name."""

    VERSION = "1"

    def check_for_setup_error(self) -> None:
        """Accept every configuration."""

    def _update_volume_stats(self) -> None:
        self._stats = {
            "volume_backend_name": _BACKEND,
            "vendor_name": "lab",
            "driver_version": self.VERSION,
            "storage_protocol": "iscsi",
            "total_capacity_gb": 100_000,
            "free_capacity_gb": 100_000,
            "reserved_percentage": 0,
            "multiattach": True,
        }

    def create_volume(self, volume: Any) -> None:
        """Create nothing."""

    def delete_volume(self, volume: Any) -> None:
        """Delete nothing."""

    def extend_volume(self, volume: Any, new_size: int) -> None:
        """Extend nothing."""

    def create_snapshot(self, snapshot: Any) -> None:
        """Create nothing."""

    def delete_snapshot(self, snapshot: Any) -> None:
        """Delete nothing."""

    def create_volume_from_snapshot(self, volume: Any, snapshot: Any) -> None:
        """Create nothing."""

    def create_cloned_volume(self, volume: Any, source: Any) -> None:
        """Create nothing."""

    def clone_image(self, *_words: Any) -> tuple[dict[str, Any], bool]:
        """Say that the volume has the image, so that Cinder copies none."""
        return {}, True

    def ensure_export(self, context: Any, volume: Any) -> None:
        """Export nothing."""

    def create_export(self, context: Any, volume: Any, connector: Any) -> None:
        """Export nothing."""

    def remove_export(self, context: Any, volume: Any) -> None:
        """Export nothing."""

    def initialize_connection(
        self, volume: Any, connector: Any
    ) -> dict[str, Any]:
        """Return a connection that Nova's fake driver does not use."""
        return {
            "driver_volume_type": "iscsi",
            "data": {"access_mode": "rw", "volume_id": volume.id},
        }

    def terminate_connection(
        self, volume: Any, connector: Any, **_words: Any
    ) -> None:
        """Forget nothing."""


def main(port: int, options: list[str]) -> None:
    """Serve until killed."""
    # Cinder parses the command line when this is imported.
    sys.argv = ["cinder", *options]
    from cinder.wsgi import api

    policy.init()
    objects.register_all()
    for binary, host, name in (
        ("cinder-scheduler", None, None),
        ("cinder-volume", f"lab@{_BACKEND}", _BACKEND),
    ):
        service.Service.create(
            binary=binary,
            host=host,
            service_name=name,
            coordination=name is not None,
        ).start()
    wsgi.Server(
        ("127.0.0.1", port), api.application, numthreads=8, timeout=600
    ).start()


if __name__ == "__main__":
    main(int(sys.argv[2]), sys.argv[3:])
