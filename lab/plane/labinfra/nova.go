// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/config"
	"github.com/gophercloud/gophercloud/v2/openstack/config/clouds"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1alpha1 "sigs.k8s.io/cluster-api-provider-openstack/api/v1alpha1"
	infrav1 "sigs.k8s.io/cluster-api-provider-openstack/api/v1beta1"
)

// noNetwork is the first version of Nova's API in which a server may have no network.
const noNetwork = "2.37"

// cloud logs in with a server's credential, as CAPO does.
func (l *lab) cloud(ctx context.Context, s *infrav1alpha1.OpenStackServer) (*gophercloud.ProviderClient, gophercloud.EndpointOpts, error) {
	identity := s.Spec.IdentityRef
	secret := &corev1.Secret{}
	if err := l.c.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: identity.Name}, secret); err != nil {
		return nil, gophercloud.EndpointOpts{}, err
	}
	yaml := bytes.NewReader(secret.Data["clouds.yaml"])
	auth, endpoint, _, err := clouds.Parse(clouds.WithCloudsYAML(yaml), clouds.WithCloudName(identity.CloudName))
	if err != nil {
		return nil, endpoint, err
	}
	provider, err := config.NewProviderClient(ctx, auth)
	return provider, endpoint, err
}

// askNova makes the server in Nova when it isn't there, and tells its ID and state.
func (l *lab) askNova(ctx context.Context, s *infrav1alpha1.OpenStackServer) (string, infrav1.InstanceState, error) {
	provider, endpoint, err := l.cloud(ctx, s)
	if err != nil {
		return "", "", err
	}
	nova, err := openstack.NewComputeV2(provider, endpoint)
	if err != nil {
		return "", "", err
	}
	server, err := findServer(ctx, nova, s)
	if err == nil && server == nil {
		nova.Microversion = noNetwork
		server, err = createServer(ctx, provider, endpoint, nova, s)
	}
	if err != nil {
		return "", "", err
	}
	if server.Status == "" { // just made
		return server.ID, infrav1.InstanceStateBuild, nil
	}
	return server.ID, infrav1.InstanceState(server.Status), nil
}

// findServer finds a server by its name, as CAPO does after a restart.
func findServer(ctx context.Context, nova *gophercloud.ServiceClient, s *infrav1alpha1.OpenStackServer) (*servers.Server, error) {
	pages, err := servers.List(nova, servers.ListOpts{Name: "^" + s.Name + "$"}).AllPages(ctx)
	if err != nil {
		return nil, err
	}
	found, err := servers.ExtractServers(pages)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

// createServer asks for a server without ports, volumes and user data: no host is found for it anyway.
func createServer(
	ctx context.Context, provider *gophercloud.ProviderClient, endpoint gophercloud.EndpointOpts,
	nova *gophercloud.ServiceClient, s *infrav1alpha1.OpenStackServer,
) (*servers.Server, error) {
	flavor, err := flavorID(ctx, nova, s)
	if err != nil {
		return nil, err
	}
	image, err := imageID(ctx, provider, endpoint, s)
	if err != nil {
		return nil, err
	}
	wanted := servers.CreateOpts{Name: s.Name, FlavorRef: flavor, ImageRef: image, Networks: "none"}
	return servers.Create(ctx, nova, wanted, nil).Extract()
}

func flavorID(ctx context.Context, nova *gophercloud.ServiceClient, s *infrav1alpha1.OpenStackServer) (string, error) {
	pages, err := flavors.ListDetail(nova, nil).AllPages(ctx)
	if err != nil {
		return "", err
	}
	known, err := flavors.ExtractFlavors(pages)
	for _, flavor := range known {
		if flavor.Name == *s.Spec.Flavor {
			return flavor.ID, nil
		}
	}
	return "", errors.Join(err, fmt.Errorf("no flavor %s", *s.Spec.Flavor))
}

func imageID(ctx context.Context, provider *gophercloud.ProviderClient, endpoint gophercloud.EndpointOpts, s *infrav1alpha1.OpenStackServer) (string, error) {
	if s.Spec.Image.ID != nil {
		return *s.Spec.Image.ID, nil
	}
	glance, err := openstack.NewImageV2(provider, endpoint)
	if err != nil {
		return "", err
	}
	name := ptr.Deref(s.Spec.Image.Filter.Name, "")
	pages, err := images.List(glance, images.ListOpts{Name: name}).AllPages(ctx)
	if err != nil {
		return "", err
	}
	known, err := images.ExtractImages(pages)
	if err == nil && len(known) == 0 {
		err = fmt.Errorf("no image %s", name)
	}
	if err != nil {
		return "", err
	}
	return known[0].ID, nil
}

// deleteInNova asks for the server's deletion. No host has to do it, so the server is gone at once.
func (l *lab) deleteInNova(ctx context.Context, s *infrav1alpha1.OpenStackServer) error {
	provider, endpoint, err := l.cloud(ctx, s)
	if err != nil {
		return err
	}
	nova, err := openstack.NewComputeV2(provider, endpoint)
	if err != nil {
		return err
	}
	err = servers.Delete(ctx, nova, *s.Status.InstanceID).ExtractErr()
	if gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
		return nil
	}
	return err
}
