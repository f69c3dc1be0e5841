# SPDX-License-Identifier: Apache-2.0

"""What OpenStack does not have, or not as a cluster needs it."""

from __future__ import annotations

from magnum_capi_helm.tests.unit.lifecycle import bad_inputs

LOOKUPS: bad_inputs.Table = {
    "a flavor that is not there": bad_inputs.Input(
        "flavor_id: there is no such flavor; choose one of `openstack flavor "
        "list`. It is 'm1.huge'",
        fields={"flavor_id": "m1.huge"},
    ),
    "a flavor that is too small": bad_inputs.Input(
        "flavor_id: the flavor is too small: a node needs 2 VCPUs and 2048 "
        "MiB. Flavor 'm1.tiny' has 2 VCPUs and 512 MiB",
        fields={"flavor_id": "m1.tiny"},
    ),
    "an image with a name of two lines": bad_inputs.Input(
        "image_id: there is no such image; choose one of `openstack image "
        "list`. It is 'dos\\n6'",
        template={"image_id": "dos\n6"},
    ),
    "an image that is not there": bad_inputs.Input(
        "image_id: there is no such image; choose one of `openstack image "
        "list`. It is 'dos'",
        template={"image_id": "dos"},
    ),
    "a network that is not there": bad_inputs.Input(
        "fixed_network: there is no such network; choose one of `openstack "
        "network list`. It is 'lost'",
        fields={"fixed_network": "lost"},
    ),
    "a subnet that is not there": bad_inputs.Input(
        "fixed_subnet: there is no such subnet; choose one of `openstack "
        "subnet list`. It is 'lost'",
        fields={"fixed_subnet": "lost"},
    ),
    "a keypair that is not there": bad_inputs.Input(
        "keypair: there is no such keypair; choose one of `openstack keypair "
        "list`. It is 'lost'",
        fields={"keypair": "lost"},
    ),
    "an external network that is not there": bad_inputs.Input(
        "external_network_id: there is no such network; choose one of "
        "`openstack network list`. It is 'lost'",
        template={"external_network_id": "lost"},
    ),
}

CHOICES: bad_inputs.Table = {
    "a zone of machines": bad_inputs.Input(
        "label availability_zone: give the name of a Nova availability zone. "
        "It is 'az9'; 'az9' is none of those that are there (az1, az2)",
        labels={"availability_zone": "az9"},
    ),
    "a zone of boot volumes": bad_inputs.Input(
        "label boot_volume_availability_zone: give the name of a Cinder "
        "availability zone. It is 'az1'; 'az1' is none of those that are "
        "there (nova)",
        labels={
            "boot_volume_size": "20",
            "boot_volume_availability_zone": "az1",
        },
    ),
    "a zone among several": bad_inputs.Input(
        "label control_plane_availability_zones: give names of Nova "
        "availability zones, separated by commas. It is 'az1,az9'; 'az9' is "
        "none of those that are there (az1, az2)",
        labels={"control_plane_availability_zones": "az1,az9"},
    ),
    "a type of boot volumes": bad_inputs.Input(
        "label boot_volume_type: give the name of a Cinder volume type. It "
        "is 'gold'; 'gold' is none of those that are there (fast, slow)",
        labels={"boot_volume_size": "20", "boot_volume_type": "gold"},
    ),
    "a type of etcd's volume": bad_inputs.Input(
        "label etcd_volume_type: give the name of a Cinder volume type. It "
        "is 'gold'; 'gold' is none of those that are there (fast, slow)",
        labels={"etcd_volume_size": "10", "etcd_volume_type": "gold"},
    ),
    "a type of volumes for containers": bad_inputs.Input(
        "label docker_volume_type: give the name of a Cinder volume type. It "
        "is 'gold'; 'gold' is none of those that are there (fast, slow)",
        labels={"docker_volume_type": "gold"},
        fields={"docker_volume_size": 20},
    ),
}

UNFIT: bad_inputs.Table = {
    "a network without IPv4": bad_inputs.Input(
        "fixed_network: it has no IPv4 addresses for the nodes; choose "
        "another. It is 'ipv6'",
        fields={"fixed_network": "ipv6"},
    ),
    "a flavor without disk and no boot volume": bad_inputs.Input(
        "the flavor has no disk; give the label boot_volume_size, or choose "
        "another flavor. It is 'diskless'",
        fields={"flavor_id": "diskless"},
    ),
    "a boot volume that is too small": bad_inputs.Input(
        "boot_volume_size is 10 GB, and the image needs 40 GB. The image is "
        "'large'",
        labels={"boot_volume_size": "10"},
        template={"image_id": "large"},
    ),
    "an image without kube_version": bad_inputs.Input(
        "image_id: the image has no property kube_version; set it, or give "
        "the label kube_tag. It is 'plain'; to set it: `openstack image set "
        "--property kube_version=v1.34.2 i-plain`",
        template={"image_id": "plain"},
    ),
    "an image of another distribution": bad_inputs.Input(
        "image_id: choose an image whose os_distro is one of ubuntu, "
        "debian, rocky, rockylinux, flatcar, capi-kubeadm-cloudinit. Image "
        "'fedora' has 'fedora-coreos'",
        template={"image_id": "fedora"},
    ),
    "an image of another version than kube_tag": bad_inputs.Input(
        "label kube_tag: give the version of the image, or choose another "
        "image. It is 'v1.33.1'; image 'ubuntu-1.34' has v1.34.2",
        labels={"kube_tag": "v1.33.1"},
    ),
}
