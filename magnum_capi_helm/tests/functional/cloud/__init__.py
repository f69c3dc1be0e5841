# SPDX-License-Identifier: Apache-2.0

"""Objects of Nova, Neutron, Octavia and Cinder, and faults of the cloud.

One after the other, since they set quotas, stop services and configure Magnum
otherwise. ``test_rows`` disturbs no other test.
"""
