//! The page of an experiment of any kind: its answer, its table, its charts over levels.

use plimsoll_capacity::result::CapacityResult;
use plimsoll_capacity::search::Bound;
use plimsoll_report::Document;
use plimsoll_runs::{FigureRow, Kind, RunWriter};

use crate::capacity;
use crate::kept::{CellDefaults, Kept};
use crate::page::{HOSTILE, checked};

/// Pools of a kind of boot and of a bound, in three replications; `cost` tells what each costs.
fn cells(cost: impl Fn(usize, usize, u32) -> f64) -> Vec<Kept<'static>> {
    let mut cells = Vec::new();
    for replication in 0..3 {
        for (place, boot) in ["const:30s", "const:1m", "const:2m"].into_iter().enumerate() {
            for (upper, bound) in ["70", "80"].into_iter().enumerate() {
                let factors = vec![("instance.boot", boot.to_owned()), ("upper", bound.to_owned())];
                let figures = vec![
                    FigureRow::new("cost", cost(place, upper, replication)),
                    FigureRow::new("lost_share", 0.25 / (place + 1) as f64),
                    FigureRow::new("response_us.p99", 1e5 * (place + 1) as f64),
                    FigureRow::new("scale_out", 3.0),
                ];
                cells.push(Kept { factors, replication, figures, run: None });
            }
        }
    }
    cells
}

fn tuned() -> CellDefaults {
    CellDefaults {
        name: "better bounds".to_owned(),
        plan: "[tune]\n".to_owned(),
        ..CellDefaults::kind(Kind::Tune)
    }
}

/// One combination is cheaper than all others, by more than chance.
pub(crate) fn golden() -> Document {
    let cost = |place: usize, upper: usize, replication: u32| {
        10.0 + 4.0 * (place * 2 + upper) as f64 + 0.1 * f64::from(replication)
    };
    CellDefaults { warnings: vec!["a caveat".to_owned()], ..tuned() }.document(&cells(cost))
}

#[test]
fn the_best_combination_is_the_answer_with_its_ratio_and_whether_it_may_be_chance() {
    let text = golden().text();
    let answer = "[good] instance.boot=const:30s · upper=70 has the lowest cost: 10.10 (95%: 9.85 \
                  to 10.35), 0.72 times that of instance.boot=const:30s · upper=80 with 14.10";
    assert!(text.contains(answer), "{text}");
    assert!(text.contains("The 95% intervals of the two do not overlap."));
    let near = tuned().document(&cells(|place, upper, replication| {
        10.0 + 0.01 * (place * 2 + upper) as f64 + f64::from(replication)
    }));
    assert!(near.text().contains("The 95% intervals of the two overlap: it may be chance."));
    let equal = tuned().document(&cells(|_, _, _| 1.0)).text();
    assert!(equal.contains("upper=70 and instance.boot=const:30s · upper=80 have the lowest cost"));
    assert!(!equal.contains("1.00 [good: lowest]"), "none is better where all are equal");
}

#[test]
fn what_was_found_over_all_cells_comes_before_all() {
    let results = vec![("best".to_owned(), "Best: threshold upper=70.".to_owned())];
    let text = CellDefaults { results, ..tuned() }.document(&cells(|_, _, _| 1.0)).text();
    assert!(text.contains("[good] Best: threshold upper=70.\n"), "{text}");
}

#[test]
fn figures_are_drawn_over_each_factor_that_is_a_number() {
    let page = golden().html();
    let parsed = checked(&page);
    // Times of three levels, and bounds of two; a line for each level of the other factor.
    for id in ["over-0-Micros-0", "over-0-Micros-1", "over-1-Mean-0", "over-1-Mean-0-table"] {
        assert!(parsed.values("id").any(|known| known == id), "{id}");
    }
    let (_, rest) = page.split_once("id=\"over-0-Micros-0-table\"").unwrap();
    let (table, _) = rest.split_once("</table>").unwrap();
    for text in ["instance.boot", ">70<", ">80<", "30.0 s", "60.0 s", "120 s", "10.10", "30.10"] {
        assert!(table.contains(text), "{text} in {table}");
    }
    assert!(page.contains("Bars are 95% intervals of the means."));
}

#[test]
fn one_combination_and_none_have_a_page_and_names_stay_text() {
    let one = |kind| {
        let figures = ["estimate_per_s", "response_us.mean", "miss_ratio", "cost"];
        let figures = figures.map(|name| FigureRow::new(name, 0.5)).into();
        let factors = vec![("policy", HOSTILE.to_owned())];
        let (name, subject) = (HOSTILE.to_owned(), HOSTILE.to_owned());
        let results = vec![("best".to_owned(), HOSTILE.to_owned())];
        let cells = [Kept { factors, replication: 0, figures, run: None }];
        CellDefaults {
            name,
            subject,
            results,
            about: HOSTILE.to_owned(),
            ..CellDefaults::kind(kind)
        }
        .document(&cells)
    };
    for kind in Kind::ALL {
        let page = checked(&one(kind).html());
        assert_eq!((page.count("script"), page.count("img")), (1, 0), "{kind:?}");
        checked(&CellDefaults::kind(kind).document(&[]).html());
    }
}

/// Searches that are repeated: three estimates of which one is a bound, and one that broke off.
#[test]
fn repeated_searches_have_their_capacity_its_spread_and_its_course() {
    let result = |estimate: f64, is_bound: bool, ended: &str| {
        let bound = is_bound.then_some(Bound::AtLeast);
        let (estimate_per_s, ended) = (Some(estimate), ended.to_owned());
        CapacityResult { estimate_per_s, bound, ended, ci95: None, ..capacity::result() }
    };
    let all = [(700.0, false, "found"), (740.0, false, "found"), (760.0, true, "found")];
    let broken = (1.0, false, "interrupted");
    let writes: Vec<_> = all
        .into_iter()
        .chain([broken])
        .map(|(estimate, is_bound, ended)| {
            let text = serde_json::to_vec(&result(estimate, is_bound, ended)).unwrap();
            move |writer: &mut RunWriter| {
                std::fs::write(writer.path().join("artifacts/capacity.json"), &text).unwrap();
            }
        })
        .collect();
    let mut cells: Vec<Kept<'_>> = Vec::new();
    for (number, write) in writes.iter().enumerate() {
        let estimate = all.get(number).map(|of| FigureRow::new("estimate_per_s", of.0));
        let (figures, replication) = (estimate.into_iter().collect(), number as u32);
        cells.push(Kept { factors: Vec::new(), replication, figures, run: Some(write) });
    }
    let plan = "[target]\nurl = 'http://h/'\n[load]\nrate = '1/s'\nfor = '1s'\n[measure]\n\
                slo = 'p95<30ms'\n"
        .to_owned();
    let found = CellDefaults { plan: plan.clone(), ..CellDefaults::kind(Kind::Search) }
        .document(&cells[..3]);
    let text = found.text();
    let answer =
        "[good] Capacity under p95<30ms: 733/s (95%: 657/s to 809/s), the mean of 3 searches.";
    assert!(text.contains(answer), "{text}");
    let page = checked(&found.html());
    for id in ["boxes", "course-0", "course-table-0"] {
        assert!(page.values("id").any(|known| known == id), "{id}");
    }
    assert!(text.contains("| all cells | 3, 1 a bound | 740/s |"), "{text}");
    // One that found nothing is a gap, and in no mean.
    let text = CellDefaults { plan, ..CellDefaults::kind(Kind::Search) }.document(&cells).text();
    assert!(text.contains("| all cells | 3 of 4, 1 a bound |"), "{text}");
    assert!(text.contains("the mean of those 3 of 4 searches that found one."), "{text}");
}
