# SPDX-License-Identifier: Apache-2.0

"""What a swap of 1.4.0 for this driver meets, and what the way back does."""
