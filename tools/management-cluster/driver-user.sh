# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0

# The driver's user on the management cluster, and a kubeconfig for it.

DRIVER_NAME=magnum-capi-helm

function token_secret {
    cat <<EOF
apiVersion: v1
kind: Secret
type: kubernetes.io/service-account-token
metadata:
  name: $DRIVER_NAME-token
  namespace: $DRIVER_NAME
  annotations:
    kubernetes.io/service-account.name: $DRIVER_NAME
EOF
}

# The prefixes of namespaces in the policy that is there, separated by "|".
function present_prefixes {
    kube get validatingadmissionpolicy "$DRIVER_NAME" --ignore-not-found \
        --output "jsonpath={.spec.matchConditions[0].expression}" |
        sed -n "s/.*|(\([a-z0-9|-]*\))-.*/\1/p"
}

# make_driver_user MANIFEST [PREFIXES]: what "magnum-capi-helm
# management-cluster permissions" prints, for prefixes separated by "|".
function make_driver_user {
    local prefixes=${2:-}
    prefixes=${prefixes:-$(present_prefixes)}
    say "the driver's user may make namespaces ${prefixes:=magnum}-PROJECT"
    run kubectl --kubeconfig "$KUBECONFIG_FILE" apply --filename - \
        < <(sed "s/(magnum)/($prefixes)/g" "$1")
    if [[ -n $DRY_RUN ]]; then
        echo "would make a token, and write $DRIVER_KUBECONFIG"
        return
    fi
    token_secret |
        kubectl --kubeconfig "$KUBECONFIG_FILE" apply --filename -
    local server ca token
    server=$(kube config view --minify --raw --output \
        "jsonpath={.clusters[0].cluster.server}")
    token=$(wait_for_token)
    ca=$(of_token "{.data.ca\.crt}")
    write_kubeconfig "$server" "$ca" "$token"
    say "wrote $DRIVER_KUBECONFIG"
}

function of_token {
    kube get secret "$DRIVER_NAME-token" --namespace "$DRIVER_NAME" \
        --output "jsonpath=$1"
}

# The controller manager fills the Secret a moment after it was made.
function wait_for_token {
    local found
    for _ in {1..30}; do
        found=$(of_token "{.data.token}" | base64 --decode)
        if [[ -n $found ]]; then
            echo "$found"
            return
        fi
        sleep 1
    done
    fail "the Secret $DRIVER_NAME-token got no token within 30 s"
}

# A token is in the arguments of no process, and nobody else may read it.
function write_kubeconfig {
    rm -f "$DRIVER_KUBECONFIG"
    (
        umask 077
        cat >"$DRIVER_KUBECONFIG" <<EOF
apiVersion: v1
kind: Config
current-context: magnum
contexts:
  - name: magnum
    context: {cluster: management, user: magnum}
clusters:
  - name: management
    cluster:
      server: $1
      certificate-authority-data: $2
users:
  - name: magnum
    user:
      token: $3
EOF
    )
}
