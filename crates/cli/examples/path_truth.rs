//! Path truth, the long form: M/M/1 and M/M/4 queues at 50, 80 and 90% of their capacity, each
//! driven by a run, and three answers to the same question side by side: what the run says of the
//! response time, what the queue made of the very same requests (recursion on the target's log,
//! exact), and what queueing theory expects (formulas, in the long run).
//!
//! `path_truth PLIMSOLL [SECONDS [REQUESTS [QUEUE]]]`, or `bash benches/load/path-truth.sh …`,
//! where QUEUE is one of them, such as `M/M/4:50%`. A figure is out of tolerance where run and
//! recursion differ by more than 1% and 0.1 ms together. The formulas differ from both by chance:
//! within the half-widths of the batch means (95%) 19 times in 20, and within three of them all but
//! always. REQUESTS is how many the queues at 50% have at least: from 200,000 on, mean and p99 must
//! be within 3% of the formula there.
//!
//! Generator and target each have a core of their own (`taskset`) and poll it, so that what is left
//! of the difference is the path between them: two system calls, loopback and back.
//!
//! Formulas: the share of requests that wait is Erlang's C; a wait is exponential, of rate
//! cμ − λ; the response is wait and service (L. Kleinrock, *Queueing Systems* 1, 1975, sections
//! 3.2 and 3.5).

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a tool that cannot go on stops")]
#![expect(clippy::disallowed_methods, reason = "it starts the program")]

use plimsoll_runs::{Phase, Run, Summary, Tag};
use plimsoll_stats::interval::{QuantileBatches, batch_means};
use plimsoll_target::log;
use plimsoll_target::recursion::{Arrival, System, Truth};
use std::io::{BufRead, BufReader};
use std::num::NonZeroU32;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};

/// Mean service time, seconds.
const SERVICE_S: f64 = 0.002;

/// One queue: Poisson arrivals, exponential service.
#[derive(Clone, Copy)]
struct Queue {
    workers: u32,
    load: f64,
}

impl Queue {
    /// Arrivals a second.
    fn rate(self) -> f64 {
        self.load * f64::from(self.workers) / SERVICE_S
    }

    /// Erlang's C: the share of requests that wait.
    fn share_that_waits(self) -> f64 {
        let offered = self.load * f64::from(self.workers);
        let b = (1..=self.workers).fold(1.0, |b, n| offered * b / (f64::from(n) + offered * b));
        b / (1.0 - self.load * (1.0 - b))
    }

    /// The rate of the exponential that a wait is, per second.
    fn wait_rate(self) -> f64 {
        (1.0 - self.load) * f64::from(self.workers) / SERVICE_S
    }

    /// Mean response time, seconds.
    fn mean(self) -> f64 {
        SERVICE_S + self.share_that_waits() / self.wait_rate()
    }

    /// The share of responses longer than `t` seconds.
    fn beyond(self, t: f64) -> f64 {
        let (waits, wait, service) = (self.share_that_waits(), self.wait_rate(), 1.0 / SERVICE_S);
        // Wait and service together, where one waits: two exponentials, of rates that may be equal.
        let both = if (wait / service - 1.0).abs() < 1e-9 {
            (1.0 + service * t) * (-service * t).exp()
        } else {
            (wait * (-service * t).exp() - service * (-wait * t).exp()) / (wait - service)
        };
        (1.0 - waits) * (-service * t).exp() + waits * both
    }

    /// The response time that a share `q` does not exceed, seconds.
    fn quantile(self, q: f64) -> f64 {
        let (mut low, mut high) = (0.0, 1.0);
        while self.beyond(high) > 1.0 - q {
            high *= 2.0;
        }
        for _ in 0..100 {
            let middle = f64::midpoint(low, high);
            if self.beyond(middle) > 1.0 - q { low = middle } else { high = middle }
        }
        low
    }
}

/// What one run came to.
struct Measured {
    summary: Summary,
    truth: Truth,
    /// Half the width of the 95% interval of the mean and of the 99th percentile, seconds.
    half_widths: [Option<f64>; 2],
}

/// Starts the target; returns it and its URL.
fn target(plimsoll: &str, workers: u32, log: &Path) -> (Child, String) {
    let mut child = Command::new("taskset")
        .args(["--cpu-list", "1", plimsoll])
        .args(["target", "--listen", "127.0.0.1:0", "--timers", "spin", "--seed", "7", "--log"])
        .arg(log)
        .args(["--workers", &workers.to_string()])
        .args(["--service-time", &format!("exp:{}us", SERVICE_S * 1e6)])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("listening on ").unwrap();
    (child, format!("http://{address}/"))
}

fn measure(plimsoll: &str, queue: Queue, seconds: &str) -> Measured {
    let folder = tempfile::tempdir().unwrap();
    let (log, runs) = (folder.path().join("target.csv"), folder.path().join("runs"));
    let (mut server, url) = target(plimsoll, queue.workers, &log);
    let run = Command::new("taskset")
        .args(["--cpu-list", "0", plimsoll])
        .args(["load", &url, "--quiet", "--json", "--arrivals", "poisson", "--connections", "500"])
        .args(["--rate", &format!("{}/s", queue.rate()), "--for", &format!("{seconds}s")])
        .arg("--out")
        .arg(&runs)
        .output()
        .unwrap();
    let pid = rustix::process::Pid::from_child(&server);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    server.wait().unwrap();
    let said = String::from_utf8_lossy(&run.stderr).into_owned();
    let summary: Summary =
        serde_json::from_slice(&run.stdout).unwrap_or_else(|error| panic!("{error}: {said}"));

    let arrivals: Vec<Arrival> = log::read(&log).unwrap().iter().map(Arrival::from).collect();
    let system = System::of(NonZeroU32::new(queue.workers).unwrap());
    let run = Run::open(&runs.join(&summary.run.id)).unwrap();
    let (mut batches, mut means) = (QuantileBatches::new(), Vec::new());
    for (_, _, second) in run.histograms_over_time(Phase::Measured, Tag::Response).unwrap() {
        batches.push(&second);
        means.extend(second.mean().map(|ns| ns / 1e9));
    }
    let mean = batch_means(&means, 0.95).ok().map(|means| means.half_width);
    let p99 = batches.uncertainty(0.99, 0.95).ok().map(|means| means.half_width / 1e9);
    Measured { summary, truth: Truth::of(system, &arrivals), half_widths: [mean, p99] }
}

/// So many requests at 50% load are held to 3% of the formula.
const MANY: u64 = 200_000;

/// Whether a figure agrees with the formula; `None` where this run cannot tell.
fn agrees(
    queue: Queue,
    requests: u64,
    run_ms: f64,
    formula_s: f64,
    half: Option<f64>,
) -> Option<bool> {
    let apart = (run_ms - formula_s * 1e3).abs();
    if queue.load < 0.6 {
        return (requests >= MANY).then_some(apart <= 0.03 * formula_s * 1e3);
    }
    half.map(|half| apart <= 3.0 * half * 1e3)
}

/// Prints the lines of one queue; whether all figures are within tolerance.
fn print(queue: Queue, measured: &Measured) -> bool {
    let Measured { summary, truth, half_widths } = measured;
    let response = &summary.response_us;
    let quantile = |q| truth.quantile_ns(q).unwrap() as f64 / 1e6;
    let rows = [
        ("mean", response.mean, truth.mean_ns().unwrap() / 1e6, queue.mean(), half_widths[0]),
        ("p50", response.p50, quantile(0.5), queue.quantile(0.5), None),
        ("p90", response.p90, quantile(0.9), queue.quantile(0.9), None),
        ("p99", response.p99, quantile(0.99), queue.quantile(0.99), half_widths[1]),
    ];
    let mut all = true;
    for (figure, run_us, truth_ms, formula_s, half_width_s) in rows {
        // Too few requests: the run states no such figure.
        let Some(run_ms) = run_us.map(|us| us / 1e3) else { continue };
        let within = (run_ms - truth_ms).abs() <= 0.01 * truth_ms + 0.1;
        let close = ["mean", "p99"].contains(&figure);
        let close =
            close.then(|| agrees(queue, summary.completed, run_ms, formula_s, half_width_s));
        all &= within && close.flatten() != Some(false);
        println!(
            "| M/M/{} | {:.0}% | {figure} | {run_ms:.3} | {truth_ms:.3} | {:+.3} | {:+.2}%{} \
             | {:.3} | {:+.2}%{} | {} |",
            queue.workers,
            queue.load * 100.0,
            run_ms - truth_ms,
            (run_ms / truth_ms - 1.0) * 100.0,
            if within { "" } else { " out" },
            formula_s * 1e3,
            (run_ms / (formula_s * 1e3) - 1.0) * 100.0,
            if close.flatten() == Some(false) { " out" } else { "" },
            half_width_s.map_or_else(|| "–".to_owned(), |half| format!("± {:.3}", half * 1e3)),
        );
    }
    all
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(plimsoll) = arguments.first() else {
        println!("usage: path_truth PLIMSOLL [SECONDS [REQUESTS [QUEUE]]]");
        return ExitCode::from(2);
    };
    let seconds: f64 = arguments.get(1).map_or(60.0, |text| text.parse().unwrap());
    let requests: f64 = arguments.get(2).map_or(0.0, |text| text.parse().unwrap());
    let only = arguments.get(3);
    println!("response times in ms, {seconds} s each, mean service {} ms", SERVICE_S * 1e3);
    println!();
    println!("| queue | load | figure | run | recursion | difference | | formula | run | 95% |");
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    let (mut all, mut notes) = (true, Vec::new());
    for workers in [1, 4] {
        for load in [0.5, 0.8, 0.9] {
            let queue = Queue { workers, load };
            let name = format!("M/M/{workers}:{:.0}%", load * 100.0);
            if only.is_some_and(|only| *only != name) {
                continue;
            }
            let wanted_s = if load < 0.6 { 1.01 * requests / queue.rate() } else { 0.0 };
            let lasts_s = f64::max(seconds, wanted_s).ceil();
            let measured = measure(plimsoll, queue, &lasts_s.to_string());
            all &= print(queue, &measured);
            let summary = &measured.summary;
            let late = |us: Option<f64>| us.unwrap_or(f64::NAN);
            notes.push(format!(
                "M/M/{workers} at {:.0}%: {} requests, {}; generator late by {:.1} µs (p50), \
                 {:.1} µs (p99), idle timers by {:.0} µs (p99)",
                load * 100.0,
                summary.completed,
                if summary.run.valid { "valid" } else { "not valid" },
                late(summary.generator.lateness_us.p50),
                late(summary.generator.lateness_us.p99),
                late(summary.host.timer_late_us.p99),
            ));
        }
    }
    println!();
    notes.iter().for_each(|note| println!("{note}"));
    println!("{}", if all { "all within tolerance" } else { "not all within tolerance" });
    ExitCode::from(u8::from(!all))
}
