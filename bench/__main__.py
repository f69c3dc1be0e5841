# SPDX-License-Identifier: Apache-2.0

import sys

from bench import cli

if __name__ == "__main__":
    sys.exit(cli.main(sys.argv[1:]))
