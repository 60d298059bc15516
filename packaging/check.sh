#!/usr/bin/env bash
# Tries what packaging/release.sh made, each form where it is meant to be used: the archive's program
# in an empty root, the image's in its own, the wheel in an environment of its own, the registry of
# the packages for Enterprise Linux where they are unpacked. Needs root, for the roots.
#
#   packaging/check.sh [FOLDER]      the folder of it all (dist)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
out=$(realpath -- "${1:-dist}")
source packaging/lib.sh
need skopeo 'apt-get install skopeo'
need rpm2archive 'apt-get install rpm'
need curl 'apt-get install curl'
need openssl 'apt-get install openssl'
[ "$(id -u)" = 0 ] || { echo 'missing: root, for the roots that are made' >&2; exit 2; }

work=$(mktemp -d)
started=()
end() {
    local pid
    for pid in "${started[@]}"; do kill "$pid" 2>/dev/null || true; done
    for pid in "${started[@]}"; do wait "$pid" 2>/dev/null || true; done
    rm -rf "$work"
}
trap end EXIT
good() { printf 'ok: %s\n' "$*"; }
await() { # FILE PATTERN
    local n
    for n in {1..200}; do grep -q "$2" "$1" && return; sleep 0.05; done
    fail "nothing like \`$2\` in $1: $(cat "$1")"
}
# Starts the program's own server; sets `address`.
target() { # NAME PROGRAM ARGUMENTS…
    local name=$1
    shift
    "$@" >"$work/$name.log" 2>&1 &
    started+=("$!")
    await "$work/$name.log" 'listening on'
    address=$(sed -n 's/^listening on //p' "$work/$name.log" | head -n 1)
}

(cd "$out" && sha256sum --quiet -c SHA256SUMS)
good 'the checksums'

# --- the archive, in an empty root
mkdir "$work/archive"
tar xzf "$out/plimsoll-$version-linux-x86_64.tar.gz" -C "$work/archive" --strip-components 1
for file in THIRD-PARTY LICENSE-MIT completions/plimsoll.bash man/man1/plimsoll-load.1; do
    [ -s "$work/archive/$file" ] || fail "the archive has no $file"
done
bash -n "$work/archive/completions/plimsoll.bash"
target plain "$work/archive/plimsoll" target --listen 127.0.0.1:0 --service-time exp:2ms
mkdir -p "$work/root/tmp"
cp "$work/archive/plimsoll" "$work/root/"
chroot "$work/root" /plimsoll --version
chroot "$work/root" /plimsoll load "http://$address/" --rate 100/s --for 1s --quiet --out /tmp/runs \
    --slo 'errors<1%'
good 'the archive: a load from an empty root'

# --- the image: its own root, its own user, certificates of the authorities that it has
skopeo inspect "oci-archive:$out/plimsoll-$version-oci-amd64.tar" >"$work/inspected"
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -keyout "$work/key.pem" \
    -out "$work/cert.pem" -addext subjectAltName=DNS:localhost,IP:127.0.0.1 2>/dev/null
PLIMSOLL=$work/archive/plimsoll AUTHORITIES=$work/cert.pem
mkdir "$work/own" "$work/image"
python3 packaging/image.py "$PLIMSOLL" "$version" "$AUTHORITIES" "$work/own" >/dev/null
for image in "$out" "$work/own"; do
    rm -rf "$work/layout" "$work/image"
    mkdir "$work/image"
    skopeo copy --quiet "oci-archive:$image/plimsoll-$version-oci-amd64.tar" "dir:$work/layout"
    layer=$(sed -n 's/.*"layers":\[{"digest":"sha256:\([0-9a-f]*\)".*/\1/p' "$work/layout/manifest.json")
    tar xzf "$work/layout/$layer" -C "$work/image"
done
cat >"$work/secure.py" <<'PYTHON'
import http.server, ssl, sys
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1], sys.argv[2])
class Page(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()
    def log_message(self, *of):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
server.socket = context.wrap_socket(server.socket, server_side=True)
print(f"listening on 127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
PYTHON
target secure python3 "$work/secure.py" "$work/cert.pem" "$work/key.pem"
chroot --userspec 65532:65532 "$work/image" /usr/bin/plimsoll load "https://localhost:${address##*:}/" \
    --rate 100/s --for 1s --quiet --out /runs --slo 'errors<1%'
good 'the image: a load over https from its root, as its user'

# --- the wheel
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-index --disable-pip-version-check "$out"/plimsoll-*.whl
"$work/venv/bin/plimsoll" --version
good 'the wheel: installed where nothing else is'

# --- the packages for Enterprise Linux
mkdir "$work/rpm"
for package in "$out"/*.rpm; do
    rpm -qlp "$package" 2>/dev/null >>"$work/files"
    rpm2archive - <"$package" 2>/dev/null | tar xz -C "$work/rpm"
done
for file in /usr/bin/plimsoll /usr/lib/systemd/system/plimsoll-shoal-server.service \
    /etc/plimsoll/agent /usr/share/man/man1/plimsoll-shoal-server.1; do
    grep -qx "$file" "$work/files" && [ -s "$work/rpm$file" ] || fail "no package has $file"
done
target registry "$work/rpm/usr/bin/plimsoll" shoal server --listen 127.0.0.1:0
curl -sf "http://${address#http://}/nearest" >"$work/nearest" || fail 'the registry does not answer'
good 'the packages for Enterprise Linux: their registry answers'

# --- those of Debian
for package in "$out"/*.deb; do dpkg-deb --info "$package" >/dev/null; done
good 'the Debian packages can be read'
