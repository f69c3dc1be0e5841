# SPDX-License-Identifier: Apache-2.0

"""One change of one release, and what ends it whatever happens."""
