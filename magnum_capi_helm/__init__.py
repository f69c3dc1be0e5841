# SPDX-License-Identifier: Apache-2.0

"""Magnum driver that runs Kubernetes clusters with Cluster API and helm."""
