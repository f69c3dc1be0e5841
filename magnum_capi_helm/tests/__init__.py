# SPDX-License-Identifier: Apache-2.0
"""Tests of the driver."""

# First of all: up to Magnum 2026.1 this patches the standard library for
# eventlet, as Magnum's own programs do; later ones patch nothing.
import magnum.cmd  # noqa: F401
