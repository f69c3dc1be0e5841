# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import unittest

from bench import counting

_METRICS = """\
# HELP apiserver_response_sizes [STABLE] Response size distribution in bytes.
# TYPE apiserver_response_sizes histogram
apiserver_response_sizes_bucket{resource="secrets",verb="GET",le="1000"} 3
apiserver_response_sizes_sum{resource="clusters",verb="LIST"} 1.5e+06
apiserver_response_sizes_count{resource="clusters",verb="LIST"} 4
apiserver_response_sizes_sum{resource="secrets",verb="GET"} 1200
apiserver_request_total{resource="secrets",verb="GET"} 7
"""

_AUDIT = """\
{"requestURI":"/apis/cluster.x-k8s.io/v1beta1/clusters?limit=250"}
{"requestURI":"/apis/cluster.x-k8s.io/v1beta1/clusters?limit=250&continue=x"}
{"requestURI":"/api/v1/namespaces/magnum-a/secrets/b"}
{"requestURI":"/apis/cluster.x-k8s.io"}
{"requestURI":"/metrics"}
{"requestURI":"/readyz"}
"""


class CountingTest(unittest.TestCase):
    def test_bytes_are_the_sums_of_all_answers(self) -> None:
        self.assertEqual(1501200.0, counting.sent(_METRICS))

    def test_each_page_is_a_request_and_no_probe_is_one(self) -> None:
        self.assertEqual(4, counting.requests(_AUDIT.splitlines()))
