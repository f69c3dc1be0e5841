// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
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

const (
	addonGroup     = "addons.stackhpc.com"
	addonFinalizer = addonGroup + "/finalizer"
	// addonHandled has an addon as it was when the provider last finished with it.
	addonHandled = addonGroup + "/last-handled-configuration"
	addonWatch   = addonGroup + "/watch"
	secretPrefix = "secret." + addonGroup
	secretUsed   = "." + secretPrefix + "/uses"
)

var addonKinds = []schema.GroupVersionKind{
	{Group: addonGroup, Version: "v1alpha1", Kind: "HelmRelease"},
	{Group: addonGroup, Version: "v1alpha1", Kind: "Manifests"},
}

// release is helm's release of an addon.
type release struct {
	content string    // installed, or being installed
	since   time.Time // when the installation began; zero after its end
}

// addons plays the addon provider (see lab/README.rst). Of all addons the Secret cloud-config alone is installed in the
// workload cluster (credentials.go). The annotation failAnnotation gives phase Failed with its text.
func (l *lab) addons(ctx context.Context) {
	for _, gvk := range addonKinds {
		items, err := list(ctx, l.c, gvk)
		if err != nil {
			klog.V(4).ErrorS(err, "list", "kind", gvk.Kind) // the CRDs are optional
			return
		}
		if err := l.watched(ctx); err != nil {
			klog.ErrorS(err, "list")
			return
		}
		for i := range items {
			complain(l.addon(ctx, &items[i]), &items[i])
		}
	}
}

func (l *lab) addon(ctx context.Context, o *unstructured.Unstructured) error {
	name, _, _ := unstructured.NestedString(o.Object, "spec", "clusterName")
	if name == "" {
		return nil
	}
	c, err := l.owning(ctx, client.ObjectKey{Namespace: o.GetNamespace(), Name: name})
	if o.GetDeletionTimestamp() != nil {
		return l.uninstall(ctx, o, c, err)
	}
	if controllerutil.AddFinalizer(o, addonFinalizer) {
		return l.c.Update(ctx, o)
	}
	if phaseOf(o) == "" {
		return l.phase(ctx, o, "Pending", "")
	}
	if err != nil {
		return err
	}
	if noted, err := l.noteSecrets(ctx, o); err != nil || noted {
		return err
	}
	r, known := l.releases[o.GetUID()]
	if known && r.since.IsZero() && o.GetAnnotations()[addonHandled] == essence(o) {
		return nil
	}
	return l.handle(ctx, o, c)
}

// handle does the provider's next step with an addon that is new or has changed; the next tick does the step after it.
func (l *lab) handle(ctx context.Context, o *unstructured.Unstructured, c *clusterv1.Cluster) error {
	s, err := l.identity(ctx, c)
	if err != nil {
		return err
	}
	if err := l.adopt(ctx, o, c, s); err != nil {
		return err
	}
	content, err := l.content(ctx, o, s)
	if err != nil || !ready(o, c) {
		return err
	}
	if paused(o) {
		l.releases[o.GetUID()] = l.releases[o.GetUID()]
		return l.handled(ctx, o)
	}
	if w := l.get(c.Namespace + "/" + c.Name); w == nil || !w.answers() {
		return nil
	}
	if why := o.GetAnnotations()[failAnnotation]; why != "" {
		l.releases[o.GetUID()] = release{content: l.releases[o.GetUID()].content}
		if err := l.phase(ctx, o, "Failed", why); err != nil {
			return err
		}
		return l.handled(ctx, o)
	}
	return l.install(ctx, o, c, content)
}

func (l *lab) install(ctx context.Context, o *unstructured.Unstructured, c *clusterv1.Cluster, content string) error {
	r, known := l.releases[o.GetUID()]
	if !known && o.GetAnnotations()[addonHandled] == essence(o) {
		r.content = content // labinfra is what was restarted
	}
	switch {
	case !r.since.IsZero() && time.Since(r.since) < *joinDelay:
		return nil
	case !r.since.IsZero():
		if err := l.copyCredential(ctx, o, c); err != nil {
			return err
		}
		r.since = time.Time{}
	case r.content != content:
		l.releases[o.GetUID()] = release{content, time.Now()}
		if revision(o) > 0 {
			return l.phase(ctx, o, "Upgrading", "")
		}
		return l.phase(ctx, o, "Installing", "")
	}
	l.releases[o.GetUID()] = r
	if err := l.phase(ctx, o, "Deployed", ""); err != nil || r.content != content {
		return err
	}
	return l.handled(ctx, o)
}

// uninstall lets an addon go: at once with its cluster, else after helm.
func (l *lab) uninstall(ctx context.Context, o *unstructured.Unstructured, c *clusterv1.Cluster, err error) error {
	if client.IgnoreNotFound(err) != nil || !controllerutil.ContainsFinalizer(o, addonFinalizer) {
		return err
	}
	if err == nil && c.Status.Phase != "Deleting" && !paused(o) {
		if phaseOf(o) != "Uninstalling" {
			return l.phase(ctx, o, "Uninstalling", "")
		}
		if w := l.get(c.Namespace + "/" + c.Name); w != nil && !w.answers() {
			return nil
		}
	}
	delete(l.releases, o.GetUID())
	controllerutil.RemoveFinalizer(o, addonFinalizer)
	return l.c.Update(ctx, o)
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

// ready tells whether an addon may be installed. Clusters of v1beta2, which the provider reads because the API prefers
// it, have no condition Ready: an addon without bootstrap waits for ever.
func ready(o *unstructured.Unstructured, c *clusterv1.Cluster) bool {
	wanted := "Ready"
	if bootstrap, _, _ := unstructured.NestedBool(o.Object, "spec", "bootstrap"); bootstrap {
		wanted = clusterv1.ClusterControlPlaneInitializedCondition
	}
	for _, condition := range c.Status.Conditions {
		if condition.Type == wanted {
			return condition.Status == metav1.ConditionTrue
		}
	}
	return false
}

// essence has the fields that the provider's library, kopf, compares to see a change.
func essence(o *unstructured.Unstructured) string {
	annotations := map[string]string{}
	for key, value := range o.GetAnnotations() {
		if !strings.HasPrefix(key, addonGroup+"/") {
			annotations[key] = value
		}
	}
	metadata := map[string]any{"labels": o.GetLabels(), "annotations": annotations}
	text, _ := json.Marshal(map[string]any{"spec": o.Object["spec"], "metadata": metadata})
	return string(text) + "\n"
}

// handled notes that there is nothing left to do for an addon as it is.
func (l *lab) handled(ctx context.Context, o *unstructured.Unstructured) error {
	return l.annotate(ctx, o, map[string]string{addonHandled: essence(o)})
}

func (l *lab) annotate(ctx context.Context, o *unstructured.Unstructured, added map[string]string) error {
	before := o.DeepCopy()
	annotations := o.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	for key, value := range added {
		annotations[key] = value
	}
	o.SetAnnotations(annotations)
	return l.c.Patch(ctx, o, client.MergeFrom(before))
}

func paused(o *unstructured.Unstructured) bool {
	found, _, _ := unstructured.NestedBool(o.Object, "spec", "paused")
	return found
}

func phaseOf(o *unstructured.Unstructured) string {
	phase, _, _ := unstructured.NestedString(o.Object, "status", "phase")
	return phase
}

func revision(o *unstructured.Unstructured) int64 {
	number, _, _ := unstructured.NestedInt64(o.Object, "status", "revision")
	return number
}

func (l *lab) phase(ctx context.Context, o *unstructured.Unstructured, phase, message string) error {
	status := map[string]any{"phase": phase}
	if message != "" {
		status["failureMessage"] = message
	}
	number := revision(o)
	if old := phaseOf(o); phase == "Deployed" && (old == "Installing" || old == "Upgrading") {
		number++
	}
	if number > 0 {
		status["revision"] = number
	}
	before := o.DeepCopy()
	o.Object["status"] = status
	return l.c.Status().Patch(ctx, o, client.MergeFrom(before))
}

func list(ctx context.Context, c client.Client, gvk schema.GroupVersionKind) ([]unstructured.Unstructured, error) {
	l := &unstructured.UnstructuredList{}
	l.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	err := c.List(ctx, l)
	return l.Items, err
}
