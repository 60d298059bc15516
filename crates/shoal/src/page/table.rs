//! The table: its heads, which sort it, and a row for each cache.

use super::Setting;
use super::query::{Column, Query};
use super::rows::Row;
use super::select::Shown;
use super::words::{age, count, counted, rate};
use crate::registry::State;
use plimsoll_draw::{Attribute, Markup};

const NS_PER_S: u64 = 1_000_000_000;

/// Writes the table.
pub(super) fn write(h: &mut Markup, query: &Query, shown: &Shown<'_, '_>, setting: Setting<'_>) {
    // What scrolls sideways must be reachable by keyboard.
    let reachable: [Attribute<'_>; 4] = [
        ("class", &"scroll"),
        ("role", &"region"),
        ("aria-labelledby", &"caption"),
        ("tabindex", &"0"),
    ];
    h.tag("div", &reachable, |h| {
        h.tag("table", &[("class", &"caches")], |h| {
            h.tag("caption", &[("id", &"caption")], |h| caption(h, query, shown));
            h.tag("thead", &[], |h| {
                h.tag("tr", &[("id", &"heads")], |h| heads(h, query));
            });
            h.tag("tbody", &[("id", &"rows")], |h| {
                for row in shown.rows {
                    h.tag("tr", &[], |h| cells(h, row, setting));
                }
            });
        });
    });
}

fn caption(h: &mut Markup, query: &Query, shown: &Shown<'_, '_>) {
    let (first, last) = (shown.before + 1, shown.before + shown.rows.len());
    let all = counted(shown.matching, "cache", "caches");
    if shown.pages > 1 {
        h.text(format_args!("{} to {} of {all}", count(first), count(last)));
    } else {
        h.text(all);
    }
    let way = match (query.sort, query.falling) {
        (Column::Load, true) => "highest first",
        (Column::Load, false) => "lowest first",
        (Column::Heartbeat, true) => "oldest first",
        (Column::Heartbeat, false) => "latest first",
        (_, true) => "descending",
        (_, false) => "ascending",
    };
    h.text(format_args!(", sorted by {}, {way}", head(query.sort).to_lowercase()));
}

fn head(column: Column) -> &'static str {
    match column {
        Column::Host => "Host",
        Column::Address => "Address",
        Column::Cloud => "Cloud",
        Column::Country => "Country",
        Column::Version => "Version",
        Column::State => "State",
        Column::Load => "Load",
        Column::Heartbeat => "Last heartbeat",
    }
}

fn heads(h: &mut Markup, query: &Query) {
    for column in Column::ALL {
        let sorted = match (column == query.sort, query.falling) {
            (false, _) => "none",
            (true, false) => "ascending",
            (true, true) => "descending",
        };
        h.tag("th", &[("scope", &"col"), ("aria-sort", &sorted)], |h| {
            let id = format!("sort-{}", column.name());
            let href = query.sorted_by(column).href();
            h.tag("a", &[("id", &id), ("href", &href)], |h| {
                h.text(head(column));
                let arrow = match sorted {
                    "ascending" => "▲",
                    "descending" => "▼",
                    _ => "↕",
                };
                h.leaf("span", &[("aria-hidden", &"true")], arrow);
            });
        });
    }
}

fn cells(h: &mut Markup, row: &Row<'_>, setting: Setting<'_>) {
    let cache = row.cache;
    h.tag("th", &[("scope", &"row")], |h| {
        h.leaf("a", &[("href", &format_args!("/v1/caches/{:016x}", cache.id))], cache.hostname());
        h.tag("small", &[], |h| {
            h.text(format_args!("port {} · {}", cache.port, cache.kind.name()));
            if cache.upstream != crate::heartbeat::Upstream::Both {
                h.text(format_args!(" for {} only", cache.upstream.name()));
            }
        });
    });
    h.tag("td", &[], |h| {
        match row.address() {
            Some(address) => h.text(address),
            None => absent(h),
        }
        if let Some(private) = cache.private_ip {
            h.leaf("small", &[("title", &"private address")], private);
        }
    });
    h.tag("td", &[], |h| text(h, row.cloud()));
    h.tag("td", &[], |h| country(h, row));
    h.tag("td", &[], |h| text(h, row.version()));
    h.tag("td", &[], |h| {
        let is_off = !setting.is_verifying && row.state == State::Unverified;
        let name = if is_off { "served" } else { row.state.name() };
        h.leaf("span", &[("class", &format_args!("chip {}", chip(row.state)))], name);
        if cache.drifting() {
            h.leaf("small", &[("title", &"by more than 10 s")], "clock differs");
        }
    });
    h.tag("td", &[], |h| load(h, row));
    h.tag("td", &[], |h| heard(h, row, setting));
}

fn absent(h: &mut Markup) {
    h.verbatim("<span class=\"absent\">–</span>");
}

fn text(h: &mut Markup, value: Option<&str>) {
    match value {
        Some(value) => h.text(value),
        None => absent(h),
    }
}

fn country(h: &mut Markup, row: &Row<'_>) {
    let Some(place) = row.cache.place() else { return absent(h) };
    match (&place.country_code, &place.country_name) {
        (Some(code), Some(name)) => h.leaf("abbr", &[("title", name)], code),
        (Some(code), None) => h.text(code),
        (None, _) => absent(h),
    }
    if let Some(city) = &place.city {
        h.leaf("small", &[], city);
    }
}

/// The chip of a state: may be given to clients and was tried, or not tried, or may not.
fn chip(state: State) -> &'static str {
    match state {
        State::Verified => "good",
        State::Failing | State::Banned => "poor",
        State::Unverified => "plain",
        State::Drained => "open",
    }
}

/// The share of what it can send, as a figure and a bar of tenths.
fn load(h: &mut Markup, row: &Row<'_>) {
    let percent = row.percent;
    h.text(format_args!("{percent}%"));
    let full = if percent >= 80 {
        "full"
    } else if percent >= 50 {
        "busy"
    } else {
        "easy"
    };
    let class = format!("bar {full} w{}", percent.div_ceil(10));
    h.tag("i", &[("class", &class)], |_| {});
    h.leaf("small", &[], rate(row.load));
}

fn heard(h: &mut Markup, row: &Row<'_>, setting: Setting<'_>) {
    let age_s = setting.now.elapsed_ns.saturating_sub(row.heard_ns) / NS_PER_S;
    h.moving(row.heard_ns, |h| {
        h.leaf("span", &[("data-age", &age_s)], age(age_s));
    });
}
