//! The head of one run's page: what a person reads in ten seconds. What was asked, whether to
//! believe the figures, whether the objectives held, and the figures themselves; of a search, what
//! it found.

use plimsoll_runs::Summary;

use super::tiles::{lacks_p99, tiles};
use super::verdict::verdict;
use super::{objectives, search};
use crate::asked_load;
use crate::document::{self, Block, warnings};
use crate::view::View;
use plimsoll_draw::chart::unit::{micros, moment, whole};

/// The head of one run.
pub(crate) fn one(view: &View) -> Vec<Block> {
    let subject = &view.meta.subject;
    let about =
        if subject.is_empty() { asked(view) } else { format!("{subject} · {}", asked(view)) };
    let mut blocks = match &view.searched {
        Some(searched) => search::head(searched, &view.summary),
        None => of_load(&view.summary),
    };
    // The verdict is the first thing to be read, what was asked the next.
    blocks
        .splice(blocks.len().min(1)..blocks.len().min(1), [document::asked(about), identity(view)]);
    blocks.extend(warnings(&view.summary.warnings));
    blocks
}

fn of_load(s: &Summary) -> Vec<Block> {
    let figures = Block::Tiles(tiles(s, lacks_p99(s)));
    let figures = if s.run.valid { figures } else { Block::Doubtful(vec![figures]) };
    let mut blocks = vec![Block::Verdict(verdict(s)), figures];
    blocks.extend(objectives::blocks(s));
    blocks
}

/// What was asked, in a sentence.
pub(crate) fn asked(view: &View) -> String {
    let s = &view.summary;
    let mut text = match (&view.searched, asked_load::load(&view.plan)) {
        // Of the load itself a search uses nothing of the plan.
        (Some(searched), _) => format!("search for the capacity under {}. ", searched.slo),
        (None, Some(load)) => format!("{load}. "),
        (None, None) => String::new(),
    };
    if let Some(workload) = &s.workload {
        text.push_str(&format!("{workload}. "));
    }
    if !view.meta.has_seconds() {
        return text.trim_end().to_owned();
    }
    text.push_str(&format!("{} requests due in {}", whole(s.offered as f64), length(s.duration_s)));
    if s.warmup_s > 0.0 {
        text.push_str(&format!(", after {} of warm-up", length(s.warmup_s)));
    }
    text.push('.');
    text
}

/// A length of time: whole seconds in the plan's grammar, others with their digits.
fn length(seconds: f64) -> String {
    let whole_s = (seconds - seconds.round()).abs() < 0.005 && seconds >= 1.0;
    if whole_s || seconds <= 0.0 { moment(seconds) } else { micros(seconds * 1e6) }
}

/// The start for a person: `2026-10-26 07:33:20 UTC`.
pub(crate) fn started(s: &Summary) -> String {
    match s.run.started.split_once('T') {
        Some((date, time)) if time.is_ascii() && time.len() >= 8 => {
            format!("{date} {} UTC", &time[..8])
        }
        _ => s.run.started.clone(),
    }
}

fn identity(view: &View) -> Block {
    let s = &view.summary;
    Block::Facts(vec![
        format!("started {}", started(s)),
        format!("{} world", view.meta.world.name()),
        format!("seed {}", s.run.seed),
        format!("version {}", s.run.version),
        format!("run {}", s.run.id),
    ])
}
