# SPDX-License-Identifier: Apache-2.0

"""serve.py MODULE PORT [OPTION...]: one WSGI application on loopback.

Policies are loaded before anybody is served. These services load theirs with
the first request and let those beside it use one without rules, or half made:
Neutron's lists come out empty then, Cinder refuses, Keystone fails.

All servers of the lab keep idle connections for ten minutes: a request on a
connection that the server ends at that moment would get no answer.
"""

import importlib
import sys
from typing import Any

from cheroot import wsgi


def _load_policy(service: str) -> None:
    if service in ("cinder", "neutron"):
        importlib.import_module(f"{service}.policy").init()
    elif service == "keystone":
        name = "keystone.common.rbac_enforcer.enforcer"
        enforcer: Any = importlib.import_module(name).RBACEnforcer
        # As in a request: one line tells of all rules that are deprecated.
        enforcer.suppress_deprecation_warnings = True
        # All its instances share this; nothing public makes it.
        enforcer()._enforcer.load_rules()


module, port = sys.argv[1], int(sys.argv[2])
# The services parse the command line when they are imported.
sys.argv = [module, *sys.argv[3:]]
application = importlib.import_module(module).application
_load_policy(module.partition(".")[0])
wsgi.Server(
    ("127.0.0.1", port), application, numthreads=8, timeout=600
).start()
