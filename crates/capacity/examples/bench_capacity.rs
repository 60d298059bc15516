//! Methods of search against queues whose capacity is known.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a tool that cannot go on stops")]

use plimsoll_capacity::adaptive::{self, Adaptive};
use plimsoll_capacity::conduct::{Limits, Outcome, conduct};
use plimsoll_capacity::ladder::{self, Ladder, StepOf};
use plimsoll_capacity::search::Search;
use plimsoll_capacity::simulated::Simulated;
use plimsoll_stats::slo::Comparison;
use plimsoll_workload::distribution::Distribution;
use plimsoll_workload::service_model::{ServiceModel, ServiceTime};
use std::num::NonZeroU32;

struct Case {
    name: &'static str,
    workers: u32,
    service: &'static str,
    bound_ns: u64,
    truth: f64,
}

fn erlang_c(c: u32, a: f64) -> f64 {
    let b = (1..=c).fold(1.0, |b, n| a * b / (f64::from(n) + a * b));
    let rho = a / f64::from(c);
    b / (1.0 - rho * (1.0 - b))
}
fn mmc_beyond(c: u32, mu: f64, lambda: f64, t: f64) -> f64 {
    let cc = erlang_c(c, lambda / mu);
    let w = f64::from(c) * mu - lambda;
    let both = if (w / mu - 1.0).abs() < 1e-9 {
        (1.0 + mu * t) * (-mu * t).exp()
    } else {
        (w * (-mu * t).exp() - mu * (-w * t).exp()) / (w - mu)
    };
    (1.0 - cc) * (-mu * t).exp() + cc * both
}
fn mmc_truth(c: u32, mu: f64, t: f64) -> f64 {
    let (mut lo, mut hi) = (0.0, f64::from(c) * mu);
    for _ in 0..100 {
        let m = 0.5 * (lo + hi);
        if mmc_beyond(c, mu, m, t) > 0.1 { hi = m } else { lo = m }
    }
    lo
}

fn model(case: &Case) -> ServiceModel {
    let mut m = ServiceModel::new(ServiceTime::Law(Distribution::parse(case.service).unwrap()));
    m.cores = NonZeroU32::new(case.workers).unwrap();
    m
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let reps: u64 = args.get(1).map_or(100, |s| s.parse().unwrap());
    let only = args.get(2).cloned().unwrap_or_default();
    let seed0: u64 = args.get(3).map_or(0, |s| s.parse().unwrap());
    let mut cases = Vec::new();
    let names = [
        ["1/20", "1/30", "1/150"],
        ["2/20", "2/30", "2/150"],
        ["4/20", "4/30", "4/150"],
        ["8/20", "8/30", "8/150"],
    ];
    for (c, row) in [1, 2, 4, 8].into_iter().zip(names) {
        for (b, name) in [20_000_000u64, 30_000_000, 150_000_000].into_iter().zip(row) {
            cases.push(Case {
                name,
                workers: c,
                service: "exp:4ms",
                bound_ns: b,
                truth: mmc_truth(c, 250.0, b as f64 / 1e9),
            });
        }
    }
    cases.push(Case {
        name: "ln.8",
        workers: 16,
        service: "lognormal:8ms,0.8",
        bound_ns: 25_000_000,
        truth: 0.929 * 2000.0,
    });
    cases.push(Case {
        name: "ln1.5",
        workers: 2,
        service: "lognormal:3ms,1.5",
        bound_ns: 30_000_000,
        truth: 0.649 * 2.0 / 0.003,
    });
    for case in &cases {
        if !only.is_empty() && !case.name.contains(&only) {
            continue;
        }
        for method in ["ladder", "adaptive"] {
            let threads = 2;
            let results: Vec<(f64, Option<(f64, f64)>, f64, f64, f64)> = std::thread::scope(|s| {
                let hs: Vec<_> = (0..threads)
                    .map(|k| {
                        s.spawn(move || {
                            let mut out = Vec::new();
                            let mut rep = k;
                            while rep < reps {
                                let mut world =
                                    Simulated::new(model(case), case.bound_ns, seed0 + rep);
                                let mut search: Box<dyn Search> = if method == "ladder" {
                                    Box::new(Ladder::new(ladder::Settings {
                                        slo: (0.9, case.bound_ns),
                                        comparison: Comparison::Below,
                                        start_per_s: 1.0,
                                        window_s: 10.0,
                                        tuning: 0.2,
                                        near_rtt_ns: Some(10_000_000),
                                        step_of: StepOf::Gap,
                                        max_rate_per_s: None,
                                    }))
                                } else {
                                    Box::new(Adaptive::new(adaptive::Settings {
                                        slo: (0.9, case.bound_ns),
                                        start_per_s: 1.0,
                                        precision: 0.05,
                                        max_rate_per_s: None,
                                    }))
                                };
                                let Ok(Outcome { found, windows, .. }) = conduct(
                                    search.as_mut(),
                                    &mut world,
                                    Limits::default(),
                                    &mut |_| {},
                                );
                                let windows: Vec<_> =
                                    windows.into_iter().map(|j| (j.window, j.verdict)).collect();
                                let above: f64 = windows
                                    .iter()
                                    .filter(|w| w.0.rate_per_s > case.truth)
                                    .map(|w| w.0.seconds)
                                    .sum();
                                let load: f64 = windows.iter().map(|w| w.0.seconds).sum();
                                if std::env::var_os("TRACE").is_some() {
                                    for (w, v) in &windows {
                                        println!(
                                            "{:7.2} {:5.2} {:?} {:8.1} n={} p={:?} sat={:?} {:?}",
                                            w.start_s,
                                            w.seconds,
                                            w.phase,
                                            w.rate_per_s,
                                            w.counted(),
                                            w.beyond_share(),
                                            w.saturated,
                                            v
                                        );
                                    }
                                    println!("{found:?}");
                                }
                                out.push((
                                    found.estimate_per_s.unwrap_or(0.0),
                                    found.ci95,
                                    load,
                                    above,
                                    windows.len() as f64,
                                ));
                                rep += threads;
                            }
                            out
                        })
                    })
                    .collect();
                hs.into_iter().flat_map(|h| h.join().unwrap()).collect()
            });
            let n = results.len() as f64;
            let rel: Vec<f64> = results.iter().map(|r| r.0 / case.truth - 1.0).collect();
            let bias = rel.iter().sum::<f64>() / n;
            let rmse = (rel.iter().map(|r| r * r).sum::<f64>() / n).sqrt();
            let cover = results
                .iter()
                .filter(|r| r.1.is_some_and(|(lo, hi)| lo <= case.truth && case.truth <= hi))
                .count() as f64
                / n;
            let mut loads: Vec<f64> = results.iter().map(|r| r.2).collect();
            loads.sort_by(f64::total_cmp);
            let load = loads.iter().sum::<f64>() / n;
            let above = results.iter().map(|r| r.3).sum::<f64>() / n;
            println!(
                "{:6} {:8} truth {:7.1} bias {:+5.2}% rmse {:5.2}% cover {:5.1}% load {:6.1} s (p90 {:6.1}) above {:5.2} s windows {:.0}",
                case.name,
                method,
                case.truth,
                bias * 100.0,
                rmse * 100.0,
                cover * 100.0,
                load,
                loads[(loads.len() * 9) / 10],
                above,
                results.iter().map(|r| r.4).sum::<f64>() / n
            );
        }
    }
}
