# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

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
).start()
