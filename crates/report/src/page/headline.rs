//! The headline: what a person reads in ten seconds. What was asked, whether to believe the
//! figures, whether the objectives held, and the figures themselves.

use plimsoll_runs::Summary;

use super::{Content, objectives};
use crate::chart::unit::{micros, moment, per_cent, significant, whole};
use crate::markup::Markup;
use crate::view::View;

/// A figure of the headline: what it is, the figure, and a line of small print.
pub(crate) struct Tile {
    /// What it is.
    pub(crate) name: &'static str,
    /// The figure.
    pub(crate) value: String,
    /// What it is made of.
    pub(crate) detail: String,
    /// Whether something is wrong with it: `poor`, or empty.
    pub(crate) class: &'static str,
}

/// Writes the head of the page.
pub(crate) fn write(m: &mut Markup, content: &Content<'_>, title: &str) {
    m.tag("header", &[], |m| {
        m.tag("p", &[("class", &"brand")], |m| {
            m.verbatim(MARK);
            m.text("Plimsoll report");
        });
        m.leaf("h1", &[], title);
        if let [view] = content.views {
            write_one(m, view);
        } else {
            write_several(m, content);
        }
        write_navigation(m);
    });
}

/// A load line's mark: a circle with a line through it.
const MARK: &str = "<svg class=\"mark-logo\" width=\"20\" height=\"20\" viewBox=\"0 0 20 20\" \
     aria-hidden=\"true\"><circle cx=\"10\" cy=\"10\" r=\"6\"/><path d=\"M0 10h20\"/></svg>";

fn write_one(m: &mut Markup, view: &View) {
    m.leaf("p", &[("class", &"asked")], asked(view));
    let verdict = verdict(&view.summary);
    m.tag("div", &[("class", &format!("verdict {}", verdict.class))], |m| {
        m.leaf("p", &[("class", &"says")], &verdict.says);
        for reason in &view.summary.run.invalid_because {
            m.leaf("p", &[], reason);
        }
    });
    write_objectives(m, &view.summary);
    m.tag("dl", &[("class", &"tiles")], |m| {
        for tile in tiles(&view.summary) {
            m.tag("div", &[("class", &format!("tile {}", tile.class))], |m| {
                m.leaf("dt", &[], tile.name);
                m.leaf("dd", &[("class", &"figure")], &tile.value);
                m.leaf("dd", &[("class", &"detail")], &tile.detail);
            });
        }
    });
    write_warnings(m, view);
}

/// What was asked, in a sentence.
fn asked(view: &View) -> String {
    let s = &view.summary;
    let mut text = String::new();
    if !view.meta.subject.is_empty() {
        text.push_str(&view.meta.subject);
        text.push_str(": ");
    }
    text.push_str(&format!("{} requests due in {}", whole(s.offered as f64), length(s.duration_s)));
    if s.warmup_s > 0.0 {
        text.push_str(&format!(" after {} of warm-up", length(s.warmup_s)));
    }
    text.push_str(&format!(
        ". Started {}, {} world, seed {}, version {}, run {}.",
        s.run.started,
        view.meta.world.name(),
        s.run.seed,
        s.run.version,
        s.run.id
    ));
    text
}

/// A length of time: whole seconds in the plan's grammar, shorter ones with their digits.
fn length(seconds: f64) -> String {
    let whole_s = (seconds - seconds.round()).abs() < 0.005 && seconds >= 1.0;
    if whole_s { moment(seconds) } else { micros(seconds * 1e6) }
}

/// The judgement of a run.
pub(crate) struct Verdict {
    /// `good`, `poor` or `open`.
    pub(crate) class: &'static str,
    /// The judgement in a sentence or two.
    pub(crate) says: String,
}

/// Judges a run by its validity, its end and its objectives.
pub(crate) fn verdict(s: &Summary) -> Verdict {
    let end = match s.run.ended.as_str() {
        "complete" => String::new(),
        "incomplete" => " The run was killed: these are its figures up to then.".to_owned(),
        other => format!(" The run did not take its full course: it was {other}."),
    };
    if !s.run.valid {
        return Verdict {
            class: "poor",
            says: format!(
                "Not valid: the generator was the limit, so these figures are not the target's. \
                 No objective was judged.{end}"
            ),
        };
    }
    let broken: Vec<&str> =
        s.slo.iter().filter(|c| c.pass == Some(false)).map(|c| c.expr.as_str()).collect();
    let held = s.slo.iter().filter(|c| c.pass == Some(true)).count();
    let (class, objectives) = match (s.slo.len(), broken.len()) {
        (0, _) => ("good", "No objective was set.".to_owned()),
        (all, 0) if held == all => ("good", "Every objective held.".to_owned()),
        (_, 0) => ("open", "Not every objective could be judged.".to_owned()),
        (1, _) => ("poor", "The objective was broken.".to_owned()),
        (all, n) => ("poor", format!("{n} of {all} objectives broken.")),
    };
    let class = if class == "good" && s.run.ended != "complete" { "open" } else { class };
    Verdict { class, says: format!("Valid. {objectives}{end}") }
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
                        m.leaf(
                            "td",
                            &[],
                            objectives::value(clause).unwrap_or_else(|| {
                                if clause.pass == Some(false) { "beyond" } else { "–" }.to_owned()
                            }),
                        );
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
}

fn write_warnings(m: &mut Markup, view: &View) {
    if view.summary.warnings.is_empty() {
        return;
    }
    m.tag("div", &[("class", &"warnings")], |m| {
        m.leaf(
            "p",
            &[("class", &"says")],
            match view.summary.warnings.len() {
                1 => "A warning".to_owned(),
                n => format!("{n} warnings"),
            },
        );
        m.tag("ul", &[], |m| {
            for warning in &view.summary.warnings {
                m.leaf("li", &[], warning);
            }
        });
    });
}

/// The figures of the headline.
pub(crate) fn tiles(s: &Summary) -> Vec<Tile> {
    let offered_rate = if s.duration_s > 0.0 { s.offered as f64 / s.duration_s } else { 0.0 };
    let response = &s.response_us;
    let mut tiles = vec![
        Tile {
            name: "Offered",
            value: format!("{}/s", significant(offered_rate)),
            detail: format!("{} requests due", whole(s.offered as f64)),
            class: "",
        },
        Tile {
            name: "Achieved",
            value: format!("{}/s", significant(s.rate_mean)),
            detail: format!("{} answered", whole(s.completed as f64)),
            class: "",
        },
    ];
    for (name, value) in [
        ("p50", response.p50),
        ("p99", response.p99),
        ("p99.9", response.p999),
        ("Maximum", response.max),
    ] {
        tiles.push(Tile {
            name,
            value: value.map_or_else(|| "–".to_owned(), micros),
            detail: match (value, name) {
                (None, _) if s.completed == 0 => "no answers".to_owned(),
                (None, _) => "too few answers".to_owned(),
                (_, "p50") => "median response time".to_owned(),
                _ => "response time".to_owned(),
            },
            class: "",
        });
    }
    tiles.push(errors(s));
    tiles.push(availability(s));
    tiles
}

fn errors(s: &Summary) -> Tile {
    let failed = s.offered.saturating_sub(s.succeeded);
    let share = if s.offered > 0 { failed as f64 / s.offered as f64 } else { 0.0 };
    Tile {
        name: "Errors",
        value: if s.offered > 0 { per_cent(share) } else { "–".to_owned() },
        detail: if failed == 0 {
            "none".to_owned()
        } else {
            format!("{} of {}", whole(failed as f64), whole(s.offered as f64))
        },
        class: if failed > 0 { "poor" } else { "" },
    }
}

fn availability(s: &Summary) -> Tile {
    let a = &s.availability;
    let (up, down) = (a.up_s as f64, a.down_s as f64);
    Tile {
        name: "Availability",
        value: a.ratio.map_or_else(|| "–".to_owned(), per_cent),
        detail: match a.ratio {
            None => "no second counted".to_owned(),
            Some(_) if down <= 0.0 => format!("up all {} s", whole(up)),
            Some(_) => format!("down {} of {} s", whole(down), whole(up + down)),
        },
        class: if down > 0.0 { "poor" } else { "" },
    }
}

/// The headline of several runs: a table, a column a run.
fn write_several(m: &mut Markup, content: &Content<'_>) {
    let all: Vec<Vec<Tile>> = content.views.iter().map(|view| tiles(&view.summary)).collect();
    m.tag("div", &[("class", &"scroll")], |m| {
        m.tag("table", &[("class", &"sides")], |m| {
            m.tag("thead", &[], |m| {
                m.tag("tr", &[], |m| {
                    m.leaf("th", &[("scope", &"col")], "run");
                    for view in content.views {
                        m.leaf("th", &[("scope", &"col")], &view.label);
                    }
                });
            });
            m.tag("tbody", &[], |m| {
                write_side(m, "Target", content, |m, view| m.text(&view.meta.subject));
                write_side(m, "Started", content, |m, view| m.text(&view.summary.run.started));
                write_side(m, "Measured", content, |m, view| {
                    m.text(length(view.summary.duration_s));
                });
                write_side(m, "Verdict", content, |m, view| {
                    let verdict = verdict(&view.summary);
                    let valid = if view.summary.run.valid { "valid" } else { "not valid" };
                    m.leaf("span", &[("class", &format!("chip {}", verdict.class))], valid);
                });
                for row in 0..all[0].len() {
                    m.tag("tr", &[], |m| {
                        m.leaf("th", &[("scope", &"row")], all[0][row].name);
                        for side in &all {
                            m.tag("td", &[], |m| {
                                m.leaf("b", &[("class", &side[row].class)], &side[row].value);
                                m.leaf("small", &[], &side[row].detail);
                            });
                        }
                    });
                }
            });
        });
    });
    for view in content.views {
        write_remarks(m, view);
    }
}

fn write_side(
    m: &mut Markup,
    name: &str,
    content: &Content<'_>,
    cell: impl Fn(&mut Markup, &View),
) {
    m.tag("tr", &[], |m| {
        m.leaf("th", &[("scope", &"row")], name);
        for view in content.views {
            m.tag("td", &[], |m| cell(m, view));
        }
    });
}

/// What there is to say of one run among several.
fn write_remarks(m: &mut Markup, view: &View) {
    let s = &view.summary;
    let verdict = verdict(s);
    m.tag("div", &[("class", &format!("verdict {}", verdict.class))], |m| {
        m.leaf("p", &[("class", &"says")], format_args!("{}: {}", view.label, verdict.says));
        for reason in &s.run.invalid_because {
            m.leaf("p", &[], reason);
        }
        for clause in &s.slo {
            let (word, _) = objectives::word(clause.pass);
            let value = objectives::value(clause).unwrap_or_else(|| "no value".to_owned());
            let note = clause.note.as_deref().unwrap_or("");
            m.leaf("p", &[], format_args!("{}: {word} ({value}) {note}", clause.expr));
        }
        for warning in &s.warnings {
            m.leaf("p", &[], format_args!("Warning: {warning}"));
        }
    });
}

fn write_navigation(m: &mut Markup) {
    m.tag("nav", &[("aria-label", &"Sections")], |m| {
        for (id, name) in [
            ("#load", "Load"),
            ("#response", "Response time"),
            ("#waits", "Waiting and lateness"),
            ("#answers", "Answers and errors"),
            ("#generator", "Generator and host"),
            ("#figures", "All figures"),
            ("#plan", "Plan"),
            ("#counting", "How it was counted"),
        ] {
            m.leaf("a", &[("href", &id)], name);
        }
    });
}
