# SPDX-License-Identifier: Apache-2.0

"""Tests on the OpenStack provider's own controllers, one after the other.

``python3 -m lab up --provider capo`` first. They look at what Nova, Neutron,
Octavia and Cinder have, set quotas and cause other faults of the cloud.
"""
