//! A run that is read while it is written.

use std::time::Duration;

use plimsoll_runs::summary::GOES_ON;
use plimsoll_runs::{Ended, ErrorKind, Phase, Run, RunMeta, RunWriter, Sink as _};
use plimsoll_stats::slo::NOTHING_DUE;

use crate::made::{self, MS};

#[test]
fn what_is_under_way_is_in_no_figure_of_a_run_that_goes_on() {
    let root = tempfile::tempdir().unwrap();
    let mut writer = RunWriter::create(root.path(), &made::meta("a", 0, 30)).unwrap();
    let mut interval = made::second(0);
    made::answered(&mut interval, Phase::Measured, 10, MS, 0);
    made::failed(&mut interval, Phase::Measured, 2, ErrorKind::Timeout);
    // Three more were due, of which two were sent.
    let counters = &mut interval.phases[Phase::Measured as usize].counters;
    counters.offered += 3;
    counters.sent += 2;
    writer.interval(&interval).unwrap();
    let run = Run::open_going_on(writer.path()).unwrap();
    assert!(run.goes_on() && !run.is_complete());
    let summary = run.summary().unwrap();
    assert_eq!((summary.offered, summary.sent, summary.completed), (12, 12, 10));
    assert_eq!(summary.errors.values().sum::<u64>(), 2);
    assert_eq!((summary.in_flight_at_end, &*summary.run.ended), (0, GOES_ON));
    assert!(summary.warnings.is_empty(), "{:?}", summary.warnings);
    assert!(!writer.path().join("summary.json").exists(), "nothing of it is kept");

    // It stays as it was when it was opened.
    let mut later = made::second(1);
    made::answered(&mut later, Phase::Measured, 5, MS, 0);
    writer.interval(&later).unwrap();
    assert_eq!((run.intervals().unwrap().len(), run.summary().unwrap().completed), (1, 10));
    let anew = Run::open_going_on(writer.path()).unwrap();
    assert_eq!((anew.intervals().unwrap().len(), anew.summary().unwrap().completed), (2, 15));
    drop((run, anew));

    let path = writer.path().to_owned();
    writer.finish(made::end(Ended::Complete)).unwrap();
    let ended = Run::open_going_on(&path).unwrap();
    assert!(!ended.goes_on() && ended.is_complete());
    assert_eq!(ended.summary().unwrap().run.ended, "complete");
}

#[test]
fn an_objective_is_not_broken_before_anything_is_due() {
    let root = tempfile::tempdir().unwrap();
    let slo = Some("p90<5s".to_owned());
    let mut writer =
        RunWriter::create(root.path(), &RunMeta { slo, ..made::meta("a", 0, 30) }).unwrap();
    let judged = |path: &std::path::Path| {
        let summary = Run::open_going_on(path).unwrap().summary().unwrap();
        (summary.slo[0].pass, summary.slo[0].note.clone())
    };
    assert_eq!(judged(writer.path()), (None, Some(NOTHING_DUE.to_owned())));
    let mut interval = made::second(0);
    made::failed(&mut interval, Phase::Measured, 10, ErrorKind::Timeout);
    writer.interval(&interval).unwrap();
    assert_eq!(judged(writer.path()).0, Some(false));
    let path = writer.path().to_owned();
    writer.finish(made::end(Ended::Complete)).unwrap();
    assert_eq!(judged(&path).0, Some(false));
}

#[test]
fn the_end_of_a_run_awaits_who_reads_it() {
    let root = tempfile::tempdir().unwrap();
    let writer = made::steps(root.path(), "read");
    let path = writer.path().to_owned();
    let reader = Run::open_going_on(&path).unwrap();
    assert_eq!(reader.intervals().unwrap().len(), 6);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            std::thread::park_timeout(Duration::from_millis(150));
            drop(reader);
        });
        writer.finish(made::end(Ended::Complete)).unwrap();
    });
    for beside in ["run.sqlite-wal", "run.sqlite-shm"] {
        assert!(!path.join(beside).exists(), "{beside}");
    }
}
