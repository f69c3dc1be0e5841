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

"""The directive ``magnum-labels``: the label reference, from the code.

The declarations that validate a label are the only source of its page, so
the page can't be wrong about a name, a default or what is allowed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from docutils import nodes
from sphinx import application
from sphinx.util import docutils

from magnum_capi_helm import features
from magnum_capi_helm import labels
from magnum_capi_helm.features import topic


def reference(topics: Iterable[topic.Topic]) -> Iterator[str]:
    """The reference as reStructuredText, a section for each topic."""
    for each in topics:
        if not each.labels:
            continue
        yield from (each.name, "-" * len(each.name), "")
        for label in each.labels:
            yield from _entry(label)


def _entry(label: labels.Label[Any]) -> Iterator[str]:
    """One label: a target to link to, its name, help and facts."""
    yield from (f".. _label-{label.name}:", "")
    yield f"``{label.name}``"
    yield f"    {label.help}"
    yield ""
    yield f"    :Allowed: {label.allowed}"
    yield f"    :Default: {_default(label.default)}"
    if label.scope is labels.Scope.TEMPLATE:
        yield "    :Read from: the template alone"
    if label.aliases:
        names = ", ".join(f"``{name}``" for name in label.aliases)
        yield f"    :Also called: {names}; weaker than ``{label.name}``"
    yield ""


def _default(value: object) -> str:
    """A default as a user would write the label."""
    if value is None or value in ("", ()):
        return "unset"
    if isinstance(value, bool):
        return f"``{str(value).lower()}``"
    return f"``{value}``"


class LabelReference(docutils.SphinxDirective):
    """``.. magnum-labels::``"""

    def run(self) -> list[nodes.Node]:
        """The sections of all topics."""
        text = "\n".join(reference(features.TOPICS))
        return self.parse_text_to_nodes(text, allow_section_headings=True)


def setup(app: application.Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_directive("magnum-labels", LabelReference)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
