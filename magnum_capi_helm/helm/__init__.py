# SPDX-License-Identifier: Apache-2.0

"""helm: the program, the charts it is given, the releases it keeps."""
