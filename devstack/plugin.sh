# shellcheck shell=bash
# DevStack plugin: installs the driver into Magnum's environment and points
# it at a management cluster. It neither makes that cluster nor installs helm.
#
# In local.conf, after Magnum's own plugin:
#
#   enable_plugin magnum-capi-helm <URL of this repository>
#   CAPI_HELM_KUBECONFIG=/path/to/kubeconfig

function check_capi_helm {
    if ! type -p helm >/dev/null; then
        die "$LINENO" "magnum-capi-helm needs helm on the PATH"
    fi
    if [[ ! -r $CAPI_HELM_KUBECONFIG ]]; then
        die "$LINENO" "CAPI_HELM_KUBECONFIG: no file $CAPI_HELM_KUBECONFIG"
    fi
}

function configure_capi_helm {
    local kubeconfig=$MAGNUM_CONF_DIR/capi-management.kubeconfig

    install -m 0600 "$CAPI_HELM_KUBECONFIG" "$kubeconfig"
    mkdir -p "$CAPI_HELM_CHART_STORE"
    iniset "$MAGNUM_CONF" capi_helm kubeconfig_file "$kubeconfig"
    iniset "$MAGNUM_CONF" capi_helm chart_store "$CAPI_HELM_CHART_STORE"
    if [[ -n $CAPI_HELM_CHART_VERSION ]]; then
        iniset "$MAGNUM_CONF" capi_helm default_helm_chart_version \
            "$CAPI_HELM_CHART_VERSION"
    fi
    iniset "$MAGNUM_CONF" cluster_template \
        kubernetes_allowed_network_drivers calico,cilium
    iniset "$MAGNUM_CONF" cluster_template \
        kubernetes_default_network_driver calico
}

if is_service_enabled magnum-cond magnum-api; then
    case "$1 ${2:-}" in
        "stack pre-install")
            check_capi_helm
            ;;
        "stack install")
            setup_develop "$CAPI_HELM_DIR"
            ;;
        "stack post-config")
            configure_capi_helm
            ;;
        "clean "*)
            rm -f "$MAGNUM_CONF_DIR/capi-management.kubeconfig"
            rm -rf "$CAPI_HELM_CHART_STORE"
            ;;
    esac
fi
