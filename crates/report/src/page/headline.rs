//! The headline: what a person reads in ten seconds. What was asked, whether to believe the
//! figures, whether the objectives held, and the figures themselves.

use plimsoll_runs::Summary;

use super::tiles::tiles;
use super::verdict::{verdict, verdict_of_search};
use super::{Content, asked, capacity, navigation, objectives, sides};
use crate::view::View;
use plimsoll_draw::Markup;
use plimsoll_draw::chart::unit::{micros, moment, whole};

/// Writes the head of the page.
pub(crate) fn write(m: &mut Markup, content: &Content<'_>, title: &str) {
    m.tag("header", &[], |m| {
        write_brand(m);
        m.leaf("h1", &[], title);
        match content.views {
            [view] => write_one(m, view),
            _ => sides::write(m, content),
        }
        write_navigation(m, content);
    });
}

/// Writes the program's mark and name.
pub(super) fn write_brand(m: &mut Markup) {
    m.tag("p", &[("class", &"brand")], |m| {
        m.verbatim(MARK);
        m.text("Plimsoll report");
    });
}

/// A load line's mark: a circle with a line through it.
const MARK: &str = "<svg class=\"mark-logo\" width=\"20\" height=\"20\" viewBox=\"0 0 20 20\" \
     aria-hidden=\"true\"><circle cx=\"10\" cy=\"10\" r=\"6\"/><path d=\"M0 10h20\"/></svg>";

fn write_one(m: &mut Markup, view: &View) {
    m.tag("p", &[("class", &"asked")], |m| {
        if !view.meta.subject.is_empty() {
            m.leaf("b", &[], &view.meta.subject);
            m.text(" · ");
        }
        m.text(asked(view));
    });
    write_identity(m, view);
    let searched = view.searched.is_some();
    let judge = if searched { verdict_of_search } else { verdict };
    let verdict = judge(&view.summary);
    m.tag("div", &[("class", &format!("verdict {}", verdict.class))], |m| {
        m.leaf("p", &[("class", &"says")], &verdict.says);
        for reason in &view.summary.run.invalid_because {
            m.leaf("p", &[], reason);
        }
    });
    m.tag("dl", &[("class", &"tiles")], |m| {
        for tile in tiles(&view.summary) {
            tile.write(m);
        }
    });
    if !searched {
        write_objectives(m, &view.summary);
    }
    write_warnings(m, &view.summary.warnings);
}

/// What was asked, in a sentence.
pub(crate) fn asked(view: &View) -> String {
    let s = &view.summary;
    let mut text = match (&view.searched, asked::load(&view.plan)) {
        // Of the load itself a search uses nothing of the plan.
        (Some(searched), _) => format!("search for the capacity under {}. ", searched.slo),
        (None, Some(load)) => format!("{load}. "),
        (None, None) => String::new(),
    };
    if let Some(workload) = &s.workload {
        text.push_str(&format!("{workload}. "));
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

fn write_identity(m: &mut Markup, view: &View) {
    let s = &view.summary;
    m.tag("p", &[("class", &"identity")], |m| {
        for fact in [
            format!("started {}", started(s)),
            format!("{} world", view.meta.world.name()),
            format!("seed {}", s.run.seed),
            format!("version {}", s.run.version),
            format!("run {}", s.run.id),
        ] {
            m.leaf("span", &[], fact);
        }
    });
}

fn write_objectives(m: &mut Markup, s: &Summary) {
    if s.slo.is_empty() {
        return;
    }
    m.tag("div", &[("class", &"scroll")], |m| {
        m.tag("table", &[("class", &"objectives")], |m| {
            m.tag("thead", &[], |m| {
                m.tag("tr", &[], |m| {
                    for head in ["objective", "measured", "verdict"] {
                        m.leaf("th", &[("scope", &"col")], head);
                    }
                });
            });
            m.tag("tbody", &[], |m| {
                for clause in &s.slo {
                    let (word, class) = objectives::word(clause.pass);
                    m.tag("tr", &[], |m| {
                        m.leaf("th", &[("scope", &"row")], &clause.expr);
                        m.leaf("td", &[], objectives::value(clause));
                        m.tag("td", &[], |m| {
                            m.leaf("span", &[("class", &format!("chip {class}"))], word);
                            if let Some(note) = &clause.note {
                                m.text(" ");
                                m.text(note);
                            }
                        });
                    });
                }
            });
        });
    });
    let ranked = s.slo.iter().any(|clause| objectives::is_percentile(&clause.expr));
    if ranked && s.succeeded < s.offered {
        m.leaf(
            "p",
            &[("class", &"note")],
            "An objective's percentile is over all requests due: whatever did not succeed ranks \
             slower than every bound.",
        );
    }
}

/// Writes warnings, one sentence each; nothing where there is none.
pub(super) fn write_warnings(m: &mut Markup, warnings: &[String]) {
    if warnings.is_empty() {
        return;
    }
    m.tag("div", &[("class", &"warnings")], |m| {
        let title = if warnings.len() == 1 { "Warning" } else { "Warnings" };
        m.leaf("p", &[("class", &"says")], title);
        m.tag("ul", &[], |m| {
            for warning in warnings {
                m.leaf("li", &[], warning);
            }
        });
    });
}

fn write_navigation(m: &mut Markup, content: &Content<'_>) {
    let capacity = capacity::is_any(content).then_some(("#capacity", "Capacity"));
    let others = [
        ("#load", "Load"),
        ("#response", "Response time"),
        ("#waits", "Waiting and lateness"),
        ("#answers", "Answers and errors"),
        ("#generator", "Generator and host"),
        ("#figures", "All figures"),
        ("#plan", "Plan"),
        ("#counting", "How it was counted"),
    ];
    navigation(m, &capacity.into_iter().chain(others).collect::<Vec<_>>());
}
