# SPDX-License-Identifier: Apache-2.0

"""What Magnum asks for: operations on clusters and nodegroups, and polls."""
