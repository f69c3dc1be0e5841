# SPDX-License-Identifier: Apache-2.0

"""Terraform's provider for OpenStack, and a program that runs it."""
