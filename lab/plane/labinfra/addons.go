// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

var addonKinds = []schema.GroupVersionKind{
	{Group: "addons.stackhpc.com", Version: "v1alpha1", Kind: "HelmRelease"},
	{Group: "addons.stackhpc.com", Version: "v1alpha1", Kind: "Manifests"},
}

// addons plays the addon provider as far as its clients can see: it labels and owns each addon, waits for the control
// plane, and walks status.phase Pending -> Installing -> Deployed, and through Upgrading when the spec changes.
// Of all addons the Secret cloud-config alone is installed in the workload cluster (credentials.go). The annotation failAnnotation gives phase Failed with its text.
func (l *lab) addons(ctx context.Context) {
	for _, gvk := range addonKinds {
		items, err := list(ctx, l.c, gvk)
		if err != nil {
			klog.V(4).ErrorS(err, "list", "kind", gvk.Kind) // the CRDs are optional
			return
		}
		for i := range items {
			complain(l.addon(ctx, &items[i]), &items[i])
		}
	}
}

func (l *lab) addon(ctx context.Context, o *unstructured.Unstructured) error {
	name, _, _ := unstructured.NestedString(o.Object, "spec", "clusterName")
	if name == "" || o.GetDeletionTimestamp() != nil {
		return nil
	}
	phase, _, _ := unstructured.NestedString(o.Object, "status", "phase")
	seen, known := l.addonGenerations[o.GetUID()]
	l.addonGenerations[o.GetUID()] = o.GetGeneration()
	if known && seen != o.GetGeneration() && phase == "Deployed" {
		return l.phase(ctx, o, "Upgrading", "")
	}
	c, err := l.owning(ctx, client.ObjectKey{Namespace: o.GetNamespace(), Name: name})
	if err != nil {
		return err
	}
	if phase == "" {
		if err := l.adopt(ctx, o, c); err != nil {
			return err
		}
	}
	if phase == "Deployed" {
		if stale, err := l.noteCredential(ctx, o, c); err != nil || stale {
			return err
		}
	}
	next, message := nextPhase(o, c, phase)
	if next == phase {
		return nil
	}
	if next == "Deployed" {
		if err := l.copyCredential(ctx, o, c); err != nil {
			return err
		}
	}
	return l.phase(ctx, o, next, message)
}

// owning is the Cluster of an addon.
func (l *lab) owning(ctx context.Context, key client.ObjectKey) (*clusterv1.Cluster, error) {
	if c, ok := l.seen.clusters[key]; ok {
		return c, nil
	}
	c := &clusterv1.Cluster{}
	if err := l.c.Get(ctx, key, c); err != nil {
		return nil, err
	}
	l.seen.clusters[key] = c
	return c, nil
}

// adopt labels the addon and lets it go with its cluster.
func (l *lab) adopt(ctx context.Context, o *unstructured.Unstructured, c *clusterv1.Cluster) error {
	before := o.DeepCopy()
	labels := o.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels["addons.stackhpc.com/cluster"] = c.Name
	o.SetLabels(labels)
	if err := controllerutil.SetOwnerReference(c, o, l.scheme); err != nil {
		return err
	}
	return l.c.Patch(ctx, o, client.MergeFrom(before))
}

// nextPhase tells where an addon goes from its phase, and with which message.
func nextPhase(o *unstructured.Unstructured, c *clusterv1.Cluster, phase string) (string, string) {
	why := o.GetAnnotations()[failAnnotation]
	switch {
	case phase == "":
		return "Pending", ""
	case why != "":
		return "Failed", why
	case phase == "Failed":
		return "Pending", ""
	case phase == "Pending" && initialized(c):
		return "Installing", ""
	case phase == "Installing" || phase == "Upgrading":
		changed, _, _ := unstructured.NestedString(o.Object, "status", "lastUpdated")
		if t, err := time.Parse(time.RFC3339, changed); err != nil || time.Since(t) > *joinDelay {
			return "Deployed", ""
		}
	}
	return phase, ""
}

func initialized(c *clusterv1.Cluster) bool {
	for _, condition := range c.Status.Conditions {
		if strings.EqualFold(condition.Type, clusterv1.ClusterControlPlaneInitializedCondition) {
			return condition.Status == metav1.ConditionTrue
		}
	}
	return false
}

func (l *lab) phase(ctx context.Context, o *unstructured.Unstructured, phase, message string) error {
	before := o.DeepCopy()
	status := map[string]any{"phase": phase, "lastUpdated": time.Now().UTC().Format(time.RFC3339)}
	if message != "" {
		status["failureMessage"] = message
	}
	o.Object["status"] = status
	return l.c.Status().Patch(ctx, o, client.MergeFrom(before))
}

func list(ctx context.Context, c client.Client, gvk schema.GroupVersionKind) ([]unstructured.Unstructured, error) {
	l := &unstructured.UnstructuredList{}
	l.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	err := c.List(ctx, l)
	return l.Items, err
}
