// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1alpha1 "sigs.k8s.io/cluster-api-provider-openstack/api/v1alpha1"
	infrav1 "sigs.k8s.io/cluster-api-provider-openstack/api/v1beta1"
	clusterv1beta1 "sigs.k8s.io/cluster-api/api/core/v1beta1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/cluster-api/util/deprecated/v1beta1/conditions"
	"sigs.k8s.io/cluster-api/util/patch"
)

// newServer is the OpenStackServer that CAPO makes for a machine (getOrCreateMachineServer), with one port in the
// cluster's network and without tags and security groups.
func newServer(o *infrav1.OpenStackMachine, m *clusterv1.Machine, infra *infrav1.OpenStackCluster) *infrav1alpha1.OpenStackServer {
	spec := infrav1alpha1.OpenStackServerSpec{
		AdditionalBlockDevices: o.Spec.AdditionalBlockDevices,
		ConfigDrive:            o.Spec.ConfigDrive,
		Flavor:                 o.Spec.Flavor,
		FlavorID:               o.Spec.FlavorID,
		IdentityRef:            ptr.Deref(o.Spec.IdentityRef, infra.Spec.IdentityRef),
		Image:                  o.Spec.Image,
		Ports:                  []infrav1.PortOpts{{Network: &infrav1.NetworkParam{ID: &infra.Status.Network.ID}}},
		RootVolume:             o.Spec.RootVolume,
		SSHKeyName:             o.Spec.SSHKeyName,
		ServerGroup:            o.Spec.ServerGroup,
		ServerMetadata:         o.Spec.ServerMetadata,
		UserDataRef:            &corev1.LocalObjectReference{Name: *m.Spec.Bootstrap.DataSecretName},
	}
	if m.Spec.FailureDomain != "" {
		spec.AvailabilityZone = &m.Spec.FailureDomain
	}
	return &infrav1alpha1.OpenStackServer{
		ObjectMeta: metav1.ObjectMeta{
			Name: o.Name, Namespace: o.Namespace,
			Labels: map[string]string{clusterv1.ClusterNameLabel: infra.Labels[clusterv1.ClusterNameLabel]},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: infrav1.SchemeGroupVersion.String(), Kind: "OpenStackMachine", Name: o.Name, UID: o.UID,
			}},
		},
		Spec: spec,
	}
}

// server does for one OpenStackServer what CAPO does (controllers/openstackserver_controller.go). o is its machine; nil
// when there is none.
func (l *lab) server(ctx context.Context, s *infrav1alpha1.OpenStackServer, o *infrav1.OpenStackMachine) error {
	cluster := client.ObjectKey{Namespace: s.Namespace, Name: s.Labels[clusterv1.ClusterNameLabel]}
	c, err := l.owning(ctx, cluster)
	if err != nil || annotations.IsPaused(c, s) {
		return err
	}
	if s.DeletionTimestamp != nil {
		return l.endServer(ctx, s)
	}
	if s.Status.Ready || ptr.Deref(s.Status.InstanceState, "") == infrav1.InstanceStateError {
		return nil // CAPO never looks again at a server in ERROR
	}
	helper, err := patch.NewHelper(s, l.c)
	if err != nil {
		return err
	}
	if !controllerutil.AddFinalizer(s, infrav1alpha1.OpenStackServerFinalizer) {
		if err := l.startServer(ctx, s, o); err != nil {
			return err
		}
	}
	conditions.SetSummary(s, conditions.WithConditions(infrav1.InstanceReadyCondition))
	return helper.Patch(ctx, s)
}

// startServer is CAPO's reconcileNormal, from the server's creation on.
func (l *lab) startServer(ctx context.Context, s *infrav1alpha1.OpenStackServer, o *infrav1.OpenStackMachine) error {
	failed := func(reason, message string) {
		conditions.MarkFalse(s, infrav1.InstanceReadyCondition, reason, clusterv1beta1.ConditionSeverityError, "%s", message)
	}
	if o != nil && o.Annotations[failAnnotation] != "" {
		// This is how CAPO passes on that Nova refuses to make a server; there is no ID then.
		failed(infrav1.InstanceCreateFailedReason, "error creating Openstack instance: "+o.Annotations[failAnnotation])
		s.Status.InstanceID, s.Status.InstanceState = nil, &infrav1.InstanceStateError
		return nil
	}
	id, state := uuid(s.Namespace+s.Name+string(s.UID)), infrav1.InstanceStateActive
	switch {
	case inNova(s):
		var err error
		if id, state, err = l.askNova(ctx, s); err != nil {
			return err
		}
	case held(s, o) || time.Since(s.CreationTimestamp.Time) < *bootDelay:
		state = infrav1.InstanceStateBuild
	}
	s.Status.InstanceID, s.Status.InstanceState = &id, &state
	switch state {
	case infrav1.InstanceStateActive:
		conditions.MarkTrue(s, infrav1.InstanceReadyCondition)
		s.Status.Ready = true
	case infrav1.InstanceStateError:
		failed(infrav1.InstanceStateErrorReason, "")
	}
	return nil
}

// held tells of a machine that never comes up, by an annotation or by its flavor.
func held(s *infrav1alpha1.OpenStackServer, o *infrav1.OpenStackMachine) bool {
	return o != nil && o.Annotations[holdAnnotation] != "" || flavored(s, "stuck")
}

// inNova tells of a server that is made in Nova, where no host is found for it.
func inNova(s *infrav1alpha1.OpenStackServer) bool {
	return flavored(s, "nohost")
}

func flavored(s *infrav1alpha1.OpenStackServer, word string) bool {
	return strings.Contains(ptr.Deref(s.Spec.Flavor, ""), word)
}

// endServer is CAPO's reconcileDelete, and the end of the node.
func (l *lab) endServer(ctx context.Context, s *infrav1alpha1.OpenStackServer) error {
	if inNova(s) && s.Status.InstanceID != nil {
		if err := l.deleteInNova(ctx, s); err != nil {
			return err
		}
	}
	if w := l.get(s.Namespace + "/" + s.Labels[clusterv1.ClusterNameLabel]); w != nil {
		l.leave(ctx, w, s.Name)
	}
	return l.letGo(ctx, s, infrav1alpha1.OpenStackServerFinalizer)
}
