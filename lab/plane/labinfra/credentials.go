// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"sort"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "sigs.k8s.io/cluster-api-provider-openstack/api/v1beta1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// identity is the Secret with the credential of a cluster.
func (l *lab) identity(ctx context.Context, c *clusterv1.Cluster) (*corev1.Secret, error) {
	cluster := client.ObjectKeyFromObject(c)
	if s, ok := l.seen.identities[cluster]; ok {
		return s, nil
	}
	key := client.ObjectKey{Namespace: c.Namespace, Name: c.Spec.InfrastructureRef.Name}
	infra, ok := l.seen.infra[key]
	if !ok {
		return nil, apierrors.NewNotFound(infrav1.SchemeGroupVersion.WithResource("openstackclusters").GroupResource(), key.Name)
	}
	key.Name = infra.Spec.IdentityRef.Name
	s := &corev1.Secret{}
	if err := l.c.Get(ctx, key, s); err != nil {
		return nil, err
	}
	l.seen.identities[cluster] = s
	return s, nil
}

// noteCredential writes on an addon which credential it was deployed with, as the addon provider does, and deploys it
// again when that is another one by now.
func (l *lab) noteCredential(ctx context.Context, o *unstructured.Unstructured, c *clusterv1.Cluster) (bool, error) {
	s, err := l.identity(ctx, c)
	if err != nil {
		return false, client.IgnoreNotFound(err)
	}
	key, sum := s.Name+".secret.addons.stackhpc.com/checksum", checksum(s.Data)
	old := o.GetAnnotations()[key]
	if old == sum {
		return false, nil
	}
	before := o.DeepCopy()
	annotations := o.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[key] = sum
	o.SetAnnotations(annotations)
	if err := l.c.Patch(ctx, o, client.MergeFrom(before)); err != nil || old == "" {
		return false, err
	}
	return true, l.phase(ctx, o, "Upgrading", "")
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
