# shellcheck shell=bash
# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

# What is installed beside Cluster API, and the helm to do it.

CERT_MANAGER_RELEASES=https://github.com/cert-manager/cert-manager
CERT_MANAGER_RELEASES+=/releases/download
ORC_RELEASES=https://github.com/k-orc/openstack-resource-controller
ORC_RELEASES+=/releases/download

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

# Left alone where somebody has it already: Cluster API takes any.
function install_cert_manager {
    local have label=app.kubernetes.io
    have=$(kube get deployments --all-namespaces --output name --selector \
        "$label/name=cert-manager,$label/version!=v$CERT_MANAGER")
    if [[ -n $have ]]; then
        say "cert-manager is there, in another version: left as it is"
        return
    fi
    apply_release cert-manager "v$CERT_MANAGER" cert-manager.yaml \
        "$CERT_MANAGER_RELEASES"
    wait_for cert-manager cert-manager cert-manager-cainjector \
        cert-manager-webhook
}

function install_resource_controller {
    apply_release orc "v$RESOURCES" install.yaml "$ORC_RELEASES"
    wait_for orc-system orc-controller-manager
}

# apply_release NAME VERSION FILE URL: a manifest that a project publishes.
function apply_release {
    local name=$1/$2/$3
    fetch "$name" "$4/$2/$3"
    # Some of its definitions are too large for an annotation.
    run kubectl --kubeconfig "$KUBECONFIG_FILE" apply --server-side \
        --force-conflicts --filename "$CACHE/$name"
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
    local archive=$1-$2.tgz
    fetch "charts/$archive" "https://azimuth-cloud.github.io/$1/$archive"
    run "$HELM_PROGRAM" upgrade --install "$1" "$CACHE/charts/$archive" \
        --kubeconfig "$KUBECONFIG_FILE" --namespace "$3" --create-namespace \
        --wait --timeout 10m
}
