# SPDX-License-Identifier: Apache-2.0

"""The operator's command line."""

import warnings

# What Magnum's libraries think of their own future is no matter of an
# operator who runs a command.
warnings.filterwarnings("ignore", message=r"\s*Eventlet is deprecated")
