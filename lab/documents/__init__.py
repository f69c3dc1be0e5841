# SPDX-License-Identifier: Apache-2.0

"""The commands in the documentation, run on the lab.

``commands`` reads them from the pages, ``tables`` says what of a page stands
for what on the lab and what is not run, ``reader`` goes through a page as a
person would.
"""
