# SPDX-License-Identifier: Apache-2.0

"""What is measured: for the command ``metrics``, and by conductors."""
