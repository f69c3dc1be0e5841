# SPDX-License-Identifier: Apache-2.0

"""The Kubernetes API of the management cluster."""
