//! Elasticity metrics against reference vectors: piecewise constant cases, and the example of
//! BUNGEE's own tests.

use crate::reference::{close, number, vectors};
use plimsoll_stats::elasticity::{Elasticity, Piece};

fn assert_close(found: f64, wanted: f64, of: &[String]) {
    assert!(
        close(found, wanted, 1e-12) || (found - wanted).abs() < 1e-12,
        "{of:?}: {found} for {wanted}"
    );
}

/// `60:2:4 30:1:1`: durations, demands, supplies.
fn pieces(cell: &str) -> Vec<Piece> {
    let piece = |text: &str| {
        let of: Vec<f64> = text.split(':').map(number).collect();
        Piece { seconds: of[0], demand: of[1], supply: of[2] }
    };
    cell.split(' ').map(piece).collect()
}

#[test]
fn piecewise_constant_cases_are_the_references() {
    for row in vectors("piecewise_constant_cases_are_the_references", "elasticity_metrics.csv") {
        let pieces = pieces(&row[1]);
        let all = Elasticity::of(&pieces);
        for (found, column) in [
            (all.under.accuracy, 3),
            (all.over.accuracy, 4),
            (100.0 * all.under.normalised, 5),
            (100.0 * all.over.normalised, 6),
            (100.0 * all.under.timeshare, 7),
            (100.0 * all.over.timeshare, 8),
            // The reference's jitter counts changes; that of BUNGEE, a minute, units.
            (60.0 * all.jitter_per_s, 14),
            (all.deviation(), 15),
        ] {
            assert_close(found, number(&row[column]), &row);
        }
        // A piece cut into two says the same.
        let halves: Vec<Piece> = pieces
            .iter()
            .flat_map(|of| [0.25, 0.75].map(|share| Piece { seconds: share * of.seconds, ..*of }))
            .collect();
        assert_close(Elasticity::of(&halves).deviation(), all.deviation(), &row);
        assert_close(Elasticity::of(&halves).jitter_per_s, all.jitter_per_s, &row);
    }
}

/// Steps as `0:1 7:5`: from when, how many.
fn steps(cell: &str) -> Vec<(f64, f64)> {
    let step = |text: &str| text.split_once(':').map(|(at, count)| (number(at), number(count)));
    cell.split(' ').filter_map(step).collect()
}

/// The last step not after a time.
fn at(steps: &[(f64, f64)], time: f64) -> f64 {
    steps.iter().rev().find(|(from, _)| *from <= time).map_or(0.0, |(_, count)| *count)
}

#[test]
fn bungees_example_is_the_reference() {
    for row in vectors("bungees_example_is_the_reference", "bungee_reference.csv") {
        let (demand, supply, total) = (steps(&row[0]), steps(&row[1]), number(&row[2]));
        let mut times: Vec<f64> = demand.iter().chain(&supply).map(|(at, _)| *at).collect();
        times.push(total);
        times.sort_by(f64::total_cmp);
        times.dedup();
        let piece = |ends: &[f64]| Piece {
            seconds: ends[1] - ends[0],
            demand: at(&demand, ends[0]),
            supply: at(&supply, ends[0]),
        };
        let pieces: Vec<Piece> = times.windows(2).map(piece).collect();
        let all = Elasticity::of(&pieces);
        let found =
            [all.over.accuracy, all.under.accuracy, all.over.timeshare, all.under.timeshare];
        for (found, column) in found.into_iter().zip(3..) {
            assert_close(found, number(&row[column]), &row);
        }
        assert_close(all.jitter_per_s, number(&row[9]), &row);
    }
}
