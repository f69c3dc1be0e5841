# A cluster whose workers are autoscaled, and one more group of workers. A
# cluster is upgraded to a template: each one that there is, is in "templates".
terraform {
  required_providers {
    openstack = {
      source  = "terraform-provider-openstack/openstack"
      version = ">= 1.53.0"
    }
  }
}

variable "templates" {
  description = "The name of each template, and its image"
  type        = map(string)
  default     = { "k8s-1.34" = "ubuntu-v1.34.2" }
}

variable "template" {
  description = "The one of them that the cluster has"
  type        = string
  default     = "k8s-1.34"
}

variable "name" {
  type    = string
  default = "web"
}

variable "flavor" {
  type    = string
  default = "m1.large"
}

variable "external_network" {
  type    = string
  default = "public"
}

variable "keypair" {
  type    = string
  default = "my-key"
}

resource "openstack_containerinfra_clustertemplate_v1" "k8s" {
  for_each            = var.templates
  name                = each.key
  image               = each.value
  coe                 = "kubernetes"
  external_network_id = var.external_network
  flavor              = var.flavor
  master_flavor       = var.flavor
  network_driver      = "calico"
  master_lb_enabled   = true
  floating_ip_enabled = true
}

resource "openstack_containerinfra_cluster_v1" "web" {
  name                = var.name
  cluster_template_id = openstack_containerinfra_clustertemplate_v1.k8s[var.template].id
  keypair             = var.keypair
  master_count        = 1
  node_count          = 2
  floating_ip_enabled = true
  merge_labels        = true
  labels = {
    auto_scaling_enabled = "true"
    min_node_count       = "1"
    max_node_count       = "3"
  }

  lifecycle {
    prevent_destroy = true
    ignore_changes  = [node_count]
  }
}

resource "openstack_containerinfra_nodegroup_v1" "batch" {
  cluster_id     = openstack_containerinfra_cluster_v1.web.id
  name           = "batch"
  node_count     = 2
  min_node_count = 1
  max_node_count = 3

  lifecycle {
    ignore_changes = [node_count]
  }
}
