//! The search for a capacity: what it found and how, above the figures of its run.

mod curves;
mod joined;
mod outcome;
mod staircase;
mod trips;
mod windows;

use plimsoll_runs::Summary;

use super::content::Content;
use super::verdict;
use crate::document::{Block, Section, chart, note, nothing};
use crate::searched::Searched;
use plimsoll_draw::chart::Chart;
use plimsoll_draw::chart::plot::Plot;

/// The head of a search: its capacity, and how it was found. Figures of its run as a whole, which
/// was meant to go beyond the SLO, would say nothing.
pub(crate) fn head(searched: &Searched, s: &Summary) -> Vec<Block> {
    let mut blocks = Vec::new();
    if !s.run.valid {
        blocks.push(Block::Verdict(verdict::verdict(s)));
    }
    let found = outcome::blocks(searched);
    match s.run.valid {
        true => {
            blocks.extend(found);
            blocks.push(note("The run is valid. The SLO was judged window by window."));
        }
        false => blocks.push(Block::Doubtful(found)),
    }
    blocks
}

/// The response times of a search that was predicted and of one that was measured, over the rate;
/// `None` where there is nothing to draw of one of them.
pub(crate) fn overlay(predicted: &Searched, measured: &Searched) -> Option<Plot> {
    let of = |searched: &Searched| joined::join(&searched.windows);
    let (of_predicted, of_measured) = (of(predicted), of(measured));
    if of_predicted.is_empty() || of_measured.is_empty() {
        return None;
    }
    Some(curves::overlay(measured, (&of_predicted, &of_measured)))
}

/// The section of searches; none where no run was one.
pub(crate) fn section(content: &Content) -> Option<Section> {
    let mut blocks = Vec::new();
    for (index, view) in content.views.iter().enumerate() {
        let Some(searched) = &view.searched else { continue };
        if content.several() {
            blocks.push(Block::Heading(view.heading.clone()));
            blocks.extend(outcome::blocks(searched));
        }
        blocks.push(charts(searched, index));
    }
    (!blocks.is_empty()).then(|| Section::new("capacity", "Capacity", blocks))
}

fn charts(searched: &Searched, index: usize) -> Block {
    if searched.windows.is_empty() {
        return nothing("Nothing to draw: there is no window.");
    }
    let windows = windows::table(searched, index);
    let joined = joined::join(&searched.windows);
    let mut all: Vec<Box<dyn Chart>> = vec![chart(staircase::rates(searched, &windows, index))];
    all.extend(curves::percentiles(searched, &joined, index).map(chart));
    all.extend(curves::contour(searched, &joined, index).map(chart));
    all.extend(curves::surface(searched, &joined, index).map(chart));
    all.extend(trips::charts(searched, &windows, index));
    all.insert(1, chart(staircase::times(searched, windows, index)));
    Block::Charts(all)
}
