//! The form that filters: it works by itself, as a GET of the page's own path.

use super::query::{NONE, Query, STATES};
use super::summary::{Summary, Values};
use super::words::count;
use plimsoll_draw::{Attribute, Markup};

/// The most values of a column that are offered; with more, the value is typed.
const MOST_VALUES: usize = 250;

/// Writes the form.
pub(super) fn write(h: &mut Markup, query: &Query, summary: &Summary<'_>) {
    let action = query.path();
    h.tag(
        "form",
        &[
            ("id", &"filters"),
            ("class", &"filters"),
            ("action", &action),
            ("role", &"search"),
            ("aria-label", &"Filter the caches"),
        ],
        |h| {
            field(h, "host", "Host or address", |h| {
                let value: [Attribute<'_>; 2] = [("type", &"search"), ("value", &query.host)];
                input(h, "host", &value);
            });
            values(h, "cloud", "Cloud", &query.cloud, &summary.clouds);
            values(h, "country", "Country", &query.country, &summary.countries);
            values(h, "version", "Version", &query.version, &summary.versions);
            state(h, query, summary);
            loads(h, query);
            hidden(h, query);
            h.tag("p", &[("class", &"field buttons")], |h| {
                h.leaf("button", &[("type", &"submit")], "Filter");
                let clear = query.unfiltered().href();
                h.leaf("a", &[("id", &"clear"), ("href", &clear)], "Clear");
            });
        },
    );
}

/// A field with its label.
fn field(h: &mut Markup, id: &'static str, label: &str, inside: impl FnOnce(&mut Markup)) {
    h.tag("p", &[("class", &"field")], |h| {
        h.leaf("label", &[("for", &id)], label);
        inside(h);
    });
}

fn input(h: &mut Markup, name: &'static str, more: &[Attribute<'_>]) {
    let mut attributes: Vec<Attribute<'_>> = vec![("id", &name), ("name", &name)];
    attributes.extend_from_slice(more);
    attributes.extend_from_slice(&[("autocomplete", &"off"), ("spellcheck", &"false")]);
    h.void("input", &attributes);
}

fn option(h: &mut Markup, value: &str, chosen: bool, text: impl std::fmt::Display) {
    let mut attributes: Vec<Attribute<'_>> = vec![("value", &value)];
    if chosen {
        attributes.push(("selected", &""));
    }
    h.leaf("option", &attributes, text);
}

/// A choice among the values that there are; where they are many, a field to type one.
fn values(h: &mut Markup, name: &'static str, label: &str, chosen: &str, values: &Values<'_>) {
    let offered = values.frequent(MOST_VALUES);
    if values.len() > offered.len() {
        field(h, name, label, |h| {
            let list = format!("{name}-values");
            input(h, name, &[("value", &chosen), ("list", &list)]);
            h.tag("datalist", &[("id", &list)], |h| {
                for (value, _) in &offered {
                    option(h, value, false, "");
                }
            });
        });
        return;
    }
    field(h, name, label, |h| {
        h.tag("select", &[("id", &name), ("name", &name)], |h| {
            option(h, "", chosen.is_empty(), "any");
            let is_chosen = |value: &str| chosen.eq_ignore_ascii_case(value);
            for (value, caches) in &offered {
                let text = format_args!("{value} ({})", count(*caches));
                option(h, value, is_chosen(value), text);
            }
            if values.absent > 0 {
                let text = format_args!("unknown ({})", count(values.absent));
                option(h, NONE, chosen == NONE, text);
            }
            // What was asked for is shown, also where no cache has it (any more).
            let known = offered.iter().any(|(value, _)| is_chosen(value));
            let unknown = chosen == NONE && values.absent > 0;
            if !(chosen.is_empty() || known || unknown) {
                option(h, chosen, true, format_args!("{chosen} (0)"));
            }
        });
    });
}

fn state(h: &mut Markup, query: &Query, summary: &Summary<'_>) {
    field(h, "state", "State", |h| {
        h.tag("select", &[("id", &"state"), ("name", &"state")], |h| {
            option(h, "", query.state.is_none(), "any");
            for (state, caches) in STATES.into_iter().zip(summary.states) {
                let text = format_args!("{} ({})", state.name(), count(caches));
                option(h, state.name(), query.state == Some(state), text);
            }
        });
    });
}

fn loads(h: &mut Markup, query: &Query) {
    h.tag("p", &[("class", &"field range")], |h| {
        for (id, label, value, default) in [
            ("load_min", "Load from", query.load_min, 0),
            ("load_max", "to %", query.load_max, 100),
        ] {
            h.leaf("label", &[("for", &id)], label);
            let shown = if value == default { String::new() } else { value.to_string() };
            let bounds: [Attribute<'_>; 5] = [
                ("type", &"number"),
                ("min", &0),
                ("max", &100),
                ("placeholder", &default),
                ("value", &shown),
            ];
            input(h, id, &bounds);
        }
    });
}

/// What the form does not ask for stays as it is.
fn hidden(h: &mut Markup, query: &Query) {
    let default = Query::default();
    let mut keep = |name: &'static str, value: &dyn std::fmt::Display| {
        h.void("input", &[("type", &"hidden"), ("name", &name), ("value", value)]);
    };
    if query.sort != default.sort {
        keep("sort", &query.sort.name());
    }
    if query.falling != query.sort.falls() {
        keep("order", &if query.falling { "desc" } else { "asc" });
    }
    if query.errors != default.errors {
        keep("errors", &query.errors);
    }
}
