//! The behaviour that was asked for, as clients and the log see it.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use plimsoll_target::draws::Draws;
use plimsoll_target::log::{self, Record};
use plimsoll_target::recursion::{Arrival, System, Truth, departures};
use plimsoll_target::{BodySize, Options, SlowStart, Stall, Stats};
use plimsoll_workload::distribution::Distribution;
use plimsoll_workload::service_model::{ServiceModel, ServiceTime};

use super::client::{GET, Running};

fn service(text: &str) -> ServiceTime {
    ServiceTime::Law(Distribution::parse(text).unwrap())
}

/// Runs `connections` clients that send `requests` each at once; returns log and figures.
fn logged(
    name: &str,
    options: &Options,
    connections: usize,
    requests: usize,
) -> (Vec<Record>, Stats) {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.csv"));
    let server = Running::new(Options { log: Some(path.clone()), ..options.clone() });
    let mut clients: Vec<_> = (0..connections).map(|_| server.connect()).collect();
    for client in &mut clients {
        client.send(&GET.repeat(requests));
    }
    for client in &mut clients {
        for _ in 0..requests {
            client.answer();
        }
    }
    drop(clients);
    let stats = server.finish();
    let records = log::read(&path).unwrap();
    assert_eq!(records.len(), connections * requests);
    (records, stats)
}

/// The log says what the recursion makes of its arrivals, and its services are the seed's.
fn assert_is_the_recursion(options: &Options, records: &[Record]) {
    let system =
        System { workers: options.workers, bound: options.queue_bound, stall: options.stall };
    let arrivals: Vec<Arrival> = records.iter().map(Arrival::from).collect();
    let logged: Vec<_> = records.iter().map(|r| (r.status != 503).then_some(r.depart_ns)).collect();
    assert_eq!(departures(system, &arrivals), logged);
    assert_eq!(Truth::of(system, &arrivals), Truth::logged(records));
    let mut draws = Draws::new(options);
    assert!(records.iter().all(|r| draws.next(r.arrival_ns).service_ns == r.service_ns));
}

#[test]
fn the_log_is_a_queue_of_many_servers() {
    let workers = NonZeroU32::new(3).unwrap();
    let options = Options { service: service("exp:200us"), workers, ..Options::default() };
    let (records, stats) = logged("many", &options, 8, 100);
    assert_is_the_recursion(&options, &records);
    assert_eq!((stats.requests, stats.succeeded, stats.late.count()), (800, 800, 800));
    assert!(stats.worker_busy_share > 0.0 && stats.worker_busy_share <= 1.0, "{stats:?}");
}

#[test]
fn the_log_shows_stalls_and_a_slow_start() {
    let options = Options {
        service: service("uniform:50us..400us"),
        stall: Stall::new(20_000_000, 7_000_000),
        slow_start: SlowStart::new(4.0, 30_000_000),
        ..Options::default()
    };
    let (records, _) = logged("stalls", &options, 4, 100);
    assert_is_the_recursion(&options, &records);
    let stall = options.stall.unwrap();
    assert!(records.iter().all(|record| !stall.is_frozen(record.depart_ns)));
    assert!(records.last().unwrap().depart_ns > 20_000_000, "no stall was reached");
}

#[test]
fn the_log_shows_who_was_refused() {
    let options = Options {
        service: service("exp:300us"),
        queue_bound: Some(5),
        error_share: 0.2,
        ..Options::default()
    };
    let (records, stats) = logged("refused", &options, 8, 100);
    assert_is_the_recursion(&options, &records);
    let of = |status| records.iter().filter(|record| record.status == status).count() as u64;
    assert_eq!((of(200), of(500), of(503)), (stats.succeeded, stats.errors, stats.refused));
    assert!(stats.refused > 0 && stats.peak_in_system == 6, "{stats:?}");
}

#[test]
fn beyond_the_bound_the_answer_is_503_at_once() {
    let options = Options {
        service: service("const:1h"),
        queue_bound: Some(1),
        drain: Duration::ZERO,
        ..Options::default()
    };
    let server = Running::new(options);
    let (mut first, mut second) = (server.connect(), server.connect());
    first.send(&GET.repeat(2));
    server.barrier();
    for _ in 0..3 {
        assert_eq!(second.ask(GET).status, 503);
    }
    let stats = server.finish();
    assert_eq!((stats.requests, stats.refused, stats.peak_in_system), (5, 3, 2));
    assert!(first.is_at_end(), "the server ended without waiting for the hour");
}

#[test]
fn errors_and_sizes_are_the_seeds() {
    let options = Options {
        service: service("exp:20us"),
        workers: NonZeroU32::new(4).unwrap(),
        error_share: 0.3,
        body: BodySize::parse("uniform:0..40k").unwrap(),
        seed: 99,
        ..Options::default()
    };
    let server = Running::new(options.clone());
    let mut client = server.connect();
    let mut draws = Draws::new(&options);
    let mut errors = 0;
    // Pipelined on one connection, answers keep the order of the requests, whoever departs first.
    for _ in 0..40 {
        client.send(&GET.repeat(50));
        for _ in 0..50 {
            let (answer, draw) = (client.answer(), draws.next(0));
            errors += u64::from(draw.is_error);
            let expected = if draw.is_error { (500, 0) } else { (200, draw.body as usize) };
            assert_eq!((answer.status, answer.body), expected);
        }
    }
    let stats = server.finish();
    assert_eq!((stats.errors, stats.succeeded), (errors, 2_000 - errors));
    assert!((500..700).contains(&errors), "{errors} of 2,000 at 30%");
}

#[test]
fn a_model_says_what_the_server_is_like() {
    let text = r#"{ "schema": 1, "service_time": { "quantiles": [[0, "1ms"], [1, "3ms"]] },
                    "cores": 2, "concurrency": 5, "speed": 2 }"#;
    let model = ServiceModel::from_json(text, "model").unwrap();
    let options = Options::default().with_model(&model);
    assert_eq!((options.workers.get(), options.queue_bound), (2, Some(3)));
    let mut draws = Draws::new(&options);
    let drawn: Vec<_> = (0..1_000).map(|_| draws.next(0).service_ns).collect();
    assert!(drawn.iter().all(|ns| (500_000..=1_500_000).contains(ns)));
    let mean = drawn.iter().sum::<u64>() as f64 / 1e3;
    assert!((mean / 1e6 - 1.0).abs() < 0.05, "mean {mean} ns");
    // Fewer at once than cores: nobody waits, and not every core is used.
    let few = ServiceModel { concurrency: NonZeroU32::new(1), ..model };
    let options = Options::default().with_model(&few);
    assert_eq!((options.workers.get(), options.queue_bound), (1, Some(0)));
    let (records, stats) = logged("model", &options, 4, 5);
    assert_is_the_recursion(&options, &records);
    assert!(stats.refused > 0, "{stats:?}");
}

#[test]
fn twice_the_speed_is_half_the_service() {
    let slow = Options { service: service("exp:1ms"), ..Options::default() };
    let (mut one, mut two) =
        (Draws::new(&slow), Draws::new(&Options { speed: 2.0, ..slow.clone() }));
    for _ in 0..100 {
        assert!(one.next(0).service_ns.div_ceil(2).abs_diff(two.next(0).service_ns) <= 1);
    }
}

#[test]
fn burning_workers_use_the_processor_for_as_long_as_drawn() {
    let options = Options {
        service: service("uniform:100us..900us"),
        workers: NonZeroU32::new(2).unwrap(),
        burn: true,
        ..Options::default()
    };
    let (records, stats) = logged("burn", &options, 4, 25);
    assert!(records.iter().all(|r| r.depart_ns >= r.arrival_ns + r.service_ns && r.status == 200));
    assert_eq!((stats.succeeded, stats.late.count()), (100, 0));
    assert!(stats.peak_in_system >= 2 && stats.worker_busy_share > 0.0, "{stats:?}");
    // Logged as they depart; their services are those of the seed all the same.
    let mut draws = Draws::new(&options);
    let mut drawn: Vec<_> = (0..100).map(|_| draws.next(0).service_ns).collect();
    let mut burnt: Vec<_> = records.iter().map(|record| record.service_ns).collect();
    drawn.sort_unstable();
    burnt.sort_unstable();
    assert_eq!(drawn, burnt);
}

#[test]
fn burning_workers_are_not_waited_for_at_the_end() {
    let options = Options {
        service: service("const:1h"),
        burn: true,
        drain: Duration::ZERO,
        ..Options::default()
    };
    let server = Running::new(options);
    let mut client = server.connect();
    client.send(&GET.repeat(3));
    server.barrier();
    assert_eq!(server.finish().requests, 3);
    assert!(client.is_at_end());
}

#[test]
fn burning_workers_refuse_beyond_the_bound() {
    let options = Options {
        service: service("const:50ms"),
        queue_bound: Some(0),
        burn: true,
        ..Options::default()
    };
    let (records, stats) = logged("burn-bound", &options, 1, 20);
    let served = records.iter().filter(|record| record.status == 200).count();
    assert_eq!((stats.succeeded, stats.refused), (served as u64, 20 - served as u64));
    assert!(stats.refused > 0 && stats.succeeded > 0, "{stats:?}");
}
