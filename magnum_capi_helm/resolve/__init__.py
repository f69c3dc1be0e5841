# SPDX-License-Identifier: Apache-2.0

"""From Magnum's rows to the spec of a cluster.

The only place where a template, a cluster's fields and its labels meet the
cloud and the operator's options. Everything that a user can get wrong is
found here, before the first write.
"""
