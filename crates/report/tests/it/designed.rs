//! The page of an experiment with factors: its answer, effects, gate, failures and notes; and of
//! the same one in two worlds.

use plimsoll_report::Document;
use plimsoll_runs::{FigureRow, Kind};

use crate::kept::{CellDefaults, Kept};
use crate::page::{HOSTILE, checked};

/// A plan of three factors.
fn of() -> CellDefaults {
    let plan = "name = 'tuning'\nseed = 7\n[experiment]\nreplications = 2\n\
                respond = ['p99', 'rate']\n[factor]\n\"load.users\" = [16, 256]\n\
                \"role.web.cpu\" = ['20%', '40%']\n\"role.web.vars.workers\" = [1, 2]\n\
                [measure]\nslo = 'p99<50ms'\n";
    CellDefaults {
        name: "tuning".to_owned(),
        plan: plan.to_owned(),
        ..CellDefaults::kind(Kind::Load)
    }
}

/// Cells of a full design: 40% of a core doubles the rate, more users make it slower, and workers
/// do next to nothing. `times` multiplies each p99.
fn cells(replications: u32, times: f64) -> Vec<Kept<'static>> {
    let mut cells = Vec::new();
    for replication in 0..replications {
        for place in 0..8_usize {
            let (users, cpu, workers) = (place / 4, place / 2 % 2, place % 2);
            // Another part of a per cent for each cell, so that nothing is equal by chance.
            let noise = 1.0 + 0.002 * ((place * 5 + replication as usize * 3) % 7) as f64;
            let rate = 1000.0 * [1.0, 2.0][cpu] * [1.0, 1.1][users] * noise;
            let p99 = 10_000.0 * [1.0, 0.5][cpu] * [1.0, 3.0][users] * times / noise;
            let factors = vec![
                ("load.users", ["16", "256"][users].to_owned()),
                ("role.web.cpu", ["20%", "40%"][cpu].to_owned()),
                ("role.web.vars.workers", ["1", "2"][workers].to_owned()),
            ];
            let figures = vec![
                FigureRow::new("rate_mean", rate),
                FigureRow::new("response_us.p99", p99),
                FigureRow::new("errors", 0.0),
            ];
            cells.push(Kept { factors, replication, figures, run: None });
        }
    }
    cells
}

/// One cell's availability did not hold, and one failed.
pub(crate) fn golden() -> Document {
    of().changed(&cells(2, 1.0), |analysis| {
        let [broken, failed] = analysis.cells.first_chunk_mut().unwrap();
        broken.gate = Some("broken");
        failed.state = "failed";
        failed.reason = format!("web-1: {HOSTILE}");
    })
}

pub(crate) fn golden_unreplicated() -> Document {
    of().document(&cells(1, 1.0))
}

pub(crate) fn golden_worlds() -> Document {
    of().worlds(&cells(2, 1.0), &cells(2, 0.9)).unwrap()
}

#[test]
fn the_answer_says_which_is_best_by_how_much_and_how_sure() {
    let text = of().document(&cells(2, 1.0)).text();
    let best = "users=16 · cpu=40% · workers=";
    assert!(text.contains(&format!("{best}1 has the lowest response p99")), "{text}");
    assert!(text.contains("of the 10.0 ms at the first levels (95%: ") || text.contains("9.9"));
    assert!(text.contains(&format!("The next best is {best}2")), "{text}");
}

#[test]
fn effects_stand_with_their_values_and_with_what_is_worse_elsewhere() {
    let document = of().document(&cells(2, 1.0));
    let text = document.text();
    assert!(
        text.contains("Worse elsewhere: load.users 256 against 16 is better in rate"),
        "{text}"
    );
    for part in ["× 2.0", "(V − NV)/NV", "Analysis of variance of rate", "Interactions"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let page = checked(&document.html());
    for id in ["effects-0", "effects-1", "effects-table", "results-table", "cells"] {
        assert!(page.values("id").any(|known| known == id), "{id}");
    }
}

#[test]
fn what_does_not_count_has_a_table_of_its_own_and_names_stay_text() {
    let document = golden();
    let text = document.text();
    assert!(text.contains("Availability did not hold") && text.contains("Not done"), "{text}");
    let page = checked(&document.html());
    assert_eq!((page.count("script"), page.count("img")), (1, 0));
}

#[test]
fn without_replications_no_effect_is_sure_and_sizes_are_shown() {
    let document = golden_unreplicated();
    let text = document.text();
    assert!(text.contains("Each combination ran once: no figure has a spread"), "{text}");
    assert!(!text.contains("Analysis of variance"), "{text}");
    let page = checked(&document.html());
    assert!(page.values("id").any(|known| known == "half-normal-0"));
}

#[test]
fn a_prediction_stands_over_what_was_measured() {
    let text = golden_worlds().text();
    let answer = "Predicted response p99: × 0.900 of what was measured in the geometric mean over \
                  8 combinations, × 0.900 to × 0.900 in single ones.";
    assert!(text.contains(answer), "{text}");
    let nothing = of().worlds(&cells(2, 1.0), &[]).err().unwrap().to_string();
    assert!(nothing.contains("no combination of levels is done in both"), "{nothing}");
}
