# SPDX-License-Identifier: Apache-2.0

"""What the management cluster alone has of a cluster: kept, and put back."""
