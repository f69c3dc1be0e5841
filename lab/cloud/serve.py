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

"""serve.py MODULE PORT [OPTION...]: one WSGI application on loopback.

Policies are loaded before anybody is served. These services load theirs with
the first request and let those beside it use a policy without rules: Neutron's
lists come out empty then, and Cinder refuses.
"""

import importlib
import sys

from cheroot import wsgi

_POLICIES = {
    "cinder.wsgi.api": "cinder.policy",
    "neutron.wsgi.api": "neutron.policy",
}

module, port = sys.argv[1], int(sys.argv[2])
# The services parse the command line when they are imported.
sys.argv = [module, *sys.argv[3:]]
application = importlib.import_module(module).application
if module in _POLICIES:
    importlib.import_module(_POLICIES[module]).init()
wsgi.Server(("127.0.0.1", port), application, numthreads=8).start()
