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
wsgi.Server(("127.0.0.1", port), application, numthreads=8).start()
