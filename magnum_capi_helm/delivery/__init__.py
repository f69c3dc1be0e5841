# SPDX-License-Identifier: Apache-2.0

"""Kubeconfigs for a receiver of the operator's, sent by HTTPS."""
