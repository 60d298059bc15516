//! How much of what an instance is limited to was in use, by combination, and what was short: the
//! role that saturates, and by which of its resources.

use plimsoll_stats::figure::{self, Figure};

use crate::document::{CellResult, CombinationResult, InUse, Resource};
use crate::ranking;

/// From this share on, in the mean over a cell, a resource is short. A full queue of work keeps a
/// processor or a link busy but for the moments in which its quota begins anew.
pub const SHORT: f64 = 0.9;

/// What is before the name of an instance's figure.
const INSTANCE: &str = "instance.";

/// What was in use of each limit, the most first, in the order of the combinations. What one of a
/// combination's cells has no figure of is left out.
pub(crate) fn of(combinations: &[CombinationResult], cells: &[CellResult]) -> Vec<InUse> {
    combinations.iter().flat_map(|of| of_combination(of, cells)).collect()
}

fn of_combination(of: &CombinationResult, cells: &[CellResult]) -> Vec<InUse> {
    let counted: Vec<&CellResult> =
        cells.iter().filter(|cell| cell.counts() && cell.factors == of.factors).collect();
    let Some(first) = counted.first() else { return Vec::new() };
    let found = first.figures.keys().filter_map(|name| {
        let (instance, resource) = limited(name)?;
        let figure: &'static Figure = figure::named(name)?;
        let share = ranking::mean_of(figure, &counted)?;
        let is_short = share.mean >= SHORT;
        let (factors, instance) = (of.factors.clone(), instance.to_owned());
        Some(InUse { factors, instance, resource, share, is_short })
    });
    let mut found: Vec<InUse> = found.collect();
    found.sort_by(|one, other| other.share.mean.total_cmp(&one.share.mean));
    found
}

/// The instance, and of which of its resources a figure is the share.
fn limited(figure: &str) -> Option<(&str, Resource)> {
    let (instance, of_it) = figure.strip_prefix(INSTANCE)?.split_once('.')?;
    let resource = match of_it {
        "cpu" => Resource::Processor,
        "sent_share" => Resource::Sent,
        "received_share" => Resource::Received,
        _ => return None,
    };
    Some((instance, resource))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Levels, state};
    use std::collections::BTreeMap;

    fn cell(level: &str, state: &'static str, figures: &[(&str, f64)]) -> CellResult {
        CellResult {
            factors: Levels::from([("short".to_owned(), level.to_owned())]),
            state,
            figures: figures.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect(),
            ..CellResult::default()
        }
    }

    fn combination(level: &str) -> CombinationResult {
        CombinationResult {
            factors: Levels::from([("short".to_owned(), level.to_owned())]),
            cells: 2,
            counted: 2,
            slo: None,
            ranked: true,
            score: None,
            figures: BTreeMap::new(),
        }
    }

    #[test]
    fn what_is_short_is_told_by_instance_and_resource() {
        let cells = [
            cell(
                "web",
                state::DONE,
                &[
                    ("instance.web-1.cpu", 0.97),
                    ("instance.web-1.cores", 0.12),
                    ("instance.front-1.sent_share", 0.2),
                    ("instance.front-1.received_share", 0.01),
                ],
            ),
            // The front's link was not watched here, and the third counts for nothing.
            cell("web", state::DONE, &[("instance.web-1.cpu", 0.99)]),
            cell("web", state::FAILED, &[("instance.web-1.cpu", 0.1)]),
            cell("link", state::DONE, &[("instance.front-1.sent_share", 0.89)]),
        ];
        let all = of(&[combination("web"), combination("link"), combination("none")], &cells);
        let told: Vec<(&str, Resource, bool)> =
            all.iter().map(|of| (of.instance.as_str(), of.resource, of.is_short)).collect();
        assert_eq!(
            told,
            [("web-1", Resource::Processor, true), ("front-1", Resource::Sent, false)],
            "{all:?}"
        );
        let share = all[0].share;
        assert!((share.mean - 0.98).abs() < 1e-9 && share.n == 2, "{share:?}");
        assert!(share.ci95.is_some_and(|[low, high]| low < 0.98 && high > 0.98), "{share:?}");
    }

    #[test]
    fn the_most_used_comes_first() {
        let one = cell(
            "web",
            state::DONE,
            &[
                ("instance.db-1.cpu", 0.4),
                ("instance.web-1.cpu", 0.3),
                ("instance.front-1.received_share", 0.95),
            ],
        );
        let all = of(&[combination("web")], &[one]);
        let names: Vec<&str> = all.iter().map(|of| of.instance.as_str()).collect();
        assert_eq!(names, ["front-1", "db-1", "web-1"]);
    }
}
