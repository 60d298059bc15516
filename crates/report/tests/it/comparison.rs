//! The page of groups of searches: its charts and figures, odd groups, hostile names.

use plimsoll_capacity::compared::{By, Compared, Grouped, Search, compare};
use plimsoll_capacity::search::Bound;
use plimsoll_capacity::series::SeriesRun;
use plimsoll_report::{Document, Source, document};

use crate::page::{HOSTILE, checked};
use crate::parser::Page;

/// Deterministic noise between -1 and 1.
fn noise(n: u32) -> f64 {
    f64::from(n.wrapping_mul(2_654_435_761) >> 8) / f64::from(1 << 23) - 1.0
}

fn search(group: &str, number: u32, estimate: Option<f64>) -> Search {
    let seconds = u64::from(number - 1) * 900;
    Search {
        target: format!("http://{group}/"),
        name: group.to_owned(),
        slo: "p90<150ms".to_owned(),
        run: SeriesRun {
            number,
            run: estimate.map(|_| format!("{group}-{number}")),
            started: format!(
                "2026-10-{:02}T{:02}:00:00.000Z",
                1 + seconds / 86_400,
                seconds / 3600 % 24
            ),
            started_unix_us: 1_790_812_800_000_000 + seconds * 1_000_000,
            late_s: 0.0,
            ended: if estimate.is_some() { "found" } else { "target_lost" }.to_owned(),
            estimate_per_s: estimate,
            bound: None,
            ci95: estimate.map(|rate| (rate * 0.96, rate * 1.04)),
            why: None,
            restarted: false,
        },
    }
}

fn group(name: &str, price: f64, estimates: impl Iterator<Item = Option<f64>>) -> Grouped {
    let searches = (1..).zip(estimates).map(|(number, rate)| search(name, number, rate)).collect();
    let (group, key) = (name.to_owned(), name.to_owned());
    Grouped { group, key, searches, price_per_hour: Some(price) }
}

/// A day of five targets: one with a dip and a gap, one that is poor.
fn day() -> Compared {
    let steady = |level: f64, seed: u32| {
        (0..96).map(move |n| Some(level * (1.0 + 0.04 * noise(n * 7 + seed))))
    };
    let dipped = (0..96).map(|n| {
        let level = if (40..52).contains(&n) { 19.6 } else { 28.0 };
        (n != 70).then(|| level * (1.0 + 0.04 * noise(n)))
    });
    let groups = vec![
        group("small", 0.17, dipped),
        group("large", 0.34, steady(55.0, 1)),
        group("largest", 0.68, steady(57.0, 2)),
        group("other provider", 0.3, steady(52.0, 3)),
        group("far away", 0.3, steady(54.0, 4)),
    ];
    compare(By::Series, groups)
}

/// A day of five targets.
pub(crate) fn golden() -> Document {
    document(Source::Searches(&day()), None).unwrap()
}

fn comparison(compared: &Compared, title: Option<&str>) -> String {
    document(Source::Searches(compared), title.map(str::to_owned)).unwrap().html()
}

fn page(compared: &Compared) -> Page {
    checked(&comparison(compared, None))
}

fn has(page: &Page, id: &str) -> bool {
    page.values("id").any(|known| known == id)
}

#[test]
fn it_has_boxes_distributions_figures_and_courses() {
    let page = page(&day());
    for id in ["boxes", "boxes-table", "distribution", "course-0", "course-4", "course-table-4"] {
        assert!(has(&page, id), "{id}");
    }
    let boxes = page.values("class").filter(|class| class.starts_with("box c")).count();
    assert_eq!(boxes, 5);
    for text in [
        "Capacities: small, large, largest, other provider, far away",
        "480 searches in 5 groups by series, for the capacity under p90<150ms.",
        "Unusually poor: small",
        "small fell by ",
        "at search 41",
        "for 3h",
        "Of the 96 searches of small, 1 found no estimate",
        "target lost",
        "a million",
    ] {
        assert!(page.text.contains(text), "{text}");
    }
    let cost = format!("{:.3e}", 0.17 / (day().groups[0].median().unwrap() * 3600.0));
    assert!(page.text.contains(&cost), "{cost}");
}

/// Groups after restarts: one that differs from restart to restart, one that does not, one whose
/// estimates are bounds.
fn restarted() -> Compared {
    let steady = |level: f64, share: f64| {
        (0..6).map(move |n| Some(level * (1.0 + share * noise(n * 5 + 3))))
    };
    let mut groups = vec![
        group("moody", 0.17, steady(40.0, 0.3)),
        group("even-tempered", 0.17, steady(40.0, 0.02)),
        group("capped", 0.17, [Some(30.0); 3].into_iter()),
        group("never restarted", 0.17, steady(38.0, 0.05)),
    ];
    for search in groups[..3].iter_mut().flat_map(|group| &mut group.searches) {
        search.run.restarted = true;
    }
    for search in &mut groups[2].searches {
        (search.run.bound, search.run.ci95) = (Some(Bound::AtLeast), None);
    }
    compare(By::Series, groups)
}

#[test]
fn restarts_and_bounds_are_told() {
    let page = page(&restarted());
    for text in [
        "moody: 6 estimates with a CV of ",
        "more than chance (p < 0.001)",
        "After a next restart the capacity lies between ",
        "even-tempered: 6 estimates with a CV of ",
        "no more than chance (p = 0.720)",
        "capped (n = 3, 3 bounds)",
        "capped: Of 3 estimates, 3 are no more than a bound",
        "at least 30/s",
        "no more than a bound",
    ] {
        assert!(page.text.contains(text), "{text}");
    }
    assert!(!page.text.contains("never restarted: "));
    assert!(!page.text.contains("capped: 3 estimates"), "bounds have no spread");
}

#[test]
fn the_same_comparison_gives_the_same_page() {
    assert!(comparison(&day(), None) == comparison(&day(), None));
    assert!(comparison(&day(), None).len() < 1_000_000);
}

#[test]
fn odd_groups_have_a_page() {
    let none = || std::iter::empty();
    let odd = [
        vec![],
        vec![group("empty", 1.0, none())],
        vec![group("gaps", 1.0, [None, None].into_iter())],
        vec![group("one", 1.0, [Some(28.0)].into_iter()), group("gap", 1.0, [None].into_iter())],
        vec![group("same", 1e-9, [Some(5.0); 30].into_iter())],
        vec![group("wide", 1.0, [Some(1e-6), Some(1e12)].into_iter())],
    ];
    for groups in odd {
        page(&compare(By::Target, groups));
    }
    let one = page(&compare(By::Name, vec![group("one", 1.0, [Some(28.0)].into_iter())]));
    assert!(one.text.contains("no group has two searches"));
}

#[test]
fn hostile_names_stay_text() {
    let hostile = |what: &str| {
        let mut groups = vec![group("a", 1.0, [Some(28.0), Some(29.0), None].into_iter())];
        let (one, run) = (&mut groups[0], what.to_owned());
        one.group.clone_from(&run);
        one.searches[0].slo.clone_from(&run);
        one.searches[0].run.run = Some(run.clone());
        one.searches[0].run.started.clone_from(&run);
        one.searches[2].run.ended.clone_from(&run);
        one.searches[2].run.why = Some(run);
        compare(By::Series, groups)
    };
    let (plain, found) = (page(&hostile("plain")), page(&hostile(HOSTILE)));
    assert_eq!(found.elements.len(), plain.elements.len(), "no element came of the text");
    assert_eq!((found.count("script"), found.count("img")), (1, 0));
    assert_eq!(checked(&comparison(&day(), Some(HOSTILE))).count("script"), 1);
}

#[test]
#[ignore = "writes a page to look at"]
fn make_pages_to_look_at() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    std::fs::write(folder.join("comparison.html"), comparison(&day(), None)).unwrap();
    std::fs::write(folder.join("restarts.html"), comparison(&restarted(), None)).unwrap();
}
