//! Several logs as one, hosts and rewritten paths of replays, logs in the place of traces.

use plimsoll_workload::access_log::{
    ImportOptions, LogFormat, Replay, ReplayOptions, Rewrite, import_all,
};
use plimsoll_workload::arrivals::Share;
use plimsoll_workload::request::Request;
use plimsoll_workload::trace::{Trace, TraceOptions};

use crate::access_log::{base, clf, file, gzip};

fn squid(moment: &str, path: &str) -> String {
    format!("{moment} 5 192.0.2.1 TCP_HIT/200 9 GET {path} - NONE/- x\n")
}

#[test]
fn several_logs_are_one_merged_by_time_whatever_their_order() {
    let folder = tempfile::tempdir().expect("a folder");
    // A rotated log, and one of another server in another format; garbage belongs to no time.
    let first = squid("1782864000.250", "/a") + &squid("1782864002.500", "/b") + "garbage\n";
    let second = squid("1782864010.750", "/c") + &squid("1782864011.000", "/d");
    let other = clf(1, "GET /e HTTP/1.0") + &clf(10, "GET /f HTTP/1.0");
    let paths = [
        file(&folder, "access.log", second),
        file(&folder, "access.log.1.gz", gzip(first.as_bytes())),
        file(&folder, "other.log", other),
    ];
    let mut found = Vec::new();
    for order in [[0, 1, 2], [2, 0, 1], [1, 2, 0]] {
        let paths = order.map(|at: usize| paths[at].clone());
        let replay = Replay::open_all(&paths, &ReplayOptions::default()).expect("a replay");
        let list = replay.requests(&Request::new(base())).expect("sound requests").list;
        let due: Vec<(u64, String)> = replay
            .due(Share::WHOLE)
            .expect("a replay")
            .map(|due| due.expect("a request"))
            .map(|due| (due.offset_ns / 1_000_000, list[due.index as usize].url.target.clone()))
            .collect();
        assert_eq!((replay.lines(), replay.unreadable()), (7, 1));
        let example = replay.example().expect("the garbage");
        assert!(example.origin.ends_with("access.log.1.gz") && example.line == 3, "{example:?}");
        found.push(due);
        let import = import_all(&paths, &ImportOptions::default()).expect("logs");
        assert_eq!((import.lines, import.requests, import.seconds.span_s()), (7, 6, 12));
    }
    let expected =
        [(250, "/a"), (1000, "/e"), (2500, "/b"), (10_000, "/f"), (10_750, "/c"), (11_000, "/d")]
            .map(|(ms, path)| (ms, path.to_owned()));
    assert_eq!(found[0], expected);
    assert!(found.iter().all(|one| *one == found[0]), "{found:?}");
    let many = vec![paths[0].clone(); 257];
    let error = Replay::open_all(&many, &ReplayOptions::default()).expect_err("too many");
    assert!(error.to_string().contains("257"), "{error}");
}

#[test]
fn hosts_are_kept_and_paths_rewritten_where_that_is_wanted() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = "\
h2 2026-03-03T08:00:00.1Z app/f/0 192.0.2.5:1 - 0 0 0 200 - 0 9 \"GET https://a.example:443/v1/x HTTP/2\" \"U\" -
http 2026-03-03T08:00:01.1Z app/f/0 192.0.2.5:1 - 0 0 0 200 - 0 9 \"GET http://b.example:8080/v1/x HTTP/1.1\" \"U\" -
h2 2026-03-03T08:00:02.1Z app/f/0 192.0.2.5:1 - 0 0 0 200 - 0 9 \"GET https://a.example:443/v1/x HTTP/2\" \"U\" -
";
    let path = file(&folder, "alb.log", log);
    let asked = |keep_host| {
        let rewrites = vec![Rewrite::parse("^/v1/=/v2/").expect("a rule")];
        let options = ReplayOptions { keep_host, rewrites, ..ReplayOptions::default() };
        let replay = Replay::open(&path, &options).expect("a replay");
        assert_eq!(replay.hosts().collect::<Vec<_>>(), ["a.example", "b.example:8080"]);
        let order: Vec<u32> = replay
            .due(Share::WHOLE)
            .expect("a replay")
            .map(|due| due.expect("a request").index)
            .collect();
        let list = replay.requests(&Request::new(base())).expect("sound requests").list;
        let host = |request: &Request| {
            let host = request.host_given().and_then(|host| host.as_static().map(<[u8]>::to_vec));
            String::from_utf8(host.unwrap_or_default()).expect("ASCII")
        };
        let shown: Vec<String> =
            list.iter().map(|request| format!("{} {}", request.url, host(request))).collect();
        (order, shown)
    };
    let one = (vec![0, 0, 0], vec!["http://h/v2/x ".to_owned()]);
    // Whole URLs of two servers are two texts, though one path is asked.
    let (order, shown) = asked(false);
    assert_eq!((order.len(), shown[0].as_str()), (3, one.1[0].as_str()));
    let (order, shown) = asked(true);
    assert_eq!(order, [0, 1, 0]);
    assert_eq!(shown, ["http://h/v2/x a.example", "http://h/v2/x b.example:8080"]);
}

#[test]
fn an_access_log_is_a_trace_of_its_seconds() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = [clf(10, "GET /a HTTP/1.0"), clf(10, "POST /a HTTP/1.0"), "garbage\n".to_owned()]
        .concat()
        + &clf(13, "GET /a HTTP/1.0").repeat(6);
    let path = file(&folder, "access.log", gzip(text.as_bytes()));
    let trace = Trace::read(&path, None).expect("a trace");
    let (schedule, notes) = trace.schedule(&TraceOptions::default()).expect("a schedule");
    assert_eq!((schedule.total(), schedule.duration_ns(), notes.missing), (8, 4_000_000_000, 0));
    assert!((schedule.rate_at(500_000_000) - 2.0).abs() < 1e-9);
    let remarks = trace.remarks().join("; ");
    assert!(remarks.contains("8 requests") && remarks.contains("line 3: garbage"), "{remarks}");
    let words = LogFormat::parse("%h %l %u %t \"%r\" %>s %b").expect("a format");
    let again = Trace::from_log(&path, Some(&words)).expect("a trace");
    assert_eq!(again.points(), trace.points());
    let resampled = trace.resampled(&TraceOptions::default(), Some(3_000_000_000));
    let resampled = resampled.expect("a trace").times(2.0);
    // Six requests in the last second, which the second interval begins with.
    let expected = [4.0 / 3.0, 4.0];
    assert!(
        resampled.rates.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9),
        "{resampled:?}"
    );
    let mut csv = Vec::new();
    resampled.write_csv(&mut csv).expect("memory takes everything");
    assert!(String::from_utf8(csv).expect("ASCII").starts_with("time_s,rate_per_s\n0,1.33"));
    let fast = TraceOptions { speed: 8.0, ..TraceOptions::default() };
    let fast = trace.resampled(&fast, None).expect("a trace");
    let mut csv = Vec::new();
    fast.write_csv(&mut csv).expect("memory takes everything");
    let csv = String::from_utf8(csv).expect("ASCII");
    assert_eq!(csv, "time_s,rate_per_s\n0,2\n0.125,0\n0.25,0\n0.375,6\n");
    assert!(trace.resampled(&TraceOptions::default(), Some(0)).is_err());
    assert!(trace.resampled(&TraceOptions::default(), Some(1)).is_err(), "too many rows");
    let whole = trace.resampled(&TraceOptions::default(), Some(4_000_000_000));
    assert!(whole.is_err(), "a single row does not say how long it lasts");
}
