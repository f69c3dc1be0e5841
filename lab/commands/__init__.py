# SPDX-License-Identifier: Apache-2.0

"""What ``python3 -m lab COMMAND`` does, one module for each command."""
