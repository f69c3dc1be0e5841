# SPDX-License-Identifier: Apache-2.0

"""Values and objects: what is laid over them, and how they differ."""
