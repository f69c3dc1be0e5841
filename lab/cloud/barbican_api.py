# SPDX-License-Identifier: Apache-2.0

"""barbican_api.py barbican PORT: Barbican's API, from its paste file.

Its own WSGI module wants that file below /etc. The configuration it reads
is ``barbican.conf`` in the home directory.
"""

import pathlib
import sys

from cheroot import wsgi
from paste import deploy
from psycopg2 import extensions

# Barbican puts bytes, all of them ASCII, into columns of text. On PostgreSQL
# they would become the text of a bytea literal.
extensions.register_adapter(
    bytes, lambda value: extensions.QuotedString(value.decode("ascii"))
)
port = int(sys.argv[2])
paste = pathlib.Path(sys.prefix, "etc", "barbican", "barbican-api-paste.ini")
application = deploy.loadapp(f"config:{paste}")
wsgi.Server(
    ("127.0.0.1", port), application, numthreads=8, timeout=600
).start()
