# SPDX-License-Identifier: Apache-2.0

"""What tenants write who mean harm, and what it may not do."""
