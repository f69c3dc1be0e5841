# SPDX-License-Identifier: Apache-2.0

"""Types of labels and options, and what their values may be."""
