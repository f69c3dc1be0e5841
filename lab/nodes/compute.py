# SPDX-License-Identifier: Apache-2.0

"""Nova's virt driver whose servers are machines of this host.

``nova_all.py`` makes it known to Nova as ``nova.virt.lab_nodes``. Resources
and everything that clusters don't use are those of Nova's own fake driver.
"""

import copy
import os
import pathlib
from typing import Any

from nova import exception
from nova.api.metadata import base as metadata
from nova.compute import power_state
from nova.virt import fake
from nova.virt import hardware

from lab.nodes import machine

_MEGABYTE = 1024 * 1024


class Driver(fake.PredictableNodeUUIDDriver):  # type: ignore[misc]
    """Machines for servers.

    The environment has the lab's prefix, the folder of machines and the
    folder with a system for each image name.
    """

    def __init__(self, virtapi: Any, read_only: bool = False) -> None:
        super().__init__(virtapi, read_only)
        self._prefix = os.environ["LAB_NODES_PREFIX"]
        self._machines = pathlib.Path(os.environ["LAB_NODES_MACHINES"])
        self._images = pathlib.Path(os.environ["LAB_NODES_IMAGES"])

    def _machine(self, instance: Any) -> machine.Machine:
        return machine.Machine(self._prefix, self._machines, instance.uuid)

    def _known(self, instance: Any) -> machine.Machine:
        """Return the machine of an instance.

        :raises InstanceNotFound: there is none
        """
        found = self._machine(instance)
        if not found.exists:
            raise exception.InstanceNotFound(instance_id=instance.uuid)
        if instance.uuid not in self.instances:
            # This process is a new one.
            self.instances[instance.uuid] = fake.FakeInstance(
                instance.name, power_state.RUNNING, instance.uuid
            )
            flavor = instance.flavor
            self.resources.claim(
                vcpus=flavor.vcpus, mem=flavor.memory_mb, disk=flavor.root_gb
            )
        return found

    def spawn(
        self,
        context: Any,
        instance: Any,
        image_meta: Any,
        injected_files: Any,
        admin_password: Any,
        allocations: Any,
        network_info: Any = None,
        block_device_info: Any = None,
        power_on: bool = True,
        accel_info: Any = None,
    ) -> None:
        """Make the machine and start it."""
        system = self._system(instance, image_meta)
        super().spawn(
            context,
            instance,
            image_meta,
            injected_files,
            admin_password,
            allocations,
            network_info,
            block_device_info,
            power_on,
            accel_info,
        )
        spec = machine.Spec(
            name=instance.uuid,
            hostname=instance.hostname,
            image=str(system),
            memory=instance.flavor.memory_mb * _MEGABYTE,
            links=tuple(
                machine.Link(vif["id"], vif["address"])
                for vif in network_info or ()
            ),
        )
        drive = metadata.InstanceMetadata(
            instance,
            content=injected_files,
            extra_md={"admin_pass": admin_password},
            network_info=_static(network_info or []),
        )
        made = self._machine(instance)
        made.make(spec, _files(drive))
        if power_on:
            made.start()

    def _system(self, instance: Any, image_meta: Any) -> pathlib.Path:
        """Return the folder with the system of an image.

        :raises ImageUnacceptable: the image is no system of this lab
        """
        name = str(image_meta.name) if "name" in image_meta else ""
        folder = self._images / name
        if not name or not folder.is_dir():
            known = sorted(each.name for each in self._images.iterdir())
            raise exception.ImageUnacceptable(
                image_id=instance.image_ref,
                reason=f"image {name!r} has no system: choose one of {known}",
            )
        return folder

    def destroy(
        self, context: Any, instance: Any, *rest: Any, **others: Any
    ) -> None:
        """Remove the machine."""
        self._machine(instance).remove()
        super().destroy(context, instance, *rest, **others)

    def power_off(self, instance: Any, *rest: Any, **others: Any) -> None:
        """Switch the machine off."""
        self._known(instance).stop()

    def power_on(
        self, context: Any, instance: Any, *rest: Any, **others: Any
    ) -> None:
        """Switch the machine on."""
        self._known(instance).start()

    #: Nova calls it after this host was down.
    resume_state_on_host_boot = power_on

    def reboot(
        self, context: Any, instance: Any, *rest: Any, **others: Any
    ) -> None:
        """Switch the machine off and on."""
        found = self._known(instance)
        found.stop()
        found.start()

    def get_info(self, instance: Any, use_cache: bool = True) -> Any:
        """Return whether the machine runs."""
        running = self._known(instance).running
        return hardware.InstanceInfo(
            state=power_state.RUNNING if running else power_state.SHUTDOWN
        )

    def get_console_output(self, context: Any, instance: Any) -> str:
        """Return what the machine's bootstrap has said."""
        return self._known(instance).console()


def _files(drive: Any) -> dict[str, bytes]:
    """Return the files of a configuration drive."""
    return {
        path: content.encode() if isinstance(content, str) else content
        for path, content in drive.metadata_for_config_drive()
    }


def _static(network_info: Any) -> Any:
    """Return networks whose addresses the configuration drive has.

    Nova leaves addresses of most networks to DHCP, which nobody serves here.
    """
    found = copy.deepcopy(network_info)
    for vif in found:
        for subnet in vif["network"]["subnets"]:
            subnet["meta"].pop("dhcp_server", None)
            subnet["meta"].pop("enable_dhcp", None)
    return found
