# SPDX-License-Identifier: Apache-2.0

"""Clusters whose nodes are real: kubelets, etcd, pods, load balancers."""
