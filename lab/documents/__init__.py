# SPDX-License-Identifier: Apache-2.0

"""The commands of the guide, run on the lab.

``commands`` reads them from the pages. ``tables`` says what stands for what on
the lab, and what is not run. ``reader`` goes through a page.
"""
