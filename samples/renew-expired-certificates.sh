#!/bin/sh
# SPDX-License-Identifier: Apache-2.0

# Renews certificates of a control plane that have expired: a pod on each of
# its nodes runs kubeadm. The pod needs neither scheduler nor network, and the
# image is on the node.
#
# KUBECONFIG has a client certificate. A token would reach a server that
# nothing verifies. KUBEADM is the path of kubeadm on the nodes, on Flatcar
# /opt/bin/kubeadm.

set -eu

k() {
    kubectl --insecure-skip-tls-verify --namespace=kube-system "$@"
}

nodes=$(k get nodes --selector=node-role.kubernetes.io/control-plane \
    --output=jsonpath='{.items[*].metadata.name}')
for node in $nodes; do
    image=$(k get pod "kube-apiserver-$node" \
        --output=jsonpath='{.spec.containers[0].image}')
    k delete pod "renew-certificates-$node" --ignore-not-found
    k create --filename=- <<EOF
apiVersion: v1
kind: Pod
metadata:
  name: renew-certificates-$node
spec:
  nodeName: $node
  hostNetwork: true
  restartPolicy: Never
  automountServiceAccountToken: false
  tolerations: [{operator: Exists}]
  containers:
  - name: kubeadm
    image: $image
    imagePullPolicy: IfNotPresent
    command: [/kubeadm, certs, renew, all]
    securityContext: {runAsUser: 0}
    volumeMounts:
    - {name: kubeadm, mountPath: /kubeadm, readOnly: true}
    - {name: kubernetes, mountPath: /etc/kubernetes}
  volumes:
  - name: kubeadm
    hostPath: {path: "${KUBEADM:-/usr/bin/kubeadm}", type: File}
  - name: kubernetes
    hostPath: {path: /etc/kubernetes, type: Directory}
EOF
    k wait --for=jsonpath='{.status.phase}'=Succeeded --timeout=5m \
        "pod/renew-certificates-$node"
    k delete pod "renew-certificates-$node" --wait=false
done
