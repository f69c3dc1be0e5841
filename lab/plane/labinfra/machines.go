// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "sigs.k8s.io/cluster-api-provider-openstack/api/v1beta1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/cluster-api/util/deprecated/v1beta1/conditions"
)

// machines plays kubelets and workload clusters for the machines that CAPO makes. It writes no field of CAPO.
func (l *lab) machines(ctx context.Context) {
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

// register lets a machine join, once. After a restart the workload cluster is new, and all machines join again.
func (l *lab) register(ctx context.Context, o *infrav1.OpenStackMachine, m *clusterv1.Machine, c *clusterv1.Cluster) error {
	if time.Since(activeSince(o)) < *joinDelay {
		return nil
	}
	name := c.Namespace + "/" + c.Name
	w := l.get(name)
	controlPlane := util.IsControlPlaneMachine(m)
	if w == nil {
		if !controlPlane || c.Spec.ControlPlaneEndpoint.Host == "" {
			return nil
		}
		var err error
		if w, err = l.start(ctx, c, name); err != nil {
			return fmt.Errorf("start %s: %w", name, err)
		}
	}
	joining := node{name: o.Name, provider: *o.Spec.ProviderID, ip: internalIP(o), version: m.Spec.Version, controlPlane: controlPlane}
	return l.join(ctx, w, c, joining)
}

// activeSince is when the machine became ready.
func activeSince(o *infrav1.OpenStackMachine) time.Time {
	if t := conditions.GetLastTransitionTime(o, infrav1.InstanceReadyCondition); t != nil {
		return t.Time
	}
	return o.CreationTimestamp.Time
}

// internalIP is the address that Neutron gave the machine.
func internalIP(o *infrav1.OpenStackMachine) string {
	for _, address := range o.Status.Addresses {
		if address.Type == corev1.NodeInternalIP {
			return address.Address
		}
	}
	return ""
}

// owner is the name of the Cluster API object of this kind that owns an object.
func owner(o client.Object, kind string) string {
	for _, r := range o.GetOwnerReferences() {
		if r.Kind == kind && strings.HasPrefix(r.APIVersion, clusterv1.GroupVersion.Group) {
			return r.Name
		}
	}
	return ""
}
