# SPDX-License-Identifier: Apache-2.0

"""The demonstration: one cluster's life as a user of the cloud sees it."""
