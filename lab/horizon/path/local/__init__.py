# SPDX-License-Identifier: Apache-2.0

"""Where Horizon looks for the settings of its site."""
