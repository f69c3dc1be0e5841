// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math/rand"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	cloudv1 "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/cloud/api/v1alpha1"
	"sigs.k8s.io/cluster-api/util/secret"
)

const nodeReader = "kubeadm:get-nodes"

var controlPods = []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"}

// joinControlPlane makes what the control plane's controller looks for: static pods, the etcd member, kubeadm's objects.
func (l *lab) joinControlPlane(ctx context.Context, w *workload, c *clusterv1.Cluster, n node) error {
	member := "etcd-" + n.name
	cert, err := l.cert(ctx, c, secret.EtcdCA, member, "127.0.0.1")
	if err != nil {
		return err
	}
	annotations, err := l.etcdMember(ctx, w)
	if err != nil {
		return err
	}
	for _, component := range controlPods {
		pod := controlPod(component, n)
		if component == "etcd" {
			pod.Annotations = annotations
		}
		if err := l.put(ctx, w, pod); err != nil {
			return fmt.Errorf("pod %s: %w", pod.Name, err)
		}
	}
	w.mu.Lock()
	w.etcdCerts[member] = cert
	w.version = n.version
	w.mu.Unlock()
	for _, o := range kubeadmObjects(n.version) {
		if err := l.put(ctx, w, o); err != nil {
			return fmt.Errorf("%T %s: %w", o, o.GetName(), err)
		}
	}
	return nil
}

// etcdMember is how the in-memory etcd knows a member: by its pod's annotations. The first one leads.
func (l *lab) etcdMember(ctx context.Context, w *workload) (map[string]string, error) {
	pods := &corev1.PodList{}
	labels := client.MatchingLabels{"component": "etcd", "tier": "control-plane"}
	err := l.mem.GetResourceGroup(w.name).GetClient().List(ctx, pods, client.InNamespace(metav1.NamespaceSystem), labels)
	if err != nil {
		return nil, err
	}
	clusterID := ""
	for _, p := range pods.Items {
		if _, gone := p.Annotations[cloudv1.EtcdMemberRemoved]; !gone {
			clusterID = p.Annotations[cloudv1.EtcdClusterIDAnnotationName]
		}
	}
	found := map[string]string{cloudv1.EtcdMemberIDAnnotationName: fmt.Sprint(rand.Uint32() | 1)}
	if clusterID == "" {
		clusterID = fmt.Sprint(rand.Uint32() | 1)
		found[cloudv1.EtcdLeaderFromAnnotationName] = time.Now().Format(time.RFC3339)
	}
	found[cloudv1.EtcdClusterIDAnnotationName] = clusterID
	return found, nil
}

func systemObject(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: name}
}

func controlPod(component string, n node) *corev1.Pod {
	now := metav1.Now()
	image := "registry.k8s.io/" + component + ":" + n.version
	pod := &corev1.Pod{
		ObjectMeta: systemObject(component + "-" + n.name),
		Spec:       corev1.PodSpec{NodeName: n.name, Containers: []corev1.Container{{Name: component, Image: image}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, StartTime: &now, ContainerStatuses: []corev1.ContainerStatus{{
			Name: component, Image: image, Ready: true,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
		}}},
	}
	pod.Labels = map[string]string{"component": component, "tier": "control-plane"}
	for _, t := range []corev1.PodConditionType{corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady} {
		c := corev1.PodCondition{Type: t, Status: corev1.ConditionTrue, LastTransitionTime: now}
		pod.Status.Conditions = append(pod.Status.Conditions, c)
	}
	return pod
}

// kubeadmObjects are what "kubeadm init" leaves in a cluster and upgrades change.
func kubeadmObjects(version string) []client.Object {
	corefile := ".:53 {\n    errors\n    kubernetes cluster.local\n    forward . /etc/resolv.conf\n}\n"
	proxy, dns := "kube-proxy", "coredns"
	role := metav1.ObjectMeta{Name: nodeReader}
	return []client.Object{
		&corev1.ConfigMap{ObjectMeta: systemObject("kubeadm-config"), Data: map[string]string{"ClusterConfiguration": ""}},
		&corev1.ConfigMap{ObjectMeta: systemObject(dns), Data: map[string]string{"Corefile": corefile}},
		&appsv1.DaemonSet{ObjectMeta: systemObject(proxy), Spec: appsv1.DaemonSetSpec{
			Selector: selector(proxy), Template: podTemplate(proxy, "registry.k8s.io/kube-proxy:"+version),
		}},
		&appsv1.Deployment{ObjectMeta: systemObject(dns), Spec: appsv1.DeploymentSpec{
			Selector: selector(dns), Template: podTemplate(dns, "registry.k8s.io/coredns/coredns:v1.12.0"),
		}},
		&rbacv1.ClusterRole{ObjectMeta: role, Rules: []rbacv1.PolicyRule{
			{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"nodes"}},
		}},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: role,
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: nodeReader},
			Subjects: []rbacv1.Subject{{
				APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "system:bootstrappers:kubeadm:default-node-token",
			}},
		},
	}
}

func selector(name string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"k8s-app": name}}
}

func podTemplate(name, image string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"k8s-app": name}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: name, Image: image}}},
	}
}
