# shellcheck shell=bash
# What the plugin does in each phase of DevStack.

CAPI_HELM_CACHE=$CAPI_HELM_DATA_DIR/cache
CAPI_HELM_TOOLS=$CAPI_HELM_DIR/tools
CAPI_HELM_DRIVER_KUBECONFIG=$CAPI_HELM_DATA_DIR/driver.kubeconfig
# The openstack command is asked as an administrator, in each phase.
CAPI_HELM_CLOUD=devstack-admin

# A function of the tools, in a shell of its own: their names are not meant for
# all of DevStack's.
function _capi_helm_tool {
    (
        # shellcheck disable=SC2030,SC2034
        CACHE=$CAPI_HELM_CACHE CHECKSUMS=$CAPI_HELM_CHECKSUMS DRY_RUN=""
        # shellcheck source=tools/management-cluster/download.sh
        source "$CAPI_HELM_TOOLS/management-cluster/download.sh"
        "$@"
    )
}

# A helm that is there is not replaced; the driver needs this one or a later.
function _check_capi_helm_helm {
    local have oldest
    have=$(helm version --template '{{.Version}}')
    have=${have#v}
    oldest=$(printf '%s\n' 3.16.0 "$have" | sort --version-sort | head -n 1)
    if [[ -n $have && $oldest != 3.16.0 ]]; then
        die "$LINENO" "$(type -p helm) is $have: upgrade it to 3.16 or" \
            "later, or remove it, and one is installed"
    fi
}

# Everything that would fail late, and can be seen at once.
function check_capi_helm {
    local file
    for file in "$CAPI_HELM_KUBECONFIG" "$CAPI_HELM_CHECKSUMS"; do
        if [[ -n $file && ! -r $file ]]; then
            die "$LINENO" "there is no file $file that can be read"
        fi
    done
    if [[ -n $CAPI_HELM_IMAGE ]]; then
        if [[ $CAPI_HELM_IMAGE != *://* && ! -r $CAPI_HELM_IMAGE ]]; then
            die "$LINENO" "CAPI_HELM_IMAGE: there is no $CAPI_HELM_IMAGE"
        fi
        local version='^v[0-9]+\.[0-9]+\.[0-9]+$'
        if [[ ! $CAPI_HELM_IMAGE_KUBE_VERSION =~ $version ]]; then
            die "$LINENO" "CAPI_HELM_IMAGE_KUBE_VERSION is" \
                "'$CAPI_HELM_IMAGE_KUBE_VERSION': give that of the image," \
                "such as v1.34.2"
        fi
    fi
    local template=$CAPI_HELM_DIR/samples/templates/$CAPI_HELM_TEMPLATE.yaml
    if [[ ! -r $template ]]; then
        die "$LINENO" "CAPI_HELM_TEMPLATE: there is no $template"
    fi
    if type -p helm >/dev/null; then
        _check_capi_helm_helm
    fi
    # k3s brings one; Magnum's plugin fetches one only in post-config.
    local given=$CAPI_HELM_KUBECONFIG
    if [[ -n $given && $CAPI_HELM_INSTALL_COMPONENTS == True ]]; then
        type -p kubectl >/dev/null ||
            die "$LINENO" "CAPI_HELM_KUBECONFIG: there is no kubectl to" \
                "install components with; install one"
    fi
    mkdir -p "$CAPI_HELM_CACHE"
}

# DevStack's environment is not on the PATH, and DevStack links clients alone.
function link_capi_helm_command {
    if [[ ${GLOBAL_VENV:-} == True ]]; then
        sudo ln -sf "$DEVSTACK_VENV/bin/magnum-capi-helm" /usr/local/bin/
    fi
}

function _capi_helm_admin_kubeconfig {
    echo "${CAPI_HELM_KUBECONFIG:-$CAPI_HELM_DATA_DIR/admin.kubeconfig}"
}

function install_capi_helm_management_cluster {
    local options=()
    if [[ $CAPI_HELM_INSTALL_COMPONENTS != True ]]; then
        _install_capi_helm_helm
        return
    fi
    if [[ -n $CAPI_HELM_CHART_VERSION ]]; then
        options+=(--chart "$CAPI_HELM_CHART_VERSION")
    fi
    if [[ -n $CAPI_HELM_CHECKSUMS ]]; then
        options+=(--checksums "$CAPI_HELM_CHECKSUMS")
    fi
    bash "$CAPI_HELM_TOOLS/install-management-cluster.sh" \
        --kubeconfig "$(_capi_helm_admin_kubeconfig)" \
        --cache "$CAPI_HELM_CACHE" \
        --driver-kubeconfig "$CAPI_HELM_DRIVER_KUBECONFIG" "${options[@]}"
    _install_capi_helm_helm
}

# Conductors need a helm, whoever installed Cluster API. One that is there is
# not replaced.
function _install_capi_helm_helm {
    local program
    if type -p helm >/dev/null; then
        return
    fi
    # What the installer has fetched is there already.
    _capi_helm_tool _fetch_capi_helm_helm
    program=$(find "$CAPI_HELM_CACHE/helm" -name helm -type f |
        sort --version-sort | tail -n 1)
    sudo install -m 0755 "$program" /usr/local/bin/helm
    touch "$CAPI_HELM_DATA_DIR/helm-is-ours"
}

# The one that the chart was tested with.
function _fetch_capi_helm_helm {
    local versions
    # shellcheck source=tools/management-cluster/components.sh
    source "$CAPI_HELM_TOOLS/management-cluster/components.sh"
    versions=$(python3 "$CAPI_HELM_TOOLS/management-cluster/versions.py" \
        ${CAPI_HELM_CHART_VERSION:+--chart "$CAPI_HELM_CHART_VERSION"}) ||
        exit 1
    eval "$versions"
    fetch_helm
}

function configure_capi_helm {
    local kubeconfig=$MAGNUM_CONF_DIR/capi-management.kubeconfig
    local own=$CAPI_HELM_DRIVER_KUBECONFIG
    if [[ $CAPI_HELM_INSTALL_COMPONENTS != True ]]; then
        own=$(_capi_helm_admin_kubeconfig)
    fi
    install -m 0600 "$own" "$kubeconfig"
    mkdir -p "$CAPI_HELM_CHART_STORE"
    iniset "$MAGNUM_CONF" capi_helm kubeconfig_file "$kubeconfig"
    iniset "$MAGNUM_CONF" capi_helm chart_store "$CAPI_HELM_CHART_STORE"
    if [[ -n $CAPI_HELM_CHART_VERSION ]]; then
        iniset "$MAGNUM_CONF" capi_helm default_helm_chart_version \
            "$CAPI_HELM_CHART_VERSION"
    fi
    iniset "$MAGNUM_CONF" drivers default_driver k8s_capi_helm_v1
    iniset "$MAGNUM_CONF" cluster_template \
        kubernetes_allowed_network_drivers calico,cilium
    iniset "$MAGNUM_CONF" cluster_template \
        kubernetes_default_network_driver calico
}

function create_capi_helm_image {
    local file=$CAPI_HELM_IMAGE status
    if [[ -z $CAPI_HELM_IMAGE ]]; then
        echo "CAPI_HELM_IMAGE is empty: there will be no image or template"
        return
    fi
    status=$(openstack --os-cloud "$CAPI_HELM_CLOUD" image show \
        "$CAPI_HELM_IMAGE_NAME" --format value --column status 2>/dev/null) ||
        status=""
    if [[ $status == active ]]; then
        return
    fi
    if [[ -n $status ]]; then
        # What an upload leaves that broke off.
        openstack --os-cloud "$CAPI_HELM_CLOUD" image delete \
            "$CAPI_HELM_IMAGE_NAME"
    fi
    if [[ $CAPI_HELM_IMAGE == *://* ]]; then
        _capi_helm_tool fetch \
            "images/$(basename "$CAPI_HELM_IMAGE")" "$CAPI_HELM_IMAGE"
        file=$CAPI_HELM_CACHE/images/$(basename "$CAPI_HELM_IMAGE")
    fi
    openstack --os-cloud "$CAPI_HELM_CLOUD" image create \
        "$CAPI_HELM_IMAGE_NAME" --public \
        --file "$file" --disk-format qcow2 --container-format bare \
        --property "os_distro=$CAPI_HELM_IMAGE_OS_DISTRO" \
        --property "kube_version=$CAPI_HELM_IMAGE_KUBE_VERSION" \
        --property magnum_driver=k8s_capi_helm_v1
}

function create_capi_helm_template {
    if [[ -z $CAPI_HELM_IMAGE ]]; then
        return
    fi
    OS_CLOUD=$CAPI_HELM_CLOUD python3 \
        "$CAPI_HELM_TOOLS/create-template.py" \
        "$CAPI_HELM_DIR/samples/templates/$CAPI_HELM_TEMPLATE.yaml" \
        --set "image_id=$CAPI_HELM_IMAGE_NAME" \
        --set "external_network_id=$CAPI_HELM_EXTERNAL_NETWORK" \
        --set "flavor_id=$CAPI_HELM_FLAVOR" \
        --set "master_flavor_id=$CAPI_HELM_FLAVOR" --public
}

# The database goes with the next stack.sh; what is in Glance's store does not.
function delete_capi_helm_template {
    if [[ -z $CAPI_HELM_IMAGE ]]; then
        return
    fi
    openstack --os-cloud "$CAPI_HELM_CLOUD" coe cluster template delete \
        "k8s-$CAPI_HELM_TEMPLATE" ||
        echo "the template stays: is it in use, or Magnum stopped?"
    openstack --os-cloud "$CAPI_HELM_CLOUD" image delete \
        "$CAPI_HELM_IMAGE_NAME" ||
        echo "the image stays: is it in use, or Glance stopped?"
}

# Cluster API stays on a management cluster that is not this plugin's: there may
# be clusters that need it.
function remove_capi_helm_user {
    if [[ -e $CAPI_HELM_DRIVER_KUBECONFIG ]]; then
        kubectl --kubeconfig "$CAPI_HELM_KUBECONFIG" delete \
            --ignore-not-found --filename \
            "$CAPI_HELM_DIR/magnum_capi_helm/kubernetes/permissions.yaml"
    fi
}

function clean_capi_helm {
    if [[ -e $CAPI_HELM_DATA_DIR/helm-is-ours ]]; then
        sudo rm -f /usr/local/bin/helm
    fi
    if [[ ${GLOBAL_VENV:-} == True ]]; then
        sudo rm -f /usr/local/bin/magnum-capi-helm
    fi
    rm -f "$MAGNUM_CONF_DIR/capi-management.kubeconfig"
    # A chart store elsewhere is its owner's, who may have filled it.
    rm -rf "$CAPI_HELM_DATA_DIR"
}
