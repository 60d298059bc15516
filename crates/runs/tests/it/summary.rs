//! The summary: its form is a contract, its figures are worked out by hand.

use std::path::Path;

use plimsoll_runs::{
    End, Ended, ErrorKind, Interval, LocalCause, Phase, RunMeta, RunWriter, Sink as _, Summary, Tag,
};

use crate::made::{self, MS, SECOND};

fn summary_of(root: &Path, meta: &RunMeta, seconds: &[Interval], end: End) -> Summary {
    let mut writer = RunWriter::create(root, meta).unwrap();
    seconds.iter().for_each(|second| writer.interval(second).unwrap());
    writer.finish(end).unwrap().summary().unwrap()
}

/// `n` seconds of 200 answers of 2 ms each.
fn plain(n: u64) -> Vec<Interval> {
    let mut seconds: Vec<Interval> = (0..n).map(made::second).collect();
    for second in &mut seconds {
        made::answered(second, Phase::Measured, 200, 2 * MS, 10_000);
    }
    seconds
}

fn complete() -> End {
    made::end(Ended::Complete)
}

/// The names of an object's fields in a text of indented JSON, in their order. The object is named
/// by its path from the top, which is the empty one.
fn fields<'a>(text: &'a str, path: &[&str]) -> Vec<&'a str> {
    let mut lines = text.lines().skip(1);
    let mut indent = "  ".to_owned();
    for name in path {
        let opening = format!("{indent}\"{name}\": {{");
        assert!(lines.by_ref().any(|line| line == opening), "no object {path:?}");
        indent += "  ";
    }
    let own = format!("{indent}\"");
    lines
        .take_while(|line| line.starts_with(&indent))
        .filter(|line| line.starts_with(&own))
        .map(|line| line.split('"').nth(1).unwrap())
        .collect()
}

/// The contract's form: an object's path and its fields.
const FORM: [(&[&str], &str); 17] = [
    (
        &[],
        "schema warnings run duration_s warmup_s drain_s offered sent completed succeeded \
         redirects in_flight_at_end rate_mean drained status errors reasons blame bytes \
         connections response_us succeeded_us service_us ttfb_us connect_us \
         connection_wait_us availability generator host slo warm_up",
    ),
    (
        &["run"],
        "id name started version seed plan_sha256 inputs_sha256 valid invalid_because ended",
    ),
    (&["blame"], "target generator environment"),
    (&["bytes"], "in out"),
    (&["connections"], "opened peak stale failed"),
    (&["response_us"], PERCENTILES),
    (&["succeeded_us"], PERCENTILES),
    (&["service_us"], PERCENTILES),
    (&["ttfb_us"], PERCENTILES),
    (&["connect_us"], PERCENTILES),
    (&["connection_wait_us"], PERCENTILES),
    (&["availability"], "interval_s up_s down_s ratio nines"),
    (&["generator"], "threads pacing cpu_s busy_share max_rss_bytes max_rate lateness_us turn_us"),
    (&["generator", "lateness_us"], "p50 p99 max"),
    (&["generator", "turn_us"], "p50 p99 max"),
    (&["host"], "steal_share timer_late_us"),
    (&["host", "timer_late_us"], "p50 p99 max"),
];

const PERCENTILES: &str =
    "count min mean stddev p25 p50 p66 p75 p80 p90 p95 p98 p99 p999 p9999 max";

#[test]
fn the_form_is_the_contracts() {
    let root = tempfile::tempdir().unwrap();
    let run = made::whole(root.path(), "a");
    let text = std::fs::read_to_string(run.path().join("summary.json")).unwrap();
    for (path, wanted) in FORM {
        assert_eq!(fields(&text, path).join(" "), wanted, "{path:?}");
    }
    assert_eq!(serde_json::from_str::<Summary>(&text).unwrap(), run.summary().unwrap());
}

#[test]
fn figures_of_a_run_by_hand() {
    let root = tempfile::tempdir().unwrap();
    let run = made::whole(root.path(), "a");
    let summary = run.summary().unwrap();
    assert_eq!(summary.schema, 1);
    assert!(summary.warnings.is_empty(), "{:?}", summary.warnings);
    assert_eq!(summary.run.started, "2026-03-01T12:00:00.250Z");
    assert_eq!((summary.run.valid, summary.run.ended.as_str()), (true, "complete"));
    assert_eq!((summary.duration_s, summary.warmup_s, summary.drain_s), (4.0, 2.0, 0.0));
    let counts = (summary.offered, summary.sent, summary.completed, summary.succeeded);
    assert_eq!(counts, (400, 400, 400, 400));
    assert!((summary.rate_mean.unwrap() - 100.0).abs() < 1e-12);
    assert_eq!(summary.status["200"], 400);
    assert!(summary.errors.is_empty());
    assert_eq!((summary.bytes.received, summary.bytes.sent), (80_000, 20_000));
    assert_eq!(summary.connections.peak, 4);
    // 100 each of 2, 4, 6, 8 ms: the mean is 5 ms, the deviation √5 ms, to a bucket's width.
    let response = &summary.response_us;
    assert_eq!(response.count, 400);
    assert!((response.mean.unwrap() - 5000.0).abs() < 3.0, "{response:?}");
    assert!((response.stddev.unwrap() - 2236.07).abs() < 3.0, "{response:?}");
    for (found, wanted) in [(response.p25, 2000.0), (response.p50, 4000.0), (response.p66, 6000.0)]
    {
        assert!((found.unwrap() / wanted - 1.0).abs() < 0.001, "{found:?} {wanted}");
    }
    assert_eq!(response.p98, None, "eight lie beyond");
    assert!((summary.service_us.p50.unwrap() / 3990.0 - 1.0).abs() < 0.001);
    assert_eq!(summary.connection_wait_us.max, Some(0.0));
    assert_eq!(summary.connect_us.count, 0);
    assert_eq!((summary.availability.up_s, summary.availability.down_s), (4, 0));
    assert_eq!(summary.availability.nines, None);
    let generator = &summary.generator;
    assert_eq!((generator.threads, generator.pacing.as_str()), (1, "precise"));
    assert_eq!((generator.cpu_s, generator.busy_share), (3.0, 0.25));
    assert_eq!(generator.max_rss_bytes, Some(7_000_000));
    assert!((generator.turn_us.p50.unwrap() / 20.0 - 1.0).abs() < 0.001);
    assert_eq!(summary.host.steal_share, Some(0.0));
    assert!((summary.host.timer_late_us.p99.unwrap() / 60.0 - 1.0).abs() < 0.001);
    let warm_up = summary.warm_up.unwrap();
    assert_eq!((warm_up.offered, warm_up.completed, warm_up.response_us.count), (200, 200, 200));
    assert!((warm_up.response_us.p50.unwrap() / 1000.0 - 1.0).abs() < 0.001);
}

#[test]
fn a_request_counts_in_the_phase_it_was_due_in() {
    let root = tempfile::tempdir().unwrap();
    // Due in the warm-up's second, answered in the measured one.
    let mut seconds: Vec<Interval> = (0..2).map(made::second).collect();
    made::answered(&mut seconds[1], Phase::WarmUp, 50, 2 * MS, 0);
    made::answered(&mut seconds[1], Phase::Measured, 20, 3 * MS, 0);
    let summary = summary_of(root.path(), &made::meta("a", 1, 1), &seconds, complete());
    assert_eq!((summary.completed, summary.response_us.count), (20, 20));
    let warm_up = summary.warm_up.unwrap();
    assert_eq!((warm_up.completed, warm_up.response_us.count), (50, 50));
    assert!(warm_up.response_us.p50.unwrap() < 2100.0);
}

#[test]
fn without_a_warm_up_there_are_no_figures_of_one() {
    let root = tempfile::tempdir().unwrap();
    let summary = summary_of(root.path(), &made::meta("a", 0, 2), &plain(2), complete());
    assert_eq!(summary.warm_up, None);
    let value = serde_json::to_value(&summary).unwrap();
    assert!(value["warm_up"].is_null() && value.get("warm_up").is_some());
}

#[test]
fn failures_are_counted_by_kind_and_blame() {
    let root = tempfile::tempdir().unwrap();
    let mut seconds = plain(4);
    made::failed(&mut seconds[1], Phase::Measured, 5, ErrorKind::Timeout);
    made::failed(&mut seconds[2], Phase::Measured, 4, ErrorKind::Status);
    made::failed(&mut seconds[2], Phase::Measured, 1, ErrorKind::Reset);
    let counters = &mut seconds[3].phases[Phase::Measured as usize].counters;
    counters.offered += 5;
    counters.local_n(LocalCause::Descriptors, 1);
    counters.local_n(LocalCause::Access, 1);
    counters.error(ErrorKind::Dns);
    counters.error(ErrorKind::ClientSaturated);
    counters.error(ErrorKind::Connect);
    let summary = summary_of(root.path(), &made::meta("a", 0, 4), &seconds, complete());
    let errors: Vec<(&str, u64)> =
        summary.errors.iter().map(|(kind, n)| (kind.as_str(), *n)).collect();
    assert_eq!(
        errors,
        [
            ("client_saturated", 1),
            ("connect", 1),
            ("dns", 1),
            ("local", 2),
            ("reset", 1),
            ("status", 4),
            ("timeout", 5),
        ]
    );
    assert_eq!((summary.offered, summary.completed, summary.succeeded), (815, 804, 800));
    let blame = summary.blame;
    assert_eq!((blame.target, blame.generator, blame.environment), (12, 1, 2));
    assert!(summary.run.invalid_because[0].contains("EMFILE × 1"), "{:?}", summary.run);
    assert_eq!((summary.status["200"], summary.status["503"]), (800, 4));
    assert!(summary.warnings.is_empty(), "the counts add up: {:?}", summary.warnings);
    assert_eq!(summary.response_us.count, 809, "answers and what was given up");
}

#[test]
fn counts_that_do_not_add_up_are_said_to() {
    let root = tempfile::tempdir().unwrap();
    let mut seconds = plain(1);
    seconds[0].phases[Phase::Measured as usize].counters.offered += 2;
    let summary = summary_of(root.path(), &made::meta("a", 0, 1), &seconds, complete());
    assert_eq!(summary.warnings.len(), 1);
    assert!(summary.warnings[0].contains("2 requests due"), "{}", summary.warnings[0]);
}

#[test]
fn seconds_are_up_down_or_not_counted() {
    let root = tempfile::tempdir().unwrap();
    let mut seconds: Vec<Interval> = (0..8).map(made::second).collect();
    // 0 is the warm-up, 7 the drain: failures there do not count.
    made::failed(&mut seconds[0], Phase::WarmUp, 9, ErrorKind::Timeout);
    made::answered(&mut seconds[1], Phase::Measured, 1, MS, 0);
    made::failed(&mut seconds[1], Phase::Measured, 9, ErrorKind::Timeout);
    made::failed(&mut seconds[2], Phase::Measured, 1, ErrorKind::Status);
    seconds[3].oldest_outstanding_ns = SECOND;
    seconds[4].oldest_outstanding_ns = SECOND - 1;
    // What only the end cut off is no failure of the service.
    seconds[5].events.error(ErrorKind::Cut);
    seconds[5].events.error(ErrorKind::InFlightAtEnd);
    made::answered(&mut seconds[6], Phase::Measured, 1, MS, 0);
    made::failed(&mut seconds[7], Phase::Measured, 9, ErrorKind::Timeout);
    let summary = summary_of(root.path(), &made::meta("a", 1, 6), &seconds, complete());
    let availability = &summary.availability;
    assert_eq!((availability.up_s, availability.down_s), (2, 2));
    assert_eq!((availability.ratio, availability.nines), (Some(0.5), Some(0)));
}

#[test]
fn a_late_generator_makes_the_run_invalid_and_takes_the_verdicts_that_hang_on_it() {
    let root = tempfile::tempdir().unwrap();
    let mut meta = made::meta("late", 0, 2);
    meta.slo = Some("p99<1s, p99<4ms, p99<1ms, errors<1%".to_owned());
    let mut seconds = plain(5);
    meta.duration_ns = 5 * SECOND;
    made::answered(&mut seconds[1], Phase::Measured, 20, 5 * MS, 3 * MS);
    let summary = summary_of(root.path(), &meta, &seconds, complete());
    assert!(!summary.run.valid);
    assert_eq!(summary.run.invalid_because.len(), 1, "{:?}", summary.run.invalid_because);
    let because = &summary.run.invalid_because[0];
    assert!(because.contains("lateness p99") && because.contains("is 3 ms"), "{because}");
    // The p99 is 5 ms as measured, 2 ms without what those were late.
    let passes: Vec<_> = summary.slo.iter().map(|verdict| verdict.pass).collect();
    assert_eq!(passes, [Some(true), None, Some(false), Some(true)], "{:?}", summary.slo);
    assert!((summary.slo[1].value.unwrap() / 5000.0 - 1.0).abs() < 0.001, "as measured");
    let note = summary.slo[1].note.as_ref().unwrap();
    assert!(note.contains("broken as measured, held without the generator's own part"), "{note}");
    assert!(serde_json::to_value(&summary).unwrap()["slo"][1]["pass"].is_null());

    // The same lateness where answers take 50 ms is the system's business.
    meta.id = "slow".to_owned();
    let mut seconds: Vec<Interval> = (0..2).map(made::second).collect();
    made::answered(&mut seconds[0], Phase::Measured, 1400, 50 * MS, 10_000);
    made::answered(&mut seconds[1], Phase::Measured, 20, 50 * MS, 3 * MS);
    let summary = summary_of(root.path(), &meta, &seconds, complete());
    assert!(summary.run.valid, "{:?}", summary.run.invalid_because);
    assert_eq!(summary.slo[0].pass, Some(true));
}

#[test]
fn failures_of_ours_that_decide_a_clause_make_the_run_invalid() {
    let root = tempfile::tempdir().unwrap();
    let run = |id: &str, slo: &str, local: u64| {
        let mut meta = made::meta(id, 0, 10);
        meta.slo = Some(slo.to_owned());
        let mut seconds = plain(10);
        let second = &mut seconds[3];
        for counters in [&mut second.events, &mut second.phases[1].counters] {
            counters.offered += local;
            counters.local_n(LocalCause::Ports, local);
        }
        summary_of(root.path(), &meta, &seconds, complete())
    };
    let summary = run("held", "errors<1%", 1);
    assert_eq!((summary.run.valid, summary.slo[0].pass), (true, Some(true)));
    let summary = run("decided", "lost<1", 1);
    assert_eq!((summary.run.valid, summary.slo[0].pass), (false, None));
    let why = &summary.run.invalid_because[0];
    assert!(why.contains("which decide lost<1") && why.contains("EADDRNOTAVAIL"), "{why}");
    assert_eq!(summary.availability.down_s, 0);
    let summary = run("many", "errors<1%", 3);
    assert_eq!((summary.run.valid, summary.slo[0].pass), (false, Some(true)), "and held");
}

#[test]
fn a_target_that_answers_nothing_is_to_blame_however_late_we_were() {
    let root = tempfile::tempdir().unwrap();
    let mut meta = made::meta("silent", 0, 2);
    meta.slo = Some("p99<1s, errors<1%".to_owned());
    let mut seconds: Vec<Interval> = (0..2).map(made::second).collect();
    for second in &mut seconds {
        let slice = &mut second.phases[Phase::Measured as usize];
        slice.histograms[Tag::Lateness as usize].record_n(5 * MS, 600);
        for counters in [&mut slice.counters, &mut second.events] {
            counters.offered += 1000;
            counters.sent += 600;
            counters.errors[ErrorKind::InFlightAtEnd as usize] += 600;
            counters.errors[ErrorKind::Cut as usize] += 400;
        }
    }
    let summary = summary_of(root.path(), &meta, &seconds, complete());
    assert!(summary.run.valid, "{:?}", summary.run.invalid_because);
    let blame = summary.blame;
    assert_eq!((blame.target, blame.generator, blame.environment), (2000, 0, 0));
    assert!(summary.slo.iter().all(|verdict| verdict.pass == Some(false)), "{:?}", summary.slo);
}

#[test]
fn a_second_that_is_mostly_drain_is_none_of_the_schedules() {
    let root = tempfile::tempdir().unwrap();
    let down_of = |id: &str, duration_ns: u64| {
        let mut meta = made::meta(id, 0, 0);
        meta.duration_ns = duration_ns;
        let mut seconds: Vec<Interval> = (0..3).map(made::second).collect();
        seconds.iter_mut().for_each(|second| second.oldest_outstanding_ns = SECOND);
        summary_of(root.path(), &meta, &seconds, complete()).availability.down_s
    };
    assert_eq!(down_of("a tenth", 2 * SECOND + 100 * MS), 2);
    assert_eq!(down_of("less than half", 2 * SECOND + 499 * MS), 2);
    assert_eq!(down_of("half", 2 * SECOND + 500 * MS), 3);
}

#[test]
fn three_busy_seconds_behind_schedule_make_it_invalid_and_cpu_does_not() {
    let root = tempfile::tempdir().unwrap();
    let run = |id: &str, busy: &[(bool, u64)], warmup_s: u64| {
        let mut seconds = plain(6);
        for (second, (behind, busy_percent)) in seconds.iter_mut().zip(busy) {
            second.behind = *behind;
            second.busy_ns = SECOND / 100 * busy_percent;
            second.cpu_ns = SECOND;
        }
        let meta = made::meta(id, warmup_s, 6 - warmup_s);
        summary_of(root.path(), &meta, &seconds, complete())
    };
    assert!(run("spinning", &[(false, 100); 6], 0).run.valid, "busy, and in time");
    assert!(run("idle", &[(true, 95); 6], 0).run.valid, "behind, and not busy");
    assert!(run("twice", &[(true, 96), (true, 96), (false, 99)], 0).run.valid);
    let scattered = [(true, 96), (false, 10), (true, 99), (false, 10), (true, 100)];
    let summary = run("thrice", &scattered, 0);
    assert!(!summary.run.valid);
    assert!(summary.run.invalid_because[0].contains("3 seconds"));
    assert!(run("in the warm-up", &scattered, 1).run.valid, "the warm-up's do not count");
}

#[test]
fn client_saturated_is_the_generators_where_it_was_late() {
    let root = tempfile::tempdir().unwrap();
    let run = |id: &str, late_ns: u64| {
        let mut seconds = plain(1);
        made::answered(&mut seconds[0], Phase::Measured, 400, 5 * MS, late_ns);
        let counters = &mut seconds[0].phases[Phase::Measured as usize].counters;
        counters.offered += 7;
        counters.errors[ErrorKind::ClientSaturated as usize] = 7;
        summary_of(root.path(), &made::meta(id, 0, 1), &seconds, complete())
    };
    let healthy = run("healthy", 10_000);
    assert_eq!((healthy.run.valid, healthy.blame.target, healthy.blame.generator), (true, 7, 0));
    let late = run("late", 2 * MS);
    assert_eq!((late.run.valid, late.blame.target, late.blame.generator), (false, 0, 7));
}

#[test]
fn reasons_from_outside_count_as_well() {
    let root = tempfile::tempdir().unwrap();
    let mut end = made::end(Ended::Stopped("errors>50% for 5s".to_owned()));
    end.invalid_because = vec!["a worker thread was lost".to_owned()];
    end.warnings = vec!["the clock was stepped".to_owned()];
    end.measured_ns = Some(SECOND);
    end.max_rate_per_s = Some(123.5);
    let summary = summary_of(root.path(), &made::meta("a", 0, 9), &plain(1), end);
    assert_eq!(summary.run.invalid_because, ["a worker thread was lost"]);
    assert!(!summary.run.valid);
    assert_eq!(summary.warnings, ["stopped: errors>50% for 5s", "the clock was stepped"]);
    assert_eq!((summary.run.ended.as_str(), summary.duration_s), ("stopped", 1.0));
    assert_eq!(summary.generator.max_rate, Some(123.5));
}

#[test]
fn the_slo_is_judged_over_all_requests_due() {
    let root = tempfile::tempdir().unwrap();
    let mut meta = made::meta("a", 0, 2);
    meta.slo = Some("p90<3ms,p99<3ms,errors<5%,rate>=200/s,availability>=99%".to_owned());
    let mut seconds = plain(2);
    // 20 of 420 fail: within the errors, beyond the p99.
    made::failed(&mut seconds[1], Phase::Measured, 20, ErrorKind::Status);
    let summary = summary_of(root.path(), &meta, &seconds, complete());
    let passes: Vec<(&str, Option<bool>)> =
        summary.slo.iter().map(|verdict| (verdict.expr.as_str(), verdict.pass)).collect();
    assert_eq!(
        passes,
        [
            ("p90<3ms", Some(true)),
            ("p99<3ms", Some(false)),
            ("errors<5%", Some(true)),
            ("rate>=200/s", Some(true)),
            ("availability>=99%", Some(false)),
        ]
    );
    assert_eq!(summary.slo[1].value, None, "beyond every bound");
    assert!((summary.slo[3].value.unwrap() - 210.0).abs() < 1e-9, "completed, not succeeded");
    assert!(summary.slo[4].note.as_ref().unwrap().contains("not resolvable in this run"));
}

#[test]
fn an_slo_that_is_none_is_a_warning_not_an_end() {
    let root = tempfile::tempdir().unwrap();
    let mut meta = made::meta("a", 0, 1);
    meta.slo = Some("p99 is nice".to_owned());
    let summary = summary_of(root.path(), &meta, &plain(1), complete());
    assert!(summary.slo.is_empty());
    assert!(summary.warnings[0].contains("SLO"), "{:?}", summary.warnings);
}

#[test]
fn a_noisy_host_is_worth_a_word() {
    let root = tempfile::tempdir().unwrap();
    let mut writer = RunWriter::create(root.path(), &made::meta("a", 1, 2)).unwrap();
    for (k, second) in plain(3).iter().enumerate() {
        writer.interval(second).unwrap();
        let at_s = k as u64 + 1;
        // The warm-up's second does not count.
        let (steal, late_ns) = if at_s == 1 { (0.9, 90 * MS) } else { (0.05, 2 * MS) };
        made::host(&mut writer, at_s, steal, late_ns);
    }
    let summary = writer.finish(complete()).unwrap().summary().unwrap();
    assert!((summary.host.steal_share.unwrap() - 0.05).abs() < 1e-12);
    assert!(summary.host.timer_late_us.max.unwrap() < 2100.0);
    assert_eq!(summary.warnings.len(), 2, "{:?}", summary.warnings);
    assert!(summary.warnings[0].contains("5%") && summary.warnings[1].contains("late"));
}

#[test]
fn a_generator_that_spins_must_not_have_real_time_priority() {
    let root = tempfile::tempdir().unwrap();
    let mut meta = made::meta("a", 0, 1);
    meta.host.push(("real_time_priority".to_owned(), "10".to_owned()));
    meta.load.as_mut().unwrap().pacing = "precise".to_owned();
    let summary = summary_of(root.path(), &meta, &plain(1), complete());
    assert!(summary.warnings[0].contains("real-time"), "{:?}", summary.warnings);
    meta.id = "b".to_owned();
    meta.load.as_mut().unwrap().pacing = "thrifty".to_owned();
    let summary = summary_of(root.path(), &meta, &plain(1), complete());
    assert!(summary.warnings.is_empty(), "{:?}", summary.warnings);
}

#[test]
fn connections_are_the_whole_runs() {
    let root = tempfile::tempdir().unwrap();
    let mut seconds = plain(3);
    for (second, (opened, connections, stale)) in
        seconds.iter_mut().zip([(64, 64, 0), (0, 64, 2), (3, 61, 1)])
    {
        (second.opened, second.connections, second.stale) = (opened, connections, stale);
        second.phases[Phase::WarmUp as usize].histograms[Tag::Connect as usize].record(MS);
    }
    let summary = summary_of(root.path(), &made::meta("a", 1, 2), &seconds, complete());
    let connections = summary.connections;
    assert_eq!((connections.opened, connections.peak, connections.stale), (67, 64, 3));
    assert_eq!(summary.connect_us.count, 0, "attempts of the warm-up are its own");
}

#[test]
fn a_run_of_nothing_has_a_summary() {
    let root = tempfile::tempdir().unwrap();
    let end = made::end(Ended::Failed("nobody answered".to_owned()));
    let summary = summary_of(root.path(), &made::meta("a", 5, 5), &[], end);
    assert_eq!((summary.duration_s, summary.warmup_s, summary.rate_mean), (0.0, 0.0, None));
    assert_eq!(summary.availability.ratio, None);
    assert_eq!(summary.generator.lateness_us.p99, None);
    assert_eq!(summary.warnings, ["failed: nobody answered"]);
    // What failed says nothing of what it was to measure.
    assert!(!summary.run.valid);
}
