// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/config"
	"github.com/gophercloud/gophercloud/v2/openstack/config/clouds"
)

const novaPause = 2 * time.Second

var cloudsFile = flag.String("clouds", "", "clouds.yaml with the cloud admin")

// compute is what Nova says about servers.
type compute struct {
	nova   *gophercloud.ServiceClient
	asked  time.Time
	active map[string]bool // IDs of servers that run; nil before the first answer
}

// look asks Nova which servers run. While Nova does not answer, servers go on as they were.
func (c *compute) look(ctx context.Context) error {
	now := time.Now()
	if now.Sub(c.asked) < novaPause {
		return nil
	}
	if c.nova == nil {
		nova, err := connect(ctx)
		if err != nil {
			return err
		}
		c.nova = nova
	}
	pages, err := servers.ListSimple(c.nova, servers.ListOpts{AllTenants: true, Status: "ACTIVE"}).AllPages(ctx)
	if err != nil {
		return err
	}
	listed, err := servers.ExtractServers(pages)
	if err != nil {
		return err
	}
	active := map[string]bool{}
	for _, s := range listed {
		active[s.ID] = true
	}
	c.asked, c.active = now, active
	return nil
}

// runs tells whether a server ran at the last look, if that look was after since.
func (c *compute) runs(id string, since time.Time) bool {
	return c.active == nil || c.asked.Before(since) || c.active[id]
}

func connect(ctx context.Context) (*gophercloud.ServiceClient, error) {
	auth, endpoint, tls, err := clouds.Parse(clouds.WithLocations(*cloudsFile), clouds.WithCloudName("admin"))
	if err != nil {
		return nil, err
	}
	auth.AllowReauth = true
	provider, err := config.NewProviderClient(ctx, auth, config.WithTLSConfig(tls))
	if err != nil {
		return nil, err
	}
	return openstack.NewComputeV2(provider, endpoint)
}
