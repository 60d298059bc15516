//! The folder as it is written and read back.

use plimsoll_runs::{
    Class, End, Ended, Event, HostSample, Phase, Run, RunError, RunWriter, Sink as _, Tag,
};
use plimsoll_stats::Histogram;
use plimsoll_stats::availability::State;

use crate::made::{self, MS, SECOND};

#[test]
fn a_finished_run_is_plain_files_and_tells_what_went_in() {
    let root = tempfile::tempdir().unwrap();
    let run = made::whole(root.path(), "a");
    let mut files: Vec<String> = std::fs::read_dir(run.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    // The run is open for reading just now, and still nothing lies beside the database.
    assert_eq!(files, ["artifacts", "latency.hlog", "plan.toml", "run.sqlite", "summary.json"]);
    // Bytes 18 and 19 of a database: 1 where it is not in WAL mode.
    let header = std::fs::read(run.path().join("run.sqlite")).unwrap();
    assert_eq!(&header[18..20], [1, 1]);

    assert_eq!(run.meta(), &made::meta("a", 2, 4));
    assert_eq!(run.end(), Some(&made::end(Ended::Complete)));
    assert!(run.is_complete());
    assert_eq!(run.plan_text(), "# a plan\nrate = \"10/s\"\n");
    assert_eq!(run.host_facts()[0], ("kernel".to_owned(), "6.1".to_owned()));
    assert_eq!(run.measured().unwrap(), 2 * SECOND..6 * SECOND);
}

#[test]
fn seconds_come_back_as_they_went_in() {
    let root = tempfile::tempdir().unwrap();
    let run = made::whole(root.path(), "a");
    let rows = run.intervals().unwrap();
    assert_eq!(rows.len(), 6);
    let (first, last) = (&rows[0], &rows[5]);
    assert_eq!((first.start_s, first.len_s, first.phase), (0.0, 1.0, Phase::WarmUp));
    assert_eq!((last.start_s, last.phase), (5.0, Phase::Measured));
    assert_eq!((last.events.offered, last.events.succeeded), (100, 100));
    assert_eq!(last.events.status, [(200, 100)]);
    assert_eq!((last.events.bytes_in, last.events.bytes_out), (20_000, 5_000));
    assert_eq!((last.connections, last.rtt_us, last.cpu_s), (4, Some(30.0), 0.5));
    assert_eq!((last.busy_share, last.behind), (Some(0.25), false));
    // 8 ms lies in a bucket of 4,096 ns: its upper end is below 8.0041 ms.
    for (name, value) in [("p50", last.p50_us), ("p90", last.p90_us), ("mean", last.mean_us)] {
        let value = value.unwrap();
        assert!((7999.0..8004.1).contains(&value), "{name} {value}");
    }
    // Of a hundred answers one lies beyond the p99: too few, in a second as in a run.
    assert_eq!((last.p99_us, last.p999_us, last.service_p99_us), (None, None, None));
    assert!(rows.iter().all(|row| row.p90_us <= row.max_us), "no percentile above the maximum");
    assert_eq!(last.max_us, Some(8000.0));
    assert_eq!(last.lateness_max_us, Some(10.0));
    let states: Vec<State> = rows.iter().map(|row| row.availability).collect();
    use State::{NotCounted, Up};
    assert_eq!(states, [NotCounted, NotCounted, Up, Up, Up, Up], "the warm-up does not count");

    let host = run.host_series().unwrap();
    assert_eq!(host.len(), 6);
    assert_eq!((host[5].at_s, host[5].steal_share), (6.0, Some(0.0)));
    assert_eq!(host[5].timer_late_max_us, Some(60.0));
}

#[test]
fn histograms_are_kept_by_phase_and_second() {
    let root = tempfile::tempdir().unwrap();
    let run = made::whole(root.path(), "a");
    let warm_up = run.histogram(Phase::WarmUp, Tag::Response).unwrap();
    assert_eq!(warm_up.count(), 200);
    assert!(warm_up.max().unwrap() < MS + 1000);
    let measured = run.histogram(Phase::Measured, Tag::Response).unwrap();
    assert_eq!(measured.count(), 400);

    let over_time = run.histograms_over_time(Phase::Measured, Tag::Response).unwrap();
    let places: Vec<(u64, u64)> = over_time.iter().map(|(start, len, _)| (*start, *len)).collect();
    assert_eq!(places, [2, 3, 4, 5].map(|k| (k * SECOND, SECOND)));
    let mut sum = Histogram::new();
    over_time.iter().for_each(|(_, _, histogram)| sum.add(histogram));
    assert!(sum.buckets().eq(measured.buckets()), "seconds add up to the whole");

    let steps = run.histograms_in_steps(Phase::Measured, Tag::Response, 4 * SECOND).unwrap();
    let found: Vec<_> = steps.iter().map(|(start, len, sum)| (*start, *len, sum.count())).collect();
    assert_eq!(found, [(2 * SECOND, 2 * SECOND, 200), (4 * SECOND, 2 * SECOND, 200)]);
}

#[test]
fn every_second_is_there_for_another_reader_at_once() {
    let root = tempfile::tempdir().unwrap();
    let mut writer = RunWriter::create(root.path(), &made::meta("a", 0, 10)).unwrap();
    assert_eq!(Run::open(writer.path()).unwrap().intervals().unwrap().len(), 0);
    for k in 0..10 {
        let mut interval = made::second(k);
        made::answered(&mut interval, Phase::Measured, 50, 3 * MS, 0);
        writer.interval(&interval).unwrap();
        made::host(&mut writer, k + 1, 0.0, 1);
        let (text, kind) = ("a word".to_owned(), "warning".to_owned());
        writer
            .event(&Event { at_ns: (k + 1) * SECOND, class: Class::Failure, kind, text })
            .unwrap();

        let run = Run::open(writer.path()).unwrap();
        let seconds = usize::try_from(k).unwrap() + 1;
        assert_eq!(run.intervals().unwrap().len(), seconds);
        assert_eq!(run.host_series().unwrap().len(), seconds);
        assert_eq!(run.events().unwrap().len(), seconds);
        assert_eq!(run.total(Phase::Measured).unwrap().completed, (k + 1) * 50);
        let response = run.histogram(Phase::Measured, Tag::Response).unwrap();
        assert_eq!(response.count(), (k + 1) * 50);
        assert!(!run.is_complete());
        let summary = run.summary().unwrap();
        assert_eq!((summary.run.ended.as_str(), summary.completed), ("incomplete", (k + 1) * 50));
    }
    let run = writer.finish(made::end(Ended::Complete)).unwrap();
    let summary = run.summary().unwrap();
    assert_eq!((summary.run.ended.as_str(), summary.completed), ("complete", 500));
}

#[test]
fn a_run_is_asked_to_end_by_another_process_until_it_has_ended() {
    let root = tempfile::tempdir().unwrap();
    let mut writer = made::steps(root.path(), "a");
    assert!(!writer.is_asked_to_end());
    assert!(plimsoll_runs::ask_to_end(writer.path(), 7 * SECOND).unwrap());
    assert!(writer.is_asked_to_end());
    writer.interval(&made::second(6)).unwrap();
    let (class, kind) = (Class::Run, "asked".to_owned());
    writer.event(&Event { at_ns: 8 * SECOND, class, kind, text: String::new() }).unwrap();
    let measured_ns = Some(4 * SECOND);
    let run = writer.finish(End { measured_ns, ..made::end(Ended::Asked) }).unwrap();
    let kinds: Vec<String> = run.events().unwrap().into_iter().map(|of| of.kind).collect();
    assert_eq!(kinds, ["stop", "asked"]);
    let summary = run.summary().unwrap();
    assert_eq!((summary.run.ended.as_str(), summary.is_whole()), ("asked", true));
    let before = std::fs::read(run.path().join("run.sqlite")).unwrap();
    assert!(!plimsoll_runs::ask_to_end(run.path(), 9 * SECOND).unwrap());
    assert_eq!(std::fs::read(run.path().join("run.sqlite")).unwrap(), before);
    assert!(plimsoll_runs::ask_to_end(root.path(), 0).is_err());
}

#[test]
fn a_run_that_is_being_read_can_be_finished() {
    let root = tempfile::tempdir().unwrap();
    let writer = made::steps(root.path(), "a");
    let reader = Run::open(writer.path()).unwrap();
    assert_eq!(reader.intervals().unwrap().len(), 6);
    let run = writer.finish(made::end(Ended::Complete)).unwrap();
    assert_eq!(run.summary().unwrap().completed, 400);
    assert_eq!(reader.intervals().unwrap().len(), 6);
}

#[test]
fn events_keep_their_order_and_text() {
    let root = tempfile::tempdir().unwrap();
    let mut writer = made::steps(root.path(), "a");
    let events = [(0, "started", "it's on; \"so\""), (6 * SECOND, "finished", "")];
    let events = events.map(|(at_ns, kind, text)| Event {
        at_ns,
        class: Class::Run,
        kind: kind.to_owned(),
        text: text.to_owned(),
    });
    events.iter().for_each(|event| writer.event(event).unwrap());
    let run = writer.finish(made::end(Ended::Complete)).unwrap();
    assert_eq!(run.events().unwrap(), events);
}

#[test]
fn a_folder_is_never_written_over() {
    let root = tempfile::tempdir().unwrap();
    let run = made::whole(root.path(), "a");
    let error = RunWriter::create(root.path(), &made::meta("a", 0, 1)).err().unwrap();
    assert!(matches!(&error, RunError::Exists { path } if path == run.path()), "{error}");
    assert_eq!(run.summary().unwrap().completed, 400);
}

#[test]
fn what_is_no_run_is_said_to_be_none() {
    let root = tempfile::tempdir().unwrap();
    let error = Run::open(root.path()).unwrap_err();
    assert!(matches!(error, RunError::NotARun { missing: "run.sqlite", .. }), "{error}");
    std::fs::write(root.path().join("run.sqlite"), "not a database at all").unwrap();
    let error = Run::open(root.path()).unwrap_err();
    assert!(matches!(error, RunError::Database { .. }), "{error}");
    std::fs::write(root.path().join("run.sqlite"), "").unwrap();
    let error = Run::open(root.path()).unwrap_err();
    assert!(matches!(error, RunError::NotARun { .. }), "{error}");
}

#[test]
fn a_later_format_is_refused_by_name() {
    let root = tempfile::tempdir().unwrap();
    let run = made::whole(root.path(), "a");
    let path = run.path().to_path_buf();
    drop(run);
    let file = path.join("run.sqlite");
    let mut bytes = std::fs::read(&file).unwrap();
    // Byte 60 of a database: its user version, big-endian.
    assert_eq!(&bytes[60..64], [0, 0, 0, 2]);
    bytes[63] = 3;
    std::fs::write(&file, bytes).unwrap();
    let error = Run::open(&path).unwrap_err();
    assert!(matches!(error, RunError::Format { found: 3, known: 2, .. }), "{error}");
    assert!(plimsoll_units::failure::told(&error).contains("use the version that wrote it"));
}

#[test]
fn a_host_that_tells_little_is_kept_as_it_is() {
    let root = tempfile::tempdir().unwrap();
    let mut writer = RunWriter::create(root.path(), &made::meta("a", 0, 1)).unwrap();
    let nothing = Histogram::new();
    let sample = HostSample { steal_share: None, timer_late: &nothing };
    writer.host(SECOND, &sample).unwrap();
    let run = writer.finish(made::end(Ended::Complete)).unwrap();
    let host = run.host_series().unwrap();
    assert_eq!((host[0].steal_share, host[0].timer_late_p50_us), (None, None));
    let summary = run.summary().unwrap();
    assert_eq!((summary.host.steal_share, summary.host.timer_late_us.max), (None, None));
}

#[test]
fn counters_beyond_small_numbers_survive() {
    let root = tempfile::tempdir().unwrap();
    let mut writer = RunWriter::create(root.path(), &made::meta("a", 0, 1)).unwrap();
    let mut interval = made::second(0);
    interval.phases[Phase::Measured as usize].counters.bytes_in = u64::from(u32::MAX) * 1_000_000;
    interval.oldest_outstanding_ns = u64::MAX;
    writer.interval(&interval).unwrap();
    let run = writer.finish(made::end(Ended::Complete)).unwrap();
    assert_eq!(run.total(Phase::Measured).unwrap().bytes_in, 4_294_967_295_000_000);
    // Held at the greatest that SQLite has, never negative.
    assert!(run.intervals().unwrap()[0].oldest_outstanding_us > 9e15);
    assert_eq!(run.meta().seed, u64::MAX);
}
