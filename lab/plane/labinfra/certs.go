// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/certs"
	"sigs.k8s.io/cluster-api/util/secret"
)

// cert issues a serving and client certificate signed by one of the cluster's authorities.
func (l *lab) cert(
	ctx context.Context, c *clusterv1.Cluster, ca secret.Purpose, cn, host string,
) (*tls.Certificate, error) {
	s, err := secret.Get(ctx, l.c, client.ObjectKeyFromObject(c), ca)
	if err != nil {
		return nil, err
	}
	caCert, err := certs.DecodeCertPEM(s.Data[secret.TLSCrtDataName])
	if err != nil {
		return nil, err
	}
	caKey, err := certs.DecodePrivateKeyPEM(s.Data[secret.TLSKeyDataName])
	if err != nil {
		return nil, err
	}
	cfg := &certs.Config{
		CommonName: cn,
		Usages:     []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		AltNames:   altNames(cn, host),
	}
	crt, err := cfg.NewSignedCert(l.key, caCert, caKey)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(certs.EncodeCertPEM(crt), certs.EncodePrivateKeyPEM(l.key))
	return &pair, err
}

func altNames(cn, host string) certs.AltNames {
	names := certs.AltNames{
		DNSNames: []string{"localhost", "kubernetes", "kubernetes.default.svc", cn},
		IPs:      []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	if ip := net.ParseIP(host); ip != nil {
		names.IPs = append(names.IPs, ip)
	} else {
		names.DNSNames = append(names.DNSNames, host)
	}
	return names
}
