# SPDX-License-Identifier: Apache-2.0

"""Stand-ins for what the driver talks to, backed by dictionaries.

They are what a real management cluster, helm, Cluster API and OpenStack look
like from the driver's side, with the same methods, and can be told to fail.
Tests put them at the border (:mod:`magnum_capi_helm.tests.fakes.plane`) and
never inside the driver.
"""
