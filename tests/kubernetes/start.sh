#!/usr/bin/env bash
# tests/kubernetes/start.sh PROGRAMS FOLDER API ETCD PEER: starts an etcd, and Kubernetes's API server,
# controllers and scheduler, on these ports of 127.0.0.1, with all they keep in FOLDER. Says "cluster is
# ready" when it is, and has them all end with itself. Who has the word of FOLDER/token may do all.
set -euo pipefail

[ "$#" -eq 5 ] || { printf 'usage: %s PROGRAMS FOLDER API ETCD PEER\n' "$0" >&2; exit 2; }
programs=$1 folder=$2 api=$3 etcd=$4 peer=$5
cd "$folder"
umask 077
openssl genrsa -out accounts.key 2048 2>/dev/null
openssl rand -hex 16 >token
printf '%s,admin,admin,system:masters\n' "$(cat token)" >tokens.csv
cat >config <<END
apiVersion: v1
kind: Config
clusters:
- name: test
  cluster: { server: "https://127.0.0.1:$api", certificate-authority: $folder/certificates/apiserver.crt }
users:
- name: admin
  user: { tokenFile: $folder/token }
contexts:
- name: test
  context: { cluster: test, user: admin }
current-context: test
END

# Each ends with this script, however that ends.
with() { setpriv --pdeathsig KILL "$@" & }
with etcd --data-dir etcd --listen-client-urls "http://127.0.0.1:$etcd" \
    --advertise-client-urls "http://127.0.0.1:$etcd" --listen-peer-urls "http://127.0.0.1:$peer" \
    --initial-advertise-peer-urls "http://127.0.0.1:$peer" \
    --initial-cluster "default=http://127.0.0.1:$peer" --unsafe-no-fsync
with "$programs/kube-apiserver" --etcd-servers "http://127.0.0.1:$etcd" --secure-port "$api" \
    --bind-address 127.0.0.1 --cert-dir certificates --token-auth-file tokens.csv \
    --service-account-key-file accounts.key --service-account-signing-key-file accounts.key \
    --service-account-issuer https://test.invalid --service-cluster-ip-range 10.99.0.0/24 \
    --authorization-mode RBAC --enable-admission-plugins PodSecurity
asks() {
    curl --silent --fail --cacert certificates/apiserver.crt \
        --header "Authorization: Bearer $(cat token)" "https://127.0.0.1:$api/$1" >/dev/null
}
until asks readyz; do
    [ -n "$(jobs -r)" ] || exit 1
    sleep 0.2
done
with "$programs/kube-controller-manager" --kubeconfig config --leader-elect=false --secure-port 0 \
    --controllers job-controller,ttl-after-finished-controller,serviceaccount-controller \
    --controllers garbage-collector-controller --service-account-private-key-file accounts.key
with "$programs/kube-scheduler" --kubeconfig config --leader-elect=false --secure-port 0
until asks api/v1/namespaces/default/serviceaccounts/default; do sleep 0.2; done
printf 'cluster is ready\n'
wait
