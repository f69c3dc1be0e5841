# shellcheck shell=bash
# DevStack plugin: a management cluster, the driver in Magnum's environment,
# an image and a template. README.rst has the settings of local.conf.

# shellcheck source=devstack/lib/capi-helm.sh
source "$CAPI_HELM_DIR/devstack/lib/capi-helm.sh"
# shellcheck source=devstack/lib/k3s.sh
source "$CAPI_HELM_DIR/devstack/lib/k3s.sh"

if is_service_enabled magnum-cond magnum-api; then
    case "$1 ${2:-}" in
        "stack pre-install")
            check_capi_helm
            ;;
        "stack install")
            setup_develop "$CAPI_HELM_DIR"
            link_capi_helm_command
            if [[ -z $CAPI_HELM_KUBECONFIG ]]; then
                install_capi_helm_k3s
            fi
            install_capi_helm_management_cluster
            ;;
        "stack post-config")
            configure_capi_helm
            ;;
        "stack test-config")
            # All services run by now.
            create_capi_helm_image
            create_capi_helm_template
            ;;
        "unstack "*)
            delete_capi_helm_template
            if [[ -z $CAPI_HELM_KUBECONFIG ]]; then
                stop_capi_helm_k3s
            fi
            ;;
        "clean "*)
            if [[ -z $CAPI_HELM_KUBECONFIG ]]; then
                remove_capi_helm_k3s
            else
                remove_capi_helm_user
            fi
            clean_capi_helm
            ;;
    esac
fi
