// SPDX-License-Identifier: Apache-2.0

// labinfra plays the inside of the machines that the OpenStack provider makes,
// with their kubelets, and the provider of cluster addons. Every workload
// cluster gets a TLS listener on its control plane endpoint; behind it answer
// the in-memory API server and etcd of Cluster API's own tests.
package main

import (
	"context"
	"crypto/rsa"
	"flag"
	"fmt"
	"net/http"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "sigs.k8s.io/cluster-api-provider-openstack/api/v1beta1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	cloudv1 "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/cloud/api/v1alpha1"
	inmemoryruntime "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/runtime"
	inmemoryapi "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/server/api"
	inmemoryetcd "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/server/etcd"
	"sigs.k8s.io/cluster-api/util/certs"
)

const (
	// holdAnnotation keeps a machine from ever joining its cluster.
	holdAnnotation = "lab.example.org/hold"
	// failAnnotation lets an addon fail with its text.
	failAnnotation = "lab.example.org/fail"
)

var (
	healthAddr = flag.String("health-addr", "127.0.0.1:9547", "address of /readyz and /addons")
	joinDelay  = flag.Duration("join-delay", 2*time.Second, "server ACTIVE -> Node registered")
	tick       = flag.Duration("tick", time.Second, "poll interval")
)

// lab is what all simulated controllers share.
type lab struct {
	c         client.Client // management cluster, uncached
	scheme    *runtime.Scheme
	mem       inmemoryruntime.Manager
	api, etcd http.Handler
	key       *rsa.PrivateKey // one key serves every certificate

	// seen is what this tick has read already: all addons of a cluster ask for the same objects.
	seen seen

	// releases is what helm would keep in the workload clusters, of each addon.
	releases map[types.UID]release
	hold     hold

	compute compute

	mu     sync.RWMutex
	byName map[string]*workload
	byAddr map[string]*workload
}

// seen is what one tick has read.
type seen struct {
	clusters map[client.ObjectKey]*clusterv1.Cluster
	infra    map[client.ObjectKey]*infrav1.OpenStackCluster
	secrets  map[client.ObjectKey]*corev1.Secret // those of addons; nil before they are listed
}

func main() {
	klog.InitFlags(nil)
	flag.Parse()
	ctrl.SetLogger(klog.Background())
	ctx := ctrl.SetupSignalHandler()
	l := newLab(ctx)
	http.Handle("/addons", &l.hold)
	go serveHealth()
	klog.InfoS("labinfra started")
	for {
		l.reconcile(ctx)
		select {
		case <-ctx.Done():
			return
		case <-time.After(*tick):
		}
	}
}

func newLab(ctx context.Context) *lab {
	scheme := runtime.NewScheme()
	must(clientgoscheme.AddToScheme(scheme))
	must(clusterv1.AddToScheme(scheme))
	must(infrav1.AddToScheme(scheme))
	cfg := ctrl.GetConfigOrDie()
	cfg.QPS, cfg.Burst = 50, 100
	c, err := client.New(cfg, client.Options{Scheme: scheme})
	must(err)
	key, err := certs.NewPrivateKey()
	must(err)
	l := &lab{
		c: c, scheme: scheme, key: key,
		mem:      inmemoryruntime.NewManager(workloadScheme()),
		releases: map[types.UID]release{},
		byName:   map[string]*workload{},
		byAddr:   map[string]*workload{},
	}
	must(l.mem.Start(ctx))
	l.api = inmemoryapi.NewAPIServerHandler(l.mem, klog.Background(), l.resolve)
	l.etcd = inmemoryetcd.NewEtcdServerHandler(l.mem, klog.Background(), l.resolve)
	return l
}

// workloadScheme has the kinds that the in-memory API servers know.
func workloadScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		cloudv1.AddToScheme, corev1.AddToScheme, appsv1.AddToScheme, rbacv1.AddToScheme,
		storagev1.AddToScheme, apiextensionsv1.AddToScheme, policyv1.AddToScheme,
	} {
		must(add(scheme))
	}
	return scheme
}

// resolve tells the in-memory servers which cluster a request is for.
func (l *lab) resolve(host string) (string, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if w, ok := l.byAddr[host]; ok {
		return w.name, nil
	}
	return "", fmt.Errorf("no workload cluster at %s", host)
}

func serveHealth() {
	http.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	must(http.ListenAndServe(*healthAddr, nil))
}

func must(err error) {
	if err != nil {
		klog.Fatal(err)
	}
}

// reconcile looks at everything once; an error of one object is retried at the next tick.
func (l *lab) reconcile(ctx context.Context) {
	l.seen = seen{
		clusters: map[client.ObjectKey]*clusterv1.Cluster{},
		infra:    map[client.ObjectKey]*infrav1.OpenStackCluster{},
	}
	owners := &clusterv1.ClusterList{}
	if err := l.c.List(ctx, owners); err != nil {
		klog.ErrorS(err, "list")
		return
	}
	for i := range owners.Items {
		l.seen.clusters[client.ObjectKeyFromObject(&owners.Items[i])] = &owners.Items[i]
	}
	l.machines(ctx)
	if !l.hold.holds() {
		l.addons(ctx)
	}
}

// clusterOf names the cluster that an object belongs to.
func clusterOf(o client.Object) string {
	return o.GetNamespace() + "/" + o.GetLabels()[clusterv1.ClusterNameLabel]
}

// complain logs an error unless it is one that the next tick gets over.
func complain(err error, o client.Object) {
	if err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
		klog.ErrorS(err, "reconcile", "kind", fmt.Sprintf("%T", o), "namespace", o.GetNamespace(), "name", o.GetName())
	}
}
