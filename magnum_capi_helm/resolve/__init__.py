# SPDX-License-Identifier: Apache-2.0

"""Make the spec of a cluster from Magnum's rows.

Here alone, a template, a cluster's fields and its labels meet the cloud and
the operator's options. Wrong input of users is refused here, before the first
write.
"""
