# SPDX-License-Identifier: Apache-2.0

"""Magnum as operators run it, in the place of the lab's one process.

MariaDB, RabbitMQ, Magnum's own API and three conductors, each a process. They
use the rest of the cloud and have a database of their own.
"""
