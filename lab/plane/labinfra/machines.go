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
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

const noHost = "No valid host was found. There are not enough hosts available."

// machine plays the OpenStackMachine controller and, once the server is ACTIVE, cloud-init and kubeadm.
func (l *lab) machine(ctx context.Context, o *unstructured.Unstructured) error {
	cluster, machineName := o.GetLabels()[clusterv1.ClusterNameLabel], owner(o, "Machine")
	if cluster == "" || machineName == "" {
		return nil
	}
	name := o.GetNamespace() + "/" + cluster
	if o.GetDeletionTimestamp() != nil {
		if w := l.get(name); w != nil {
			l.leave(ctx, w, o.GetName())
		}
		return l.letGo(ctx, o)
	}
	if held(o) {
		return nil
	}
	m := &clusterv1.Machine{}
	if err := l.c.Get(ctx, client.ObjectKey{Namespace: o.GetNamespace(), Name: machineName}, m); err != nil {
		return err
	}
	if m.Spec.Bootstrap.DataSecretName == nil {
		return nil
	}
	if ready, _, _ := unstructured.NestedBool(o.Object, "status", "ready"); !ready {
		return l.boot(ctx, o)
	}
	return l.register(ctx, o, m, cluster)
}

func held(o *unstructured.Unstructured) bool {
	return o.GetAnnotations()[holdAnnotation] != "" || strings.Contains(flavor(o), "stuck")
}

func flavor(o *unstructured.Unstructured) string {
	name, _, _ := unstructured.NestedString(o.Object, "spec", "flavor")
	return name
}

// boot makes the server ACTIVE after a while, or fails as Nova would.
func (l *lab) boot(ctx context.Context, o *unstructured.Unstructured) error {
	if time.Since(o.GetCreationTimestamp().Time) < *bootDelay {
		return nil
	}
	before := o.DeepCopy()
	controllerutil.AddFinalizer(o, finalizer)
	id := uuid(o.GetNamespace() + o.GetName() + string(o.GetUID()))
	must(unstructured.SetNestedField(o.Object, "openstack:///"+id, "spec", "providerID"))
	if err := l.c.Patch(ctx, o, client.MergeFrom(before)); err != nil {
		return err
	}
	before = o.DeepCopy()
	must(unstructured.SetNestedMap(o.Object, machineStatus(o, id), "status"))
	return l.c.Status().Patch(ctx, o, client.MergeFrom(before))
}

func machineStatus(o *unstructured.Unstructured, id string) map[string]any {
	why := o.GetAnnotations()[failAnnotation]
	if why == "" && strings.Contains(flavor(o), "nohost") {
		why = noHost
	}
	if why != "" {
		return failedStatus(why, o.GetCreationTimestamp().Time)
	}
	return map[string]any{
		"ready":          true,
		"initialization": map[string]any{"provisioned": true},
		"instanceID":     id,
		"instanceState":  "ACTIVE",
		"addresses": []any{
			map[string]any{"type": "InternalIP", "address": nodeIP(id)},
			map[string]any{"type": "InternalDNS", "address": o.GetName()},
		},
		"conditions": []any{condition("Ready", time.Now()), condition("InstanceReady", time.Now())},
	}
}

func failedStatus(why string, since time.Time) map[string]any {
	failed := func(kind string) any {
		c := condition(kind, since)
		c["status"], c["severity"], c["reason"], c["message"] = "False", "Error", "InstanceCreateFailed", why
		return c
	}
	return map[string]any{
		"ready": false, "failureReason": "CreateError", "failureMessage": why,
		"conditions": []any{failed("Ready"), failed("InstanceReady")},
	}
}

// register lets the machine's node join, a while after the server became ACTIVE.
func (l *lab) register(ctx context.Context, o *unstructured.Unstructured, m *clusterv1.Machine, cluster string) error {
	name := o.GetNamespace() + "/" + cluster
	w := l.get(name)
	if (w != nil && w.has(o.GetName())) || time.Since(activeSince(o)) < *joinDelay {
		return nil
	}
	provider, _, _ := unstructured.NestedString(o.Object, "spec", "providerID")
	_, controlPlane := m.Labels[clusterv1.MachineControlPlaneLabel]
	c := &clusterv1.Cluster{}
	if err := l.c.Get(ctx, client.ObjectKey{Namespace: o.GetNamespace(), Name: cluster}, c); err != nil {
		return err
	}
	if w == nil {
		if !controlPlane || c.Spec.ControlPlaneEndpoint.Host == "" {
			return nil
		}
		var err error
		if w, err = l.start(ctx, c, name); err != nil {
			return fmt.Errorf("start %s: %w", name, err)
		}
	}
	joining := node{name: o.GetName(), provider: provider, version: m.Spec.Version, controlPlane: controlPlane}
	return l.join(ctx, w, c, joining)
}

func activeSince(o *unstructured.Unstructured) time.Time {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, x := range conditions {
		if c, ok := x.(map[string]any); ok && c["type"] == "InstanceReady" {
			if t, err := time.Parse(time.RFC3339, fmt.Sprint(c["lastTransitionTime"])); err == nil {
				return t
			}
		}
	}
	return o.GetCreationTimestamp().Time
}
