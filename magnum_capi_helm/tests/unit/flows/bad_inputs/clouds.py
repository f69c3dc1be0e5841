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

"""What OpenStack does not have, or not as a cluster needs it."""

from __future__ import annotations

from magnum_capi_helm.tests.unit.flows import bad_inputs

LOOKUPS: bad_inputs.Table = {
    "a flavor that is not there": bad_inputs.Input(
        "flavor_id: flavor 'm1.huge' not found: choose one of `openstack "
        "flavor list`",
        fields={"flavor_id": "m1.huge"},
    ),
    "a flavor that is too small": bad_inputs.Input(
        "flavor_id: flavor 'm1.tiny' (2 VCPUs, 512 MiB) is too small: a "
        "node needs 2 VCPUs and 2048 MiB",
        fields={"flavor_id": "m1.tiny"},
    ),
    "an image with a name of two lines": bad_inputs.Input(
        r"image_id: image 'dos\n6' not found: choose one of "
        "`openstack image list`",
        template={"image_id": "dos\n6"},
    ),
    "an image that is not there": bad_inputs.Input(
        "image_id: image 'dos' not found: choose one of `openstack image "
        "list`",
        template={"image_id": "dos"},
    ),
    "a network that is not there": bad_inputs.Input(
        "fixed_network: network 'lost' not found: choose one of `openstack "
        "network list`",
        fields={"fixed_network": "lost"},
    ),
    "a subnet that is not there": bad_inputs.Input(
        "fixed_subnet: subnet 'lost' not found: choose one of `openstack "
        "subnet list`",
        fields={"fixed_subnet": "lost"},
    ),
    "a keypair that is not there": bad_inputs.Input(
        "keypair: 'lost' not found: choose one of `openstack keypair list`",
        fields={"keypair": "lost"},
    ),
    "an external network that is not there": bad_inputs.Input(
        "external_network_id: network 'lost' not found: choose one of "
        "`openstack network list`",
        template={"external_network_id": "lost"},
    ),
}

CHOICES: bad_inputs.Table = {
    "a zone of machines": bad_inputs.Input(
        "label availability_zone='az9' is not allowed: give the name of a "
        "Nova availability zone; 'az9' is none of those that are there "
        "(az1, az2)",
        labels={"availability_zone": "az9"},
    ),
    "a zone of boot volumes": bad_inputs.Input(
        "label boot_volume_availability_zone='az1' is not allowed: give the "
        "name of a Cinder availability zone; 'az1' is none of those that "
        "are there (nova)",
        labels={
            "boot_volume_size": "20",
            "boot_volume_availability_zone": "az1",
        },
    ),
    "a zone among several": bad_inputs.Input(
        "label control_plane_availability_zones='az1,az9' is not allowed: "
        "give names of Nova availability zones, separated by commas; 'az9' "
        "is none of those that are there (az1, az2)",
        labels={"control_plane_availability_zones": "az1,az9"},
    ),
    "a type of boot volumes": bad_inputs.Input(
        "label boot_volume_type='gold' is not allowed: give the name of a "
        "Cinder volume type; 'gold' is none of those that are there (fast, "
        "slow)",
        labels={"boot_volume_size": "20", "boot_volume_type": "gold"},
    ),
    "a type of etcd's volume": bad_inputs.Input(
        "label etcd_volume_type='gold' is not allowed: give the name of a "
        "Cinder volume type; 'gold' is none of those that are there (fast, "
        "slow)",
        labels={"etcd_volume_size": "10", "etcd_volume_type": "gold"},
    ),
    "a type of volumes for containers": bad_inputs.Input(
        "label docker_volume_type='gold' is not allowed: give the name of a "
        "Cinder volume type; 'gold' is none of those that are there (fast, "
        "slow)",
        labels={"docker_volume_type": "gold"},
        fields={"docker_volume_size": 20},
    ),
}

UNFIT: bad_inputs.Table = {
    "a network without IPv4": bad_inputs.Input(
        "fixed_network='ipv6' has no IPv4 addresses for the nodes: choose "
        "another",
        fields={"fixed_network": "ipv6"},
    ),
    "a flavor without disk and no boot volume": bad_inputs.Input(
        "flavor 'diskless' has no disk: give the label boot_volume_size, or "
        "choose another flavor",
        fields={"flavor_id": "diskless"},
    ),
    "a boot volume that is too small": bad_inputs.Input(
        "boot_volume_size is 10 GB, and image 'large' needs 40 GB",
        labels={"boot_volume_size": "10"},
        template={"image_id": "large"},
    ),
    "an image without kube_version": bad_inputs.Input(
        "image 'plain' has no property kube_version: set it, or give the "
        "label kube_tag. To set it: `openstack image set --property "
        "kube_version=v1.34.2 i-plain`",
        template={"image_id": "plain"},
    ),
    "an image of another distribution": bad_inputs.Input(
        "image 'fedora' has os_distro='fedora-coreos': this driver runs "
        "ubuntu, flatcar, capi-kubeadm-cloudinit",
        template={"image_id": "fedora"},
    ),
    "an image of another version than kube_tag": bad_inputs.Input(
        "label kube_tag='v1.33.1' is not allowed: give the version of image "
        "'ubuntu-1.34', v1.34.2, or choose another image",
        labels={"kube_tag": "v1.33.1"},
    ),
}
