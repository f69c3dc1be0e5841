# SPDX-License-Identifier: Apache-2.0

"""Create, prove, rotate and delete the credentials of clusters."""
