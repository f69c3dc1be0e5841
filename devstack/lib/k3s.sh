# shellcheck shell=bash
# A management cluster on this host: k3s, by its own installer.
#
# Reads CAPI_HELM_DATA_DIR and CAPI_HELM_K3S_VERSION.

K3S_RELEASES=https://github.com/k3s-io/k3s/releases/download
K3S_SOURCE=https://raw.githubusercontent.com/k3s-io/k3s
K3S_KUBECONFIG=/etc/rancher/k3s/k3s.yaml

# The program of a release has another name on each architecture.
function _k3s_program {
    if [[ $(_capi_helm_tool architecture) == arm64 ]]; then
        echo k3s-arm64
    else
        echo k3s
    fi
}

function install_capi_helm_k3s {
    local version=${CAPI_HELM_K3S_VERSION/+/%2B} program sums
    local here=k3s/$CAPI_HELM_K3S_VERSION
    program=$(_k3s_program)
    sums=sha256sum-$(_capi_helm_tool architecture).txt
    _capi_helm_tool fetch "$here/$program" "$K3S_RELEASES/$version/$program" \
        "$K3S_RELEASES/$version/$sums"
    _capi_helm_tool fetch "$here/install.sh" \
        "$K3S_SOURCE/$version/install.sh"
    sudo install -m 0755 "$CAPI_HELM_CACHE/$here/$program" /usr/local/bin/k3s
    # What a management cluster has no use for stays away. DevStack has the
    # ports of load balancers and of etcd.
    sudo env INSTALL_K3S_SKIP_DOWNLOAD=true INSTALL_K3S_EXEC="server \
--disable traefik --disable servicelb --disable metrics-server" \
        sh "$CAPI_HELM_CACHE/$here/install.sh"
    _copy_k3s_kubeconfig
}

# An administrator's: nobody but the user of DevStack may read the copy.
function _copy_k3s_kubeconfig {
    local content
    rm -f "$CAPI_HELM_DATA_DIR/admin.kubeconfig"
    content=$(sudo cat "$K3S_KUBECONFIG")
    (umask 077 && echo "$content" >"$CAPI_HELM_DATA_DIR/admin.kubeconfig")
}

# Its pods, too, which go on when only the service is stopped.
function stop_capi_helm_k3s {
    if type -p k3s-killall.sh >/dev/null; then
        sudo k3s-killall.sh
    fi
}

function remove_capi_helm_k3s {
    if type -p k3s-uninstall.sh >/dev/null; then
        sudo k3s-uninstall.sh
    fi
}
