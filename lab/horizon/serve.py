# SPDX-License-Identifier: Apache-2.0

"""serve.py PORT: Horizon on loopback, with its static files.

Horizon itself serves those in its debugging mode alone, elsewhere a web
server before it does.
"""

import sys

from cheroot import wsgi
from django.contrib.staticfiles import handlers
from openstack_dashboard.wsgi import application

wsgi.Server(
    ("127.0.0.1", int(sys.argv[1])),
    handlers.StaticFilesHandler(application),
    numthreads=8,
    timeout=600,
).start()
