#!/usr/bin/env python3
"""Speaks to the API server that start.sh has begun.

    cluster.py FOLDER API apply FILE              make what the manifests of FILE say; strictly
    cluster.py FOLDER API secret NAME FILE...     make a secret of files
    cluster.py FOLDER API get PATH                print what there is
    cluster.py FOLDER API patch PATH JSON         change it
    cluster.py FOLDER API kubelet PROGRAM         be a node that executes pods

Real are the server, its checks, the job's controller and the scheduler. The node is a stand-in: it
executes PROGRAM, as the entry point of every image, in a mount namespace and a root folder of its
own, as the pod's user and with what its manifest says of variables, arguments and volumes, and tells
how it ended. Limits are not enforced.
"""

import base64
import json
import os
import pathlib
import re
import shlex
import signal
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request

NODE = "node-1"


class Api:
    def __init__(self, folder, port):
        self.root = f"https://127.0.0.1:{port}"
        self.token = pathlib.Path(folder, "token").read_text().strip()
        self.tls = ssl.create_default_context(cafile=f"{folder}/certificates/apiserver.crt")

    def ask(self, method, path, body=None, kind="application/json"):
        if body is not None and not isinstance(body, str):
            body = json.dumps(body)
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": kind}
        data = body.encode() if body is not None else None
        request = urllib.request.Request(self.root + path, data, headers, method=method)
        with urllib.request.urlopen(request, context=self.tls, timeout=20) as answer:
            return json.load(answer)

    def patch(self, path, change):
        return self.ask("PATCH", path, change, "application/merge-patch+json")


def apply(api, file):
    places = {"Job": "/apis/batch/v1", "ConfigMap": "/api/v1"}
    for document in pathlib.Path(file).read_text().split("\n---\n"):
        kind = re.search(r"^kind: (\w+)$", document, re.M)
        if kind is None:
            continue
        names = f"/namespaces/default/{kind[1].lower()}s?fieldValidation=Strict"
        made = api.ask("POST", places[kind[1]] + names, document, "application/yaml")
        print(made["kind"], made["metadata"]["name"])


def secret(api, name, files):
    data = {
        pathlib.Path(file).name: base64.b64encode(pathlib.Path(file).read_bytes()).decode()
        for file in files
    }
    body = {"kind": "Secret", "metadata": {"name": name}, "data": data}
    api.ask("POST", "/api/v1/namespaces/default/secrets", body)


class Pod:
    """A pod that is executed."""

    def __init__(self, api, folder, program, pod):
        self.api, self.pod = api, pod
        self.name = pod["metadata"]["name"]
        self.folder = pathlib.Path(folder, "pods", self.name)
        self.folder.mkdir(parents=True)
        self.began = now()
        script = self.script(pathlib.Path(program))
        out = open(self.folder / "log", "wb")
        # What is executed at last has the process's number; it ends with the node.
        words = ["unshare", "--mount", "setpriv", "--pdeathsig", "KILL", "bash", "-euc", script]
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        (self.folder / "pid").write_text(str(self.process.pid))
        self.tell("Running", {"running": {"startedAt": self.began}})

    def secret(self, name):
        found = self.api.ask("GET", f"/api/v1/namespaces/default/secrets/{name}")
        return {key: base64.b64decode(value) for key, value in found["data"].items()}

    def environment(self, container):
        variables = {}
        for of in container.get("env", []):
            source = of.get("valueFrom", {})
            if "fieldRef" in source:
                path = source["fieldRef"]["fieldPath"]
                key = re.fullmatch(r"metadata\.(annotations|labels)\['(.*)'\]", path)
                variables[of["name"]] = self.pod["metadata"][key[1]][key[2]]
            elif "secretKeyRef" in source:
                key = source["secretKeyRef"]
                variables[of["name"]] = self.secret(key["name"])[key["key"]].decode()
            else:
                variables[of["name"]] = of.get("value", "")
        return variables

    def volume(self, of, group):
        path = self.folder / "volumes" / of["name"]
        path.mkdir(parents=True)
        if "secret" in of:
            mode = of["secret"].get("defaultMode", 0o644)
            files = self.secret(of["secret"]["secretName"])
        elif "configMap" in of:
            mode = of["configMap"].get("defaultMode", 0o644)
            name = of["configMap"]["name"]
            found = self.api.ask("GET", f"/api/v1/namespaces/default/configmaps/{name}")
            files = {key: value.encode() for key, value in found["data"].items()}
        else:
            mode, files = 0, {}
            path.chmod(0o2777)
        for name, content in files.items():
            (path / name).write_bytes(content)
            (path / name).chmod(mode | 0o440)
            os.chown(path / name, 0, group)
        os.chown(path, 0, group)
        return path

    def script(self, program):
        spec = self.pod["spec"]
        container = spec["containers"][0]
        context = spec["securityContext"]
        user, group = context["runAsUser"], context["fsGroup"]
        variables = self.environment(container)
        volumes = {of["name"]: self.volume(of, group) for of in spec["volumes"]}

        def expanded(text):
            def value(found):
                return "$" if found[0] == "$$" else variables.get(found[1], found[0])

            return re.sub(r"\$\$|\$\((\w+)\)", value, text)

        root = self.folder / "root"
        lines = [f"mkdir {root}", f"mount -t tmpfs none {root}", f"cd {root}"]
        lines += ["mkdir usr proc sys dev etc tmp run", "ln -s usr/lib usr/lib64 usr/bin ."]
        lines += [f"mount --rbind /{name} {name}" for name in ("usr", "proc", "sys", "dev")]
        lines += ["mkdir opt", f"cp --reflink=auto {shlex.quote(str(program))} opt/plimsoll"]
        for mount in container["volumeMounts"]:
            source = volumes[mount["name"]]
            if "subPathExpr" in mount:
                source = source / expanded(mount["subPathExpr"])
            at = shlex.quote(mount["mountPath"].lstrip("/"))
            make = "mkdir -p" if source.is_dir() else "install -D /dev/null"
            lines += [f"{make} {at}", f"mount --bind {shlex.quote(str(source))} {at}"]
            if mount.get("readOnly"):
                lines += [f"mount -o remount,ro,bind {at}"]
        if container["securityContext"]["readOnlyRootFilesystem"]:
            lines += ["mount -o remount,ro ."]
        given = [f"{name}={value}" for name, value in variables.items()]
        words = ["env", "-i", "PATH=/usr/bin", *given, "/opt/plimsoll"]
        words += [expanded(of) for of in container["args"]]
        as_user = ["setpriv", "--no-new-privs", "chroot", f"--userspec={user}:{group}", "."]
        lines += ["exec " + shlex.join(as_user + words)]
        return "\n".join(lines)

    def tell(self, phase, state):
        container = self.pod["spec"]["containers"][0]
        status = {
            "name": container["name"],
            "image": container["image"],
            "imageID": "",
            "ready": phase == "Running",
            "restartCount": 0,
            "state": state,
        }
        change = {"status": {"phase": phase, "containerStatuses": [status]}}
        try:
            self.api.patch(f"/api/v1/namespaces/default/pods/{self.name}/status", change)
        except urllib.error.HTTPError as error:
            if error.code != 404:
                raise

    def look(self):
        code = self.process.poll()
        if code is None:
            return
        code = 128 - code if code < 0 else code
        ended = {"exitCode": code, "reason": "Error" if code else "Completed"}
        ended |= {"startedAt": self.began, "finishedAt": now()}
        self.tell("Failed" if code else "Succeeded", {"terminated": ended})

    def has_ended(self):
        return self.process.returncode is not None


def now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def kubelet(api, folder, program):
    room = {"cpu": "64", "memory": "64Gi", "pods": "110"}
    status = {"capacity": room, "allocatable": room}
    status["conditions"] = [{"type": "Ready", "status": "True", "reason": "Test", "message": ""}]
    labels = {"kubernetes.io/hostname": NODE}
    node = {"kind": "Node", "metadata": {"name": NODE, "labels": labels}, "status": status}
    api.ask("POST", "/api/v1/nodes", node)
    api.patch(f"/api/v1/nodes/{NODE}", {"spec": {"taints": None}})
    print("node is ready", flush=True)
    pods = {}
    while True:
        found = api.ask("GET", f"/api/v1/pods?fieldSelector=spec.nodeName%3D{NODE}")["items"]
        for pod in found:
            name, about = pod["metadata"]["name"], pod["metadata"]
            is_new = pod["status"]["phase"] == "Pending"
            if name not in pods and is_new and "deletionTimestamp" not in about:
                pods[name] = Pod(api, folder, program, pod)
                continue
            if "deletionTimestamp" not in about:
                continue
            if name in pods and not pods[name].has_ended():
                pods[name].process.send_signal(signal.SIGTERM)
                continue
            gone = {"gracePeriodSeconds": 0, "preconditions": {"uid": about["uid"]}}
            try:
                api.ask("DELETE", f"/api/v1/namespaces/default/pods/{name}", gone)
            except urllib.error.HTTPError as error:
                if error.code not in (404, 409):
                    raise
        for pod in pods.values():
            if not pod.has_ended():
                pod.look()
        time.sleep(0.1)


def main(folder, port, command, *words):
    api = Api(folder, port)
    try:
        if command == "apply":
            apply(api, *words)
        elif command == "secret":
            secret(api, words[0], words[1:])
        elif command == "get":
            print(json.dumps(api.ask("GET", *words)))
        elif command == "patch":
            print(json.dumps(api.patch(words[0], json.loads(words[1]))))
        elif command == "kubelet":
            kubelet(api, folder, *words)
        else:
            sys.exit(__doc__)
    except urllib.error.HTTPError as error:
        sys.exit(f"{error}: {error.read().decode()}")


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
