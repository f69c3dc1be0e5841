# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0

# Cluster API and its providers, by clusterctl.
#
# clusterctl gets them from the cache, as its local repository: so it asks
# nobody which versions there are, and what it installs has a checksum.

CAPI_RELEASES=https://github.com/kubernetes-sigs/cluster-api/releases/download
CAPO_RELEASES=https://github.com/kubernetes-sigs/cluster-api-provider-openstack
CAPO_RELEASES+=/releases/download

# Directory and type of a provider, its name, role and version. The role is the
# option of clusterctl, and the beginning of the name of its file.
function providers {
    cat <<EOF
cluster-api CoreProvider cluster-api core $CLUSTER_API
bootstrap-kubeadm BootstrapProvider kubeadm bootstrap $CLUSTER_API
control-plane-kubeadm ControlPlaneProvider kubeadm control-plane $CLUSTER_API
infrastructure-openstack InfrastructureProvider openstack infrastructure $PROVIDER
EOF
}

function install_providers {
    local directory type name role version have
    local missing=() older=()
    fetch_clusterctl
    fetch_providers
    while read -r directory type name role version; do
        have=$(sed -n "s,^$type/$name=v,,p" <<<"$INSTALLED")
        if [[ -z $have ]]; then
            missing+=("--$role" "$name:v$version")
        elif [[ $have == "$version" ]]; then
            say "$directory $version is there"
        elif [[ $(newest "$have" "$version") == "$have" ]]; then
            say "$directory is $have, which is newer: left as it is"
        else
            older+=("--$role" "$name:v$version")
        fi
    done < <(providers)
    if ((${#older[@]})); then
        clusterctl_does upgrade apply "${older[@]}"
    fi
    if ((${#missing[@]})); then
        clusterctl_does init "${missing[@]}"
    fi
}

function newest {
    printf '%s\n' "$@" | sort --version-sort | tail -n 1
}

# Type/name=version of each, as clusterctl noted them.
function installed_providers {
    local crd=providers.clusterctl.cluster.x-k8s.io
    local line="{.type}/{.providerName}={.version}{'\n'}"
    if [[ -n $(kube get crd "$crd" --ignore-not-found --output name) ]]; then
        kube get "$crd" --all-namespaces --output \
            "jsonpath={range .items[*]}$line{end}"
    fi
}

# Notes what clusterctl installed. A Cluster API that it has not is somebody
# else's: who asks first, changes nothing on the way to that.
function check_owner {
    local crd=clusters.cluster.x-k8s.io
    INSTALLED=$(installed_providers)
    if [[ -z $INSTALLED && -n $(kube get crd "$crd" --ignore-not-found \
        --output name) ]]; then
        fail "Cluster API is on the management cluster, and clusterctl did" \
            "not install it: whoever did, has to upgrade it"
    fi
}

function fetch_clusterctl {
    local name
    name=clusterctl-linux-$(architecture)
    CLUSTERCTL=$CACHE/clusterctl/v$CLUSTER_API/$name
    fetch "clusterctl/v$CLUSTER_API/$name" \
        "$CAPI_RELEASES/v$CLUSTER_API/$name"
    run chmod 0755 "$CLUSTERCTL"
}

# Each provider's components and metadata, where clusterctl looks for them.
function fetch_providers {
    local directory type name role version base file
    local config=(providers:)
    while read -r directory type name role version; do
        base=$CAPI_RELEASES
        [[ $name != openstack ]] || base=$CAPO_RELEASES
        file=providers/$directory/v$version/$role-components.yaml
        fetch "$file" "$base/v$version/$role-components.yaml"
        fetch "$(dirname "$file")/metadata.yaml" \
            "$base/v$version/metadata.yaml"
        config+=("- name: $name" "  type: $type" "  url: $CACHE/$file")
    done < <(providers)
    CLUSTERCTL_CONFIG=$CACHE/clusterctl-$CHART.yaml
    if [[ -z $DRY_RUN ]]; then
        printf '%s\n' "${config[@]}" >"$CLUSTERCTL_CONFIG"
    fi
}

# Flatcar needs ignition. The rest keeps clusterctl from asking the internet.
function clusterctl_does {
    run env EXP_KUBEADM_BOOTSTRAP_FORMAT_IGNITION=true \
        CLUSTERCTL_DISABLE_VERSIONCHECK=true \
        "$CLUSTERCTL" "$@" --config "$CLUSTERCTL_CONFIG" \
        --kubeconfig "$KUBECONFIG_FILE" --wait-providers
}
