# SPDX-License-Identifier: Apache-2.0

"""What operations take, on a machine where nothing else goes on."""
