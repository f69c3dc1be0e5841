# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0

# What is installed beside Cluster API, and the helm to do it.

CERT_MANAGER_RELEASES=https://github.com/cert-manager/cert-manager
CERT_MANAGER_RELEASES+=/releases/download
ORC_RELEASES=https://github.com/k-orc/openstack-resource-controller
ORC_RELEASES+=/releases/download
# Who applied a cert-manager, in its managed fields: so this script's is known.
CERT_MANAGER_OWNER=magnum-capi-helm

function fetch_helm {
    local archive
    archive=helm-v$HELM-linux-$(architecture).tar.gz
    HELM_PROGRAM=$CACHE/helm/v$HELM/helm
    fetch "helm/$archive" "https://get.helm.sh/$archive" \
        "https://get.helm.sh/$archive.sha256sum"
    run mkdir -p "$CACHE/helm/v$HELM"
    run tar --extract --gzip --file "$CACHE/helm/$archive" \
        --directory "$CACHE/helm/v$HELM" --strip-components 1 \
        "linux-$(architecture)/helm"
}

# running NAME PATH: the Deployments of that name, and what each has there.
function running {
    local line="{.metadata.namespace}/{.metadata.name} $2{'\n'}"
    kube get deployments --all-namespaces --show-managed-fields \
        --selector "app.kubernetes.io/name=$1" --output \
        "jsonpath={range .items[*]}$line{end}"
}

# left_alone NAME WANTED RUNNING: nothing is replaced by what is older. What
# runs is what "running" found, with a text that ends in its version.
function left_alone {
    local have
    [[ -n $3 ]] || return 1
    have=$(sed -nE 's/@.*//
        s/^[^ ]* (.*[:-])?v?([0-9]+\.[0-9]+\.[0-9]+.*)$/\2/p' <<<"$3")
    # shellcheck disable=SC2086
    have=$(newest $have)
    if [[ -z $have ]]; then
        say "$1 is there, in a version that can't be told: left as it is"
    elif [[ $have != "$2" && $(newest "$have" "$2") == "$have" ]]; then
        say "$1 is $have, which is newer: left as it is"
    else
        return 1
    fi
}

# Somebody else's is left alone, whichever it is: Cluster API takes any.
function install_cert_manager {
    local have ours="cert-manager/cert-manager $CERT_MANAGER_OWNER"
    have=$(running cert-manager \
        "{.metadata.managedFields[?(@.operation==\"Apply\")].manager}")
    if [[ -n $have && $have != "$ours" ]]; then
        say "cert-manager is there, and somebody else's: left as it is"
        return
    fi
    have=$(running cert-manager \
        "{.metadata.labels.app\.kubernetes\.io/version}")
    if left_alone cert-manager "$CERT_MANAGER" "$have"; then
        return
    fi
    apply_release cert-manager "v$CERT_MANAGER" cert-manager.yaml \
        "$CERT_MANAGER_RELEASES" --field-manager "$CERT_MANAGER_OWNER"
    wait_for cert-manager cert-manager cert-manager-cainjector \
        cert-manager-webhook
}

function install_resource_controller {
    local have
    have=$(running orc "{.spec.template.spec.containers[0].image}")
    if left_alone ORC "$RESOURCES" "$have"; then
        return
    fi
    apply_release orc "v$RESOURCES" install.yaml "$ORC_RELEASES"
    wait_for orc-system orc-controller-manager
}

# apply_release NAME VERSION FILE URL [OPTION...]: a manifest that a project
# publishes.
function apply_release {
    local name=$1/$2/$3
    fetch "$name" "$4/$2/$3"
    # Some of its definitions are too large for an annotation.
    run kubectl --kubeconfig "$KUBECONFIG_FILE" apply --server-side \
        --force-conflicts "${@:5}" --filename "$CACHE/$name"
}

# wait_for NAMESPACE DEPLOYMENT...
function wait_for {
    local namespace=$1 deployment
    shift
    for deployment in "$@"; do
        run kubectl --kubeconfig "$KUBECONFIG_FILE" rollout status \
            "deployment/$deployment" --namespace "$namespace" --timeout 10m
    done
}

# install_chart NAME VERSION NAMESPACE: of azimuth-cloud.
function install_chart {
    local archive=$1-$2.tgz have
    have=$(running "$1" "{.metadata.labels.helm\.sh/chart}")
    if left_alone "$1" "$2" "$have"; then
        return
    fi
    fetch "charts/$archive" "https://azimuth-cloud.github.io/$1/$archive"
    run "$HELM_PROGRAM" upgrade --install "$1" "$CACHE/charts/$archive" \
        --kubeconfig "$KUBECONFIG_FILE" --namespace "$3" --create-namespace \
        --wait --timeout 10m
}
