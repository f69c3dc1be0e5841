// Licensed under the Apache License, Version 2.0 (the "License"); you may
// not use this file except in compliance with the License. You may obtain
// a copy of the License at
//
//      http://www.apache.org/licenses/LICENSE-2.0
//
// Unless required by applicable law or agreed to in writing, software
// distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
// WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
// License for the specific language governing permissions and limitations
// under the License.

package main

import (
	"context"
	"crypto/sha1"
	"flag"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// endpointNet is the first half of the endpoints' addresses: loopback, and nobody else's.
var endpointNet = flag.String("endpoint-net", "127.88", "first half of the endpoints' addresses")

var zones = flag.String("zones", "nova", "availability zones of Nova, with commas between them")

// cluster plays the OpenStackCluster controller.
func (l *lab) cluster(ctx context.Context, o *unstructured.Unstructured, left map[string]int) error {
	cluster := owner(o, "Cluster")
	if cluster == "" {
		return nil // the core controller has not adopted it yet
	}
	name := o.GetNamespace() + "/" + cluster
	if o.GetDeletionTimestamp() != nil {
		if left[name] > 0 {
			return nil
		}
		l.drop(name)
		return l.letGo(ctx, o)
	}
	before := o.DeepCopy()
	controllerutil.AddFinalizer(o, finalizer)
	setEndpoint(o, name)
	if !equality.Semantic.DeepEqual(before.Object, o.Object) {
		if err := l.c.Patch(ctx, o, client.MergeFrom(before)); err != nil {
			return err
		}
	}
	if ready, _, _ := unstructured.NestedBool(o.Object, "status", "ready"); ready {
		return nil
	}
	before = o.DeepCopy()
	must(unstructured.SetNestedMap(o.Object, clusterStatus(o, cluster), "status"))
	return l.c.Status().Patch(ctx, o, client.MergeFrom(before))
}

// letGo removes our finalizer.
func (l *lab) letGo(ctx context.Context, o *unstructured.Unstructured) error {
	if !controllerutil.RemoveFinalizer(o, finalizer) {
		return nil
	}
	return client.IgnoreNotFound(l.c.Update(ctx, o))
}

// setEndpoint gives the cluster an address of its own unless it has one.
func setEndpoint(o *unstructured.Unstructured, name string) {
	if host, _, _ := unstructured.NestedString(o.Object, "spec", "controlPlaneEndpoint", "host"); host != "" {
		return
	}
	port, ok, _ := unstructured.NestedInt64(o.Object, "spec", "apiServerPort")
	if !ok {
		port = 6443
	}
	s := sha1.Sum([]byte(name))
	endpoint := map[string]any{"host": fmt.Sprintf("%s.%d.%d", *endpointNet, s[0], s[1]), "port": port}
	must(unstructured.SetNestedMap(o.Object, endpoint, "spec", "controlPlaneEndpoint"))
}

// failureDomains are Nova's zones, and whether the control plane may be there, as the provider decides it.
func failureDomains(o *unstructured.Unstructured) map[string]any {
	omit, _, _ := unstructured.NestedBool(o.Object, "spec", "controlPlaneOmitAvailabilityZone")
	chosen, _, _ := unstructured.NestedStringSlice(o.Object, "spec", "controlPlaneAvailabilityZones")
	domains := map[string]any{}
	for _, zone := range strings.Split(*zones, ",") {
		may := !omit
		if len(chosen) > 0 {
			may = slices.Contains(chosen, zone)
		}
		domains[zone] = map[string]any{"controlPlane": may}
	}
	return domains
}

func clusterStatus(o *unstructured.Unstructured, cluster string) map[string]any {
	namespace := o.GetNamespace()
	name := namespace + "/" + cluster
	return map[string]any{
		"ready":          true,
		"initialization": map[string]any{"provisioned": true},
		"network": map[string]any{
			"id":      uuid(name + "net"),
			"name":    "k8s-clusterapi-cluster-" + namespace + "-" + cluster,
			"subnets": []any{map[string]any{"id": uuid(name + "subnet"), "name": "nodes", "cidr": "192.168.3.0/24"}},
		},
		"externalNetwork": map[string]any{"id": uuid("external"), "name": "public"},
		"failureDomains":  failureDomains(o),
		"conditions":      []any{condition("Ready", time.Now())},
	}
}

// condition is a true one; the provider's kinds have v1beta1 conditions.
func condition(kind string, since time.Time) map[string]any {
	return map[string]any{"type": kind, "status": "True", "lastTransitionTime": since.UTC().Format(time.RFC3339)}
}

func owner(o *unstructured.Unstructured, kind string) string {
	for _, r := range o.GetOwnerReferences() {
		if r.Kind == kind && strings.HasPrefix(r.APIVersion, clusterv1.GroupVersion.Group) {
			return r.Name
		}
	}
	return ""
}

// uuid is always the same for the same text.
func uuid(s string) string {
	h := sha1.Sum([]byte(s))
	h[6], h[8] = h[6]&0x0f|0x50, h[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", h[:4], h[4:6], h[6:8], h[8:10], h[10:16])
}
