# SPDX-License-Identifier: Apache-2.0

"""Tests that have the lab to themselves.

They restart services or configure Magnum otherwise. All other tests of the
folder above run side by side, before these.
"""
