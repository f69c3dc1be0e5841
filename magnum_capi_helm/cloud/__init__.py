# SPDX-License-Identifier: Apache-2.0

"""Clients of OpenStack's services, and a cluster's credential Secret."""
