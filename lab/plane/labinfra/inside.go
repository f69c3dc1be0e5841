// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "sigs.k8s.io/cluster-api-provider-openstack/api/v1beta1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
)

var machinesOnly = flag.Bool("machines-only", false, "CAPO's own controllers run: play the inside of machines and the addons alone")

// inside plays kubelets and workload clusters for machines that CAPO's own controllers make. It writes no field of CAPO.
func (l *lab) inside(ctx context.Context) {
	clusters, machines := &infrav1.OpenStackClusterList{}, &infrav1.OpenStackMachineList{}
	if err := errors.Join(l.c.List(ctx, machines), l.c.List(ctx, clusters)); err != nil {
		klog.ErrorS(err, "list")
		return
	}
	alive := map[string]map[string]bool{} // cluster -> its machines
	for i := range clusters.Items {
		o := &clusters.Items[i]
		alive[clusterOf(o)] = map[string]bool{}
		l.seen.infra[client.ObjectKeyFromObject(o)] = o
	}
	for i := range machines.Items {
		o := &machines.Items[i]
		if nodes := alive[clusterOf(o)]; nodes != nil && o.DeletionTimestamp == nil {
			nodes[o.Name] = true
		}
	}
	l.end(ctx, alive)
	if err := l.compute.look(ctx); err != nil {
		klog.ErrorS(err, "Nova")
	}
	for i := range machines.Items {
		o := &machines.Items[i]
		if alive[clusterOf(o)][o.Name] {
			complain(l.kubelet(ctx, o), o)
		}
	}
	l.addons(ctx)
}

// end closes the endpoints of clusters that are gone, and removes the nodes of machines that are gone.
func (l *lab) end(ctx context.Context, alive map[string]map[string]bool) {
	l.mu.RLock()
	known := make([]*workload, 0, len(l.byName))
	for _, w := range l.byName {
		known = append(known, w)
	}
	l.mu.RUnlock()
	for _, w := range known {
		machines, ok := alive[w.name]
		if !ok {
			l.drop(w.name)
			continue
		}
		for _, name := range w.names() {
			if !machines[name] {
				l.leave(ctx, w, name)
			}
		}
	}
}

// names are those of the nodes that have joined.
func (w *workload) names() []string {
	w.mu.RLock()
	defer w.mu.RUnlock()
	found := make([]string, 0, len(w.nodes))
	for name := range w.nodes {
		found = append(found, name)
	}
	return found
}

// kubelet lets a machine join once CAPO says that its server runs, and stops with the server.
func (l *lab) kubelet(ctx context.Context, o *infrav1.OpenStackMachine) error {
	if w := l.get(clusterOf(o)); w != nil {
		if since, ok := w.joined(o.Name); ok {
			return l.follow(ctx, w, o.Name, l.compute.runs(ptr.Deref(o.Status.InstanceID, ""), since))
		}
	}
	stuck := strings.Contains(ptr.Deref(o.Spec.Flavor, ""), "stuck") || o.Annotations[holdAnnotation] != ""
	name := owner(o, "Machine")
	if !o.Status.Ready || stuck || name == "" {
		return nil
	}
	c, err := l.owning(ctx, client.ObjectKey{Namespace: o.Namespace, Name: o.Labels[clusterv1.ClusterNameLabel]})
	if err != nil || annotations.IsPaused(c, o) {
		return err
	}
	m := &clusterv1.Machine{}
	if err := l.c.Get(ctx, client.ObjectKey{Namespace: o.Namespace, Name: name}, m); err != nil {
		return err
	}
	return l.register(ctx, o, m, c)
}

// internalIP is the address that Nova gave the machine; a made-up one when there is none.
func internalIP(o *infrav1.OpenStackMachine) string {
	for _, address := range o.Status.Addresses {
		if address.Type == corev1.NodeInternalIP {
			return address.Address
		}
	}
	return nodeIP(ptr.Deref(o.Status.InstanceID, o.Name))
}
