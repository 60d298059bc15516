#!/usr/bin/env bash
# What a store sustains by workload (W1 to W4) and by the size of its records, as box plots.
#   examples/capacity/run.sh [URL]
# URL is a store that plimsoll speaks to; without one, a redis-server of its own on a private port.
#   REPEAT  searches of each kind (5)
#   SIZES   sizes of records in bytes (100 300 1000 3000 9000)
#   SLO     what must hold (p99<20ms)
#   SEARCH  further arguments of each search (--start 100/s)
#   OUT     folder of the runs and of the two pages (a new one)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
plimsoll=${PLIMSOLL:-$PWD/../../target/release/plimsoll}
repeat=${REPEAT:-5} sizes=${SIZES:-100 300 1000 3000 9000} slo=${SLO:-p99<20ms}
read -ra how <<<"${SEARCH:---start 100/s}"
out=${OUT:-$(mktemp -d -t plimsoll-stores-XXXXXX)}
mkdir -p "$out"

need() {
    command -v "$1" >/dev/null || { echo "missing: $1; install it: apt-get install $2" >&2; exit 2; }
}

own_redis() {
    need redis-server redis-server
    local port=$((20000 + RANDOM % 10000))
    redis-server --port "$port" --bind 127.0.0.1 --save '' --appendonly no --dir "$out" \
        >"$out/redis.log" &
    redis=$!
    trap 'kill "$redis"; wait "$redis" || true' EXIT
    url=redis://127.0.0.1:$port/
    until grep -qs 'Ready to accept' "$out/redis.log"; do
        kill -0 "$redis" || { cat "$out/redis.log" >&2; exit 1; }
        sleep 0.1
    done
}

# A series of searches into a folder: as the plan says, and as further arguments do.
search() {
    local folder=$1 plan=$2 name=$3
    shift 3
    "$plimsoll" prepare "$plan" --set "target.url=$url" --quiet "$@" >/dev/null
    "$plimsoll" capacity "$plan" --set "target.url=$url" --slo "$slo" --name "$name" \
        "${how[@]}" --repeat "$repeat" --quiet --out "$folder" "$@"
}

need jq jq
url=${1:-}
[ -n "$url" ] || own_redis

for workload in w1 w2 w3 w4; do
    search "$out/workloads" "$workload.toml" "${workload^^}"
done
"$plimsoll" capacity compare "$out"/workloads/*/ --by name --out "$out/workloads.html"

for size in $sizes; do
    search "$out/sizes" w2.toml "read $size B" --set "store.value_size=$size"
    search "$out/sizes" w1.toml "write $size B" --set "store.value_size=$size"
done
"$plimsoll" capacity compare "$out"/sizes/*/ --by name --out "$out/sizes.html"
# In bytes: reads hold their number for long, writes fall in number and rise in bytes.
"$plimsoll" capacity compare "$out"/sizes/*/ --by name --json | jq -r '.groups[]
    | (.group | split(" ")) as [$what, $size]
    | "\($what) of \($size) B: \(.estimate_per_s.median | floor)/s, \(
        .estimate_per_s.median * ($size | tonumber) / 1e4 | floor / 100) MB/s"'
printf '%s\n' "$out/workloads.html" "$out/sizes.html"
