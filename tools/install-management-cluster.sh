#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0

# Installs on a management cluster what a version of the openstack-cluster
# chart was tested with: cert-manager, the OpenStack resource controller,
# Cluster API with its OpenStack provider, addon provider and janitor.
#
# Nothing is replaced by what is older. It may run any number of times, and
# finishes what a broken run began. --help has the rest.

set -euo pipefail

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ROOT=$(dirname "$HERE")
# shellcheck source=tools/management-cluster/download.sh
source "$HERE/management-cluster/download.sh"
# shellcheck source=tools/management-cluster/providers.sh
source "$HERE/management-cluster/providers.sh"
# shellcheck source=tools/management-cluster/components.sh
source "$HERE/management-cluster/components.sh"
# shellcheck source=tools/management-cluster/driver-user.sh
source "$HERE/management-cluster/driver-user.sh"

function usage {
    cat <<EOF
Usage: $(basename "$0") --kubeconfig FILE [OPTION...]

  --kubeconfig FILE         of an administrator of the management cluster
  --chart VERSION           of the openstack-cluster chart (the newest known)
  --cache DIR               where downloads are kept
                            (\$XDG_CACHE_HOME/magnum-capi-helm)
  --checksums FILE          what downloads have to be, as sha256sum writes it,
                            with names as below --cache
  --without-janitor         the driver removes what workloads leave behind
  --driver-kubeconfig FILE  make the driver's user, and write its kubeconfig
  --namespace-prefix PREFIX [capi_helm] namespace_prefix of a cloud; repeat it
                            for several (those of the last run, or magnum)
  --dry-run                 show what would be done; only reads are made
  --help                    this

Needs curl, kubectl, python3 with PyYAML, sha256sum and tar. helm and
clusterctl are fetched in the versions that are wanted.
EOF
}

function parse_arguments {
    KUBECONFIG_FILE="" CHART="" CHECKSUMS="" DRIVER_KUBECONFIG="" DRY_RUN=""
    JANITOR=yes PREFIXES=""
    CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/magnum-capi-helm
    while (($#)); do
        case $1 in
            --kubeconfig) KUBECONFIG_FILE=$(value "$@"); shift ;;
            --chart) CHART=$(value "$@"); shift ;;
            --cache) CACHE=$(value "$@"); shift ;;
            --checksums) CHECKSUMS=$(value "$@"); shift ;;
            --driver-kubeconfig) DRIVER_KUBECONFIG=$(value "$@"); shift ;;
            --namespace-prefix) add_prefix "$(value "$@")"; shift ;;
            --without-janitor) JANITOR="" ;;
            --dry-run) DRY_RUN=yes ;;
            --help) usage; exit 0 ;;
            *) fail "$1 is no option: see --help" ;;
        esac
        shift
    done
    CACHE=$(realpath --canonicalize-missing "$CACHE")
    [[ -n $KUBECONFIG_FILE ]] || fail "--kubeconfig is missing: see --help"
    local file
    for file in "$KUBECONFIG_FILE" ${CHECKSUMS:+"$CHECKSUMS"}; do
        [[ -r $file ]] || fail "there is no file $file that can be read"
    done
}

# The value of an option: it may not be missing.
function value {
    [[ -n ${2:-} && $2 != --* ]] || fail "$1 needs a value"
    echo "$2"
}

function add_prefix {
    [[ $1 =~ ^[a-z0-9]([a-z0-9-]*[a-z0-9])?$ ]] ||
        fail "--namespace-prefix $1: allowed are lowercase letters, digits" \
            "and hyphens between them"
    PREFIXES+=${PREFIXES:+|}$1
}

function check_tools {
    local tool
    for tool in curl kubectl python3 sha256sum tar; do
        type -p "$tool" >/dev/null || fail "$tool is not on the PATH"
    done
    python3 -c "import yaml" 2>/dev/null ||
        fail "python3 has no PyYAML: install python3-yaml"
}

# CLUSTER_API, PROVIDER, ... as versions.yaml has them for the chart.
function read_versions {
    local found
    found=$(python3 "$HERE/management-cluster/versions.py" \
        ${CHART:+--chart "$CHART"}) || exit 1
    eval "$found"
    local janitor=none
    [[ -z $JANITOR ]] || janitor=$JANITOR_VERSION
    say "chart $CHART: Cluster API $CLUSTER_API, CAPO $PROVIDER," \
        "ORC ${RESOURCES:-none}, addon provider $ADDONS," \
        "janitor $janitor, cert-manager $CERT_MANAGER, helm $HELM"
}

function check_management_cluster {
    kube get --raw /readyz >/dev/null ||
        fail "the management cluster of $KUBECONFIG_FILE does not answer," \
            "or is not ready"
}

function main {
    parse_arguments "$@"
    check_tools
    read_versions
    check_management_cluster
    check_owner
    fetch_helm
    install_cert_manager
    if [[ -n $RESOURCES ]]; then
        # CAPO does not start without its kinds.
        install_resource_controller
    fi
    install_providers
    install_chart cluster-api-addon-provider "$ADDONS" capi-addon-system
    if [[ -n $JANITOR ]]; then
        install_chart cluster-api-janitor-openstack "$JANITOR_VERSION" \
            capi-janitor-system
    fi
    if [[ -n $DRIVER_KUBECONFIG ]]; then
        make_driver_user "$ROOT/magnum_capi_helm/kubernetes/permissions.yaml" \
            "$PREFIXES"
    fi
    say "done"
}

main "$@"
