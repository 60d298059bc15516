#!/usr/bin/env bash
# A registry, RabbitMQ, three Squids with their agents and a client, on this machine, in about 40 s:
# the client is given the nearest Squid and fetches a page through it; then that Squid dies beside
# its living agent, and the next one dies with its agent. Says how long clients were still sent
# there. What was started is ended again.
#
# Everything runs in a network namespace of its own, so no port is taken and nothing is reachable
# from outside. The three Squids are at 192.0.2.2, .3 and .4; the first is this site's own by a
# table of sites, and that is what makes it the nearest. The one agent that speaks HTTP may announce
# its address because the registry is told that it is this host's (--external-ip).
#
#   PLIMSOLL=FILE   the program
#   TTL=10s         how long a cache is listed after its last heartbeat
#   PAGE=FILE       where the registry's page goes, as it is in the end; without it nowhere
set -euo pipefail
plimsoll=$(realpath -- "${PLIMSOLL:-$(dirname "${BASH_SOURCE[0]}")/../../target/release/plimsoll}")
ttl=${TTL:-10s}
rabbitmq=/usr/lib/rabbitmq/bin/rabbitmq-server
PATH=$PATH:/usr/sbin:/sbin

say() { printf '%s\n' "$*"; }
fail() { printf 'shoal: %s\n' "$*" >&2; exit 1; }
need() {
    [ -x "$1" ] || command -v "$1" >/dev/null || {
        echo "missing: $1; install it: apt-get install $2" >&2
        exit 2
    }
}

if [ "${1:-}" != inside ]; then
    [ -x "$plimsoll" ] || fail "there is no program at $plimsoll; build it: make build"
    need squid squid
    need "$rabbitmq" rabbitmq-server
    need epmd erlang-base
    need curl curl
    need ip iproute2
    need unshare util-linux
    own=(unshare --net)
    [ "$(id -u)" = 0 ] || own=(unshare --net --map-current-user --keep-caps)
    if ! "${own[@]}" true 2>/dev/null; then
        echo "missing: the right to make a network namespace; run this as root" >&2
        exit 2
    fi
    export PLIMSOLL=$plimsoll TTL=$ttl
    exec "${own[@]}" "${BASH_SOURCE[0]}" inside
fi

ip link set lo up
# As all of 127.0.0.0/8 is here; but others could reach these.
ip route add local 192.0.2.0/24 dev lo src 127.0.0.1
work=$(mktemp -d -t plimsoll-shoal-XXXXXX)
chmod 755 "$work"
started=()
end() {
    local pid
    # The broker is a child of the script that starts it.
    [ ! -s "$work/rabbit/pid" ] || kill -9 "$(cat "$work/rabbit/pid")" 2>/dev/null || true
    for pid in "${started[@]}"; do kill "$pid" 2>/dev/null || true; done
    for pid in "${started[@]}"; do wait "$pid" 2>/dev/null || true; done
    rm -rf "$work" "/dev/shm/shoal$$n"[234]-*
}
trap end EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Starts a program with its output in a file; its number is then in $pid.
start() {
    local name=$1
    shift
    "$@" >"$work/$name.out" 2>"$work/$name.err" </dev/null &
    pid=$!
    started+=("$pid")
}

# Waits, at most 60 s, until a condition holds.
await() {
    local what=$1 _
    shift
    for _ in $(seq 1200); do
        if "$@" 2>/dev/null; then return 0; fi
        sleep 0.05
    done
    tail -n 5 "$work"/*.err >&2
    fail "waited in vain for $what"
}
answers() { (exec 3<>"/dev/tcp/$1/$2") 2>/dev/null; }
slay() {
    kill -9 "$@"
    wait "$@" 2>/dev/null || true
}
now_ms() { echo $((${EPOCHREALTIME/[.,]/} / 1000)); }

registry=http://127.0.0.1:8080
# The addresses of the caches that the registry gives a client here, nearest first.
given() {
    local answer
    answer=$(curl -sf "$registry/v1/nearest?n=10") || fail 'the registry does not answer'
    grep -o '"public_ip":"[0-9.]*"' <<<"$answer" | cut -d '"' -f 4 || true
}
gives() { [ "$(given | wc -l)" = "$1" ]; }
gives_not() {
    local list
    list=$(given) && ! grep -qx "$1" <<<"$list"
}

# --- the broker
mkdir "$work/rabbit"
echo '[].' >"$work/rabbit/plugins"
echo 'listeners.tcp.1 = 127.0.0.1:5672' >"$work/rabbit/rabbitmq.conf"
export ERL_EPMD_ADDRESS=127.0.0.1
start epmd epmd
start rabbit env HOME="$work/rabbit" RABBITMQ_NODENAME=shoal@localhost RABBITMQ_DIST_PORT=25672 \
    RABBITMQ_MNESIA_BASE="$work/rabbit/db" RABBITMQ_LOG_BASE="$work/rabbit/log" \
    RABBITMQ_CONFIG_FILE="$work/rabbit/rabbitmq" RABBITMQ_CONF_ENV_FILE=/dev/null \
    RABBITMQ_ADVANCED_CONFIG_FILE="$work/rabbit/advanced" \
    RABBITMQ_ENABLED_PLUGINS_FILE="$work/rabbit/plugins" RABBITMQ_PID_FILE="$work/rabbit/pid" \
    "$rabbitmq"
say 'broker: RabbitMQ starts'

# --- a page to be fetched, and three Squids
start origin "$plimsoll" target --listen 127.0.0.1:8000 --body 1KiB
squids=()
for n in 2 3 4; do
    mkdir "$work/squid$n"
    # Of root, Squid becomes its own user, by the distribution.
    [ "$(id -u)" != 0 ] || chown proxy: "$work/squid$n" 2>/dev/null || chown squid: "$work/squid$n"
    cat >"$work/squid$n.conf" <<CONF
http_port 192.0.2.$n:312$n
http_port 127.0.0.1:312$n
acl here src 127.0.0.0/8
http_access allow here
cache_mem 8 MB
pid_filename $work/squid$n/pid
cache_log $work/squid$n/cache.log
access_log none
coredump_dir $work/squid$n
visible_hostname squid$n.example
shutdown_lifetime 0 seconds
pinger_enable off
CONF
    # Named apart, for Squids of one name share memory.
    start "squid$n" squid -N -n "shoal$$n$n" -f "$work/squid$n.conf"
    squids[n]=$pid
done
for n in 2 3 4; do await "Squid $n" answers "192.0.2.$n" "312$n"; done
say 'caches: three Squids, at 192.0.2.2:3122, 192.0.2.3:3123 and 192.0.2.4:3124'
await RabbitMQ answers 127.0.0.1 5672

# --- the registry
echo '127.0.0.0/8 192.0.2.2' >"$work/sites"
start registry "$plimsoll" shoal server --listen 127.0.0.1:8080 --threads 1 --ttl "$ttl" \
    --sites "$work/sites" --external-ip 192.0.2.2,192.0.2.3,192.0.2.4 --amqp amqp://127.0.0.1:5672/%2f
await 'the registry to hear the broker' grep -q 'hearing the broker' "$work/registry.err"
say "registry: $registry, and it hears the broker"

# --- the agents: two by the broker, one over HTTP
agents=()
# Where they say that they are: in Victoria, Geneva and Canberra.
latitudes=(- - 48.4 46.2 -35.3) longitudes=(- - -123.4 6.1 149.1)
for n in 2 3 4; do
    by=(--amqp amqp://127.0.0.1:5672/%2f)
    [ "$n" != 4 ] || by=(--server "$registry")
    start "agent$n" "$plimsoll" shoal agent "${by[@]}" --port "312$n" \
        --external-ip "192.0.2.$n" --interval 2s --cloud "cloud$n" \
        --latitude="${latitudes[n]}" --longitude="${longitudes[n]}"
    agents[n]=$pid
done
await 'three caches' gives 3
say 'agents: two have announced their caches by the broker, one over HTTP'

# --- the client
# The proxy that a client here is told now, and a page through it.
client() {
    local value
    value=$("$plimsoll" shoal client --server "$registry" --object none -n 1 \
        --file "$work/default.local" --json | grep -o 'http://192[0-9.]*:312[0-9]' | head -n 1)
    proxy=${value#http://} proxy=${proxy%:*}
    curl -sf --proxy "$value" -o "$work/page" http://127.0.0.1:8000/ || fail "no page by $value"
    say "client: told $value, and fetched $(stat -c %s "$work/page") bytes through it"
}
client
[ "$proxy" = 192.0.2.2 ] || fail "the nearest is 192.0.2.2, not $proxy"

# Says how long an address is still given.
gone() {
    local from=$1 address=$2 how=$3
    await "$address to go" gives_not "$address"
    local took=$(($(now_ms) - from))
    printf '%s: no client is sent to %s any more after %d.%03d s\n' "$how" "$address" \
        $((took / 1000)) $((took % 1000))
}

say "the Squid at $proxy is killed; its agent lives"
from=$(now_ms)
slay "${squids[2]}"
gone "$from" 192.0.2.2 'Squid killed'
kill -0 "${agents[2]}" 2>/dev/null || fail 'its agent has ended'
client
[ "$proxy" != 192.0.2.2 ] || fail "a client is sent to a dead Squid"

n=${proxy##*.}
say "the Squid at $proxy is killed with its agent"
from=$(now_ms)
slay "${agents[n]}" "${squids[n]}"
gone "$from" "$proxy" 'Squid and agent killed'
client
gives 1 || fail "one cache is left, not: $(given)"
say 'one Squid is left, and clients are sent there'

# --- its page, in one file: with style sheet and map in it, and without the script that follows it
if [ -n "${PAGE:-}" ]; then
    html=$(curl -sf "$registry/") && css=$(curl -sf "$registry/assets/page.css") &&
        map=$(curl -sf "$registry/assets/world.svg") || fail 'the registry has no page'
    link=$(grep -o '<link rel="stylesheet"[^>]*>' <<<"$html")
    html=${html/"$link"/"<style>$css</style>"}
    html=${html/"</body>"/"<div hidden>$map</div></body>"}
    sed -e 's|<script src[^>]*></script>||' -e 's|<link rel="icon"[^>]*>||' \
        -e 's|"/assets/world.svg[^"]*#land"|"#land"|' <<<"$html" >"$PAGE"
fi
