#!/usr/bin/env bash
# A day of a web server in two minutes: what `make demo TRACE=FILE` shows.
#
# Starts a server of known behaviour (`plimsoll target`), puts nginx in front of it where that is
# possible, offers it a recorded day, simulates a pool of servers on it, and ends with the path of a
# report. What was started is ended again. Set, if wanted:
#
#   TRACE=FILE      another day: a trace (CSV) or an access log; told apart by what is in it
#   DEMO_FOR=120    how many seconds the day is made to last
#   DEMO_POOL=PLAN  the pool that is simulated on a day of this kind; `no` for none
#   DEMO_RUNS=runs  where the run and its report go
#   PLIMSOLL=FILE   the program
set -euo pipefail

trace=${TRACE:+$(realpath -- "$TRACE")}
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source examples/lib.sh
seconds=${DEMO_FOR:-120}
plan=examples/load/clarknet-day.toml
pool=${DEMO_POOL:-examples/elastic/published-day.toml}

[ -z "${TRACE:-}" ] || [ -r "$trace" ] || fail "cannot read TRACE=$TRACE"

work=$(mktemp -d)
started=()
end() {
    local pid
    for pid in "${started[@]}"; do kill "$pid" 2>/dev/null || true; done
    for pid in "${started[@]}"; do wait "$pid" 2>/dev/null || true; done
    rm -rf "$work"
}
trap end EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Waits, at most 10 s, until a condition holds.
await() {
    local _
    for _ in $(seq 200); do
        if "$@" 2>/dev/null; then return 0; fi
        sleep 0.05
    done
    return 1
}

answers() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# The day, so much faster that it lasts as long as was asked. Rates stay as they are.
number() { sed -n "s/.*\"$1\": *\([0-9.eE+-]*\).*/\1/p" "$2" | head -n 1; }
speed_for() { awk -v length_s="$1" -v wanted_s="$seconds" 'BEGIN {
    speed = length_s / wanted_s; printf "%.9g", (speed > 1 ? speed : 1) }'; }
load=("$plan")
if [ -z "$trace" ]; then
    load+=(--speed "$(speed_for 86400)")
    say "day: the published ClarkNet day, in $seconds s"
else
    source=$trace
    if ! "$plimsoll" trace info "$trace" --json >"$work/info.json" 2>"$work/no-trace.txt"; then
        source=$work/day.csv
        load+=(--urls "$work/urls.csv" --order weighted)
        "$plimsoll" trace from-log "$trace" -o "$source" --urls "$work/urls.csv" \
            2>"$work/import.txt" || fail "$TRACE is neither a trace nor an access log
  as a trace: $(sed -n '1s/^error: //p' "$work/no-trace.txt")
  as a log: $(sed -n '1s/^error: //p' "$work/import.txt")"
        sed 's/^/log: /' "$work/import.txt"
        "$plimsoll" trace info "$source" --json >"$work/info.json"
    fi
    name=$(basename "$trace")
    length=$(number duration_s "$work/info.json")
    speed=$(speed_for "$length")
    load+=(--trace "$source" --speed "$speed" --name "$name")
    if [ "$(number min "$work/info.json")" = "$(number max "$work/info.json")" ]; then
        say "day: $name, a constant rate, $speed times faster"
    else
        load+=(--scale 35/s..430/s)
        say "day: $name, mapped to 35/s..430/s, $speed times faster"
    fi
fi

# The server: twelve workers, 22 ms each on average. In the busiest seconds of the day, 430/s, they
# are busy for 430/s × 22 ms / 12 = 79% of the time.
"$plimsoll" target --listen 127.0.0.1:0 --service-time exp:22ms --workers 12 --body 1KiB \
    >"$work/target.txt" 2>"$work/target.err" &
started+=($!)
await grep -q '^listening on ' "$work/target.txt" \
    || fail "the target does not listen: $(cat "$work/target.err")"
backend=$(sed -n 's/^listening on //p' "$work/target.txt")
say "server: plimsoll target on $backend, 12 workers of 22 ms on average, exponential"

# nginx, if it is there or may be installed.
find_nginx() { PATH=$PATH:/usr/sbin command -v nginx; }

install_nginx() {
    local as_root=()
    command -v apt-get >/dev/null || return 1
    if [ "$(id -u)" -ne 0 ]; then
        sudo -n true 2>/dev/null || return 1
        as_root=(sudo -n)
    fi
    say 'nginx: not there; installing it (apt-get install nginx)'
    local install=(apt-get install --yes --no-install-recommends -o Acquire::http::Timeout=20 nginx)
    export DEBIAN_FRONTEND=noninteractive
    if ! "${as_root[@]}" "${install[@]}" >"$work/apt.txt" 2>&1; then
        "${as_root[@]}" apt-get update -o Acquire::http::Timeout=20 >>"$work/apt.txt" 2>&1
        "${as_root[@]}" "${install[@]}" >>"$work/apt.txt" 2>&1 || return 1
    fi
    # Debian starts what it installs; the demonstration runs one of its own, as long as it lasts.
    "${as_root[@]}" systemctl disable --now nginx >/dev/null 2>&1 || true
}

# Starts nginx on a free port, which is then in $front.
start_nginx() {
    local _
    for _ in 1 2 3 4 5; do
        front=$((20000 + RANDOM % 10000))
        if answers "$front"; then continue; fi
        cat >"$work/nginx.conf" <<CONF
daemon off;
pid $work/nginx.pid;
error_log $work/nginx.err;
worker_processes 1;
events { worker_connections 4096; }
http {
    access_log off;
    keepalive_requests 1000000;
    client_body_temp_path $work/body;
    proxy_temp_path $work/proxy;
    fastcgi_temp_path $work/fastcgi;
    uwsgi_temp_path $work/uwsgi;
    scgi_temp_path $work/scgi;
    upstream target { server $backend; keepalive 256; keepalive_requests 1000000; }
    server {
        listen 127.0.0.1:$front;
        location / {
            proxy_pass http://target;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
        }
    }
}
CONF
        "$1" -p "$work" -e "$work/nginx.err" -c "$work/nginx.conf" >"$work/nginx.txt" 2>&1 &
        local pid=$!
        started+=("$pid")
        if await answers "$front" && kill -0 "$pid" 2>/dev/null; then return 0; fi
    done
    return 1
}

address=$backend
if ! find_nginx >/dev/null && ! install_nginx; then
    say 'nginx: not there, and it cannot be installed (that takes root, or sudo without a password,'
    say '       and apt-get); the server is asked directly'
elif start_nginx "$(find_nginx)"; then
    address=127.0.0.1:$front
    say "nginx: a reverse proxy before it, on $address"
else
    why=$(cat "$work/nginx.txt" "$work/nginx.err" 2>/dev/null | tail -n 1)
    say "nginx: does not start ($why); the server is asked directly"
fi

report=$(new_page day)
say
code=0
load+=(--set "target.url=http://$address/" --out "$runs" --report "$report")
"$plimsoll" load "${load[@]}" || code=$?
say
case $code in
    0) say 'What had to hold, held.' ;;
    3) say 'The run is valid, and the SLO did not hold: that is what exit code 3 tells a script.' ;;
    5) say 'This host was too busy to send requests in time, so nothing is said of the server:'
       say 'that is exit code 5. Try again when the host is idle.' ;;
    *) exit "$code" ;;
esac

# How many servers would such a day take, and what would they cost?
if [ "$pool" != no ]; then
    say
    say "A whole day of up to 20 servers, simulated under four policies ($pool):"
    policies=${report%.html}-pool.html
    # 3: no policy holds the SLO, which is a result like any other.
    "$plimsoll" simulate "$pool" --out "$runs" --report "$policies" --quiet || [ "$?" -eq 3 ]
    say
fi
say 'The report of the load, for a browser:'
say "$report"
