//! A live run over a simulated one, and two simulated pools: the difference of each figure at the
//! top, and both courses in one chart.

use plimsoll_report::{ReportError, Source, document};
use plimsoll_runs::{End, Ended, FigureRow, Kind, Run, RunMeta, RunWriter, World};
use plimsoll_stats::figure;

use crate::capacity;
use crate::golden::of_runs;
use crate::made::Course;
use crate::page::checked;

/// The median of the faster answers was predicted as 1 ms, and is 1.5 ms.
fn load(root: &std::path::Path) -> [Run; 2] {
    let predicted = Course {
        name: "predicted".to_owned(),
        world: World::Simulated,
        fast_us: 1000.0,
        rate: (200.0, 200.0),
        ..Course::quiet("2026-10-26T120000-a1b2c3")
    };
    let measured = Course {
        name: "measured".to_owned(),
        world: World::Live,
        fast_us: 1500.0,
        id: "2026-10-26T130000-d1b2c3".to_owned(),
        ..predicted.clone()
    };
    [measured.write(root), predicted.write(root)]
}

/// The document that its golden is of.
pub(crate) fn golden() -> plimsoll_report::Document {
    let root = tempfile::tempdir().unwrap();
    of_runs(&load(root.path()))
}

#[test]
fn a_live_run_over_a_simulated_one_has_its_differences_first() {
    let root = tempfile::tempdir().unwrap();
    let runs = load(root.path());
    let of = |run: &Run| run.summary().unwrap().response_us.p99.unwrap();
    let off = of(&runs[1]) / of(&runs[0]) - 1.0;
    let document = of_runs(&runs);
    let text = document.text();
    let first = text.lines().find(|line| line.starts_with("[open]")).unwrap();
    assert!(
        first.contains("Predicted response p99: ") && first.contains("; measured: "),
        "{first}"
    );
    // The sign is of the prediction against what was measured.
    assert!(first.contains(&format!("{:.1}% off", 100.0 * off).replace('-', "−")), "{first} {off}");
    let table = text.find("| figure | predicted | measured | predicted − measured |").unwrap();
    let section = text.find("## Prediction against measurement").unwrap();
    assert!(table < section && section < text.find("## Load").unwrap());
    let page = checked(&document.html());
    for id in ["difference-table", "predicted-rate", "predicted-response"] {
        assert!(page.values("id").any(|known| known == id), "{id}");
    }
    // The order in which they are named is no matter.
    let turned = [1, 0].map(|index: usize| Run::open(runs[index].path()).unwrap());
    let turned = of_runs(&turned);
    assert!(turned.text().contains(first));
}

#[test]
fn two_live_runs_are_no_prediction() {
    let root = tempfile::tempdir().unwrap();
    let runs = ["a", "b"].map(|id| Course::quiet(id).write(root.path()));
    assert!(!of_runs(&runs).text().contains("Prediction"));
}

#[test]
fn a_search_over_a_simulated_one_compares_capacities() {
    let root = tempfile::tempdir().unwrap();
    let of = |id: &str, world, estimate| {
        let course = Course { world, ..Course::quiet(id) };
        capacity::search(root.path(), &course, estimate)
    };
    let runs = [of("live", World::Live, 750.0), of("simulated", World::Simulated, 825.0)];
    let document = of_runs(&runs);
    let text = document.text();
    assert!(text.contains("Predicted estimate: 825/s; measured: 750/s, +10% off."));
    let page = checked(&document.html());
    assert!(page.values("id").any(|known| known == "predicted-curves"));
    assert!(
        text.contains("| estimate | 825/s (805/s to 845/s) | 750/s (730/s to 770/s) |"),
        "{text}"
    );
    assert!(text.contains("+75/s (+10%; outside the interval)"), "{text}");
}

/// A run of a pool of so many instances.
fn pool(root: &std::path::Path, id: &str, instances: f64) -> Run {
    let meta = RunMeta {
        id: id.to_owned(),
        kind: Kind::Pool,
        cell: 0,
        name: id.to_owned(),
        subject: "threshold".to_owned(),
        about: String::new(),
        factors: std::collections::BTreeMap::new(),
        tags: [].into(),
        started_unix_ns: 1_790_000_000_000_000_000,
        version: "0.1.0".to_owned(),
        seed: 7,
        plan_text: String::new(),
        plan_sha256: String::new(),
        inputs_sha256: None,
        warmup_ns: 0,
        duration_ns: 600_000_000_000,
        slo: Some("p99<400ms".to_owned()),
        load: None,
        world: World::Simulated,
        host: Vec::new(),
    };
    let mut writer = RunWriter::create(root, &meta).unwrap();
    for tick in 1..=10 {
        let at_ns = tick * 60_000_000_000;
        for (name, value) in [
            ("pool_offered_requests_per_second", 90.0 + tick as f64),
            ("pool_lost_requests_per_second", 0.0),
            ("pool_ready_instances", instances),
            ("pool_demand_instances", 3.0),
            ("pool_cpu_ratio", 0.5),
            ("pool_response_mean_seconds", 0.1 / instances),
        ] {
            writer.series(name, &[], at_ns, value).unwrap();
        }
    }
    let cost = FigureRow::within("cost", instances, (0.9 * instances, 1.1 * instances));
    writer.figures(&[cost, FigureRow::new("lost", 0.0)]).unwrap();
    let path = writer.path().to_owned();
    writer.finish(End::new(Ended::Complete)).unwrap();
    Run::open(&path).unwrap()
}

#[test]
fn two_pools_are_held_against_each_other() {
    let root = tempfile::tempdir().unwrap();
    let runs = [pool(root.path(), "small", 2.0), pool(root.path(), "large", 5.0)];
    let document = of_runs(&runs);
    let text = document.text();
    let label = figure::COST.label;
    assert!(
        text.contains("| small (small) | large (large) | the first less the second |"),
        "{text}"
    );
    let row = text.lines().find(|line| line.starts_with(&format!("| {label} |"))).unwrap();
    assert!(row.contains("−3.00 (−60%; outside the interval)"), "{row}");
    let page = checked(&document.html());
    for id in ["both-instances", "both-response", "instances-table-1"] {
        assert!(page.values("id").any(|known| known == id), "{id}");
    }
}

#[test]
fn runs_of_two_kinds_have_no_page_together() {
    let root = tempfile::tempdir().unwrap();
    let runs = [pool(root.path(), "pool", 2.0), Course::quiet("load").write(root.path())];
    let Err(error) = document(Source::Runs(&runs), None) else { panic!("they have a page") };
    assert!(matches!(error, ReportError::Kinds { .. }), "{error}");
}

#[test]
#[ignore = "writes pages to look at"]
fn make_pages_to_look_at() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let root = tempfile::tempdir().unwrap();
    let of = |id: &str, world, estimate| {
        let course = Course { world, ..Course::quiet(id) };
        capacity::search(root.path(), &course, estimate)
    };
    let searches = [of("live", World::Live, 750.0), of("simulated", World::Simulated, 825.0)];
    let pools = [pool(root.path(), "small", 2.0), pool(root.path(), "large", 5.0)];
    for (name, document) in
        [("load", golden()), ("searches", of_runs(&searches)), ("pools", of_runs(&pools))]
    {
        std::fs::write(folder.join(format!("prediction-{name}.html")), document.html()).unwrap();
    }
}
