# SPDX-License-Identifier: Apache-2.0

"""Servers that are machines: systems, network, load balancers and addons."""
