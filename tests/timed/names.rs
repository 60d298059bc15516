//! The times of requests by their names, held against what a plain client takes.

use crate::names::{assert_adds_up, named, names};
use crate::paths::Paths;
use crate::place::{Place, test_name};
use crate::program::Done;
use crate::timed::path_truth::BUSY_US;
use plimsoll_runs::Run;
use plimsoll_testing::{Weight, not_judged};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

const FOUR: [(&str, u64); 4] = [("/wait/2", 2), ("/wait/5", 5), ("/wait/12", 12), ("/wait/30", 30)];

#[test]
fn four_urls_have_the_figures_that_their_server_knows() {
    let place = Place::weighing(Weight::ALONE);
    place.write("urls.txt", FOUR.map(|(path, _)| path).join("\n"));
    // What else this machine does is no fault of ours: one of three tries has to agree.
    let (mut apart, mut late_us) = compared(&place);
    for _ in 0..2 {
        if !apart.is_empty() {
            (apart, late_us) = compared(&place);
        }
    }
    if late_us >= BUSY_US && !apart.is_empty() {
        return not_judged(&test_name(), &format!("idle timers are {late_us} µs late: {apart:?}"));
    }
    assert!(apart.is_empty(), "{apart:?}");
}

/// Loads four paths, checks what holds on any machine, and returns where figures and a plain
/// client, which asks for the same meanwhile, are apart by more than 1% and 0.1 ms, and how late an
/// idle timer was meanwhile, in microseconds. The server itself does not see how long it takes to
/// wake it and whoever asks.
fn compared(place: &Place) -> (Vec<String>, f64) {
    let server = Paths::start();
    let load = ["--urls", "urls.txt", "--rate", "200/s", "--for", "4s", "--json"];
    let (done, plain) = std::thread::scope(|scope| {
        let plain = scope.spawn(|| plain_medians_us(&server.url()));
        (place.load(&[&[server.url().as_str()], &load[..]].concat()), plain.join().unwrap())
    });
    let summary = done.json();
    assert_eq!(names(&summary), FOUR.map(|(path, _)| path), "in the order of the list");
    assert_adds_up(&summary);
    let mut apart = Vec::new();
    for ((path, ms), known) in FOUR.into_iter().zip(plain) {
        let of = named(&summary, path);
        assert_eq!((of["count"].as_u64(), &of["kind"]), (Some(200), &"request".into()));
        let found = of["service_us"]["p50"].as_f64().unwrap();
        assert!(found >= ms as f64 * 1e3, "{path}: {found}");
        let response = of["response_us"]["p50"].as_f64().unwrap();
        assert!(response >= found, "{path}: {response} from due, {found} from sent");
        if (found - known).abs() > known * 0.01 + 100.0 {
            let server = server.median_us(path);
            apart
                .push(format!("{path}: {found} µs, {known} µs plainly, {server} µs in the server"));
        }
    }
    // A part of the run's own distribution: the greatest of all is that of one of them.
    let max = |of: &Value| of["response_us"]["max"].as_f64().unwrap();
    let greatest = FOUR.map(|(path, _)| max(named(&summary, path))).into_iter().fold(0.0, f64::max);
    assert!((greatest - max(&summary)).abs() < 1e-9, "{summary}");
    (apart, summary["host"]["timer_late_us"]["p99"].as_f64().unwrap())
}

/// The median that a client takes who asks for each of the four paths in turn, in microseconds.
fn plain_medians_us(url: &str) -> [f64; 4] {
    let address = url.trim_start_matches("http://").trim_end_matches('/');
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    let (mut took, mut answer) = ([const { Vec::new() }; 4], [0; 4096]);
    for _ in 0..50 {
        for ((path, _), took) in FOUR.iter().zip(&mut took) {
            std::thread::sleep(Duration::from_millis(7));
            let began = Instant::now();
            write!(stream, "GET {path} HTTP/1.1\r\nHost: plain\r\n\r\n").unwrap();
            // An answer is written at once, and is shorter than a packet.
            assert!(stream.read(&mut answer).unwrap() > 0);
            took.push(began.elapsed().as_secs_f64() * 1e6);
        }
    }
    took.map(|mut took| {
        took.sort_by(f64::total_cmp);
        took[took.len() / 2]
    })
}

#[test]
fn an_slo_binds_the_requests_of_a_name() {
    let place = Place::weighing(Weight::ALONE);
    let server = Paths::start();
    place.write("list.csv", "url,name\n/wait/1,log in\n/wait/60,checkout\n/status/500,broken\n");
    let run = |slo: &str| -> Done {
        let url = server.url();
        let args = ["--urls", "list.csv", "--rate", "60/s", "--for", "2s", "--json", "--slo", slo];
        place.load(&[&[url.as_str()], &args[..]].concat())
    };
    let done = run("'log in': p50<40ms, checkout: p50<40ms, broken: errors<1%, errors<50%");
    let summary = done.json();
    let slo = summary["slo"].as_array().unwrap();
    let exprs: Vec<&str> = slo.iter().map(|of| of["expr"].as_str().unwrap()).collect();
    assert_eq!(
        exprs,
        ["log in: p50<40ms", "checkout: p50<40ms", "broken: errors<1%", "errors<50%"]
    );
    assert_ne!(slo[0]["pass"], Value::Bool(false), "{slo:?}");
    assert_ne!(slo[1]["pass"], Value::Bool(true), "{slo:?}");
    assert!(slo[1]["value"].as_f64().unwrap() >= 60_000.0, "{slo:?}");
    assert_eq!((&slo[2]["value"], &slo[2]["pass"]), (&1.0.into(), &Value::Bool(false)));
    assert_eq!(slo[3]["pass"], Value::Bool(true), "of all: a third");
    assert!(matches!(done.code(), Some(3 | 5)), "{:?}", done.code());

    let wrong = run("chekout: p50<40ms").ended_with(2);
    wrong.says(&["`chekout`", "did you mean `checkout`?"]);
    let url = server.url();
    let none = ["load", &url, "--rate", "5/s", "--for", "1s", "--slo", "a: p50<1s"];
    place.plimsoll(&none).ended_with(2).says(&["`a`", "one URL alone has none"]);
    assert!(Run::open(&place.run()).unwrap().is_complete());
}
