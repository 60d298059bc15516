//! The goldens: every page as text, in which each word and figure stands and a drawing is a digest.

use plimsoll_report::{Document, Source, document};

use crate::made::Course;
use crate::{
    caches, capacity, clusters, comparison, designed, experiments, prediction, simulation,
};

/// A document of a page of runs.
pub(crate) fn of_runs(runs: &[plimsoll_runs::Run]) -> Document {
    document(Source::Runs(runs), None).unwrap()
}

/// Twelve seconds with a warm-up, a stall and answers of 503.
fn load() -> Document {
    let root = tempfile::tempdir().unwrap();
    of_runs(&[small().write(root.path())])
}

fn small() -> Course {
    Course {
        name: "golden".to_owned(),
        slo: Some("p90<900ms, errors<0.1%".to_owned()),
        warmup_s: 2,
        measured_s: 10,
        stall: Some((6, 1)),
        refusing: Some((9, 12, 0.2)),
        ..Course::quiet("2026-10-26T120000-a1b2c3")
    }
}

/// Three runs: one not valid, one faster.
fn several() -> Document {
    let root = tempfile::tempdir().unwrap();
    let late = Course { late_us: 9_000.0, ..Course::quiet("2026-10-26T130000-b1b2c3") };
    let faster = Course { fast_us: 900.0, ..Course::quiet("2026-10-26T140000-c1b2c3") };
    of_runs(&[small(), late, faster].map(|course| course.write(root.path())))
}

/// Every page with a golden, by its name.
pub(crate) fn all() -> Vec<(&'static str, Document)> {
    vec![
        ("load", load()),
        ("several", several()),
        ("prediction", prediction::golden()),
        ("search", capacity::golden()),
        ("searches", comparison::golden()),
        ("simulation", simulation::golden()),
        ("clusters", clusters::golden()),
        ("caches", caches::golden()),
        ("curves", caches::golden_curves()),
        ("experiment", experiments::golden()),
        ("designed", designed::golden()),
        ("unreplicated", designed::golden_unreplicated()),
        ("worlds", designed::golden_worlds()),
    ]
}

fn path(name: &str) -> String {
    format!("{}/tests/it/golden/{name}.txt", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn every_page_is_the_golden_one() {
    for (name, document) in all() {
        let (made, golden) = (document.text(), std::fs::read_to_string(path(name)).unwrap());
        let differs = made.lines().zip(golden.lines()).enumerate().find(|(_, (a, b))| a != b);
        assert!(
            made == golden,
            "the page differs from tests/it/golden/{name}.txt, first at {differs:?}\n\
             where that is meant: \
             cargo test -p plimsoll-report --test it -- --ignored make_goldens_anew"
        );
    }
}

#[test]
#[ignore = "writes the goldens"]
fn make_goldens_anew() {
    for (name, document) in all() {
        std::fs::write(path(name), document.text()).unwrap();
    }
}

#[test]
fn the_same_run_gives_the_same_page() {
    assert!(load().html() == load().html());
}
