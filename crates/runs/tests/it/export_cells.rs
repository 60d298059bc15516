//! Exports of experiments, and of runs that have no seconds.

use std::collections::BTreeMap;

use plimsoll_runs::experiment::{Cell, Experiment, ExperimentMeta, Journal, State};
use plimsoll_runs::export::{Format, export, export_cells};
use plimsoll_runs::{
    Class, Ended, Event, FigureRow, Kind, Run, RunError, RunMeta, RunWriter, Sink as _, WindowRow,
    World,
};
use plimsoll_stats::Percentiles;
use proptest::prelude::*;

use crate::experiment::{cell, meta};
use crate::made::{self, SECOND};

fn of_experiment(experiment: &Experiment, format: Format) -> String {
    let mut out = Vec::new();
    export_cells(experiment, format, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn of_run(run: &Run, format: Format) -> String {
    let mut out = Vec::new();
    export(run, format, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// Reads CSV as RFC 4180 has it, by rows of fields.
fn read_csv(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut field) = (Vec::new(), Vec::new(), String::new());
    let mut chars = text.chars().peekable();
    let mut is_quoted = false;
    while let Some(c) = chars.next() {
        match c {
            '"' if is_quoted && chars.peek() == Some(&'"') => field.extend(chars.next()),
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => row.push(std::mem::take(&mut field)),
            '\n' if !is_quoted => {
                row.push(std::mem::take(&mut field));
                rows.push(std::mem::take(&mut row));
            }
            c => field.push(c),
        }
    }
    assert!(field.is_empty() && row.is_empty() && !is_quoted, "the last row ends");
    rows
}

/// An experiment of two cells that are done, one of them without an interval, and one that failed.
fn three_cells(root: &std::path::Path) -> Experiment {
    let mut journal = Journal::create(root, &meta("e")).unwrap();
    journal.plan(&[cell(1), cell(2), cell(3)]).unwrap();
    journal.begin(&cell(1), SECOND).unwrap();
    let rate = FigureRow::within("estimate_per_s", 100.5, (90.0, 110.0));
    journal.figures(1, &[rate, FigureRow::new("errors", 0.0)]).unwrap();
    journal.end(1, State::Done, "", 3 * SECOND).unwrap();
    journal.begin(&cell(2), 3 * SECOND).unwrap();
    let rows = [FigureRow::new("estimate_per_s", 7.0), FigureRow::new("offered", 12.0)];
    journal.figures(2, &rows).unwrap();
    journal.end(2, State::Done, "", 4 * SECOND).unwrap();
    journal.begin(&cell(3), 4 * SECOND).unwrap();
    journal.figures(3, &rows).unwrap();
    journal.end(3, State::Failed, "gone, \"really\"", 5 * SECOND).unwrap();
    journal.finish(&Ended::Complete, 5 * SECOND).unwrap()
}

#[test]
fn cells_are_rows_and_figures_columns() {
    let root = tempfile::tempdir().unwrap();
    let experiment = three_cells(root.path());
    let rows = read_csv(&of_experiment(&experiment, Format::Csv));
    let header = "cell,cores,rate,replication,block,seed,world,state,estimate_per_s,\
                  estimate_per_s.low,estimate_per_s.high,errors,offered";
    assert_eq!(rows[0].join(","), header);
    let seed = |n: u64| (u64::MAX - n).to_string();
    let line = |n: u64, rest: &str| format!("{n},2,{}0/s,1,0,{},live,{rest}", n, seed(n));
    assert_eq!(rows[1].join(","), line(1, "done,100.5,90.0,110.0,0.0,"));
    assert_eq!(rows[2].join(","), line(2, "done,7.0,,,,12.0"));
    assert_eq!(rows[3].join(","), line(3, "failed,,,,,"), "what failed has no figures");
    assert_eq!(rows.len(), 4);
}

#[test]
fn json_has_the_experiment_and_the_same_cells() {
    let root = tempfile::tempdir().unwrap();
    let experiment = three_cells(root.path());
    let value: serde_json::Value =
        serde_json::from_str(&of_experiment(&experiment, Format::Json)).unwrap();
    assert_eq!((&value["experiment"], &value["ended"]), (&"e".into(), &"complete".into()));
    assert_eq!((&value["kind"], &value["name"]), (&"load".into(), &"two rates".into()));
    let cells = value["cells"].as_array().unwrap();
    assert_eq!(cells[0]["factors"], serde_json::json!({ "cores": "2", "rate": "10/s" }));
    let wanted = serde_json::json!({ "estimate_per_s": 100.5, "errors": 0.0 });
    assert_eq!(cells[0]["figures"], wanted);
    let ends = serde_json::json!({ "estimate_per_s": [90.0, 110.0] });
    assert_eq!((&cells[0]["intervals"], cells[1].get("intervals")), (&ends, None));
    assert_eq!(
        (&cells[0]["started_ns"], &cells[0]["ended_ns"]),
        (&SECOND.into(), &(3 * SECOND).into())
    );
    assert_eq!(cells[2]["reason"], "gone, \"really\"");
    assert_eq!((&cells[2]["state"], &cells[2]["seed"]), (&"failed".into(), &(u64::MAX - 3).into()));
    assert_eq!(cells[2]["figures"], serde_json::json!({}));
}

#[test]
fn an_experiment_has_no_one_distribution() {
    let root = tempfile::tempdir().unwrap();
    let experiment = three_cells(root.path());
    let error = export_cells(&experiment, Format::Hgrm, &mut Vec::new()).unwrap_err();
    assert!(matches!(error, RunError::OfOneRun { .. }), "{error}");
    assert!(plimsoll_units::failure::told(&error).contains("cells/0001"), "{error}");
}

#[test]
fn an_experiment_without_a_cell_exports_too() {
    let root = tempfile::tempdir().unwrap();
    let journal = Journal::create(root.path(), &meta("e")).unwrap();
    let experiment = journal.finish(&Ended::Interrupted, 0).unwrap();
    let csv = of_experiment(&experiment, Format::Csv);
    assert_eq!(csv, "cell,replication,block,seed,world,state\n");
    let json: serde_json::Value =
        serde_json::from_str(&of_experiment(&experiment, Format::Json)).unwrap();
    assert_eq!(json["cells"], serde_json::json!([]));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn whatever_factors_and_levels_are_called_the_table_reads_back(
        levels in prop::collection::btree_map(
            "\\PC{1,6}|state|cell|rate|a\nb|,|\"",
            "\\PC{0,6}|[\",\n]{0,4}",
            0..5,
        ),
    ) {
        let root = tempfile::tempdir().unwrap();
        let about = ExperimentMeta { kind: Kind::Pool, ..meta("e") };
        let mut journal = Journal::create(root.path(), &about).unwrap();
        let one = Cell { factors: levels.clone(), world: World::Simulated, ..cell(1) };
        journal.begin(&one, 0).unwrap();
        journal.figures(1, &[FigureRow::new("rate", 2.5)]).unwrap();
        journal.end(1, State::Done, "", 0).unwrap();
        let experiment = journal.finish(&Ended::Complete, 0).unwrap();
        prop_assert_eq!(&experiment.cells().unwrap()[0].cell, &one);
        let rows = read_csv(&of_experiment(&experiment, Format::Csv));
        prop_assert_eq!(rows.len(), 2);
        let found: BTreeMap<&str, &str> =
            rows[0].iter().zip(&rows[1]).map(|(name, field)| (&name[..], &field[..])).collect();
        prop_assert_eq!(found.len(), rows[1].len(), "no two columns of one name");
        prop_assert_eq!((found["cell"], found["state"], found["rate"]), ("1", "done", "2.5"));
        for (name, level) in &levels {
            let name = match name.as_str() {
                "state" | "cell" | "rate" => format!("factor.{name}"),
                name => name.to_owned(),
            };
            prop_assert_eq!(found[name.as_str()], level);
        }
    }
}

/// A run of simulated caches with two series.
fn sampled(root: &std::path::Path, kind: Kind) -> RunWriter {
    let meta = RunMeta { kind, world: World::Simulated, load: None, ..made::meta("s", 0, 10) };
    let mut writer = RunWriter::create(root, &meta).unwrap();
    writer.series("cache_bytes", &[("node", "a")], SECOND / 2, 7.5).unwrap();
    writer.series("requests_per_s", &[], SECOND, f64::NAN).unwrap();
    writer.figures(&[FigureRow::new("miss_ratio", 0.25)]).unwrap();
    writer
}

#[test]
fn a_run_without_seconds_exports_its_series() {
    let root = tempfile::tempdir().unwrap();
    let mut writer = sampled(root.path(), Kind::Caches);
    let (class, kind, text) = (Class::Action, "emptied".to_owned(), "node a".to_owned());
    writer.event(&Event { at_ns: 1, class, kind, text }).unwrap();
    let run = writer.finish(made::end(Ended::Complete)).unwrap();
    let rows = read_csv(&of_run(&run, Format::Csv));
    assert_eq!(rows[0], ["series", "labels", "at_s", "value"]);
    assert_eq!(rows[1], ["cache_bytes", r#"{"node":"a"}"#, "0.5", "7.5"]);
    assert_eq!(rows[2], ["requests_per_s", "", "1.0", ""]);
    let value: serde_json::Value = serde_json::from_str(&of_run(&run, Format::Json)).unwrap();
    assert_eq!(
        (&value["run"]["kind"], &value["run"]["world"]),
        (&"caches".into(), &"simulated".into())
    );
    assert_eq!(value["figures"], serde_json::json!({ "miss_ratio": 0.25 }));
    let first = serde_json::json!({
        "series": "cache_bytes", "labels": { "node": "a" }, "at_ns": SECOND / 2, "value": 7.5,
    });
    assert_eq!(value["series"][0], first);
    assert!(value["series"][1]["value"].is_null());
    assert_eq!(value["events"][0]["class"], "action");
}

#[test]
fn a_search_without_seconds_exports_its_windows() {
    let root = tempfile::tempdir().unwrap();
    let mut writer = sampled(root.path(), Kind::Search);
    let window = WindowRow {
        start_s: 0.5,
        seconds: 2.5,
        phase: "search".to_owned(),
        offered_per_s: 100.0,
        achieved_per_s: 99.5,
        rtt_us: None,
        rtt_samples_us: vec![1.5],
        response_us: Percentiles::default(),
        percentiles_us: [(50, Some(1.0))].into(),
        errors: 3,
        verdict: "within".to_owned(),
    };
    writer.windows(&[window]).unwrap();
    let run = writer.finish(made::end(Ended::Complete)).unwrap();
    let rows = read_csv(&of_run(&run, Format::Csv));
    assert_eq!(rows[0][..5], ["start_s", "seconds", "phase", "offered_per_s", "achieved_per_s"]);
    assert_eq!(rows[1][..8], ["0.5", "2.5", "search", "100.0", "99.5", "", "[1.5]", &rows[1][7]]);
    assert_eq!(rows[1][8..], [r#"{"50":1.0}"#, "3", "within"]);
    let value: serde_json::Value = serde_json::from_str(&of_run(&run, Format::Json)).unwrap();
    assert_eq!(value["windows"][0]["verdict"], "within");
    // The table in the database has the same columns.
    let database = rusqlite::Connection::open(run.path().join("run.sqlite")).unwrap();
    let mut statement = database.prepare("SELECT * FROM window").unwrap();
    let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
    assert_eq!(columns[1..], rows[0]);
    assert!(statement.exists([]).unwrap());
}
