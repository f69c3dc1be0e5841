# SPDX-License-Identifier: Apache-2.0

"""Run helm, keep its charts, and read charts and manifests."""
