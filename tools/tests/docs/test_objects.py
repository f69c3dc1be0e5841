# SPDX-License-Identifier: Apache-2.0

"""The page of objects has each label and annotation of the driver."""

from __future__ import annotations

import re

from oslotest import base

from tools import archives

_PAGE = "doc/source/reference/objects.rst"
_NAME = re.compile(r'"magnum\.openstack\.org/([a-z-]+)["=]')


class ObjectsTest(base.BaseTestCase):
    def test_the_page_has_each_label_and_annotation(self) -> None:
        package = archives.CHECKOUT / archives.PACKAGE
        page = (archives.CHECKOUT / _PAGE).read_text()
        missing = {
            f"{_PAGE}: {name}, of {path.relative_to(package)}"
            for path in package.rglob("*.py")
            if "tests" not in path.relative_to(package).parts
            for name in _NAME.findall(path.read_text())
            if not re.search(rf"(``|/){name}(``|:|=)", page)
        }
        self.assertEqual(set(), missing)
