# SPDX-License-Identifier: Apache-2.0

"""Kubernetes' conformance tests on a cluster whose machines run."""
