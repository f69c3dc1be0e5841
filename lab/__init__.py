# SPDX-License-Identifier: Apache-2.0

"""A whole cloud on one machine, to develop and to show the driver on.

``python3 -m lab up`` builds and starts it; see README.rst beside this file.
Every module but those named in :mod:`lab.bootstrap` may be imported with the
standard library alone.
"""
