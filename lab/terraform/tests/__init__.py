# SPDX-License-Identifier: Apache-2.0

"""Terraform, or OpenTofu, with its provider for OpenStack, on the lab.

``python -m lab.terraform.build`` brings what of the programs is not there.
"""
