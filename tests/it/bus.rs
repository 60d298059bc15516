//! Workers that wait at a broker: the same as by one process, whoever is lost or lies, and nothing
//! for who may not.

use crate::fleet::{are_gone, asked, due, signal, workers};
use crate::fleet_cells::{POOL, figures, only, until_some_are_done};
use crate::place::Place;
use crate::program::{Going, PLIMSOLL, wait_for};
use plimsoll_net::amqp::{Broker, Connection, Heard, Message, Queue};
use plimsoll_net::http::client::{Deadline, Plain};
use plimsoll_runs::Run;
use plimsoll_runs::experiment::State;
use plimsoll_testing::Weight;
use plimsoll_testing::servers::RabbitMq;
use plimsoll_workload::random::Stream;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::io::Write;
use std::process::Stdio;
use std::time::Duration;

/// A controller's and workers' keys, and lists of whom each knows.
pub(crate) struct Hall {
    pub(crate) place: Place,
    pub(crate) url: String,
}

impl Hall {
    pub(crate) fn at(url: String, weight: Weight, workers: &[&str]) -> Self {
        let place = Place::weighing(weight);
        let mut known = String::new();
        for name in [&["controller"], workers].concat() {
            place.plimsoll(&["fleet", "key", name]).ended_with(0).prints(&["secret", ".pub"]);
            let public = std::fs::read_to_string(place.path(&format!("{name}.pub"))).unwrap();
            if name == "controller" {
                place.write("controllers.txt", public);
            } else {
                known += &public;
            }
        }
        place.write("workers.txt", known);
        Self { place, url }
    }

    /// A worker that waits.
    pub(crate) fn worker(&self, name: &str, more: &[&str]) -> Going {
        let key = format!("{name}.key");
        let flags = ["worker", "--bus", &self.url, "--key", &key, "--trust", "controllers.txt"];
        let command = self.place.command(PLIMSOLL, &[&flags[..], more].concat());
        let worker = self.place.start(command);
        wait_for("a worker", || worker.err().contains("waits for controllers").then_some(()));
        worker
    }

    /// The flags by which a controller finds workers.
    pub(crate) fn flags(&self) -> Vec<&str> {
        vec!["--bus", &self.url, "--bus-key", "controller.key", "--known", "workers.txt"]
    }

    pub(crate) fn end(&self, workers: Vec<Going>) {
        for worker in workers {
            worker.signal(Signal::TERM);
            worker.wait().ended_with(0);
        }
    }
}

#[test]
fn cells_of_workers_at_a_broker_are_those_of_one_process() {
    let test = "cells_of_workers_at_a_broker_are_those_of_one_process";
    let Some(rabbit) = RabbitMq::shared(test).map(RabbitMq::virtual_host) else { return };
    let hall = Hall::at(rabbit.url(), Weight::COMPUTES, &["w1", "w2"]);
    let place = &hall.place;
    std::fs::create_dir(place.path("data")).unwrap();
    let rows: String = (0..60).map(|minute| format!("{minute},{}\n", 600 + 20 * minute)).collect();
    place.write("data/day.csv", format!("time,requests\n{rows}"));
    let load = "[load.trace]\nfile = 'data/day.csv'\ncolumns = 'minute,count'\n";
    let pool = POOL.split("[measure]").nth(1).unwrap();
    place.write("traced.toml", format!("repeat = 3\n{load}[measure]{pool}"));
    place.write("pool.toml", format!("repeat = 20\n{POOL}"));
    let both = vec![hall.worker("w1", &["--label", "region=eu"]), hall.worker("w2", &[])];
    for plan in ["pool.toml", "traced.toml"] {
        let run = |out: &str, more: &[&str]| {
            let run = ["run", plan, "--simulated", "--quiet", "--keep-cells", "--out", out];
            place.plimsoll(&[&run[..], more].concat())
        };
        let (a, b) = (format!("{plan}-alone"), format!("{plan}-together"));
        let alone = run(&a, &[]);
        let together = run(&b, &[&hall.flags()[..], &["--workers", "2"]].concat());
        assert_eq!(alone.code(), together.code(), "{plan}: {}", together.err);
        assert_eq!(figures(&only(place, &a)), figures(&only(place, &b)), "{plan}");
    }
    let check =
        place.plimsoll(&[&["check", "pool.toml", "--simulated"], &hall.flags()[..]].concat());
    check.ended_with(0).prints(&["the broker at which workers are called: 1", "controller.key"]);
    let status = ["fleet", "status", "--wait", "1s", "--json"];
    let status = place.plimsoll(&[&status[..], &hall.flags()].concat()).ended_with(0).json();
    assert_eq!(status["workers"][0]["name"], "w1", "{status}");
    assert_eq!(status["workers"][0]["labels"]["region"], "eu");
    assert_eq!(status["workers"][1]["may"], json!(["simulate"]));
    assert_eq!(status["silent"], json!([]));
    // Whoever is needed is chosen by label; the other one is told of.
    place.write("pool.toml", format!("repeat = 4\n{POOL}"));
    let eu = ["--set", "fleet.need.region=eu", "--quiet", "--out", "eu"];
    let run = ["run", "pool.toml", "--simulated", "--workers", "1"];
    place.plimsoll(&[&run[..], &hall.flags(), &eu].concat()).ran();
    assert_eq!(figures(&only(place, "eu")).len(), 8);
    hall.end(both);
    // No more files than its own command line says.
    let small = vec![hall.worker("w1", &["--disk", "20"])];
    let traced =
        ["run", "traced.toml", "--simulated", "--quiet", "--workers", "1", "--out", "small"];
    let done = place.plimsoll(&[&traced[..], &hall.flags()].concat());
    done.says(&["and what was before, is more than it takes"]);
    hall.end(small);
    // Nothing of it is left at the broker but its exchange, and nothing here.
    let queues = || rabbit.manage("GET", "/api/queues/*", &Value::Null);
    wait_for("no queues", || queues().as_array().unwrap().is_empty().then_some(()));
}

#[test]
fn a_load_by_workers_at_a_broker_is_due_as_by_one_process() {
    let test = "a_load_by_workers_at_a_broker_is_due_as_by_one_process";
    let Some(rabbit) = RabbitMq::shared(test).map(RabbitMq::virtual_host) else { return };
    let hall = Hall::at(rabbit.url(), Weight::WAITS, &["w1", "w2"]);
    let place = &hall.place;
    let target = place.target(&["--service-time", "const:1ms", "--workers", "100"]);
    let may = format!("load=127.0.0.0/8:{}", target.address().rsplit(':').next().unwrap());
    let both = ["w1", "w2"].map(|name| hall.worker(name, &["--may", &may, "--most-rate", "1k/s"]));
    place.write("urls", format!("{0}a\n{0}b\n", target.url()));
    let load = ["--urls", "urls", "--rate", "150/s", "--for", "2s", "--seed", "3", "--samples"];
    place.load(&[&load[..], &["--out", "alone"]].concat()).ran();
    let together = [&load[..], &hall.flags(), &["--workers", "2", "--out", "together"]].concat();
    place.load(&together).ran();
    let run = |out: &str| Run::open(place.runs(out).last().unwrap()).unwrap();
    assert_eq!(due(&run("alone")), due(&run("together")));
    // What it may not, it does not, and nothing is asked.
    let before = asked(place, &target);
    let other = place.calm();
    let flags = [&hall.flags()[..], &["--workers", "1", "--for", "1s"]].concat();
    let refused = |url: &str, more: &[&str], wanted: &str| {
        let load = [&[url], more, &flags[..]].concat();
        let done = place.load(&load);
        done.ended_with(2).says(&[wanted]);
    };
    let rate = ["--rate", "10/s"];
    refused(&other.url(), &rate, "it is beyond what this worker may");
    refused("http://169.254.169.254/", &rate, "169.254.169.254");
    refused(&target.url(), &["--rate", "3k/s"], "--most-rate");
    refused(&target.url(), &["--users", "3"], "--most-rate");
    refused(
        "http://x.test/",
        &["--rate", "1/s", "--resolve", "x.test:80:127.0.0.9"],
        "127.0.0.9:80",
    );
    assert_eq!(before, asked(place, &target), "nothing was asked");
    hall.end(both.into());
}

#[test]
fn a_broker_that_restarts_and_a_worker_that_is_lost_cost_no_cell() {
    let Some(mut rabbit) =
        RabbitMq::own("a_broker_that_restarts_and_a_worker_that_is_lost_cost_no_cell")
    else {
        return;
    };
    let hall = Hall::at(rabbit.url(), Weight::DATABASE, &["w1", "w2", "w3"]);
    let place = &hall.place;
    place.write("long.toml", format!("repeat = 4000\n{POOL}"));
    let run = ["run", "long.toml", "--simulated", "--quiet", "--yes"];
    place.plimsoll(&[&run[..], &["--out", "alone"]].concat()).ended_with(0);
    let mut all: Vec<Going> = ["w1", "w2", "w3"].map(|name| hall.worker(name, &[])).into();
    let flags = [&hall.flags()[..], &["--workers", "3", "--out", "together"]].concat();
    let set = ["--set", "fleet.lost_after=20s"];
    let command = place.command(PLIMSOLL, &[&run[..], &flags, &set].concat());
    let going = place.start(command);
    let path = until_some_are_done(place, "together");
    rabbit.end();
    // The process that serves the controller is killed; who started it lives on.
    let servants = workers(&all[2]);
    assert_eq!(servants.len(), 1);
    signal(servants[0], Signal::KILL);
    rabbit.begin();
    let done = going.wait().ended_with(0);
    done.says(&["w3 is lost", "signal 9 ended it", "its cells are given to others"]);
    assert!(!done.err.contains("w1 is lost") && !done.err.contains("w2 is lost"), "{}", done.err);
    assert_eq!(figures(&path), figures(&only(place, "alone")));
    assert!(figures(&path).values().all(|(state, _)| *state == State::Done));
    // It serves again; who is killed with his servant leaves nobody.
    place.write("short.toml", format!("repeat = 3\n{POOL}"));
    let short = ["run", "short.toml", "--simulated", "--quiet", "--workers", "3", "--out", "short"];
    place.plimsoll(&[&short[..], &hall.flags()].concat()).ran();
    let going = place.start(place.command(PLIMSOLL, &[&run[..], &flags, &["--adopt"]].concat()));
    drop(going);
    let killed = all.pop().unwrap();
    let servants = workers(&killed);
    killed.signal(Signal::KILL);
    killed.wait();
    are_gone(&servants);
    hall.end(all);
}

#[test]
fn a_controller_that_was_killed_goes_on_and_one_that_is_not_trusted_does_not() {
    let test = "a_controller_that_was_killed_goes_on_and_one_that_is_not_trusted_does_not";
    let Some(rabbit) = RabbitMq::shared(test).map(RabbitMq::virtual_host) else { return };
    let hall = Hall::at(rabbit.url(), Weight::COMPUTES, &["w1", "w2", "stranger"]);
    let place = &hall.place;
    place.write("long.toml", format!("repeat = 2000\n{POOL}"));
    let both = vec![hall.worker("w1", &[]), hall.worker("w2", &[])];
    let run = ["run", "long.toml", "--simulated", "--quiet", "--yes", "--workers", "2"];
    let run = [&run[..], &hall.flags()].concat();
    let going = place.start(place.command(PLIMSOLL, &run));
    let path = until_some_are_done(place, "runs");
    let servants: Vec<i32> = both.iter().flat_map(workers).collect();
    going.signal(Signal::KILL);
    going.wait();
    // Workers are taken again once it has been silent for a while.
    let going = place.start(place.command(PLIMSOLL, &run));
    are_gone(&servants);
    // Whoever is trusted no more is not served any more.
    wait_for("another session", || (!workers(&both[0]).is_empty()).then_some(()));
    let list = std::fs::read_to_string(place.path("controllers.txt")).unwrap();
    place.write("controllers.txt", "# nobody\n");
    let done = going.wait().ended_with(4);
    done.says(&["its controller is not trusted any more", "no worker is there any more"]);
    wait_for("no servants", || both.iter().all(|of| workers(of).is_empty()).then_some(()));
    place.write("controllers.txt", list);
    place.plimsoll(&run).ended_with(0);
    assert!(figures(&path).values().all(|(state, _)| *state == State::Done));
    // Neither the key of a worker gives orders, nor is one believed that is not known.
    place.write("few.txt", std::fs::read_to_string(place.path("w2.pub")).unwrap());
    place.write("short.toml", format!("repeat = 3\n{POOL}"));
    let short = ["run", "short.toml", "--simulated", "--quiet", "--workers", "1", "--bus"];
    for (key, known) in [("stranger.key", "workers.txt"), ("controller.key", "controllers.txt")] {
        let keys = ["--bus-key", key, "--known", known, "--out", &known[..5]];
        let flags = [&short[..], &[&hall.url], &keys].concat();
        let going = place.start(place.command(PLIMSOLL, &flags));
        wait_for("nobody", || going.err().contains("0 of 1 are there").then_some(()));
        let is_told = || going.err().contains("with a key that `known` does not have");
        let is_counted = || both.iter().all(|of| of.err().contains("that is not trusted"));
        wait_for("why", || (is_told() || (key == "stranger.key" && is_counted())).then_some(()));
        going.signal(Signal::INT);
        going.wait().ended_with(4).says(&["interrupted"]);
        assert!(both.iter().all(|of| workers(of).is_empty()));
    }
    hall.end(both);
}

/// Whoever operates a broker: hears all that is said there, and says it again as it likes.
struct Operator {
    connection: Connection,
    heard: Vec<(String, Vec<u8>)>,
    said: usize,
}

impl Operator {
    const EXCHANGE: &str = "plimsoll.fleet";

    fn at(url: &str) -> Self {
        let (broker, deadline) = (Broker::parse(url).unwrap(), soon());
        let heartbeat = Duration::from_secs(60);
        let connection = Connection::open(&Plain, &broker, "operator", heartbeat, &deadline);
        let mut connection = connection.unwrap();
        let queue = Queue { name: "tap", is_durable: false, is_exclusive: true, arguments: &[] };
        connection.declare_queue(queue, &deadline).unwrap();
        connection.consume("tap", 1000, &deadline).unwrap();
        Self { connection, heard: Vec::new(), said: 0 }
    }

    fn taps(&mut self, key: &str) {
        self.connection.bind("tap", Self::EXCHANGE, key, &soon()).unwrap();
    }

    /// Hears all that has been said. Controllers are found by the nonce in what they say.
    fn listens(&mut self) {
        let mut controllers = Vec::new();
        while let Some(heard) = self.connection.next(1 << 20).unwrap() {
            let Heard::Delivery(message) = heard else { continue };
            let nonce = message.body.get(85..101).unwrap_or_default();
            let nonce: String = nonce.iter().map(|byte| format!("{byte:02x}")).collect();
            controllers.push(format!("controller.{nonce}"));
            self.connection.acknowledge(message.tag).unwrap();
            self.heard.push((message.key, message.body));
        }
        controllers.sort_unstable();
        controllers.dedup();
        controllers.iter().for_each(|key| self.taps(key));
        self.connection.read(Duration::from_millis(20)).unwrap();
    }

    fn says(&mut self, key: &str, body: &[u8]) {
        let (exchange, content_type, headers) = (Self::EXCHANGE, "", &[][..]);
        let message = Message { exchange, key, content_type, headers, body };
        self.connection.publish(&message).unwrap();
        self.said += 1;
        // A broker is heard, too, or it hangs up.
        if self.said.is_multiple_of(50) {
            self.listens();
        }
    }
}

/// Messages that were heard, changed.
struct Changes<'a> {
    of: &'a [(String, Vec<u8>)],
    draw: Stream,
}

impl Changes<'_> {
    fn index(&mut self, below: usize) -> usize {
        usize::try_from(self.draw.below(below as u64)).unwrap()
    }

    /// One of them, cut off, with another one behind it, or with some bits changed.
    fn next(&mut self) -> (String, Vec<u8>) {
        let at = self.index(self.of.len());
        let (key, mut body) = self.of[at].clone();
        match self.index(4) {
            0 => body.truncate(self.index(body.len())),
            1 => body.extend_from_slice(&self.of[at / 2].1),
            _ => {
                for _ in 0..=self.index(3) {
                    let bit = self.index(body.len() * 8);
                    body[bit / 8] ^= 1 << (bit % 8);
                }
            }
        }
        (key, body)
    }
}

fn soon() -> Deadline {
    Deadline::after(Duration::from_secs(20))
}

/// What is said over a broker is of no use to whoever operates it: neither as it was said, nor
/// changed, while nothing goes on and while something does.
#[test]
fn recorded_and_changed_messages_do_nothing() {
    let test = "recorded_and_changed_messages_do_nothing";
    let Some(rabbit) = RabbitMq::shared(test).map(RabbitMq::virtual_host) else { return };
    let hall = Hall::at(rabbit.url(), Weight::COMPUTES, &["w1"]);
    let place = &hall.place;
    let worker = hall.worker("w1", &[]);
    let id = worker.err().trim().rsplit(' ').next().unwrap().to_owned();
    let own = format!("worker.{id}");
    let mut operator = Operator::at(&hall.url);
    operator.taps("workers");
    operator.taps(&own);
    place.write("plan.toml", format!("repeat = 300\n{POOL}"));
    let run = ["run", "plan.toml", "--simulated", "--quiet", "--workers", "1", "--out"];
    let start = |out: &str| {
        let run = [&run[..], &[out], &hall.flags()].concat();
        place.start(place.command(PLIMSOLL, &run))
    };
    let mut going = start("recorded");
    while !going.has_ended() {
        operator.listens();
    }
    going.wait().ended_with(0);
    operator.listens();
    let recorded = std::mem::take(&mut operator.heard);
    assert!(recorded.len() > 10, "{} messages", recorded.len());
    let sessions = |worker: &Going| worker.err().matches("serves controller").count();
    wait_for("the end", || worker.err().contains("has ended").then_some(()));
    // All of it again, in its order and in the other one.
    for (key, body) in recorded.iter().chain(recorded.iter().rev()) {
        operator.says(key, body);
    }
    let before = worker.resident_kib();
    // Changed: to a worker that waits, then to one that serves, and to its controller.
    let count = std::env::var("PLIMSOLL_CHANGED").map_or(3000, |text| text.parse().unwrap());
    let mut changes = Changes { of: &recorded, draw: Stream::named(7, "changed") };
    let mut says_changed = |operator: &mut Operator| {
        let (key, body) = changes.next();
        operator.says(&key, &body);
        operator.says(&own, &body);
    };
    for _ in 0..count {
        says_changed(&mut operator);
        operator.heard.clear();
    }
    let mut going = start("changed");
    let mut at = 0;
    while !going.has_ended() {
        operator.listens();
        // Those of this session, too: as they were, and changed. What this one said comes back to
        // it, and is not said for ever; what was cut off to nothing has no bit to change.
        for (key, mut body) in std::mem::take(&mut operator.heard) {
            if at < count && !body.is_empty() {
                at += 1;
                operator.says(&key, &body);
                let bit = at % (body.len() * 8);
                body[bit / 8] ^= 1 << (bit % 8);
                operator.says(&key, &body);
                says_changed(&mut operator);
            }
        }
    }
    going.wait().ended_with(0);
    assert_eq!(figures(&only(place, "recorded")), figures(&only(place, "changed")));
    wait_for("the end", || (worker.err().matches("has ended").count() == 2).then_some(()));
    assert_eq!(sessions(&worker), 2, "{}", worker.err());
    let grown = worker.resident_kib().saturating_sub(before);
    println!("{at} of {count}: grown by {grown} KiB; {}", worker.err());
    assert!(grown < 16 << 10, "{grown} KiB");
    hall.end(vec![worker]);
}

/// The line that begins a session, as a controller of this version says it.
fn greeting() -> String {
    let version = env!("CARGO_PKG_VERSION");
    let schema = plimsoll_fleet::message::SCHEMA;
    format!("plimsoll-worker {{\"version\":\"{version}\",\"schema\":{schema}}}\n")
}

/// What a process that serves a stranger says to a controller that says these.
fn serves(place: &Place, flags: &[&str], orders: &[Value]) -> String {
    let folder = place.path("servant");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::set_permissions(&folder, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let own = folder.display().to_string();
    let words = [&["worker", "--stdio", "--stranger", &own], flags].concat();
    let mut command = place.command(PLIMSOLL, &words);
    command.env("TMPDIR", &folder).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut process = command.spawn().unwrap();
    let mut input = process.stdin.take().unwrap();
    let orders: String = orders.iter().map(|order| format!("{order}\n")).collect();
    let _ = input.write_all((greeting() + &orders).as_bytes());
    // It ends with its input, when it has answered.
    let output = process.stdout.take().unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(output));
    let said = lines.by_ref().nth(1).transpose().unwrap().unwrap_or_default();
    drop(input);
    process.wait().unwrap();
    said
}

#[test]
fn a_stranger_gets_no_file_no_command_and_no_other_network() {
    let place = Place::new();
    let secret = place.write("secret.csv", "time,requests\n0,60\n1,70\n").display().to_string();
    let trace = |path: &str| {
        let pool = POOL.split("[measure]").nth(1).unwrap();
        format!("[load.trace]\nfile = '{path}'\ncolumns = 'minute,count'\n[measure]{pool}")
    };
    let cells = |plan: String| {
        json!({"cells": {"plan": plan, "id": "x", "tags": {}, "cells": 1, "keeps": "few",
            "threads": 1}})
    };
    let job = |plan: String| {
        let part = json!({"process": 0, "processes": 1, "before": 0, "after": 0});
        json!({"job": {"plan": plan, "part": part, "threads": 1, "is_precise": null,
            "is_search": false, "protocol": "HTTP/1.1", "may_ask": ["127.0.0.1"]}})
    };
    let simulate = ["--may", "simulate"];
    // The same that is read here is not read there, whose own folder is all that it has.
    for path in [&secret, "/etc/passwd", "/proc/1/environ"] {
        let said = serves(&place, &simulate, &[cells(trace(path))]);
        assert!(said.contains("refused") && said.contains("ermission denied"), "{path}: {said}");
    }
    let ready = serves(&place, &simulate, &[cells(POOL.to_owned())]);
    assert!(ready.starts_with("{\"ready\""), "{ready}");
    // A file that climbs out of what was given, or a name that is a path, is none.
    let climbs = json!({"input": {"name": "../x", "base64": ""}});
    let said = serves(&place, &simulate, &[climbs, cells(POOL.to_owned())]);
    assert!(said.contains("cannot be called"), "{said}");
    let target = place.calm();
    let port = target.address().rsplit(':').next().unwrap();
    let may = ["--may", &format!("load=127.0.0.1:{port}")];
    let load = |url: &str, more: &str| {
        job(format!("[target]\nurl = '{url}'\n{more}\n[load]\nrate = '1/s'\nfor = '1s'\n"))
    };
    for may in [may, ["--may", "load=127.0.0.0/8"]] {
        let said = serves(&place, &may, &[load(&target.url(), "")]);
        assert!(said.starts_with("{\"ready\""), "{may:?}: {said}");
    }
    let before = asked(&place, &target);
    for (order, wanted) in [
        (load(&target.url(), "restart = 'touch /tmp/x'"), "commands"),
        (load(&target.url(), "through = ['http://127.0.0.1:1']"), "proxies"),
        (load("http://127.0.0.2:1/", ""), "beyond"),
        (load(&format!("http://localhost.:{port}/"), "resolve = ['localhost.:1:127.0.0.2']"), ""),
        (load("http://unix:%2frun%2fx.sock:/", ""), ""),
        (load(&target.url(), "body_file = '/etc/passwd'\nmethod = 'POST'"), "ermission denied"),
        (load(&target.url(), "[role.web]\nrecipe = 'target'"), "[role]"),
        (load("redis://127.0.0.1/", "[store]\nworkload = 'read-heavy'"), "[store]"),
        (cells(POOL.to_owned()), "--may simulate"),
    ] {
        let said = serves(&place, &may, std::slice::from_ref(&order));
        assert!(said.contains("refused") && said.contains(wanted), "{order}: {said}");
    }
    assert_eq!(before, asked(&place, &target), "nothing was asked");
}
