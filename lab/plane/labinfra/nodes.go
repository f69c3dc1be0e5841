// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

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
	w.nodes[n.name] = &member{since: time.Now(), controlPlane: n.controlPlane}
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

// follow lets the node of a server that does not run be unreachable, as the node controller does for a kubelet that
// writes no status, and makes it ready again when the server runs.
func (l *lab) follow(ctx context.Context, w *workload, name string, runs bool) error {
	w.mu.Lock()
	m := w.nodes[name]
	changed := m != nil && m.down == runs
	if changed {
		m.down = !runs
	}
	w.mu.Unlock()
	if !changed {
		return nil
	}
	klog.InfoS("node", "cluster", w.name, "node", name, "runs", runs)
	workload := l.mem.GetResourceGroup(w.name).GetClient()
	o := &corev1.Node{}
	if err := workload.Get(ctx, client.ObjectKey{Name: name}, o); err != nil {
		return err
	}
	ready := nodeCondition(corev1.NodeReady, corev1.ConditionTrue, "KubeletReady")
	if !runs {
		ready = nodeCondition(corev1.NodeReady, corev1.ConditionUnknown, "NodeStatusUnknown")
		ready.Message = "Kubelet stopped posting node status."
	}
	for i := range o.Status.Conditions {
		if o.Status.Conditions[i].Type == corev1.NodeReady {
			o.Status.Conditions[i] = ready
		}
	}
	return workload.Update(ctx, o)
}

// leave removes what a machine that is deleted has left behind.
func (l *lab) leave(ctx context.Context, w *workload, name string) {
	if _, ok := w.joined(name); !ok {
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
