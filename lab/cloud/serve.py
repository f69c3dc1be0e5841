"""serve.py MODULE PORT [OPTION...]: one WSGI application on loopback."""

import importlib
import sys

from cheroot import wsgi

module, port = sys.argv[1], int(sys.argv[2])
# The services parse the command line when they are imported.
sys.argv = [module, *sys.argv[3:]]
application = importlib.import_module(module).application
wsgi.Server(("127.0.0.1", port), application, numthreads=8).start()
