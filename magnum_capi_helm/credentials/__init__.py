# SPDX-License-Identifier: Apache-2.0

"""Application credentials of clusters: made, kept, checked, replaced, gone."""
