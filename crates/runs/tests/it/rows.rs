//! Figures, series and windows of a run; and a run that version 1 wrote.

use std::path::Path;

use plimsoll_runs::{
    Class, Ended, FigureRow, Kind, LoadMeta, Phase, Run, RunError, RunMeta, RunWriter, SeriesRow,
    Sink as _, Tag, WindowRow, World,
};
use plimsoll_stats::Percentiles;

use crate::made::{self, MS, SECOND};

/// A run of simulated caches: without a load.
fn without_load(root: &Path) -> RunWriter {
    let meta = RunMeta {
        kind: Kind::Caches,
        world: World::Simulated,
        load: None,
        ..made::meta("caches", 0, 10)
    };
    RunWriter::create(root, &meta).unwrap()
}

#[test]
fn figures_and_series_come_back_as_they_went_in() {
    let root = tempfile::tempdir().unwrap();
    let mut writer = without_load(root.path());
    let wide = FigureRow::within("miss_ratio", 0.25, (0.2, 0.3));
    writer.figures(&[wide.clone(), FigureRow::new("requests", 7.0)]).unwrap();
    writer.figures(&[FigureRow::new("requests", 8.0)]).unwrap();
    for second in 0..3_u32 {
        let at_ns = u64::from(second) * SECOND;
        let labels = [("node", "b"), ("level", "1")];
        writer.series("cache_bytes", &labels, at_ns, f64::from(second)).unwrap();
        writer.series("cache_bytes", &[("node", "a"), ("level", "1")], at_ns, f64::NAN).unwrap();
    }
    writer.series("requests_per_s", &[], 0, 0.5).unwrap();
    let error = writer.figures(&[FigureRow::new("lost", f64::NAN)]).unwrap_err();
    assert!(std::error::Error::source(&error).unwrap().to_string().contains("lost is NaN"));
    let run = writer.finish(made::end(Ended::Complete)).unwrap();

    assert_eq!(run.figures().unwrap(), [wide, FigureRow::new("requests", 8.0)]);
    assert_eq!(run.series_names().unwrap(), ["cache_bytes", "requests_per_s"]);
    let rows = run.series("cache_bytes").unwrap();
    assert_eq!(rows.len(), 6);
    let labels = [("level", "1"), ("node", "b")];
    let labels = labels.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(rows[3], SeriesRow { labels: labels.into(), at_ns: SECOND, value: Some(1.0) });
    assert_eq!((rows[2].labels["node"].as_str(), rows[2].value), ("a", None));
    assert!(run.series("nothing of the kind").unwrap().is_empty());
    assert_eq!((run.meta().kind, run.meta().world), (Kind::Caches, World::Simulated));
}

#[test]
fn a_run_without_a_load_has_no_summary() {
    let root = tempfile::tempdir().unwrap();
    let run = without_load(root.path()).finish(made::end(Ended::Complete)).unwrap();
    let error = run.summary().unwrap_err();
    assert!(matches!(error, RunError::NoLoad { kind: "caches", .. }), "{error}");
    assert!(!run.path().join("summary.json").exists());
    assert!(run.intervals().unwrap().is_empty());
}

#[test]
fn samples_of_series_are_there_with_the_second_they_belong_to() {
    let root = tempfile::tempdir().unwrap();
    let mut writer = made::steps(root.path(), "a");
    writer.series("requests_per_s", &[], SECOND, 1.0).unwrap();
    let seen = |path: &Path| Run::open(path).unwrap().series("requests_per_s").unwrap().len();
    assert_eq!(seen(writer.path()), 0);
    writer.interval(&made::second(6)).unwrap();
    assert_eq!(seen(writer.path()), 1);
    // Memory is bounded: what gathers without a second is written too.
    for at in 0..3000 {
        writer.series("requests_per_s", &[], at, 1.0).unwrap();
    }
    assert!(seen(writer.path()) > 2000);
    let run = writer.finish(made::end(Ended::Complete)).unwrap();
    assert_eq!(run.series("requests_per_s").unwrap().len(), 3001);
}

#[test]
fn a_load_has_its_figures_in_the_table_when_it_ends() {
    let root = tempfile::tempdir().unwrap();
    let writer = made::steps(root.path(), "a");
    let killed = Run::open(&made::crashed(writer.path(), &root.path().join("killed"))).unwrap();
    let run = writer.finish(made::end(Ended::Complete)).unwrap();
    let database = rusqlite::Connection::open(run.path().join("run.sqlite")).unwrap();
    let value = |name: &str| {
        let sql = "SELECT value FROM figure WHERE cell = 0 AND low IS NULL AND name = ?";
        database.query_row(sql, [name], |row| row.get::<_, f64>(0)).ok()
    };
    assert_eq!((value("offered"), value("errors")), (Some(400.0), Some(0.0)));
    assert_eq!(value("response_us.p50"), run.summary().unwrap().response_us.p50);
    assert_eq!(value("response_us.p99"), None, "a figure that it has not is not there");
    let figures = run.figures().unwrap();
    assert!(figures.len() > 20, "{figures:?}");
    for figure in &figures {
        let known = plimsoll_stats::figure::named(&figure.name);
        assert!(known.is_some(), "{} is not in the registry", figure.name);
    }
    // One that was killed, and one that version 1 wrote, tell the same from their summaries.
    assert_eq!(killed.figures().unwrap(), figures);
    let old = of_version_1(root.path());
    let summary = old.summary().unwrap();
    let of = |name: &str| {
        old.figures().unwrap().into_iter().find(|figure| figure.name == name).map(|row| row.value)
    };
    assert_eq!((of("completed"), of("rate_mean")), (Some(285.0), Some(95.0)));
    assert_eq!(of("service_us.p90"), summary.service_us.p90);
    // A search is none: its figures are those that it found.
    let meta = RunMeta { kind: Kind::Search, ..made::meta("search", 0, 4) };
    let run = RunWriter::create(root.path(), &meta).unwrap();
    let run = run.finish(made::end(Ended::Complete)).unwrap();
    assert!(run.figures().unwrap().is_empty() && run.summary().is_ok());
}

fn window(start_s: f64) -> WindowRow {
    WindowRow {
        start_s,
        seconds: 2.5,
        phase: "search".to_owned(),
        offered_per_s: 100.0 / 3.0,
        achieved_per_s: 33.0,
        rtt_us: None,
        rtt_samples_us: vec![1.5, 2.25],
        response_us: Percentiles { count: 12, mean: Some(0.1 + 0.2), ..Percentiles::default() },
        percentiles_us: [(50, Some(1.0)), (99, None)].into(),
        errors: 3,
        verdict: "within".to_owned(),
    }
}

#[test]
fn windows_come_back_as_they_went_in_and_can_be_written_anew() {
    let root = tempfile::tempdir().unwrap();
    let mut writer = made::steps(root.path(), "a");
    writer.windows(&[window(0.0)]).unwrap();
    writer.windows(&[window(2.5)]).unwrap();
    let path = writer.path().to_path_buf();
    assert_eq!(Run::open(&path).unwrap().windows().unwrap(), [window(0.0), window(2.5)]);
    let anew = [window(0.0), WindowRow { errors: 4, ..window(2.5) }, window(5.0)];
    writer.replace_windows(&anew).unwrap();
    let run = writer.finish(made::end(Ended::Complete)).unwrap();
    assert_eq!(run.windows().unwrap(), anew);
}

#[test]
fn the_host_has_the_columns_that_version_1_gave_it() {
    let root = tempfile::tempdir().unwrap();
    drop(made::whole(root.path(), "a"));
    let database = rusqlite::Connection::open(root.path().join("a/run.sqlite")).unwrap();
    let mut statement = database
        .prepare(
            "SELECT cell || ' ' || phase || ' ' || world || ' ' || at_ns || ' ' || steal_share
               || ' ' || timer_late_p50_ns || ' ' || timer_late_p99_ns || ' ' || timer_late_max_ns
             FROM host",
        )
        .unwrap();
    let rows: Vec<String> = statement
        .query_map([], |row| row.get(0))
        .unwrap()
        .collect::<rusqlite::Result<_>>()
        .unwrap();
    let wanted = [1, 2, 3, 4, 5, 6].map(|at_s: u64| {
        // A sample is taken at the end of its second.
        let phase = if at_s <= 2 { "warm-up" } else { "measured" };
        format!("0 {phase} live {} 0.0 60000 60000 60000", at_s * SECOND)
    });
    assert_eq!(rows, wanted);
}

/// A copy of the run that version 1 wrote, without its summary.
fn of_version_1(root: &Path) -> Run {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/version-1");
    Run::open(&made::crashed(&from, &root.join("old"))).unwrap()
}

/// What of a summary stands in an older one too: later versions say more.
fn said_of(anew: &serde_json::Value, kept: &serde_json::Value) -> serde_json::Value {
    let (Some(anew), Some(kept)) = (anew.as_object(), kept.as_object()) else {
        return anew.clone();
    };
    let both = kept.iter().filter_map(|(key, kept)| Some((key, said_of(anew.get(key)?, kept))));
    both.map(|(key, value)| (key.clone(), value)).collect()
}

#[test]
fn a_run_of_version_1_reads_as_it_did() {
    let root = tempfile::tempdir().unwrap();
    let run = of_version_1(root.path());
    let kept = std::fs::read(run.path().join("summary.json")).unwrap();
    std::fs::remove_file(run.path().join("summary.json")).unwrap();
    drop(run.summary().unwrap());
    let anew = std::fs::read(run.path().join("summary.json")).unwrap();
    let [anew, kept]: [serde_json::Value; 2] =
        [anew, kept].map(|text| serde_json::from_slice(&text).unwrap());
    assert_eq!(said_of(&anew, &kept), kept, "what the summary that version 1 made says");

    assert_eq!((run.meta().kind, run.meta().cell), (Kind::Load, 0));
    // Version 1 did not say that a run is a search; its windows did.
    std::fs::create_dir(run.path().join("artifacts")).unwrap();
    std::fs::write(run.path().join("artifacts/windows.jsonl"), "").unwrap();
    assert_eq!(Run::open(run.path()).unwrap().meta().kind, Kind::Search);
    let load: &LoadMeta = run.meta().load.as_ref().unwrap();
    assert_eq!((load.threads, load.pacing.as_str(), load.patience_ns), (1, "precise", SECOND));
    assert_eq!(run.intervals().unwrap().len(), 5);
    assert_eq!(run.histogram(Phase::Measured, Tag::Response).unwrap().count(), 300);
    let events: Vec<_> =
        run.events().unwrap().into_iter().map(|event| (event.class, event.kind)).collect();
    let wanted = [(Class::Run, "started"), (Class::Failure, "failed"), (Class::Failure, "failed")];
    assert_eq!(events, wanted.map(|(class, kind)| (class, kind.to_owned())));
    // The host's seconds, as they stand and as the series that version 2 would have.
    let host = run.host_series().unwrap();
    assert_eq!((host.len(), host[0].timer_late_p50_us), (5, Some(28.687)));
    let steal = run.series("host_steal_share").unwrap();
    assert_eq!((steal.len(), steal[0].value), (5, Some(0.0)));
    let late = run.series("host_timer_late_ns").unwrap();
    assert_eq!((late.len(), late[0].value), (15, Some(28_687.0)));
    assert!(late.iter().all(|row| row.labels.contains_key("quantile")));
    assert!(run.windows().unwrap().is_empty());
}

#[test]
fn a_run_of_version_1_reads_from_a_read_only_place() {
    let test = "a_run_of_version_1_reads_from_a_read_only_place";
    let Some(disk) = crate::mount::Mounted::tmpfs(test, 1024) else { return };
    drop(of_version_1(disk.path()));
    disk.make_read_only();
    let run = Run::open(&disk.path().join("old")).unwrap();
    assert_eq!(run.summary().unwrap().completed, 285);
    assert_eq!(run.series("host_steal_share").unwrap().len(), 5);
    assert!(run.summary().unwrap().response_us.p50.unwrap() < 30.0 * MS as f64);
}
