# SPDX-License-Identifier: Apache-2.0

"""Horizon with magnum-ui, for who wants to see the lab's cloud in a browser.

It has an environment of its own, because its pins are not the services', and
keeps all that it writes in one folder of the lab's state.
"""
