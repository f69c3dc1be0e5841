// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/sha1"
	"flag"
	"fmt"
	"slices"
	"strings"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "sigs.k8s.io/cluster-api-provider-openstack/api/v1beta1"
	clusterv1beta1 "sigs.k8s.io/cluster-api/api/core/v1beta1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/cluster-api/util/deprecated/v1beta1/conditions"
	"sigs.k8s.io/cluster-api/util/patch"
)

// The second half is made from the cluster's name, so that a restart finds the same address again.
var endpointNet = flag.String("endpoint-net", "127.88", "first half of the endpoints' addresses")

// CAPO asks Nova for these.
var zones = flag.String("zones", "nova", "availability zones of Nova, with commas between them")

// cluster does for one OpenStackCluster what CAPO does (controllers/openstackcluster_controller.go). It makes no
// network and no load balancer: the endpoint is an address of loopback.
func (l *lab) cluster(ctx context.Context, o *infrav1.OpenStackCluster, left map[string]int) (err error) {
	owner := owner(o, "Cluster")
	if owner == "" {
		return nil // the core controller has not adopted it yet
	}
	name := o.Namespace + "/" + owner
	c, err := l.owning(ctx, client.ObjectKey{Namespace: o.Namespace, Name: owner})
	if err != nil || annotations.IsPaused(c, o) {
		return err
	}
	if o.DeletionTimestamp != nil {
		if left[name] > 0 {
			return nil
		}
		l.drop(name)
		return l.letGo(ctx, o, infrav1.ClusterFinalizer)
	}
	if o.Status.Ready {
		return nil
	}
	helper, err := patch.NewHelper(o, l.c)
	if err != nil {
		return err
	}
	if !controllerutil.AddFinalizer(o, infrav1.ClusterFinalizer) {
		provision(o, name, owner)
	}
	return helper.Patch(ctx, o)
}

// letGo takes away the last reason for an object to stay.
func (l *lab) letGo(ctx context.Context, o client.Object, finalizer string) error {
	if !controllerutil.RemoveFinalizer(o, finalizer) {
		return nil
	}
	return client.IgnoreNotFound(l.c.Update(ctx, o))
}

// provision writes what CAPO writes at the end of reconcileNormal, as far as anybody in the lab reads it.
func provision(o *infrav1.OpenStackCluster, name, cluster string) {
	setEndpoint(o, name)
	o.Status.Network = &infrav1.NetworkStatusWithSubnets{
		NetworkStatus: infrav1.NetworkStatus{
			ID: uuid(name + "net"), Name: "k8s-clusterapi-cluster-" + o.Namespace + "-" + cluster,
		},
		Subnets: []infrav1.Subnet{{ID: uuid(name + "subnet"), Name: "nodes", CIDR: "192.168.3.0/24"}},
	}
	o.Status.ExternalNetwork = &infrav1.NetworkStatus{ID: uuid("external"), Name: "public"}
	o.Status.FailureDomains = failureDomains(o)
	o.Status.Ready = true
	o.Status.Initialization = &infrav1.ClusterInitialization{Provisioned: true}
	for _, kind := range []clusterv1beta1.ConditionType{
		infrav1.NetworkReadyCondition, infrav1.RouterReadyCondition, infrav1.SecurityGroupsReadyCondition,
		infrav1.APIEndpointReadyCondition, clusterv1beta1.ReadyCondition,
	} {
		conditions.MarkTrue(o, kind)
	}
}

// setEndpoint gives the cluster an address of loopback that is its own.
func setEndpoint(o *infrav1.OpenStackCluster, name string) {
	if o.Spec.ControlPlaneEndpoint != nil && o.Spec.ControlPlaneEndpoint.Host != "" {
		return
	}
	s := sha1.Sum([]byte(name))
	o.Spec.ControlPlaneEndpoint = &clusterv1beta1.APIEndpoint{
		Host: fmt.Sprintf("%s.%d.%d", *endpointNet, s[0], s[1]), Port: int32(ptr.Deref(o.Spec.APIServerPort, 6443)),
	}
}

// failureDomains tells of each zone whether the control plane may use it.
func failureDomains(o *infrav1.OpenStackCluster) clusterv1beta1.FailureDomains {
	domains := clusterv1beta1.FailureDomains{}
	for _, zone := range strings.Split(*zones, ",") {
		may := !ptr.Deref(o.Spec.ControlPlaneOmitAvailabilityZone, false)
		if chosen := o.Spec.ControlPlaneAvailabilityZones; len(chosen) > 0 {
			may = slices.Contains(chosen, zone)
		}
		domains[zone] = clusterv1beta1.FailureDomainSpec{ControlPlane: may}
	}
	return domains
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

func uuid(s string) string {
	h := sha1.Sum([]byte(s))
	h[6], h[8] = h[6]&0x0f|0x50, h[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", h[:4], h[4:6], h[6:8], h[8:10], h[10:16])
}
