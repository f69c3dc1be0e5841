module magnum-capi-helm-lab-nodes-openstack

go 1.26.0

require k8s.io/cloud-provider-openstack v1.35.0 // indirect
