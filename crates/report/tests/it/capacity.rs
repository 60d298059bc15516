//! The page of a search for a capacity: its charts, and what it says where the files of the search
//! are missing, half written or not to be believed.

use std::fs;

use plimsoll_capacity::cost::Cost;
use plimsoll_capacity::result::{CapacityResult, CheckResult, RESULT, RoundTrips, SCHEMA, WINDOWS};
use plimsoll_capacity::search::{Bound, Sustained};
use plimsoll_capacity::trips::AtLoad;
use plimsoll_report::Document;
use plimsoll_runs::{Kind, Run, WindowRow};
use plimsoll_stats::Percentiles;

use crate::golden::of_runs;
use crate::made::Course;
use crate::page::{HOSTILE, checked};
use crate::parser::Page;

/// A window at a rate, as a queue that saturates at 1,000/s would give it.
fn window(start_s: f64, seconds: f64, rate: f64, phase: &str, verdict: &str) -> WindowRow {
    let mean_us = 4000.0 / (1.0 - (rate / 1000.0).min(0.98));
    let percentile = |p: u32| {
        let lost = verdict == "cut" && p > 60;
        let share = f64::from(p) / 100.0;
        (p, (!lost).then_some((mean_us * (0.2 + 2.0 * share * share)).round()))
    };
    WindowRow {
        start_s,
        seconds,
        phase: phase.to_owned(),
        offered_per_s: rate,
        achieved_per_s: rate.min(980.0),
        rtt_us: Some(120.0),
        rtt_samples_us: (0..(seconds * 4.0) as u32)
            .map(|n| 95.0 + f64::from(n % 5) * 20.0)
            .collect(),
        response_us: Percentiles {
            count: (rate * seconds) as u64,
            min: Some(300.0),
            mean: Some(mean_us),
            max: Some(mean_us * 4.0),
            ..Percentiles::default()
        },
        percentiles_us: (1..=99).map(percentile).collect(),
        errors: u64::from(verdict == "cut") * 40,
        verdict: verdict.to_owned(),
    }
}

fn at_load(handshakes: usize, spikes: f64) -> Option<AtLoad> {
    let (windows, spike_share) = (2, Some(spikes));
    Some(AtLoad {
        windows,
        handshakes,
        p50: Some(115.0),
        p90: Some(160.0),
        p99: Some(175.0),
        max: 175.0,
        spike_share,
    })
}

/// A search with a window of each kind.
pub(crate) fn result() -> CapacityResult {
    CapacityResult {
        schema: SCHEMA,
        warnings: vec!["the host was noisy".to_owned()],
        method: "adaptive".to_owned(),
        slo: "p95<30ms".to_owned(),
        caches: None,
        ended: "found".to_owned(),
        estimate_per_s: Some(750.0),
        bound: None,
        ci95: Some((730.0, 768.0)),
        lower_bound_per_s: Some(740.0),
        held_per_s: Some(730.0),
        broken_per_s: Some(788.0),
        knee_per_s: Some(500.0),
        saturation_per_s: Some(980.0),
        cost: Cost::of(0.17, 750.0),
        seconds: 14.5,
        requests: 8_000,
        requests_beyond_slo: 400,
        seconds_above_estimate: Some(2.5),
        check: CheckResult { below: Some("held".to_owned()), above: Some("broken".to_owned()) },
        sustained: Some(Sustained {
            burst_per_s: Some(900.0),
            burst_ci95: Some((880.0, 920.0)),
            sustained_per_s: Some(750.0),
            exhausted_after_s: Some(64.0),
            held_s: 300.0,
            falls: 1,
            dips: 0,
        }),
        rtt_us: RoundTrips {
            baseline: Some(100.0),
            p50: Some(120.0),
            p99: Some(300.0),
            spike_share: Some(0.0125),
            low: at_load(4, 0.0),
            high: at_load(52, 0.019),
        },
        windows: vec![
            window(0.0, 1.0, 200.0, "ramp", "within"),
            window(1.0, 1.0, 400.0, "ramp", "within"),
            window(2.0, 1.0, 800.0, "ramp", "beyond"),
            window(3.0, 0.5, 1600.0, "ramp", "cut"),
            window(3.5, 1.0, 50.0, "recover", "beyond"),
            window(4.5, 2.0, 700.0, "search", "discarded"),
            window(6.5, 2.0, 700.0, "search", "within"),
            window(8.5, 4.0, 705.0, "search", "within"),
            window(12.5, 2.0, 790.0, "check", "beyond"),
        ],
    }
}

/// The document of a run whose folder has the files given.
fn document_with(result: Option<&str>, windows: Option<&str>) -> Document {
    let root = tempfile::tempdir().unwrap();
    let slo = Some("p95<30ms".to_owned());
    let run = Course { slo, ..Course::quiet("2026-10-26T120000-a1b2c3") }.write(root.path());
    for (name, text) in [(RESULT, result), (WINDOWS, windows)] {
        if let Some(text) = text {
            fs::write(run.path().join(name), text).unwrap();
        }
    }
    of_runs(&[Run::open(run.path()).unwrap()])
}

fn page_with(result: Option<&str>, windows: Option<&str>) -> String {
    document_with(result, windows).html()
}

/// A run that was a search with that estimate.
pub(crate) fn search(root: &std::path::Path, course: &Course, estimate: f64) -> Run {
    let mut result = result();
    result.estimate_per_s = Some(estimate);
    result.ci95 = Some((estimate - 20.0, estimate + 20.0));
    let figures = result.figures();
    let run = Course { kind: Kind::Search, figures, ..course.clone() }.write(root);
    fs::write(run.path().join(RESULT), json(&result)).unwrap();
    Run::open(run.path()).unwrap()
}

/// A search that found a capacity.
pub(crate) fn golden() -> Document {
    document_with(Some(&json(&result())), None)
}

fn with(result: Option<&str>, windows: Option<&str>) -> Page {
    checked(&page_with(result, windows))
}

fn json(result: &CapacityResult) -> String {
    serde_json::to_string(result).unwrap()
}

fn lines(windows: &[WindowRow]) -> String {
    windows.iter().map(|window| serde_json::to_string(window).unwrap() + "\n").collect()
}

fn has(page: &Page, id: &str) -> bool {
    page.values("id").any(|known| known == id)
}

#[test]
fn a_search_stands_above_the_figures_of_its_run() {
    let page = with(Some(&json(&result())), None);
    let trips = ["trips-0", "trips-over-time-0"];
    let charts = ["capacity", "staircase-0", "window-times-0", "curves-0", "contour-0"];
    for id in charts.into_iter().chain(trips) {
        assert!(has(&page, id), "{id}");
    }
    let sections: Vec<_> = page
        .elements
        .iter()
        .filter(|(name, _)| name == "section")
        .flat_map(|(_, attributes)| attributes)
        .map(|(_, value)| value.as_str())
        .collect();
    assert_eq!(sections[..2], ["capacity", "load"]);
    for text in [
        "750/s under p95<30ms (95%: 730/s to 768/s)",
        "search for the capacity under p95<30ms",
        "judged window by window",
        "broken",
        "17.2% of the time",
        "the host was noisy",
        "At low load: p50 115 µs, p99 175 µs, greatest 175 µs of 4 handshakes, spikes 0%.",
        "52 handshakes, spikes 1.9%",
    ] {
        assert!(page.text.contains(text), "{text}");
    }
}

#[test]
fn without_a_handshake_there_is_no_chart_of_them() {
    let mut none = result();
    none.windows.iter_mut().for_each(|window| window.rtt_samples_us.clear());
    let page = with(Some(&json(&none)), None);
    assert!(!has(&page, "trips-0") && !has(&page, "trips-over-time-0"));
    // Without an estimate no load is low or high.
    let unknown = CapacityResult { estimate_per_s: None, ci95: None, ..result() };
    let page = with(Some(&json(&unknown)), None);
    assert!(!has(&page, "trips-0") && has(&page, "trips-over-time-0"));
}

#[test]
fn a_bound_is_called_one() {
    let at_least = CapacityResult { bound: Some(Bound::AtLeast), ci95: None, ..result() };
    let page = with(Some(&json(&at_least)), None);
    assert!(page.text.contains("Capacity: at least 750/s under p95<30ms"));
    let written = json(&at_least);
    assert!(written.contains("\"bound\":\"at_least\""), "{written}");
    let older = written.replace("\"bound\":\"at_least\",", "");
    assert!(with(Some(&older), None).text.contains("750/s under p95<30ms"), "as files were");
}

#[test]
fn a_run_that_is_no_search_has_no_such_section() {
    let page = with(None, None);
    assert!(!has(&page, "capacity") && page.values("href").all(|link| link != "#capacity"));
}

#[test]
fn searches_stand_side_by_side_with_runs() {
    let root = tempfile::tempdir().unwrap();
    let runs: Vec<Run> = ["a", "b", "c"].map(|id| Course::quiet(id).write(root.path())).into();
    for run in &runs[1..] {
        fs::write(run.path().join(RESULT), json(&result())).unwrap();
    }
    let page = checked(&of_runs(&runs).html());
    assert!(!has(&page, "staircase-0") && has(&page, "staircase-1") && has(&page, "contour-2"));
}

#[test]
fn a_killed_search_shows_its_windows() {
    let windows = lines(&result().windows);
    let page = with(None, Some(&windows[..windows.len() - 9]));
    assert!(page.text.contains("the search was killed, or is still going on"));
    assert!(!page.text.contains("cannot be read"), "half a last line is what a kill leaves");
    assert!(has(&page, "staircase-0") && has(&page, "contour-0"));
    assert!(page.text.contains("p95<30ms"), "the SLO is known from the run");
}

#[test]
fn a_killed_search_without_a_window_has_a_page() {
    assert!(with(None, Some("")).text.contains("there is no window"));
}

#[test]
fn what_cannot_be_read_is_said() {
    let windows = lines(&result().windows);
    let good = json(&result());
    let nested = "[".repeat(100_000);
    let long = good.replace("adaptive", &"x".repeat(5000));
    let huge = " ".repeat((16 << 20) + 1);
    for (broken, why) in [
        ("", "EOF while parsing"),
        ("{", "EOF while parsing"),
        (&good[..good.len() - 1], "EOF while parsing"),
        (&nested, "invalid type"),
        (&long, "a text of it is too long"),
        (&huge, "greater than 16 MiB"),
        (&good.replace("\"schema\":1", "\"schema\":7"), "its schema is 7"),
        (&good.replace("\"estimate_per_s\":750.0", "\"estimate_per_s\":-1"), "impossible"),
        (&good.replace("[730.0,768.0]", "[900.0,1.0]"), "impossible"),
        (&good.replace("\"price_per_hour\":0.17", "\"price_per_hour\":-1"), "impossible"),
        (&good.replace("\"offered_per_s\":400.0", "\"offered_per_s\":1e300"), "window 2: a figure"),
        (&good.replace("\"spike_share\":0.0125", "\"spike_share\":-1"), "impossible"),
        (&good.replacen("95.0", "-95.0", 1), "window 1: a figure"),
        (&good.replace("\"start_s\":1.0", "\"start_s\":9.0"), "window 3: it begins before"),
    ] {
        let page = with(Some(broken), Some(&windows));
        assert!(page.text.contains("cannot be read"), "{why}");
        let (_, shown) = page.text.split_once("cannot be read").unwrap();
        let shown: String = shown.chars().take(200).collect();
        assert!(page.text.contains(why), "{why}: {shown}");
        assert!(has(&page, "staircase-0"), "the windows are shown all the same: {why}");
        with(Some(broken), None);
    }
}

#[test]
fn a_broken_line_ends_the_windows() {
    let windows = lines(&result().windows).replacen("\"phase\":\"recover\"", "\"phase\":7", 1);
    let page = with(None, Some(&windows));
    assert!(page.text.contains("cannot be read from line 5 on"));
    assert!(has(&page, "staircase-0"));
}

#[test]
fn odd_windows_have_a_page() {
    let zero = WindowRow {
        seconds: 0.0,
        offered_per_s: 0.0,
        achieved_per_s: 0.0,
        percentiles_us: [(0, Some(0.0)), (50, Some(0.0)), (90, None), (777, Some(1.0))].into(),
        ..window(0.0, 1.0, 10.0, "odd", "odd")
    };
    let bare = CapacityResult {
        estimate_per_s: None,
        ci95: None,
        lower_bound_per_s: None,
        seconds: 0.0,
        requests: 0,
        seconds_above_estimate: None,
        slo: "nonsense".to_owned(),
        ended: "power_cut".to_owned(),
        ..result()
    };
    let dots = WindowRow { rtt_samples_us: vec![0.0, 1e15, 1e-9], ..zero.clone() };
    let one = vec![result().windows.remove(0)];
    for windows in [vec![zero.clone()], vec![zero.clone(), zero], vec![dots], one] {
        let page = with(Some(&json(&CapacityResult { windows, ..bare.clone() })), None);
        assert!(page.text.contains("No capacity was found under nonsense"));
        assert!(page.text.contains("It ended: power cut."));
    }
}

#[test]
fn a_search_of_very_many_windows_stays_below_two_megabytes() {
    let many = |n: u32| window(f64::from(n), 1.0, f64::from(n % 1000), "search", "within");
    let result = CapacityResult { windows: (0..3000).map(many).collect(), ..result() };
    let page = page_with(Some(&json(&result)), None);
    assert!(checked(&page).text.contains("Only the first 600 of 3000 windows are shown."));
    assert!(page.len() < 2_000_000, "{} bytes", page.len());
}

#[test]
fn hostile_text_of_a_search_stays_text() {
    let plain = with(Some(&json(&result())), None);
    let mut hostile = result();
    for text in [&mut hostile.slo, &mut hostile.method, &mut hostile.warnings[0]] {
        HOSTILE.clone_into(text);
    }
    hostile.check.below = Some(HOSTILE.to_owned());
    hostile.windows[0].phase = HOSTILE.to_owned();
    hostile.windows[0].verdict = HOSTILE.to_owned();
    let page = with(Some(&json(&hostile)), None);
    assert_eq!(page.count("script"), plain.count("script"));
    assert_eq!(page.count("img"), 0);
}

#[test]
#[ignore = "writes pages to look at"]
fn make_pages_to_look_at() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let plain = CapacityResult { cost: None, sustained: None, ..result() };
    let priced = CapacityResult { sustained: None, ..result() };
    let bound = CapacityResult { bound: Some(Bound::AtLeast), ci95: None, ..plain.clone() };
    for (name, result) in
        [("eight", &plain), ("nine", &priced), ("ten", &result()), ("bound", &bound)]
    {
        let page = page_with(Some(&json(result)), None);
        fs::write(folder.join(format!("capacity-{name}.html")), page).unwrap();
    }
}
