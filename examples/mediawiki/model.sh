#!/usr/bin/env bash
# Measures what one web server with a share of a core does, and writes it as a service model, with which
# pools are simulated. Its form is that of pages asked for one by one, its level that of eight users at
# once. Core 0 is kept busy meanwhile, as that of a pool is. Some five minutes; needs root, what
# `make mediawiki` makes, and a machine that does nothing else.
#
#     examples/mediawiki/model.sh                     a server of 12%, into data/web-12.json
#     examples/mediawiki/model.sh 18 web-18.json      another share, another file
#
# It ends with the words that fit policies.toml to such servers. PLIMSOLL names the program.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
share=${1:-12} out=${2:-$here/data/web-${1:-12}.json}
program=${PLIMSOLL:-plimsoll}
work=$(mktemp -d)
bed='' busy=''

leave() {
    [ -z "$busy" ] || kill "$busy"
    [ -z "$bed" ] || "$program" testbed down "$bed" >"$work/down" 2>&1 || cat "$work/down" >&2
    rm -rf "$work"
}
trap leave EXIT

# ask USERS FOR: pages, by so many users who ask for the next when they have one, as samples in $work/USERS.
ask() {
    taskset -c 1 "$program" load "$url" --urls "$here/data/pages.txt" --order uniform --users "$1" \
        --warm-up 5s --for "$2" --samples --quiet --out "$work/$1" >"$work/said" || {
        cat "$work/said" >&2
        exit 1
    }
    "$program" export "$work/$1"/*/ --format samples-csv >"$work/$1.csv"
}

taskset -c 1 "$program" testbed up "$here/capacity.toml" --set "role.web.cpu=$share%" --json \
    >"$work/bed.json"
read -r bed url < <(php "$here/model.php" bed "$work/bed.json")
chrt --idle 0 taskset -c 0 sh -c 'while :; do :; done' &
busy=$!
ask 1 120s
ask 8 60s
php "$here/model.php" write "$work/1.csv" "$work/8.csv" "$out"
