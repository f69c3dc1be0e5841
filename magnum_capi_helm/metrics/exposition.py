# SPDX-License-Identifier: Apache-2.0

"""Prometheus' text format: the only importer of prometheus_client."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
import itertools

import prometheus_client
from prometheus_client import core
from prometheus_client import registry

from magnum_capi_helm.metrics import families


class _Collector(registry.Collector):
    """Samples, as the library takes them."""

    def __init__(self, samples: Iterable[families.Sample]) -> None:
        self._samples = samples

    def collect(self) -> Iterator[core.Metric]:
        """One metric for samples of a family that stand together."""
        for family, mine in itertools.groupby(
            self._samples, key=lambda each: each.family
        ):
            yield _metric(family, mine)


def _metric(
    family: families.Family, samples: Iterable[families.Sample]
) -> core.Metric:
    if family.kind == families.SUMMARY:
        summary = core.SummaryMetricFamily(
            family.name, family.help, labels=family.labels
        )
        for each in samples:
            summary.add_metric(each.labels, each.count, each.value)
        return summary
    gauge = core.GaugeMetricFamily(
        family.name, family.help, labels=family.labels
    )
    for each in samples:
        gauge.add_metric(each.labels, each.value)
    return gauge


def text(samples: Iterable[families.Sample]) -> str:
    """Samples as a textfile collector reads them.

    :param samples: those of a family one after the other
    """
    return prometheus_client.generate_latest(_Collector(samples)).decode()
