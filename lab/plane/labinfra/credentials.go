// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"sort"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "sigs.k8s.io/cluster-api-provider-openstack/api/v1beta1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// watched lists the Secrets that the provider watches.
func (l *lab) watched(ctx context.Context) error {
	if l.seen.secrets != nil {
		return nil
	}
	found := &corev1.SecretList{}
	if err := l.c.List(ctx, found, client.HasLabels{addonWatch}); err != nil {
		return err
	}
	l.seen.secrets = map[client.ObjectKey]*corev1.Secret{}
	for i := range found.Items {
		l.seen.secrets[client.ObjectKeyFromObject(&found.Items[i])] = &found.Items[i]
	}
	return nil
}

// watch reads a Secret, and lets it be watched from now on.
func (l *lab) watch(ctx context.Context, key client.ObjectKey) (*corev1.Secret, error) {
	if s, ok := l.seen.secrets[key]; ok {
		return s, nil
	}
	s := &corev1.Secret{}
	if err := l.c.Get(ctx, key, s); err != nil {
		return nil, err
	}
	before := s.DeepCopy()
	metav1.SetMetaDataLabel(&s.ObjectMeta, addonWatch, "")
	if err := l.c.Patch(ctx, s, client.MergeFrom(before)); err != nil {
		return nil, err
	}
	l.seen.secrets[key] = s
	return s, nil
}

// identity is the Secret with the credential of a cluster.
func (l *lab) identity(ctx context.Context, c *clusterv1.Cluster) (*corev1.Secret, error) {
	key := client.ObjectKey{Namespace: c.Namespace, Name: c.Spec.InfrastructureRef.Name}
	infra, ok := l.seen.infra[key]
	if !ok {
		return nil, apierrors.NewNotFound(infrav1.SchemeGroupVersion.WithResource("openstackclusters").GroupResource(), key.Name)
	}
	key.Name = infra.Spec.IdentityRef.Name
	return l.watch(ctx, key)
}

// uses names the Secrets that an addon has values or manifests from.
func uses(o *unstructured.Unstructured) []string {
	var names []string
	for _, field := range []string{"valuesSources", "manifestSources"} {
		sources, _, _ := unstructured.NestedSlice(o.Object, "spec", field)
		for _, source := range sources {
			if of, ok := source.(map[string]any); ok {
				if name, found, _ := unstructured.NestedString(of, "secret", "name"); found {
					names = append(names, name)
				}
			}
		}
	}
	return names
}

// adopt labels the addon and lets it go with its cluster.
func (l *lab) adopt(ctx context.Context, o *unstructured.Unstructured, c *clusterv1.Cluster, identity *corev1.Secret) error {
	before := o.DeepCopy()
	labels := o.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[addonGroup+"/cluster"] = c.Name
	space, _, _ := unstructured.NestedString(o.Object, "spec", "targetNamespace")
	labels[addonGroup+"/release-namespace"] = space
	name, _, _ := unstructured.NestedString(o.Object, "spec", "releaseName")
	if name == "" {
		name = o.GetName()
	}
	labels[addonGroup+"/release-name"] = name
	for _, used := range append(uses(o), identity.Name) {
		labels[used+secretUsed] = ""
	}
	o.SetLabels(labels)
	if err := controllerutil.SetOwnerReference(c, o, l.scheme, controllerutil.WithBlockOwnerDeletion(true)); err != nil {
		return err
	}
	if equality.Semantic.DeepEqual(before, o) {
		return nil
	}
	return l.c.Patch(ctx, o, client.MergeFrom(before))
}

// content stands for the chart and the values, or the manifests, of an addon. What else its spec has needs no new
// release; the credential is in it where a template asks for it.
func (l *lab) content(ctx context.Context, o *unstructured.Unstructured, identity *corev1.Secret) (string, error) {
	spec, _, _ := unstructured.NestedMap(o.Object, "spec")
	for _, field := range []string{"bootstrap", "lifecycleHooks", "paused", "releaseTimeout"} {
		delete(spec, field)
	}
	encoded, err := json.Marshal(spec)
	text := string(encoded)
	for _, name := range uses(o) {
		s, err := l.watch(ctx, client.ObjectKey{Namespace: o.GetNamespace(), Name: name})
		if err != nil {
			return "", err
		}
		text += checksum(s.Data)
		for _, value := range s.Data {
			if strings.Contains(string(value), "cloud_identity") {
				text += checksum(identity.Data)
			}
		}
	}
	if strings.Contains(string(encoded), "cloud_identity") {
		text += checksum(identity.Data)
	}
	return text, err
}

// noteSecrets writes on an addon which data the watched Secrets have that it uses.
func (l *lab) noteSecrets(ctx context.Context, o *unstructured.Unstructured) (bool, error) {
	changed := map[string]string{}
	for label := range o.GetLabels() {
		name, found := strings.CutSuffix(label, secretUsed)
		s := l.seen.secrets[client.ObjectKey{Namespace: o.GetNamespace(), Name: name}]
		if !found || s == nil {
			continue
		}
		key, sum := secretPrefix+"/"+name, checksum(s.Data)
		if o.GetAnnotations()[key] != sum {
			changed[key] = sum
		}
	}
	if len(changed) == 0 {
		return false, nil
	}
	return true, l.annotate(ctx, o, changed)
}

func checksum(data map[string][]byte) string {
	var parts []string
	for key, value := range data {
		parts = append(parts, key+"="+base64.StdEncoding.EncodeToString(value))
	}
	sort.Strings(parts)
	sum := sha256.Sum256([]byte(strings.Join(parts, ";")))
	return hex.EncodeToString(sum[:])
}

// copyCredential installs the addon that is the credential, for the controllers in the workload cluster.
func (l *lab) copyCredential(ctx context.Context, o *unstructured.Unstructured, c *clusterv1.Cluster) error {
	w := l.get(c.Namespace + "/" + c.Name)
	if w == nil || !strings.HasSuffix(o.GetName(), "-cloud-config") {
		return nil
	}
	s, err := l.identity(ctx, c)
	if err != nil {
		return err
	}
	space, _, _ := unstructured.NestedString(o.Object, "spec", "targetNamespace")
	config := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "cloud-config", Namespace: space}, Data: s.Data}
	workload := l.mem.GetResourceGroup(w.name).GetClient()
	err = workload.Create(ctx, config)
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	found := &corev1.Secret{}
	if err := workload.Get(ctx, client.ObjectKeyFromObject(config), found); err != nil {
		return err
	}
	found.Data = s.Data
	return workload.Update(ctx, found)
}
