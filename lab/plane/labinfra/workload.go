// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/secret"
)

// workload is one cluster that users get: its endpoint and who has joined it.
type workload struct {
	name, addr string // "namespace/cluster", "ip:port"
	srv        *http.Server
	mu         sync.RWMutex
	apiCert    *tls.Certificate
	clients    *x509.CertPool // whom the API server believes
	etcdCerts  map[string]*tls.Certificate
	nodes      map[string]*member
	version    string // of the control plane machine that joined last
}

// member is a machine that has joined. Its kubelet stops with its server.
type member struct {
	since              time.Time
	controlPlane, down bool
}

func (l *lab) get(name string) *workload {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.byName[name]
}

// joined is when a machine joined, and whether it did.
func (w *workload) joined(node string) (time.Time, bool) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	m := w.nodes[node]
	if m == nil {
		return time.Time{}, false
	}
	return m.since, true
}

// start opens the control plane endpoint of a cluster; the authorities are in the cluster's secrets.
func (l *lab) start(ctx context.Context, c *clusterv1.Cluster, name string) (*workload, error) {
	host := c.Spec.ControlPlaneEndpoint.Host
	w := &workload{
		name: name, addr: fmt.Sprintf("%s:%d", host, c.Spec.ControlPlaneEndpoint.Port),
		clients: x509.NewCertPool(), etcdCerts: map[string]*tls.Certificate{}, nodes: map[string]*member{},
	}
	var err error
	if w.apiCert, err = l.cert(ctx, c, secret.ClusterCA, "kube-apiserver", host); err != nil {
		return nil, err
	}
	ca, err := secret.Get(ctx, l.c, client.ObjectKeyFromObject(c), secret.ClusterCA)
	if err != nil {
		return nil, err
	}
	w.clients.AppendCertsFromPEM(ca.Data[secret.TLSCrtDataName])
	ln, err := net.Listen("tcp", w.addr)
	if err != nil {
		return nil, err
	}
	l.mem.AddResourceGroup(name)
	config := &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: w.tlsConfig}
	w.srv = &http.Server{Handler: l.handler(w), TLSConfig: config}
	l.mu.Lock()
	l.byName[name], l.byAddr[w.addr] = w, w
	l.mu.Unlock()
	go func() { _ = w.srv.ServeTLS(ln, "", "") }()
	klog.InfoS("workload cluster listening", "cluster", name, "address", w.addr)
	return w, nil
}

// handler tells etcd's traffic, which comes through a forwarded port, from the API's.
func (l *lab) handler(w *workload) http.Handler {
	tables := withTables(l.api)
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch {
		case !w.answers():
			panic(http.ErrAbortHandler) // closes the connection
		case r.ProtoMajor == 2 && strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc"):
			l.etcd.ServeHTTP(rw, r)
		case r.TLS == nil || len(r.TLS.VerifiedChains) == 0:
			http.Error(rw, "Unauthorized: no certificate of this cluster's authority", http.StatusUnauthorized)
		case r.URL.Path == "/version":
			w.tellVersion(rw)
		case r.URL.Path == "/openapi/v2":
			rw.WriteHeader(http.StatusOK) // no schema: helm checks nothing
		default:
			tables.ServeHTTP(rw, r)
		}
	})
}

// tellVersion answers helm, which takes a server without a version for unreachable.
func (w *workload) tellVersion(rw http.ResponseWriter) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	rw.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(rw).Encode(version.Info{GitVersion: w.version})
}

func (w *workload) tlsConfig(h *tls.ClientHelloInfo) (*tls.Config, error) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	t := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
	if cert, ok := w.etcdCerts[h.ServerName]; ok {
		t.Certificates = []tls.Certificate{*cert}
		return t, nil
	}
	t.Certificates, t.ClientCAs, t.ClientAuth = []tls.Certificate{*w.apiCert}, w.clients, tls.VerifyClientCertIfGiven
	return t, nil
}

// answers tells whether the server of a control plane machine runs.
func (w *workload) answers() bool {
	w.mu.RLock()
	defer w.mu.RUnlock()
	for _, m := range w.nodes {
		if m.controlPlane && !m.down {
			return true
		}
	}
	return len(w.nodes) == 0 // the first one is about to join
}

// drop closes the endpoint of a cluster that is gone.
func (l *lab) drop(name string) {
	l.mu.Lock()
	w := l.byName[name]
	if w != nil {
		delete(l.byName, name)
		delete(l.byAddr, w.addr)
	}
	l.mu.Unlock()
	if w == nil {
		return
	}
	_ = w.srv.Close()
	l.mem.DeleteResourceGroup(name)
	klog.InfoS("workload cluster gone", "cluster", name)
}

// put creates an object in the workload cluster; an existing one is left alone.
func (l *lab) put(ctx context.Context, w *workload, o client.Object) error {
	err := l.mem.GetResourceGroup(w.name).GetClient().Create(ctx, o)
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

func (l *lab) remove(ctx context.Context, w *workload, o client.Object) {
	_ = l.mem.GetResourceGroup(w.name).GetClient().Delete(ctx, o)
}
