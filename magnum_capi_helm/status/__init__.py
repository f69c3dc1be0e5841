# SPDX-License-Identifier: Apache-2.0

"""Verdicts: plain Kubernetes objects in, what to tell Magnum out.

Nothing here reads a clock, the configuration or the network. Everything is
fetched before; then each function decides one thing.
"""
