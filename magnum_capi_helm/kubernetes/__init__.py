# SPDX-License-Identifier: Apache-2.0

"""The client of a management cluster's Kubernetes API."""
