#!/usr/bin/env bash
# tests/kubernetes/get.sh FOLDER: builds Kubernetes's API server, controllers and scheduler from their
# published modules into FOLDER/bin (some ten minutes of a processor, 2 GB of memory; needs go), and
# installs Debian's etcd where it is absent. What is there already is kept.
set -euo pipefail
version=1.36.3
folder=$1
parts=(kube-apiserver kube-controller-manager kube-scheduler)

type -P etcd >/dev/null || "$(dirname "${BASH_SOURCE[0]}")/../../.ci/install" etcd-server
[ "$(cat "$folder/bin/version" 2>/dev/null)" != "$version" ] || exit 0
mkdir -p "$folder"
cd "$folder"
export GOFLAGS=-mod=mod GOWORK=off
# Its own module has parts of itself beside it, in folders; they are published by themselves, too.
module=$(go mod download -json "k8s.io/kubernetes@v$version" | sed -n 's/.*"GoMod": "\(.*\)".*/\1/p')
{
    printf 'module plimsoll.test/kubernetes\nrequire k8s.io/kubernetes v%s\n' "$version"
    sed -n 's|^go |go |p' "$module"
    sed -nE "s|^\s*(\S+) => \./staging/.*|replace \1 => \1 v0.${version#1.}|p" "$module"
} >go.mod
for part in "${parts[@]}"; do
    go build -p "${JOBS:-2}" -ldflags '-s -w' -o "bin/$part" "k8s.io/kubernetes/cmd/$part"
done
printf '%s\n' "$version" >bin/version
