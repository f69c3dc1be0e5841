# SPDX-License-Identifier: Apache-2.0

"""Management clusters, of which there may be several."""
