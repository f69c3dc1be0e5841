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
{"verb":"list","requestURI":"/apis/cluster.x-k8s.io/v1beta1/clusters?limit=250","objectRef":{"resource":"clusters"}}
{"verb":"list","requestURI":"/apis/cluster.x-k8s.io/v1beta1/clusters?limit=250&continue=x","objectRef":{"resource":"clusters"}}
{"verb":"get","requestURI":"/api/v1/namespaces/magnum-a/secrets/b","objectRef":{"resource":"secrets"}}
{"verb":"get","requestURI":"/apis/cluster.x-k8s.io"}
{"verb":"get","requestURI":"/metrics"}
{"verb":"get","requestURI":"/readyz"}
"""


class CountingTest(unittest.TestCase):
    def test_bytes_are_the_sums_of_all_answers(self) -> None:
        self.assertEqual(1501200.0, counting.sent(_METRICS))

    def test_each_page_is_a_request_and_no_probe_is_one(self) -> None:
        self.assertEqual(
            {"get discovery": 1, "get secrets": 1, "list clusters": 2},
            counting.requests_by_kind(_AUDIT.splitlines()),
        )
