# SPDX-License-Identifier: Apache-2.0

"""Operations of Magnum on clusters and nodegroups, and its polls."""
