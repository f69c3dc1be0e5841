# SPDX-License-Identifier: Apache-2.0

"""OpenStack, asked with the user's token or as Magnum's service user."""
