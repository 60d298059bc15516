//! What `plimsoll fleet script kubernetes` prints: right by the published schemas, and, where the
//! programs are, executed by a real API server, job controller and scheduler.
//!
//! `tests/kubernetes/get.sh FOLDER` builds these; `make test-k8s` does all of it.

use crate::bus::Hall;
use crate::fleet_cells::{POOL, figures, only};
use crate::place::{Place, test_name};
use crate::program::{Done, Going, PLIMSOLL, wait_for};
use plimsoll_runs::experiment::{Experiment, State};
use plimsoll_testing::servers::{Folder, Process, RabbitMq};
use plimsoll_testing::{Weight, has_namespaces, python_peers, skip};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A script of the folder beside the tests.
fn script(name: &str) -> String {
    format!("{}/../../tests/kubernetes/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Whether manifests are as the published schemas want them, and nothing else.
fn validated(place: &Place, python: &Path, text: &str) -> Done {
    place.write("manifests.yaml", text);
    let words = ["-m", "kubernetes_validate", "--strict", "manifests.yaml"];
    place.start(place.command(python.to_str().unwrap(), &words)).wait()
}

#[test]
fn manifests_are_as_the_schemas_want_them() {
    let python = python_peers().join("python3");
    if !python.exists() {
        return skip(&test_name(), "kubernetes-validate");
    }
    let place = Place::new();
    place.plimsoll(&["fleet", "key", "controller"]).ended_with(0);
    place.write("ca.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
    let script = ["fleet", "script", "kubernetes", "--workers", "8", "--trust", "controller.pub"];
    let at = ["--image", "registry.example/a:1", "--bus", "amqps://worker@broker.example/fleet"];
    let script = [&script[..], &at].concat();
    let odd =
        ["--image", "a: b # \"c\"\n'd'", "--namespace", "load", "--name", "eu-1", "--cpus", "3"];
    let duties = ["--may", "load=10.0.0.0/8:80,443", "--label", "region=eu", "--most-time", "1h"];
    let more = ["--env", "TOKEN", "--bus-ca", "ca.pem", "--time", "90s", "--memory", "300MiB"];
    let all = [&odd[2..], &duties, &more].concat();
    for more in [&[][..], &all] {
        let text = place.plimsoll(&[&script[..], more].concat()).ended_with(0).out;
        let done = validated(&place, &python, &text);
        assert_eq!(
            (done.code(), done.out.contains("FAIL")),
            (Some(0), false),
            "{}{}",
            done.out,
            done.err
        );
        // What is not as they want it is told.
        let wrong = text.replace("completionMode", "completionMood");
        assert_ne!(validated(&place, &python, &wrong).code(), Some(0));
    }
    // What is a text stays one, whatever is in it.
    let image = odd[1];
    let text =
        place.plimsoll(&[&script[..5], &script[5..7], &["--image", image], &at[2..]].concat());
    let text = text.ended_with(0).out;
    place.write("manifests.yaml", &text);
    let read =
        "import json, yaml; print(json.dumps(list(yaml.safe_load_all(open('manifests.yaml')))))";
    let read = place.start(place.command(python.to_str().unwrap(), &["-c", read])).wait();
    let read = read.ended_with(0).json();
    let pod = &read[1]["spec"]["template"]["spec"];
    assert_eq!(pod["containers"][0]["image"], image);
    assert_eq!(pod["volumes"][0]["secret"]["defaultMode"], 0o440);
}

#[test]
fn what_a_cluster_could_not_use_is_refused() {
    let place = Place::new();
    place.plimsoll(&["fleet", "key", "controller", "keys"]).ended_with(0);
    let slurm = ["fleet", "script", "slurm", "--workers", "4"];
    let pods = ["fleet", "script", "kubernetes", "--workers", "4", "--image", "a"];
    let pods = [&pods[..], &["--bus", "amqps://w@b/f", "--trust", "controller.pub"]].concat();
    let refused = |words: &[&str], wanted: &str| {
        place.plimsoll(words).ended_with(2).says(&[wanted]);
    };
    for (more, wanted) in [
        (&["--", "trace", "x"][..], "`trace` has no workers"),
        (&["--", "run", "p.toml", "--on=a"], "--on is said by the script itself"),
        (&["--name", "A b", "--", "run", "p"], "lower-case letters"),
        (&["--partition", "a\n#SBATCH x", "--", "run", "p"], "--partition"),
        (&["--memory", "1MiB", "--", "run", "p"], "too little for a worker"),
        (&["--bus", "amqps://w@b/f", "--trust", "a"], "--keys"),
        (&[], "COMMAND"),
    ] {
        refused(&[&slurm[..], more].concat(), wanted);
    }
    for (more, wanted) in [
        (&["--workers", "0"][..], "--workers"),
        (&["--namespace", "a_b"], "--namespace"),
        (&["--may", "everything"], "--may"),
        (&["--label", "a b"], "--label"),
        (&["--env", "A-B"], "is no variable's name"),
        (&["--bus", "amqp://w@b/f"], "write amqps://"),
        (&["--bus", "amqps://w:secret@b/f"], "PLIMSOLL_BUS_PASSWORD"),
        (&["--trust", "controller.key"], "this is a secret key"),
        (&["--idle", "soon"], "--idle"),
    ] {
        // In the place of what stands there.
        let words = match pods.iter().position(|word| *word == more[0]) {
            Some(at) => [&pods[..=at], &more[1..], &pods[at + 2..]].concat(),
            None => [&pods[..], more].concat(),
        };
        refused(&words, wanted);
    }
}

/// A cluster of one node.
struct Cluster<'a> {
    place: &'a Place,
    process: Process,
}

impl<'a> Cluster<'a> {
    fn start(place: &'a Place, programs: &Path) -> Self {
        let command = |folder: &Path, ports: &[u16]| {
            let mut command = Command::new(script("start.sh"));
            command.arg(programs).arg(folder).args(ports.iter().map(ToString::to_string));
            command
        };
        let is_up = |own: &Process| own.log().contains("cluster is ready");
        Self { place, process: Process::start(Folder::new(), 3, command, is_up) }
    }

    fn command(&self, words: &[&str]) -> Command {
        let folder = self.process.folder().display().to_string();
        let port = self.process.port().to_string();
        let program = script("cluster.py");
        self.place.command("python3", &[&[&*program, &folder, &port][..], words].concat())
    }

    fn asks(&self, words: &[&str]) -> Done {
        self.place.start(self.command(words)).wait().ended_with(0)
    }

    fn get(&self, path: &str) -> Value {
        self.asks(&["get", path]).json()
    }

    fn node(&self) -> Going {
        let node = self.place.start(self.command(&["kubelet", PLIMSOLL]));
        wait_for("a node", || node.out().contains("node is ready").then_some(()));
        node
    }

    /// What its pods wrote.
    fn said(&self) -> String {
        let pods = std::fs::read_dir(self.process.folder().join("pods")).into_iter().flatten();
        let log = |pod: PathBuf| std::fs::read_to_string(pod.join("log")).unwrap_or_default();
        pods.flatten().map(|pod| log(pod.path())).collect()
    }
}

const JOB: &str = "/apis/batch/v1/namespaces/default/jobs/plimsoll";
const PODS: &str = "/api/v1/namespaces/default/pods";

#[test]
fn cells_by_pods_of_which_one_is_killed_are_whole() {
    let test = test_name();
    let Some(programs) = std::env::var_os("PLIMSOLL_KUBERNETES").map(PathBuf::from) else {
        return skip(&test, "kubernetes: PLIMSOLL_KUBERNETES is not set (make test-k8s)");
    };
    let Some(rabbit) = RabbitMq::shared(&test).map(RabbitMq::virtual_host) else { return };
    if !has_namespaces(&test) {
        return;
    }
    let names = ["w0", "w1", "w2", "w3", "w4", "w5", "w6", "w7"];
    let hall = Hall::at(rabbit.url(), Weight::DATABASE, &names);
    let place = &hall.place;
    let cluster = Cluster::start(place, &programs);
    let restricted = "pod-security.kubernetes.io/enforce";
    let restricted = json!({"metadata": {"labels": {restricted: "restricted"}}}).to_string();
    cluster.asks(&["patch", "/api/v1/namespaces/default", &restricted]);
    let keys = names.map(|name| format!("{name}.key"));
    cluster.asks(&[&["secret", "plimsoll-keys"][..], &keys.each_ref().map(|of| &**of)].concat());
    // A file of a secret often ends in a new line.
    place.write("PLIMSOLL_BUS_PASSWORD", "guest\n");
    cluster.asks(&["secret", "plimsoll-environment", "PLIMSOLL_BUS_PASSWORD"]);
    let script = ["fleet", "script", "kubernetes", "--workers", "8", "--image", "a/plimsoll:1"];
    let own = ["--trust", "controllers.txt", "--cpus", "1", "--memory", "512MiB", "--idle", "20s"];
    let manifests = place.plimsoll(&[&script[..], &own, &["--bus", &hall.url]].concat());
    place.write("manifests.yaml", manifests.ended_with(0).out);
    cluster.asks(&["apply", "manifests.yaml"]);
    let node = cluster.node();
    // 28 cells of some seconds.
    place
        .write("plan.toml", format!("repeat = 14\n{}", POOL.replace("60/s for 4m", "60/s for 4h")));
    let run = ["run", "plan.toml", "--simulated", "--quiet", "--yes"];
    let together = [&run[..], &hall.flags(), &["--workers", "8", "--out", "together"]].concat();
    let going = place.start(place.command(PLIMSOLL, &together));
    let path = wait_for("a cell", || {
        let path = place.runs("together").into_iter().next()?;
        let rows = Experiment::open(&path).ok()?.cells().ok()?;
        let done = rows.iter().filter(|row| row.state == State::Done).count();
        assert!(done < rows.len(), "all are done already");
        (done > 0).then_some(path)
    });
    let pods = cluster.process.folder().join("pods");
    let of_two =
        |pod: &PathBuf| pod.file_name().unwrap().to_string_lossy().starts_with("plimsoll-2-");
    let killed =
        std::fs::read_dir(pods).unwrap().map(|pod| pod.unwrap().path()).find(of_two).unwrap();
    let id = std::fs::read_to_string(killed.join("pid")).unwrap().parse().unwrap();
    crate::fleet::signal(id, Signal::KILL);
    let done = going.wait();
    done.says(&["w2 is lost", "its cells are given to others"]);
    let alone = place.plimsoll(&[&run[..], &["--out", "alone"]].concat());
    assert_eq!(done.code(), alone.code(), "{}", done.err);
    assert_eq!(figures(&path).len(), 28);
    assert_eq!(figures(&path), figures(&only(place, "alone")));
    assert!(figures(&path).values().all(|(state, _)| *state == State::Done));
    // Workers that nobody asks for end; the one that was killed was not started again.
    let status = || cluster.get(JOB)["status"].clone();
    wait_for("the end of the job", || {
        (status()["succeeded"] == 7 && status()["terminating"] == 0).then_some(())
    });
    assert_eq!((&status()["failed"], &status()["failedIndexes"]), (&json!(1), &json!("2")));
    let said = cluster.said();
    assert_eq!(said.matches("it has served nobody for longer than --idle").count(), 7, "{said}");
    // The job goes by itself, and its pods with it.
    cluster.asks(&["patch", JOB, r#"{"spec": {"ttlSecondsAfterFinished": 1}}"#]);
    wait_for("no pods", || {
        let left = cluster.get(PODS)["items"].as_array().unwrap().len();
        (left == 0).then_some(())
    });
    node.signal(Signal::KILL);
}
