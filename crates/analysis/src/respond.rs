//! The figures that effects are computed of and combinations are ranked by.

use plimsoll_plan::Experiment;
use plimsoll_runs::Kind;
use plimsoll_stats::figure::{self, Better, Figure};

use crate::document::CellResult;

/// The figure that a word of a plan means: its name, its label, or a part of them by which it is
/// the only one that cells have.
pub(crate) fn figure_of(word: &str, cells: &[CellResult]) -> Option<&'static Figure> {
    figure::called(word, |of| cells.iter().any(|cell| cell.figures.contains_key(of.name)))
}

/// The figures of `respond`, by default the one by which an experiment of the kind is judged;
/// without an `[experiment]` the one by which results of the kind are usually compared. With them
/// come the words of `respond` whose figures no cell has, which are a warning each.
pub(crate) fn responses(
    asked: Option<&Experiment>,
    kind: Kind,
    cells: &[CellResult],
    warnings: &mut Vec<String>,
) -> (Vec<&'static Figure>, Vec<String>) {
    let Some(asked) = asked else {
        let usual = usual(kind).iter().copied();
        let has = |of: &&Figure| cells.iter().any(|cell| cell.figures.contains_key(of.name));
        return (usual.filter(has).take(1).collect(), Vec::new());
    };
    let by_kind = [by_default(kind).to_owned()];
    let (mut found, mut absent) = (Vec::new(), Vec::new());
    for word in asked.respond.as_deref().unwrap_or(&by_kind) {
        match figure_of(word, cells) {
            Some(figure) => found.push(figure),
            None if cells.iter().any(|cell| !cell.figures.is_empty()) => {
                warnings.push(format!("no cell has the figure `{word}` of `respond`"));
                if asked.respond.is_some() {
                    absent.push(word.clone());
                }
            }
            None => {}
        }
    }
    (found, absent)
}

/// The figure that responds where `respond` is not said.
pub(crate) fn by_default(kind: Kind) -> &'static str {
    match kind {
        Kind::Load => figure::RESPONSE_US_P99.name,
        Kind::Search => figure::ESTIMATE_PER_S.name,
        Kind::Pool | Kind::Tune => figure::COST.name,
        Kind::Caches => figure::MISS_RATIO.name,
    }
}

/// The figures that say which combination is best, the first that there is.
fn usual(kind: Kind) -> &'static [&'static Figure] {
    match kind {
        Kind::Load => &[figure::RESPONSE_US_P99, figure::RESPONSE_US_P90, figure::RESPONSE_US_MEAN],
        Kind::Search => &[figure::ESTIMATE_PER_S],
        Kind::Pool | Kind::Tune => &[figure::COST],
        Kind::Caches => &[figure::MISS_RATIO],
    }
}

/// By which figure combinations are ranked, and which way: by `goal`, else the first of the
/// figures that respond, the way it is better. `None` where nothing says it.
pub(crate) fn goal(
    asked: Option<&Experiment>,
    respond: &[&'static Figure],
    cells: &[CellResult],
) -> Option<(&'static Figure, Better)> {
    // The figure that responds first is known: only what `goal` says is looked for.
    match asked.map(|asked| asked_goal(asked, "")) {
        Some((word, Some(better))) => Some((figure_of(word, cells)?, better)),
        _ => respond.first().map(|figure| (*figure, figure.better)),
    }
    .filter(|(_, better)| *better != Better::Neither)
}

/// The word for the figure by which combinations are ranked, and which way, where `goal` says it;
/// else the figure that responds first, which is that of the kind where the plan names none.
pub(crate) fn asked_goal<'a>(asked: &'a Experiment, by_kind: &'a str) -> (&'a str, Option<Better>) {
    match asked.goal.as_deref().and_then(|goal| goal.split_once(' ')) {
        Some((way, word)) => {
            let better = if way == "max" { Better::Higher } else { Better::Lower };
            (word.trim(), Some(better))
        }
        None => {
            let first = asked.respond.iter().flatten().next();
            (first.map_or(by_kind, String::as_str), None)
        }
    }
}
