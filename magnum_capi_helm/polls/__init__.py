# SPDX-License-Identifier: Apache-2.0

"""What Magnum asks for every few seconds: how a cluster is."""
