//! How much of its limits each instance used: what was short, combination by combination.

use plimsoll_analysis::{Analysis, InUse, SHORT};
use plimsoll_stats::figure::Unit;

use super::designed::called;
use crate::document::{Block, Cell, Grid, Section, note, words};
use crate::figure_text::{self, DASH};

/// The most combinations of the table.
const MAX_ROWS: usize = 500;

/// The section; none where no instance is limited and watched.
pub(crate) fn section(analysis: &Analysis) -> Option<Section> {
    let own = |of: &_| -> Vec<&InUse> {
        analysis.in_use.iter().filter(|one| one.factors == *of).collect()
    };
    let all =
        analysis.combinations.iter().map(|of| (called(analysis, &of.factors), own(&of.factors)));
    let all: Vec<(String, Vec<&InUse>)> =
        all.filter(|(_, own)| !own.is_empty()).take(MAX_ROWS).collect();
    if all.is_empty() {
        return None;
    }
    let first = all.iter().map(|(name, own)| row(name, own)).collect();
    let of_all = all.iter().flat_map(|(name, own)| own.iter().map(move |one| line(name, one)));
    let heads = ["combination", "most in use", "share of its limit", "", "next"];
    let blocks = vec![
        words(answer(&all)),
        Block::Table(grid("in-use-table", &heads, first)),
        Block::Folded(
            "All limits".to_owned(),
            vec![Block::Table(grid("in-use-all-table", &heads[..4], of_all.collect()))],
        ),
        note(format!(
            "Shares are means over the measured time of the cells that count. What is in use to \
             {} and more is short: there was no more to be had of it. Only what is limited has \
             a share: `cpu` and `rate` of a role, watched by `cgroup` and `network`.",
            share(SHORT)
        )),
    ];
    Some(Section::new("in-use", "What was short", blocks))
}

/// Who was short of what, in a sentence.
fn answer(all: &[(String, Vec<&InUse>)]) -> String {
    let short = all.iter().filter_map(|(name, own)| {
        let most = own.first().filter(|of| of.is_short)?;
        Some(format!("{name}: {} ({})", most.instance, most.resource.word()))
    });
    let short: Vec<String> = short.collect();
    match (short.len(), all.len()) {
        (0, _) => "Nothing was short: of each limit more could have been had.".to_owned(),
        (some, of) if some <= 10 => format!("Short in {some} of {of}: {}.", short.join("; ")),
        (some, of) => format!("Short in {some} of {of} combinations."),
    }
}

fn grid(id: &str, heads: &[&str], rows: Vec<Vec<Cell>>) -> Grid {
    let heads = heads.iter().map(Cell::of).collect();
    Grid { class: "policies", id: id.to_owned(), heads, rows }
}

/// A combination: what it used most of, and what comes next at another instance.
fn row(name: &str, own: &[&InUse]) -> Vec<Cell> {
    let most = own[0];
    let next = own.iter().find(|one| one.instance != most.instance);
    let next =
        next.map_or_else(|| DASH.to_owned(), |of| format!("{} {}", what(of), share(of.share.mean)));
    line(name, most).into_iter().chain([Cell::of(next)]).collect()
}

fn line(name: &str, of: &InUse) -> Vec<Cell> {
    let value = Cell::of(share(of.share.mean));
    let value = match of.share.ci95 {
        Some([low, high]) => value.with(figure_text::interval((low, high), share)),
        None => value,
    };
    let short = match of.is_short {
        true => Cell::default().judged("poor", "short"),
        false => Cell::of(DASH),
    };
    vec![Cell::of(name), Cell::of(what(of)), value, short]
}

fn what(of: &InUse) -> String {
    format!("{}, {}", of.instance, of.resource.word())
}

fn share(of: f64) -> String {
    Unit::Share.show(of)
}
