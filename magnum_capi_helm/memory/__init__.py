# SPDX-License-Identifier: Apache-2.0

"""What a process remembers from one poll to the next."""
