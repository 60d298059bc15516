//! The page of a load run or of several side by side, and of searches for a capacity, which are
//! runs too: the answer, the figures in the order in which a person asks, the plan, and how it was
//! counted.

use super::content::Content;
use super::{
    by_label, by_name, counting, distribution, headline, inferred, over_time, prediction, search,
    sides, slowest, tables, watched, websocket,
};
use crate::cells::title_of;
use crate::document::{Block, Document, Section, Verdict, chart, words};
use crate::view::View;
use plimsoll_draw::chart::Chart;

/// Most names of runs in a title.
const MOST_NAMES: usize = 3;

/// The page of some runs; of several, `winner` is the best of them.
pub(crate) fn page(content: &Content, winner: Option<Verdict>, title: Option<String>) -> Document {
    let side_by_side =
        || winner.into_iter().map(Block::Verdict).chain(sides(content)).collect::<Vec<_>>();
    let head = match &content.views[..] {
        [view] => headline::one(view),
        _ => prediction::head(content).unwrap_or_else(side_by_side),
    };
    Document {
        title: title.unwrap_or_else(|| named(&content.views)),
        head,
        sections: sections(content),
        is_several: content.several(),
    }
}

/// What the page of an experiment has of its runs, side by side.
pub(crate) fn of_cells(content: &Content) -> Vec<Section> {
    let mut all = sections(content);
    // The seconds of a search are none of its results: it breaks its own SLO to find the capacity.
    let is_search = content.views.iter().any(|view| view.searched.is_some());
    if content.has_seconds() && !is_search {
        all.insert(0, Section::new("runs", "The runs", sides::head(content)));
    }
    all
}

/// The runs side by side; nothing where one of them has no seconds to tell of.
fn sides(content: &Content) -> Vec<Block> {
    if content.has_seconds() { sides::head(content) } else { Vec::new() }
}

/// The title of a page that was given none: what the runs are called, each name once. Runs without
/// a name are counted.
fn named(views: &[View]) -> String {
    if let [view] = views {
        return match view.meta.name.as_str() {
            "" => title_of(view.meta.kind, &view.meta.subject),
            name => name.to_owned(),
        };
    }
    let mut names: Vec<&str> = Vec::new();
    for view in views {
        if !view.meta.name.is_empty() && !names.contains(&view.meta.name.as_str()) {
            names.push(&view.meta.name);
        }
    }
    match (names.len(), views.len()) {
        (0, n) => format!("{n} runs side by side"),
        (1, n) => format!("{}: {n} runs side by side", names.concat()),
        (some, _) if some <= MOST_NAMES => names.join(" · "),
        (some, n) => format!("{} and {} more: {n} runs", names[0], some - 1),
    }
}

const WAITS: &str = "Between the moment a request is due and the moment it is sent there are two \
                     waits, and they have two owners. Waiting for a usable connection (name, TCP, \
                     TLS, a free one) is the target's doing and belongs to its response time. \
                     Lateness is what this program added although a connection was usable: a run \
                     whose lateness is no longer small beside the response time is not valid.";

const HEALTH: &str = "Whether the generator and its host were up to the load. A busy generator is \
                      late; a host that gives its time to others delays everything on it.";

fn sections(content: &Content) -> Vec<Section> {
    let mut sections = prediction::sections(content);
    sections.extend(search::section(content));
    if content.has_seconds() {
        sections.extend(of_seconds(content));
    }
    sections.push(Section::new("plan", "The plan", tables::plans(content)));
    if content.has_seconds() {
        sections.push(Section::new("counting", "How it was counted", vec![counting::notes()]));
    }
    sections
}

/// What seconds tell of the load, of answers, and of the generator.
fn of_seconds(content: &Content) -> Vec<Section> {
    let charts = |charts: Vec<Box<dyn Chart>>| vec![Block::Charts(charts)];
    let explained = |text: &str, charts| vec![words(text), Block::Charts(charts)];
    let health = over_time::health(content).into_iter().map(|one| chart(one)).collect();
    let mut all = vec![
        Section::new("load", "Load", charts(vec![chart(over_time::rate(content))])),
        Section::new(
            "response",
            "Response time",
            charts(vec![
                chart(over_time::percentiles(content)),
                chart(over_time::heat(content)),
                chart(distribution::linear(content)),
                chart(distribution::nines(content)),
            ]),
        ),
        Section::new(
            "waits",
            "Waiting and lateness",
            explained(
                WAITS,
                vec![chart(over_time::waiting(content)), chart(over_time::lateness(content))],
            ),
        ),
        Section::new(
            "answers",
            "Answers and errors",
            charts(vec![chart(over_time::status(content)), chart(over_time::errors(content))]),
        ),
        Section::new("generator", "Generator and host", explained(HEALTH, health)),
        Section::new("figures", "All figures", tables::figures(content)),
    ];
    // What was watched stands under the response times.
    let place = all.iter().position(|of| of.id == "waits").unwrap_or(all.len());
    let sections = watched::section(content).into_iter().chain(watched::workers(content));
    let sections = sections.chain(watched::others(content));
    let named = by_name::section(content).into_iter().chain(by_label::section(content));
    let named = named.chain(slowest::section(content));
    let sections = named.chain(websocket::section(content)).chain(sections);
    all.splice(place..place, sections);
    // What the run was made for stands first.
    all.splice(0..0, inferred::section(content));
    all
}
