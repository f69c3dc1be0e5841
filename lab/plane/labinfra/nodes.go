// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/sha1"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

const controlPlaneRole = "node-role.kubernetes.io/control-plane"

// node is a machine that is about to join.
type node struct {
	name, provider, ip, version string
	controlPlane                bool
}

// join leaves behind what kubeadm would: the Node and, on the control plane, what it runs there.
func (l *lab) join(ctx context.Context, w *workload, c *clusterv1.Cluster, n node) error {
	if n.controlPlane {
		for _, name := range []string{metav1.NamespaceDefault, metav1.NamespacePublic, metav1.NamespaceSystem} {
			meta := metav1.ObjectMeta{Name: name, Labels: map[string]string{"kubernetes.io/metadata.name": name}}
			if err := l.put(ctx, w, &corev1.Namespace{ObjectMeta: meta}); err != nil {
				return err
			}
		}
	}
	if err := l.put(ctx, w, n.object()); err != nil {
		return fmt.Errorf("node: %w", err)
	}
	if n.controlPlane {
		if err := l.joinControlPlane(ctx, w, c, n); err != nil {
			return err
		}
	}
	w.mu.Lock()
	w.nodes[n.name] = true
	w.mu.Unlock()
	klog.InfoS("node joined", "cluster", w.name, "node", n.name, "controlPlane", n.controlPlane)
	return nil
}

func (n node) object() *corev1.Node {
	o := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: n.name, Labels: map[string]string{
			"kubernetes.io/hostname": n.name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
		}},
		Spec: corev1.NodeSpec{ProviderID: n.provider},
		Status: corev1.NodeStatus{
			NodeInfo: corev1.NodeSystemInfo{
				KubeletVersion: n.version, OperatingSystem: "linux", Architecture: "amd64",
				OSImage: "lab", KernelVersion: "lab", ContainerRuntimeVersion: "lab://1",
			},
			Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeInternalIP, Address: n.ip},
				{Type: corev1.NodeHostName, Address: n.name},
			},
			Conditions: []corev1.NodeCondition{
				nodeCondition(corev1.NodeReady, corev1.ConditionTrue, "KubeletReady"),
				nodeCondition(corev1.NodeMemoryPressure, corev1.ConditionFalse, "KubeletHasSufficientMemory"),
				nodeCondition(corev1.NodeDiskPressure, corev1.ConditionFalse, "KubeletHasNoDiskPressure"),
				nodeCondition(corev1.NodePIDPressure, corev1.ConditionFalse, "KubeletHasSufficientPID"),
			},
		},
	}
	if n.controlPlane {
		o.Labels[controlPlaneRole] = ""
		o.Spec.Taints = []corev1.Taint{{Key: controlPlaneRole, Effect: corev1.TaintEffectNoSchedule}}
	}
	return o
}

func nodeCondition(kind corev1.NodeConditionType, status corev1.ConditionStatus, reason string) corev1.NodeCondition {
	now := metav1.Now()
	return corev1.NodeCondition{
		Type: kind, Status: status, Reason: reason, LastHeartbeatTime: now, LastTransitionTime: now,
	}
}

// leave removes what a machine that is deleted has left behind.
func (l *lab) leave(ctx context.Context, w *workload, name string) {
	if !w.has(name) {
		return
	}
	l.remove(ctx, w, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})
	for _, component := range controlPods {
		l.remove(ctx, w, &corev1.Pod{ObjectMeta: systemObject(component + "-" + name)})
	}
	w.mu.Lock()
	delete(w.nodes, name)
	delete(w.etcdCerts, "etcd-"+name)
	w.mu.Unlock()
	klog.InfoS("node left", "cluster", w.name, "node", name)
}

func nodeIP(id string) string {
	h := sha1.Sum([]byte(id))
	return fmt.Sprintf("192.168.3.%d", 10+int(h[0])%240)
}
