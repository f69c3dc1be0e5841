# SPDX-License-Identifier: Apache-2.0

"""What users ask of clusters and nodegroups, and how it is begun."""
