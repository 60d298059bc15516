#!/usr/bin/env bash
# Measures the load engine against its peers: every line of the table in RESULTS.md.
#   benches/load/run.sh [--quick] [--long] [--only NAME,…] [--help]
# PLIMSOLL names the program; `make bench-load` sets it. BASELINE=PROGRAM compares it with another
# build of it instead. Installs peers that are absent where it
# may; what stays absent is said in the table.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

export PLIMSOLL="${PLIMSOLL:-$PWD/target/release/plimsoll}"
export PEERS="${XDG_CACHE_HOME:-$HOME/.cache}/plimsoll/peers"
export PYTHONDONTWRITEBYTECODE=1
export PATH="$PATH:/usr/sbin:/opt/oha/bin:$PEERS/bin"

wants_help() { [[ " $* " == *" --help "* || " $* " == *" -h "* ]]; }

as_root() {
    if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo -n "$@"; fi
}

install_packages() {
    local program absent=()
    for pair in wrk:wrk h2load:nghttp2-client nghttpd:nghttp2-server ab:apache2-utils \
        nginx:nginx; do
        program=${pair%%:*}
        command -v "$program" >/dev/null || absent+=("${pair#*:}")
    done
    [ "${#absent[@]}" -eq 0 ] && return
    command -v apt-get >/dev/null || { printf 'not installed: %s\n' "${absent[*]}"; return; }
    printf 'installing: %s\n' "${absent[*]}"
    export DEBIAN_FRONTEND=noninteractive
    local install=(apt-get install --yes --no-install-recommends -o Acquire::http::Timeout=20)
    if ! as_root "${install[@]}" "${absent[@]}" >/dev/null 2>&1; then
        as_root apt-get update -o Acquire::http::Timeout=20 >/dev/null 2>&1
        as_root "${install[@]}" "${absent[@]}" >/dev/null 2>&1 \
            || printf 'could not be installed: %s\n' "${absent[*]}"
    fi
}

install_oha() {
    command -v oha >/dev/null && return
    command -v cargo >/dev/null || { echo 'not installed: oha, which needs cargo'; return; }
    echo 'installing: oha (some minutes)'
    cargo install oha --version 1.16.0 --locked --root "$PEERS" >/dev/null 2>&1 \
        || echo 'could not be installed: oha'
}

# The bare servers that generators are measured against, beside the program.
build_servers() {
    local release
    release=$(dirname "$PLIMSOLL")
    export SERVERS="${SERVERS:-$release/examples}"
    [ "$(basename "$release")" = release ] && command -v cargo >/dev/null || return
    CARGO_TARGET_DIR=$(dirname "$release") cargo build --profile bench --package plimsoll-load \
        --example trivial --example http2_answer \
        || echo 'the bare servers could not be built; plimsoll target and nghttpd stand in'
}

if ! command -v python3 >/dev/null; then
    echo 'missing: python3, which runs the measurements; install it: apt-get install python3' >&2
    exit 2
fi
if ! wants_help "$@"; then
    install_packages
    [ -n "${BASELINE:-}" ] || install_oha
    build_servers
fi
exec python3 benches/load/bench.py "$@"
