#!/usr/bin/env bash
# Asks a running `plimsoll shoal server` what its OpenAPI document says that it can be asked, and
# much that it does not say, and compares each answer with the document (schemathesis, PyPI).
#
#     bash tests/python/schemathesis.sh [CASES]
#
# CASES (100 where nothing is said) is the most that are made of one operation in one way. The
# program is $PLIMSOLL, else target/release/plimsoll. There are two rounds: from a network
# that is trusted, and as a stranger behind a proxy, where announcements must be right if signed. The tool
# lives in a folder of its own in the user's cache; where it cannot be installed, this is skipped
# by name.
set -euo pipefail

version=4.32.5
checks=not_a_server_error,status_code_conformance,content_type_conformance
checks+=,response_headers_conformance,response_schema_conformance
checks+=,unsupported_method,allow_header_conformance
cases=${1:-100}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
plimsoll=${PLIMSOLL:-$here/target/release/plimsoll}
tool=${XDG_CACHE_HOME:-$HOME/.cache}/plimsoll/schemathesis-$version

if [ ! -x "$plimsoll" ]; then
    printf '%s is absent: make build\n' "$plimsoll" >&2
    exit 1
fi
if [ ! -x "$tool/bin/schemathesis" ]; then
    if ! { python3 -m venv "$tool" && "$tool/bin/pip" install --quiet "schemathesis==$version"; } \
        >/dev/null 2>&1; then
        rm -rf "$tool"
        printf 'skipped: schemathesis: %s cannot be installed here\n' "$version"
        exit 0
    fi
fi

folder=$(mktemp -d)
server=
end() {
    [ -z "$server" ] || kill "$server" 2>/dev/null || true
    wait
    rm -rf "$folder"
}
trap end EXIT

# Starts a server; sets `url` once it is ready: until then its 503 is right, and no fault.
start() {
    printf 'known a-secret-of-some-length\n' >"$folder/keys"
    "$plimsoll" shoal server --listen 127.0.0.1:0 --threads 1 --state "$folder/state" \
        --operator-socket "$folder/operator" --keys "$folder/keys" --ttl 1h "$@" >"$folder/said" 2>"$folder/errors" &
    server=$!
    url=
    for _ in $(seq 600); do
        url=$(sed -n 's/^listening on //p' "$folder/said")
        [ -n "$url" ] && curl --silent --fail --output /dev/null "$url/v1/ready" && return
        kill -0 "$server" || { cat "$folder/errors" >&2; exit 1; }
        sleep 0.1
    done
    printf 'the server is not ready\n' >&2
    exit 1
}

# Announces a cache, so that answers have something in them to be compared.
announce() {
    curl --silent --fail --output /dev/null --unix-socket "$folder/operator" \
        "$url/v1/heartbeat" --data \
        "{\"uuid\": \"$1\", \"hostname\": \"$1.example\", \"timestamp\": $(date +%s.%N), $2}"
}

# Says how the server fared, whose answers were wrong.
fail() {
    if kill -0 "$server" 2>/dev/null; then
        printf 'the server still runs\n' >&2
    else
        printf 'the server has ended:\n' >&2
    fi
    cat "$folder/errors" >&2
    exit 1
}

# One round against the server, which must be there after it.
round() {
    printf '\n== schemathesis, %s\n' "$1"
    shift
    announce one '"squid_port": "3128", "public_ip": "192.0.2.1", "load": 0, "max_load": "1e3"'
    announce two '"cache_port": 80, "external_ip": "2001:db8::1", "private_ip": "10.0.0.1",
        "load": 7.25, "max_load": 122000, "cache_type": "varnish", "upstream": "cvmfs",
        "verified": true, "cloud": "cloud-a", "version": "1.0.2", "interval": 3600,
        "latitude": -46.2, "longitude": 179.9'
    (cd "$folder" && "$tool/bin/schemathesis" --no-color run "$url/v1/openapi.json" \
        --checks "$checks" \
        --phases examples,coverage,fuzzing --mode all --max-examples "$cases" --seed 20261122 \
        --request-timeout 20 --workers 1 --suppress-health-check all --warnings off "$@") || fail
    curl --silent --fail --output /dev/null "$url/v1/health"
    kill "$server"
    wait "$server" || true
    server=
}

start --auth off --trust 127.0.0.0/8
round 'from a trusted network'
start --auth optional --trusted-proxy 127.0.0.0/8
round 'as a stranger' --header 'X-Forwarded-For: 203.0.113.9'
