//! One load from several processes: the same as from one, named who is lost, and nobody left.

use crate::place::{Place, Target, events};
use crate::program::{Going, PLIMSOLL, wait_for};
use plimsoll_runs::{Phase, Run, Sample, Tag};
use plimsoll_stats::Histogram;
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::io::Write;
use std::process::Stdio;

fn samples(run: &Run) -> Vec<Sample> {
    run.samples().unwrap().unwrap().map(Result::unwrap).collect()
}

/// When requests were due, and which request of the list each was.
pub(crate) fn due(run: &Run) -> (Vec<u64>, Vec<u32>) {
    let mut due: Vec<_> = samples(run).iter().map(|of| (of.due_ns, of.request)).collect();
    due.sort_unstable();
    due.into_iter().unzip()
}

/// The run of a load by so many workers; by this process alone where there are none.
fn by(place: &Place, workers: u32, load: &[&str]) -> Run {
    let (out, workers) = (format!("by-{workers}"), workers.to_string());
    let fleet: &[&str] = if workers == "0" { &[] } else { &["--workers", &workers] };
    let load = [load, fleet, &["--samples", "--out", &out]].concat();
    place.load(&load).ran();
    Run::open(place.runs(&out).last().unwrap()).unwrap()
}

#[test]
fn every_request_is_due_as_with_one_process() {
    let place = Place::new();
    let target = place.target(&["--service-time", "const:1ms", "--workers", "100"]);
    let (a, b) = (format!("{}a", target.url()), format!("{}b", target.url()));
    place.write("urls", format!("{a}\n{b}\n{a}\n"));
    for arrivals in ["even", "random", "poisson", "burst:250ms"] {
        let load = ["--urls", "urls", "--rate", "151/s", "--for", "2s", "--arrivals", arrivals];
        let load = [&load[..], &["--seed", "3"]].concat();
        let alone = due(&by(&place, 0, &load));
        assert!(alone.0.len() > 200, "{arrivals}");
        for workers in [2, 5] {
            let together = by(&place, workers, &load);
            assert!(due(&together) == alone, "{arrivals} by {workers}");
            adds_up(&together);
        }
        // A warm-up is a schedule of its own, in which each begins its list.
        let load = [&load[..], &["--warm-up", "1s"]].concat();
        let (alone, together) = (by(&place, 0, &load), by(&place, 3, &load));
        assert!(due(&alone).0 == due(&together).0, "{arrivals}");
        adds_up(&together);
    }
}

/// Fails unless the figures of a run are those of its samples, to the bit.
fn adds_up(run: &Run) {
    let all = samples(run);
    let measured = || all.iter().filter(|of| of.phase == Phase::Measured);
    let total = run.total(Phase::Measured).unwrap();
    assert_eq!(total.offered, measured().count() as u64);
    let sent = measured().filter(|of| of.sent_ns > 0).count() as u64;
    assert_eq!(total.sent, sent);
    let mut times = Histogram::new();
    for of in measured().filter(|of| of.status > 0) {
        times.record(of.done_ns - of.due_ns);
    }
    let merged = run.histogram(Phase::Measured, Tag::Response).unwrap();
    assert_eq!(merged.exact(), times.exact());
    assert!(merged.buckets().eq(times.buckets()));
    // No two connections have one number.
    let mut of_connection = BTreeMap::<u32, Vec<(u64, u64)>>::new();
    for of in all.iter().filter(|of| of.sent_ns > 0) {
        of_connection.entry(of.connection).or_default().push((of.sent_ns, of.done_ns));
    }
    for (connection, mut spans) in of_connection {
        spans.sort_unstable();
        let apart = spans.windows(2).all(|two| two[0].1 <= two[1].0);
        assert!(apart, "{connection}: {spans:?}");
    }
}

#[test]
fn what_is_bounded_is_bounded_over_all_together() {
    let place = Place::new();
    let target = place.target(&["--service-time", "const:1ms", "--workers", "100"]);
    let url = target.url();
    let done = place.load(&[&url, "-n", "31", "--rate", "200/s", "--workers", "4", "--json"]);
    assert_eq!(done.ran().json()["offered"], 31);
    let users = ["--users", "7", "-n", "50", "--connections", "9", "--workers", "3", "--json"];
    let summary = place.load(&[&[url.as_str()], &users[..]].concat()).ran().json();
    assert_eq!((&summary["offered"], &summary["succeeded"]), (&50.into(), &50.into()));
    assert_eq!(summary["generator"]["threads"], 3, "{summary}");
    assert!(summary["connections"]["peak"].as_u64().unwrap() <= 9, "{summary}");
}

#[test]
fn users_have_the_numbers_that_they_would_have_alone() {
    let place = Place::new();
    let target = place.target(&["--service-time", "const:1ms", "--workers", "100"]);
    place.write("rows.csv", "row\n".to_owned() + &"x\n".repeat(40));
    let scenario = "[data.rows]\nfile = 'rows.csv'\norder = 'once'\n\
                    [[step]]\nname = 'ask'\nget = '/{{user}}'\n";
    place.write("scenario.toml", scenario);
    let url = target.url();
    let load = [&url, "--scenario", "scenario.toml", "-n", "40", "--rate", "40/s", "--json"];
    for workers in ["1", "3"] {
        let summary = place.load(&[&load[..], &["--workers", workers]].concat()).ran().json();
        assert_eq!(summary["users"]["arrived"], 40, "{summary}");
        assert_eq!(summary["succeeded"], 40, "{summary}");
    }
}

/// The processes of workers that a controller has started.
pub(crate) fn workers(going: &Going) -> Vec<i32> {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let numbers = all.filter_map(|of| of.file_name().to_string_lossy().parse::<i32>().ok());
    let is_its = |pid: &i32| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        status.lines().any(|line| line == format!("PPid:\t{}", going.id()))
    };
    let mut pids: Vec<i32> = numbers.filter(is_its).collect();
    pids.sort_unstable();
    pids
}

pub(crate) fn signal(pid: i32, signal: Signal) {
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, signal).unwrap();
}

pub(crate) fn are_gone(pids: &[i32]) {
    wait_for("the end of all workers", || {
        pids.iter().all(|pid| !std::path::Path::new(&format!("/proc/{pid}")).exists()).then_some(())
    });
}

/// How many requests a target has had.
pub(crate) fn asked(place: &Place, target: &Target) -> String {
    let url = format!("{}-/metrics", target.url());
    let done = place.start(place.command("curl", &["--silent", &url])).wait().ended_with(0);
    let line = done.out.lines().find(|line| line.starts_with("plimsoll_target_requests_total"));
    line.expect("a count of requests").to_owned()
}

#[test]
fn a_worker_that_is_lost_is_named_with_its_cause_and_ends_the_load() {
    let place = Place::new();
    let target = place.target(&["--service-time", "const:1ms", "--workers", "100"]);
    for (sent, cause) in [(Signal::KILL, "signal 9 ended it"), (Signal::STOP, "silent for")] {
        let out = format!("{cause:.6}");
        let load = [&target.url(), "--rate", "100/s", "--workers", "3", "--quiet", "--out", &out];
        let going = place.soak(&load);
        let pids = workers(&going);
        assert_eq!(pids.len(), 3);
        signal(pids[1], sent);
        let done = going.wait().ended_with(4);
        done.says(&["without worker 2", cause]);
        are_gone(&pids);
        // What was measured is kept, and adds up.
        let run = Run::open(place.runs(&out).last().unwrap()).unwrap();
        let total = run.total(Phase::Measured).unwrap();
        assert!(total.succeeded > 0 && total.offered >= total.sent, "{total:?}");
        let before = asked(&place, &target);
        assert_eq!(asked(&place, &target), before, "nobody asks any more");
        let told = place.plimsoll(&["runs", "show", run.path().to_str().unwrap()]);
        told.prints(&["worker 2"]);
    }
}

#[test]
fn no_load_goes_on_without_its_controller() {
    let place = Place::new();
    let target = place.target(&["--service-time", "const:1ms", "--workers", "100"]);
    for sent in [Signal::KILL, Signal::STOP] {
        // They have more to tell than a pipe holds that nobody reads.
        let load = [&target.url(), "--rate", "1000/s", "--samples", "--workers", "2", "--quiet"];
        let going = place.soak(&load);
        let pids = workers(&going);
        assert_eq!(pids.len(), 2);
        going.signal(sent);
        // Who is stopped has yet to wait for its children: they are there, and have ended.
        wait_for("the end of both", || {
            let ends = |pid: &i32| {
                let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
                stat.is_empty() || stat.contains(") Z ")
            };
            pids.iter().all(ends).then_some(())
        });
        let before = asked(&place, &target);
        assert_eq!(asked(&place, &target), before);
        if sent == Signal::STOP {
            going.signal(Signal::CONT);
            going.wait().ended_with(4).says(&["without worker"]);
        }
    }
}

#[test]
fn an_interrupt_and_a_stop_end_all_workers_and_keep_the_run() {
    let place = Place::new();
    let target = place.target(&["--service-time", "const:1ms", "--workers", "100"]);
    let load = [&target.url(), "--rate", "100/s", "--workers", "2", "--quiet"];
    let going = place.soak(&load);
    let pids = workers(&going);
    place.stopped(going).ran();
    are_gone(&pids);
    assert!(events(&place.run(), "asked").iter().any(|text| text.contains("as it was asked to")));
    let going = place.soak(&load);
    let pids = workers(&going);
    going.signal(Signal::INT);
    let done = going.wait();
    assert!(matches!(done.code(), Some(0 | 4 | 5 | 130)), "{:?} {}", done.code(), done.err);
    are_gone(&pids);
    assert_eq!(place.runs("runs").len(), 2);
}

#[test]
fn what_cannot_be_divided_is_refused_before_anything_is_sent() {
    let place = Place::new();
    let target = place.target(&["--service-time", "const:1ms"]);
    let url = target.url();
    place.write("rows.csv", "row\na\nb\n");
    let scenario = "[[step]]\nname = 'ask'\nget = '/{{rows.row}}'\n";
    place.write("rows.toml", format!("[data.rows]\nfile = 'rows.csv'\neach = 'step'\n{scenario}"));
    place.write("labels.toml", "label = 'a'\n[[step]]\nname = 'ask'\nget = '/'\n");
    for (load, said) in [
        (&[url.as_str(), "--connections", "2..30"][..], "connections that grows, 2 to 30"),
        (&[&url, "--connections", "1"], "1 connections: 2 workers have 2 threads"),
        (&[&url, "--basic", "me:secret"], "(basic): name a variable"),
        (&[&url, "--scenario", "rows.toml"], "the data `rows`, whose rows go to steps"),
        (&[&url, "--scenario", "labels.toml"], "the labels of users"),
        (&["http://169.254.169.254/"], "never sent to such addresses"),
    ] {
        let load = [load, &["--rate", "10/s", "--for", "1s", "--workers", "2"]].concat();
        let done = place.load(&load).ended_with(2);
        done.says(&["divide among workers", said]);
        assert!(!done.err.contains("secret: "), "{}", done.err);
    }
    place.write(
        "servers.toml",
        format!(
            "[target]\nurl = '{url}'\n[load]\nrate = '1/s'\nfor = '1s'\n[fleet]\nworkers = 2\n\
             [testbed]\n[role.web]\nrecipe = 'nginx'\n"
        ),
    );
    let done = place.plimsoll(&["check", "servers.toml"]).ended_with(2);
    done.says(&["[fleet]", "the servers of the plan are started by this process"]);
    assert!(place.runs("runs").is_empty());
}

/// What a worker answers to what it is told, until it ends.
fn told(place: &Place, words: &str) -> (Option<i32>, String, String) {
    let mut worker = place.command(PLIMSOLL, &["worker", "--stdio"]);
    worker.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut worker = worker.spawn().unwrap();
    // It may have ended before it has read all.
    let _ = worker.stdin.take().unwrap().write_all(words.as_bytes());
    let done = worker.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (done.status.code(), text(done.stdout), text(done.stderr))
}

#[test]
fn a_worker_believes_nobody_who_speaks_otherwise() {
    let place = Place::new();
    let own = told(&place, "").1;
    let greeting = own.lines().next().unwrap();
    assert!(greeting.starts_with("plimsoll-worker {"), "{own}");
    let other = greeting.replacen("\"version\":\"", "\"version\":\"9", 1);
    for (words, said) in [
        (String::new(), "nobody greets"),
        (format!("{other}\n"), "the versions differ"),
        ("plimsoll-worker {}\n".to_owned(), "missing field"),
        ("y\n".repeat(100_000), "no greeting of a worker"),
        (format!("{greeting}\n{{\"ping\":{{\"sent_ns\":1}}}}\n{{\"end_at\":1}}\n"), "is no job"),
        (format!("{greeting}\nnonsense\n"), "is no job"),
    ] {
        let (code, _, err) = told(&place, &words);
        assert_eq!(code, Some(4), "{words:.80}: {err}");
        assert!(err.contains(said), "{words:.80}: {err}");
    }
    let done = place.plimsoll(&["worker"]).ended_with(2);
    done.says(&["plimsoll load --workers N"]);
    // Files have no way out of their folder, and what is none is not taken.
    for (name, base64, said) in [
        ("../way-out", "eA==", "a file cannot be called `../way-out`"),
        ("..", "eA==", "a file cannot be called `..`"),
        ("/etc/x", "eA==", "a file cannot be called `/etc/x`"),
        ("", "eA==", "a file cannot be called ``"),
        ("x", "?", "no base64"),
    ] {
        let input = format!("{{\"input\":{{\"name\":\"{name}\",\"base64\":\"{base64}\"}}}}");
        let (code, out, err) = told(&place, &format!("{greeting}\n{input}\n"));
        assert!(code == Some(4) && out.contains(said), "{name}: {out}{err}");
    }
    // A job is a plan, and where it may go is not for the plan to say.
    let plan = "[target]\\nurl = 'http://127.0.0.1:9/'\\n[load]\\nrate = '1/s'\\nfor = '1s'\\n";
    let job = format!(
        "{{\"job\":{{\"plan\":\"{plan}\",\"part\":{{\"process\":0,\"processes\":1,\"before\":0,\
         \"after\":0}},\"threads\":1,\"is_precise\":false,\"is_search\":false,\
         \"protocol\":\"HTTP/1.1\",\
         \"may_ask\":[\"10.0.0.1\"]}}}}"
    );
    let (code, out, err) = told(&place, &format!("{greeting}\n{job}\n"));
    assert_eq!(code, Some(4), "{err}");
    assert!(out.contains("it may not ask 127.0.0.1"), "{out}{err}");
}

/// A worker that does not see the files of this host.
#[test]
fn words_start_workers_and_give_them_the_files_that_the_plan_reads() {
    let name = "words_start_workers_and_give_them_the_files_that_the_plan_reads";
    if !plimsoll_testing::has_namespaces(name) {
        return;
    }
    let place = Place::new();
    let target = place.target(&["--service-time", "const:1ms", "--workers", "100"]);
    std::fs::create_dir(place.path("data")).unwrap();
    place.write("data/rows.csv", "row\n".to_owned() + &"x\n".repeat(100));
    let scenario = "[data.rows]\nfile = 'rows.csv'\norder = 'once'\n\
                    [[step]]\nname = 'ask'\nget = '/{{rows.row}}'\n";
    place.write("data/users.toml", scenario);
    let hides = format!("mount -t tmpfs none {} && exec \\\"$@\\\"", place.path("data").display());
    let plan = format!(
        "[target]\nurl = '{}'\nscenario = 'data/users.toml'\n\
         [load]\nrate = '40/s'\nrequests = 70\n[fleet]\nworkers = 3\n\
         start = [\"unshare\", \"-m\", \"sh\", \"-c\", \"{hides}\", \"sh\"]\n",
        target.url()
    );
    place.write("plan.toml", plan);
    let summary = place.load(&["plan.toml", "--json"]).ran().json();
    assert_eq!((&summary["offered"], &summary["succeeded"]), (&70.into(), &70.into()));
    // What each has done is one command of `check`.
    let check = place.plimsoll(&["check", "plan.toml"]).ended_with(0);
    check.prints(&["worker 3: unshare -m sh -c", "worker --stdio"]);
    // A pipe can be read once only.
    let fifo = place.path("fifo");
    place.start(place.command("mkfifo", &[fifo.to_str().unwrap()])).wait().ended_with(0);
    let plan = std::fs::read_to_string(place.path("plan.toml")).unwrap();
    let replay = plan.replace("scenario = 'data/users.toml'", "urls = 'fifo'");
    place.write("pipe.toml", replay);
    let going = place.start(place.command("sh", &["-c", "printf '%s\n' / / > fifo"]));
    let done = place.load(&["pipe.toml"]).ended_with(2);
    done.says(&["which is no plain file"]);
    going.signal(Signal::KILL);
    going.wait();
}

/// Fewer requests, users and seconds than workers.
#[test]
fn a_load_that_is_smaller_than_its_fleet_is_whole() {
    let place = Place::new();
    let target = place.target(&["--service-time", "const:1ms", "--workers", "100"]);
    let url = target.url();
    for (load, offered) in [
        (&["--rate", "1/s", "--for", "2s"][..], 2),
        (&["--schedule", "0/s..20/s in 2s"], 20),
        (&["--rate", "3/s", "-n", "3"], 3),
        (&["--users", "9", "-n", "2"], 2),
    ] {
        let load = [&[url.as_str()], load, &["--workers", "7", "--json"]].concat();
        let summary = place.load(&load).ran().json();
        assert_eq!(summary["offered"], offered, "{load:?}");
    }
}

/// The summary of a search for the highest rate allowed, on a server that holds it.
fn searched(place: &Place, url: &str, more: &[&str]) -> serde_json::Value {
    let search = ["capacity", url, "--slo", "p90<5s", "--max-rate", "40/s", "--json", "--quiet"];
    place.plimsoll(&[&search[..], more].concat()).ran().json()
}

#[test]
fn a_search_by_workers_is_one_search() {
    let place = Place::new();
    let target = place.target(&["--service-time", "const:1ms", "--workers", "100"]);
    let url = target.url();
    let found = searched(&place, &url, &["--workers", "2", "--pacing", "precise"]);
    let rate = |window: &serde_json::Value| window["offered_per_s"].as_f64().unwrap();
    let windows = found["windows"].as_array().unwrap();
    assert!(windows.iter().all(|window| rate(window) <= 40.5), "{found}");
    let run = Run::open(&place.run()).unwrap();
    // What came of all its windows is what the server was asked.
    let all = run.total(Phase::Measured).unwrap();
    let asked = asked(&place, &target);
    let count = asked.rsplit_once(' ').unwrap().1.parse::<f64>().unwrap();
    assert!((all.sent as f64 - count).abs() <= 1.0, "{asked}, {all:?}");
    for worker in ["worker 1", "worker 2"] {
        let told = run.series("plimsoll_worker_sent_per_s").unwrap();
        let own = told.iter().filter(|of| of.labels.get("worker").is_some_and(|of| of == worker));
        assert!(own.filter_map(|of| of.value).sum::<f64>() > 10.0, "{worker}: {told:?}");
    }
}

#[test]
fn a_search_that_loses_a_worker_ends_with_its_name() {
    let place = Place::new();
    let target = place.target(&["--service-time", "const:1ms", "--workers", "100"]);
    let url = target.url();
    let search = ["capacity", &url, "--slo", "p90<5s", "--max-rate", "20/s", "--workers", "2"];
    let more = ["--sustain", "10m", "--out", "lost"];
    let going = place.start(place.command(PLIMSOLL, &[&search[..], &more].concat()));
    let pids = wait_for("two workers with a load", || {
        let loaded = place.loads_of(&going) > 0;
        Some(workers(&going)).filter(|of| of.len() == 2 && loaded)
    });
    signal(pids[0], Signal::KILL);
    let done = going.wait().ended_with(4);
    done.says(&["worker 1", "signal 9 ended it"]);
    are_gone(&pids);
}
