# SPDX-License-Identifier: Apache-2.0

"""What is run without the package being installed."""
