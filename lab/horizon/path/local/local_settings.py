# SPDX-License-Identifier: Apache-2.0

"""Horizon's settings in the lab.

Horizon looks for the module ``local.local_settings`` and reads all its names
in capitals.
"""

import os
import pathlib
import warnings

import magnum_ui.enabled
import openstack_dashboard.local.enabled
from openstack_dashboard.settings import HORIZON_CONFIG

# Horizon turns warnings of things to come on, whatever PYTHONWARNINGS says.
warnings.simplefilter("ignore")

_ROOT = pathlib.Path(os.environ["LAB_HORIZON"])
DEBUG = False
SECRET_KEY = (_ROOT / "secret_key").read_text()
ALLOWED_HOSTS = ["127.0.0.1", "localhost"]
OPENSTACK_KEYSTONE_URL = "http://127.0.0.1:5000/v3"
OPENSTACK_KEYSTONE_DEFAULT_DOMAIN = "Default"
TIME_ZONE = "UTC"

# One process has its sessions in its memory: a restart logs everybody out.
SESSION_ENGINE = "django.contrib.sessions.backends.cache"
CACHES = {
    "default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}
}

# One theme: each takes its time to compress.
AVAILABLE_THEMES = [("default", "Default", "themes/default")]
STATIC_ROOT = str(_ROOT / "static")
COMPRESS_ENABLED = True
COMPRESS_OFFLINE = True

# A name without a dot is refused, at every request.
HORIZON_CONFIG["customization_module"] = "local.overrides"
# Elsewhere these files are copied into the folder that this list is of.
openstack_dashboard.local.enabled.__path__.extend(magnum_ui.enabled.__path__)

# What the dialog for a new cluster offers, as labels.
MAGNUM_AVAILABLE_ADDONS = [
    {
        "name": "cert-manager",
        "selected": False,
        "labels": {"cert_manager_enabled": "true"},
    },
]
MAGNUM_INGRESS_CONTROLLERS = [
    {"name": "Traefik", "labels": {"ingress_controller": "traefik"}},
]

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"}
    },
    "handlers": {
        "out": {"class": "logging.StreamHandler", "formatter": "line"}
    },
    "root": {"handlers": ["out"], "level": "WARNING"},
    "loggers": {
        "horizon": {"level": "INFO"},
        # It says at each request that it has no image to show.
        "openstack_dashboard.api.glance": {"level": "ERROR"},
    },
}
