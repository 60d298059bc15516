//! The page: headline, figures in the order a person asks, the plan, and how it was counted.

mod asked;
mod cached;
mod capacity;
mod clusters;
mod compared;
mod counting;
mod distribution;
mod headline;
mod objectives;
mod over_time;
mod sides;
mod simulated;
mod tables;
mod tiles;
mod verdict;

use crate::Options;
use crate::view::View;
use plimsoll_draw::Markup;
use plimsoll_draw::chart::axis::Axis;
use plimsoll_draw::chart::figure::{Figure, Panel, Series};
use plimsoll_draw::chart::heat;

/// By which one among several is called.
const LETTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
/// Most buckets of the heat map.
const BUCKETS: usize = 48;

/// Everything that the page shows.
pub(crate) struct Content<'a> {
    /// The runs, in order.
    pub(crate) views: &'a [View],
    /// The axis of every chart over time.
    pub(crate) axis: Axis,
    /// The edges of the heat map's buckets, µs.
    pub(crate) edges: Vec<f64>,
    /// The heat map's counts: by run, bucket and column.
    pub(crate) heat: Vec<Vec<Vec<Option<f64>>>>,
}

impl Content<'_> {
    /// Whether runs stand side by side.
    pub(crate) fn several(&self) -> bool {
        self.views.len() > 1
    }

    /// One panel a run, with the run's shaded stretches where the axis is time.
    pub(crate) fn panels(&self, series: impl Fn(&View) -> Vec<Series>) -> Vec<Panel> {
        let panel = |view: &View| Panel {
            heading: self.several().then(|| view.heading.clone()),
            series: series(view),
            bands: view.bands(),
        };
        self.views.iter().map(panel).collect()
    }

    /// What a count over time is per, in words.
    pub(crate) fn in_each(&self) -> String {
        match self.axis {
            Axis::Time { column_s, .. } if column_s > 1.0 => {
                format!("in each {}", plimsoll_draw::chart::unit::moment(column_s))
            }
            _ => "in each second".to_owned(),
        }
    }

    /// What a column of time holds, as the beginning of a sentence; empty where it is one second.
    pub(crate) fn column_note(&self, rule: &str) -> String {
        match self.axis {
            Axis::Time { column_s, .. } if column_s > 1.0 => {
                format!(
                    "Each column covers {}: {rule}.",
                    plimsoll_draw::chart::unit::moment(column_s)
                )
            }
            _ => String::new(),
        }
    }
}

/// The letter of one among several; after Z come AA, AB and so on, as columns of a sheet are named.
fn letter(index: usize) -> String {
    let before =
        if index < LETTERS.len() { String::new() } else { letter(index / LETTERS.len() - 1) };
    before + &LETTERS[index % LETTERS.len()..][..1]
}

/// Gives each of several runs a letter, by which the page speaks of it.
pub(crate) fn give_letters(views: &mut [View]) {
    if views.len() < 2 {
        return;
    }
    for (index, view) in views.iter_mut().enumerate() {
        view.letter = letter(index);
        view.heading = format!("{}: {}", view.letter, view.heading);
    }
}

/// The title of a page that was given none: what the runs are called, each name once.
fn title(views: &[View]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for view in views {
        let name = if view.meta.name.is_empty() { &view.meta.id } else { &view.meta.name };
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    match views.len() {
        1 => names.concat(),
        n if names.len() == 1 => format!("{}: {n} runs side by side", names.concat()),
        _ => names.join(" · "),
    }
}

/// The edges of the heat map's buckets, for all runs, µs.
pub(crate) fn heat_edges(views: &[View]) -> Vec<f64> {
    let extents = views.iter().filter_map(|view| view.extent_ns);
    let (least, most) = extents.fold((u64::MAX, 0), |(least, most), (a, b)| {
        // Below 100 ns there is nothing to tell apart.
        (least.min(a.max(100)), most.max(b.max(100)))
    });
    if most == 0 {
        return Vec::new();
    }
    heat::edges(least as f64 / 1e3, most as f64 / 1e3, BUCKETS)
}

pub(crate) use cached::{write as write_cached, write_curves};
pub(crate) use clusters::write as write_clusters;
pub(crate) use compared::write as write_compared;
pub(crate) use simulated::write as write_simulated;

/// Writes the page.
pub(crate) fn write(content: &Content<'_>, options: &Options) -> String {
    let title = options.title.clone().unwrap_or_else(|| title(content.views));
    document(&title, if content.several() { "several" } else { "one" }, |m| {
        headline::write(m, content, &title);
        m.tag("main", &[], |m| write_sections(m, content));
    })
}

/// Writes a document of that title: head, what stands in its body, and the script.
fn document(title: &str, class: &'static str, body: impl FnOnce(&mut Markup)) -> String {
    let mut m = Markup::default();
    m.verbatim("<!DOCTYPE html>\n");
    m.tag("html", &[("lang", &"en")], |m| {
        m.tag("head", &[], |m| {
            m.void("meta", &[("charset", &"utf-8")]);
            m.void(
                "meta",
                &[("name", &"viewport"), ("content", &"width=device-width, initial-scale=1")],
            );
            m.void("meta", &[("name", &"color-scheme"), ("content", &"light dark")]);
            m.leaf("title", &[], format_args!("{title} – Plimsoll report"));
            m.tag("style", &[], |m| m.verbatim(include_str!("../style.css")));
        });
        m.tag("body", &[("class", &class)], |m| {
            body(m);
            m.tag("script", &[], |m| m.verbatim(include_str!("../readout.js")));
        });
    });
    m.verbatim("\n");
    m.finish()
}

fn write_sections(m: &mut Markup, content: &Content<'_>) {
    capacity::write(m, content);
    figures(m, "load", "Load", None, &[over_time::rate(content)]);
    let response = [
        over_time::percentiles(content),
        over_time::heat(content),
        distribution::linear(content),
        distribution::nines(content),
    ];
    figures(m, "response", "Response time", None, &response);
    let words = "Between the moment a request is due and the moment it is sent there are two \
                 waits, and they have two owners. Waiting for a usable connection (name, TCP, TLS, \
                 a free one) is the target's doing and belongs to its response time. Lateness is \
                 what this program added although a connection was usable: a run whose lateness is \
                 no longer small beside the response time is not valid.";
    let waits = [over_time::waiting(content), over_time::lateness(content)];
    figures(m, "waits", "Waiting and lateness", Some(words), &waits);
    figures(
        m,
        "answers",
        "Answers and errors",
        None,
        &[over_time::status(content), over_time::errors(content)],
    );
    let words = "Whether the generator and its host were up to the load. A busy generator is late; \
                 a host that gives its time to others delays everything on it.";
    figures(m, "generator", "Generator and host", Some(words), &over_time::health(content));
    section(m, "figures", "All figures", |m| tables::write(m, content));
    section(m, "plan", "The plan", |m| tables::write_plans(m, content));
    section(m, "counting", "How it was counted", counting::write);
}

/// Writes the links to a page's sections: where they lead, and what they are called.
fn navigation(m: &mut Markup, links: &[(&'static str, &'static str)]) {
    m.tag("nav", &[("aria-label", &"Sections")], |m| {
        for (id, name) in links {
            m.leaf("a", &[("href", id)], name);
        }
    });
}

/// Writes a section.
fn section(m: &mut Markup, id: &str, title: &str, inside: impl FnOnce(&mut Markup)) {
    m.tag("section", &[("id", &id)], |m| {
        m.leaf("h2", &[], title);
        inside(m);
    });
}

/// Writes a section of figures.
fn figures(m: &mut Markup, id: &str, title: &str, words: Option<&str>, figures: &[Figure]) {
    section(m, id, title, |m| {
        if let Some(words) = words {
            m.leaf("p", &[("class", &"words")], words);
        }
        m.tag("div", &[("class", &"figures")], |m| {
            for figure in figures {
                figure.write(m);
            }
        });
    });
}

#[cfg(test)]
mod tests {
    use super::letter;

    #[test]
    fn after_the_last_letter_come_two() {
        let found = [0, 25, 26, 27, 51, 52, 701, 702].map(letter);
        assert_eq!(found, ["A", "Z", "AA", "AB", "AZ", "BA", "ZZ", "AAA"]);
    }
}
