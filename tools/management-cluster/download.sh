# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0

# Saying, failing, running and downloading, for scripts that source this.
#
# Reads CACHE, CHECKSUMS, DRY_RUN and KUBECONFIG_FILE.

function say {
    echo "==> $*"
}

function fail {
    echo "error: $*" >&2
    exit 1
}

# Do it, or with --dry-run show it.
function run {
    if [[ -n ${DRY_RUN:-} ]]; then
        printf 'would run:'
        printf ' %q' "$@"
        printf '\n'
    else
        "$@"
    fi
}

# Reads of the management cluster, which a dry run makes as well.
function kube {
    kubectl --kubeconfig "$KUBECONFIG_FILE" "$@"
}

function architecture {
    case $(uname -m) in
        x86_64) echo amd64 ;;
        aarch64) echo arm64 ;;
        *) fail "$(uname -m) is no architecture that is known:" \
            "only x86_64 and aarch64 are" ;;
    esac
}

# fetch NAME URL [CHECKSUM_URL]: have CACHE/NAME.
#
# Its checksum is the one in the file of --checksums; else, while it is fetched,
# the publisher's; else the one that was recorded when it was fetched first.
# So a file that changes on either side is never used.
function fetch {
    local name=$1 url=$2 sums=${3:-}
    local path=$CACHE/$name wanted
    wanted=$(recorded "$name")
    if [[ -e $path ]]; then
        [[ -z $wanted ]] || verify "$path" "$wanted"
        [[ -n $wanted || -n ${DRY_RUN:-} ]] || record "$name" "$path"
        return
    fi
    if [[ -n ${DRY_RUN:-} ]]; then
        echo "would fetch: $url"
        return
    fi
    mkdir -p "$(dirname "$path")"
    say "fetching $url"
    download "$url" "$path.part"
    if [[ -z $wanted && -n $sums ]]; then
        download "$sums" "$path.sums"
        wanted=$(published "$path.sums" "$(basename "$url")")
        rm -f "$path.sums"
        [[ -n $wanted ]] || fail "$sums says nothing of $(basename "$url")"
    fi
    [[ -z $wanted ]] || verify "$path.part" "$wanted"
    mv "$path.part" "$path"
    record "$name" "$path"
}

function download {
    curl --fail --silent --show-error --location --proto '=https' \
        --retry 3 --connect-timeout 20 --max-time 900 \
        --output "$2" "$1" || fail "$1 can't be fetched; where there is no" \
        "way out, put it into $CACHE beforehand"
}

# The checksum that is known of a name, if any.
function recorded {
    # Before the first download there is no second file.
    (cat ${CHECKSUMS:+"$CHECKSUMS"} "$CACHE/SHA256SUMS" 2>/dev/null || :) |
        awk -v name="$1" '$2 == name || $2 == "*" name { print $1; exit }'
}

function record {
    if ! grep -qs "  $1\$" "$CACHE/SHA256SUMS"; then
        echo "$(checksum "$2")  $1" >>"$CACHE/SHA256SUMS"
    fi
}

# What a publisher's file says of a name; it may be of that file alone.
function published {
    awk -v name="$2" \
        'NF == 1 || $2 == name || $2 == "*" name { print $1; exit }' "$1"
}

function checksum {
    sha256sum "$1" | cut -d ' ' -f 1
}

function verify {
    local found
    found=$(checksum "$1")
    if [[ $found != "$2" ]]; then
        fail "$1 has the checksum $found, and should have $2;" \
            "remove it to fetch it anew"
    fi
}
