// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1alpha1 "sigs.k8s.io/cluster-api-provider-openstack/api/v1alpha1"
	infrav1 "sigs.k8s.io/cluster-api-provider-openstack/api/v1beta1"
	clusterv1beta1 "sigs.k8s.io/cluster-api/api/core/v1beta1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/cluster-api/util/deprecated/v1beta1/conditions"
	"sigs.k8s.io/cluster-api/util/patch"
)

// machine does for one OpenStackMachine what CAPO does (controllers/openstackmachine_controller.go), and for a server
// that runs it plays the kubelet. infra is the OpenStackCluster; nil when there is none.
func (l *lab) machine(ctx context.Context, o *infrav1.OpenStackMachine, infra *infrav1.OpenStackCluster) error {
	cluster, machineName := o.Labels[clusterv1.ClusterNameLabel], owner(o, "Machine")
	if cluster == "" || machineName == "" || infra == nil {
		return nil
	}
	c, err := l.owning(ctx, client.ObjectKey{Namespace: o.Namespace, Name: cluster})
	if err != nil || annotations.IsPaused(c, o) {
		return err
	}
	if o.DeletionTimestamp != nil {
		return l.endMachine(ctx, o, infra)
	}
	if l.hasJoined(o) {
		return nil
	}
	m := &clusterv1.Machine{}
	if err := l.c.Get(ctx, client.ObjectKey{Namespace: o.Namespace, Name: machineName}, m); err != nil {
		return err
	}
	if o.Status.Ready {
		return l.register(ctx, o, m, c)
	}
	helper, err := patch.NewHelper(o, l.c)
	if err != nil {
		return err
	}
	if err := l.startMachine(ctx, o, m, infra); err != nil {
		return err
	}
	applicable := []clusterv1beta1.ConditionType{infrav1.InstanceReadyCondition}
	if util.IsControlPlaneMachine(m) {
		applicable = append(applicable, infrav1.APIServerIngressReadyCondition)
	}
	conditions.SetSummary(o, conditions.WithConditions(applicable...))
	return helper.Patch(ctx, o)
}

// startMachine is CAPO's reconcileNormal. While the server is not ready, also when it is in ERROR, CAPO writes nothing:
// the machine goes on saying what it waited for before there was a server.
func (l *lab) startMachine(ctx context.Context, o *infrav1.OpenStackMachine, m *clusterv1.Machine, infra *infrav1.OpenStackCluster) error {
	waits := func(reason string) error {
		conditions.MarkFalse(o, infrav1.InstanceReadyCondition, reason, clusterv1beta1.ConditionSeverityInfo, "")
		return nil
	}
	if !infra.Status.Ready {
		return waits(infrav1.WaitingForClusterInfrastructureReason)
	}
	if m.Spec.Bootstrap.DataSecretName == nil {
		return waits(infrav1.WaitingForBootstrapDataReason)
	}
	if controllerutil.AddFinalizer(o, infrav1.MachineFinalizer) {
		return nil
	}
	s := &infrav1alpha1.OpenStackServer{}
	err := l.c.Get(ctx, client.ObjectKeyFromObject(o), s)
	if apierrors.IsNotFound(err) {
		return l.c.Create(ctx, newServer(o, m, infra))
	}
	if err != nil || !s.Status.Ready {
		return err
	}
	id := *s.Status.InstanceID
	o.Status.Addresses = []corev1.NodeAddress{
		{Type: corev1.NodeInternalIP, Address: nodeIP(id)},
		{Type: corev1.NodeInternalDNS, Address: s.Name},
	}
	if util.IsControlPlaneMachine(m) {
		conditions.MarkTrue(o, infrav1.APIServerIngressReadyCondition)
	}
	conditions.MarkTrue(o, infrav1.InstanceReadyCondition)
	region := ""
	if o.Spec.IdentityRef != nil {
		region = o.Spec.IdentityRef.Region
	}
	provider := fmt.Sprintf("openstack://%s/%s", region, id)
	o.Spec.ProviderID = &provider
	o.Status.InstanceID = s.Status.InstanceID
	o.Status.Ready = true
	o.Status.Initialization = &infrav1.MachineInitialization{Provisioned: true}
	return nil
}

// endMachine is CAPO's reconcileDelete: the machine goes after its server.
func (l *lab) endMachine(ctx context.Context, o *infrav1.OpenStackMachine, infra *infrav1.OpenStackCluster) error {
	if infra.Status.Ready && infra.Status.Network != nil {
		s := &infrav1alpha1.OpenStackServer{}
		err := l.c.Get(ctx, client.ObjectKeyFromObject(o), s)
		if err == nil {
			return client.IgnoreNotFound(l.c.Delete(ctx, s))
		}
		if !apierrors.IsNotFound(err) {
			return err
		}
	}
	return l.letGo(ctx, o, infrav1.MachineFinalizer)
}

// register lets a machine join, once. After a restart the workload cluster is new, and all machines join again.
func (l *lab) register(ctx context.Context, o *infrav1.OpenStackMachine, m *clusterv1.Machine, c *clusterv1.Cluster) error {
	name := c.Namespace + "/" + c.Name
	w := l.get(name)
	if time.Since(activeSince(o)) < *joinDelay {
		return nil
	}
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

// hasJoined tells whether there is nothing left to do for a machine.
func (l *lab) hasJoined(o *infrav1.OpenStackMachine) bool {
	w := l.get(clusterOf(o))
	if w == nil {
		return false
	}
	_, ok := w.joined(o.Name)
	return ok
}

// activeSince is when the machine became ready.
func activeSince(o *infrav1.OpenStackMachine) time.Time {
	if t := conditions.GetLastTransitionTime(o, infrav1.InstanceReadyCondition); t != nil {
		return t.Time
	}
	return o.CreationTimestamp.Time
}
