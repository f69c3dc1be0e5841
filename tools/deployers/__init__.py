# SPDX-License-Identifier: Apache-2.0

"""What the pages about deployment tools say, tried with these tools."""
