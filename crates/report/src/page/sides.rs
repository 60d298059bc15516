//! The headline of several runs: a table, a column a run, a row a figure or an objective.

use plimsoll_runs::summary::SloVerdict;

use super::tiles::{Tile, tiles};
use super::verdict::verdict;
use super::{Content, headline, objectives};
use crate::view::View;
use plimsoll_draw::Markup;

/// Writes the table, and below it what there is to say of single runs.
pub(crate) fn write(m: &mut Markup, content: &Content<'_>) {
    m.tag("div", &[("class", &"scroll"), ("tabindex", &"0")], |m| {
        m.tag("table", &[("class", &"sides")], |m| {
            m.tag("thead", &[], |m| {
                row(m, "", "", content, |m, view| {
                    m.leaf("b", &[], &view.letter);
                    m.text(" ");
                    m.text(if view.meta.name.is_empty() { "unnamed" } else { &view.meta.name });
                });
            });
            m.tag("tbody", &[], |m| {
                write_identity(m, content);
                write_objectives(m, content);
                write_figures(m, content);
            });
        });
    });
    for view in content.views {
        write_remarks(m, view);
    }
}

fn row(
    m: &mut Markup,
    name: &str,
    meaning: &str,
    content: &Content<'_>,
    cell: impl Fn(&mut Markup, &View),
) {
    m.tag("tr", &[], |m| {
        m.tag("th", &[("scope", &"row")], |m| {
            m.text(name);
            if !meaning.is_empty() {
                m.leaf("small", &[], meaning);
            }
        });
        for view in content.views {
            m.tag("td", &[], |m| cell(m, view));
        }
    });
}

fn write_identity(m: &mut Markup, content: &Content<'_>) {
    row(m, "Run", "", content, |m, view| m.text(&view.meta.id));
    row(m, "Target", "", content, |m, view| m.text(&view.meta.subject));
    row(m, "Asked", "", content, |m, view| m.text(headline::asked(view)));
    row(m, "Started", "", content, |m, view| m.text(headline::started(&view.summary)));
    row(m, "Valid", "", content, |m, view| {
        let valid = view.summary.run.valid;
        let (word, class) = if valid { ("valid", "good") } else { ("not valid", "poor") };
        m.leaf("span", &[("class", &format!("chip {class}"))], word);
    });
}

/// A row for each clause that any of the runs has.
fn write_objectives(m: &mut Markup, content: &Content<'_>) {
    let mut clauses: Vec<&str> = Vec::new();
    for clause in content.views.iter().flat_map(|view| &view.summary.slo) {
        if !clauses.contains(&clause.expr.as_str()) {
            clauses.push(&clause.expr);
        }
    }
    for expr in clauses {
        row(m, expr, "", content, |m, view| {
            match view.summary.slo.iter().find(|clause| clause.expr == expr) {
                Some(clause) => write_clause(m, clause),
                None => m.text("–"),
            }
        });
    }
}

fn write_clause(m: &mut Markup, clause: &SloVerdict) {
    let (word, class) = objectives::word(clause.pass);
    m.leaf("b", &[], objectives::value(clause));
    m.text(" ");
    m.leaf("span", &[("class", &format!("chip {class}"))], word);
    if let Some(note) = &clause.note {
        m.leaf("small", &[], note);
    }
}

fn write_figures(m: &mut Markup, content: &Content<'_>) {
    let columns: Vec<Vec<Tile>> = content.views.iter().map(|view| tiles(&view.summary)).collect();
    let Some(first) = columns.first() else { return };
    for (index, named) in first.iter().enumerate() {
        m.tag("tr", &[], |m| {
            m.tag("th", &[("scope", &"row")], |m| {
                m.text(named.name);
                if !named.meaning.is_empty() {
                    m.leaf("small", &[], named.meaning);
                }
            });
            for tile in columns.iter().filter_map(|column| column.get(index)) {
                m.tag("td", &[], |m| {
                    m.leaf("b", &[("class", &tile.class)], &tile.value);
                    if !tile.detail.is_empty() {
                        m.text(" ");
                        m.leaf("small", &[("class", &"beside")], &tile.detail);
                    }
                });
            }
        });
    }
}

/// What there is to say of one run among several, if anything.
fn write_remarks(m: &mut Markup, view: &View) {
    let s = &view.summary;
    if s.run.valid && s.run.ended == "complete" && s.warnings.is_empty() {
        return;
    }
    let class = if s.run.valid { "open" } else { "poor" };
    m.tag("div", &[("class", &format!("verdict {class}"))], |m| {
        let plain = s.run.valid && s.run.ended == "complete";
        let says = if plain { String::new() } else { format!(". {}", verdict(s).says) };
        m.leaf("p", &[("class", &"says")], format_args!("{}{says}", view.heading));
        for remark in s.run.invalid_because.iter().chain(&s.warnings) {
            m.leaf("p", &[], remark);
        }
    });
}
