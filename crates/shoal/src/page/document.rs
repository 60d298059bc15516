//! The page as a whole.

use super::map::Dots;
use super::query::{Fault, Query};
use super::select::Shown;
use super::summary::Summary;
use super::words::{count, counted, moment, rate};
use super::{Page, Setting, assets, complaints, filters, map, pager, table};
use crate::registry::State;
use crate::server::Complaint;
use plimsoll_draw::Markup;

/// Everything that the page shows.
pub(super) struct Content<'a> {
    pub(super) query: &'a Query,
    pub(super) setting: Setting<'a>,
    pub(super) generation: u64,
    pub(super) summary: &'a Summary<'a>,
    pub(super) dots: &'a Dots<'a>,
    pub(super) shown: &'a Shown<'a, 'a>,
    pub(super) complaints: &'a [Complaint],
}

/// Writes the page.
pub(super) fn write(content: &Content<'_>) -> Page {
    let mut h = Markup::default();
    let title = counted(content.summary.caches, "cache", "caches");
    document(&mut h, &title, true, |h| {
        h.verbatim("<a class=\"skip\" href=\"#list\">Skip to the table</a>");
        h.tag("header", &[], |h| headline(h, content));
        h.tag("main", &[("id", &"main")], |h| body(h, content));
        footer(h);
    });
    let etag = format!("W/\"{:016x}\"", h.digest());
    Page { body: h.finish(), etag }
}

/// Writes the page that says what is wrong with a query.
pub(super) fn refusal(fault: &Fault) -> String {
    let mut h = Markup::default();
    document(&mut h, "No such page", false, |h| {
        h.tag("header", &[], brand);
        h.tag("main", &[("id", &"main")], |h| {
            h.leaf("h1", &[], "No such page");
            h.leaf("p", &[], fault);
            h.tag("p", &[], |h| h.leaf("a", &[("href", &"/")], "All caches"));
        });
    });
    h.finish()
}

/// A document of that title: its head, and what stands in its body.
fn document(h: &mut Markup, title: &str, script: bool, body: impl FnOnce(&mut Markup)) {
    let head = |h: &mut Markup| {
        let icon = assets::href("mark.svg");
        h.void("link", &[("rel", &"icon"), ("type", &"image/svg+xml"), ("href", &icon)]);
        h.void("link", &[("rel", &"stylesheet"), ("href", &assets::href("page.css"))]);
        if script {
            let source = assets::href("page.js");
            h.tag("script", &[("src", &source), ("defer", &"")], |_| {});
        }
    };
    plimsoll_draw::page(h, format_args!("{title} – Plimsoll Shoal"), head, &[], body);
}

/// A load line's mark, as on the other pages: a circle with a line through it.
fn brand(h: &mut Markup) {
    h.verbatim(
        "<p class=\"brand\"><svg class=\"mark-logo\" width=\"20\" height=\"20\" \
         viewBox=\"0 0 20 20\" aria-hidden=\"true\"><circle cx=\"10\" cy=\"10\" r=\"6\"></circle>\
         <path d=\"M0 10h20\"></path></svg>Plimsoll Shoal</p>",
    );
}

fn headline(h: &mut Markup, content: &Content<'_>) {
    brand(h);
    h.leaf("h1", &[], "Living caches");
    h.tag("div", &[("class", &"identity live")], |h| {
        h.tag("span", &[("id", &"as-of")], |h| {
            h.text("as of ");
            h.moving(0, |h| h.text(moment(content.setting.now.unix_s)));
            h.text(" UTC");
        });
        h.leaf("span", &[("id", &"generation")], format_args!("membership {}", content.generation));
        // A script that runs shows the button and the words beside it, and hides the link.
        h.tag("span", &[("class", &"updates")], |h| {
            let href = content.query.href();
            h.leaf("a", &[("id", &"refresh"), ("href", &href)], "Refresh");
            h.verbatim(
                "<button id=\"pause\" type=\"button\" aria-pressed=\"false\" hidden>Pause</button>\
                 <span id=\"status\" role=\"status\"></span>",
            );
        });
    });
}

fn body(h: &mut Markup, content: &Content<'_>) {
    h.tag("div", &[("id", &"attention")], |h| attention(h, content));
    h.tag("dl", &[("id", &"summary"), ("class", &"tiles")], |h| tiles(h, content));
    if content.setting.is_object_suspected {
        let text = "The object of verification does not answer as it should, whichever cache is \
                    asked: no cache is judged by it.";
        h.leaf("p", &[("id", &"object"), ("class", &"nothing")], text);
    }
    if content.summary.caches == 0 {
        h.tag("div", &[("id", &"place")], |_| {});
        h.tag("section", &[("id", &"list"), ("tabindex", &"-1")], |h| nobody(h, content.setting));
    } else {
        h.tag("div", &[("id", &"place")], |h| map::write(h, content.dots));
        filters::write(h, content.query, content.summary);
        h.tag("section", &[("id", &"list"), ("tabindex", &"-1")], |h| list(h, content));
    }
    h.tag("section", &[], |h| {
        h.leaf("h2", &[], "Errors of agents");
        complaints::write(h, content.query, content.complaints);
    });
    if content.summary.caches > 0 {
        operating(h);
    }
}

fn list(h: &mut Markup, content: &Content<'_>) {
    if content.shown.matching == 0 {
        h.tag("p", &[("class", &"nothing")], |h| {
            h.text("No cache is so. ");
            let clear = content.query.unfiltered().href();
            h.leaf("a", &[("id", &"clear-all"), ("href", &clear)], "Show all");
        });
        return;
    }
    table::write(h, content.query, content.shown, content.setting);
    pager::write(h, content.query, content.shown);
}

/// What to do about an empty registry.
fn nobody(h: &mut Markup, setting: Setting<'_>) {
    let base = setting.base.unwrap_or("http://registry.example:8080");
    h.leaf("h2", &[], "No cache has announced itself yet");
    h.leaf("p", &[("class", &"words")], "Beside a cache, with its own port and load:");
    h.leaf("pre", &[("class", &"plan")], format_args!("plimsoll shoal agent --server {base}"));
    let again = "Or by hand, from the cache's own address (this registry's own host may announce \
                 any), again within three minutes:";
    h.leaf("p", &[("class", &"words")], again);
    h.leaf(
        "pre",
        &[("class", &"plan")],
        format_args!(
            "curl {base}/v1/heartbeat --data @- <<EOF\n\
             {{\"uuid\": \"a-secret-of-this-cache\", \"hostname\": \"$(hostname)\",\n \
             \"cache_port\": 3128, \"public_ip\": \"192.0.2.1\",\n \
             \"timestamp\": $(date +%s), \"load\": 0}}\nEOF"
        ),
    );
}

/// A state with its tile: what it is called and what it means.
type OfState = (State, &'static str, &'static str);

/// The states as tiles, those that want attention first.
const OF_STATES: [OfState; 5] = [
    (State::Failing, "failing", "did not answer"),
    (State::Banned, "banned", "not served"),
    (State::Drained, "drained", "no new clients"),
    (State::Verified, "verified", "answered when tried"),
    (State::Unverified, "unverified", "not tried yet"),
];

/// Without verification no cache is tried, and all that are not taken out are given.
const UNVERIFYING: [OfState; 3] = [
    (State::Banned, "banned", "not served"),
    (State::Drained, "drained", "no new clients"),
    (State::Unverified, "served", "verification is off"),
];

fn tiles(h: &mut Markup, content: &Content<'_>) {
    let (summary, all) = (content.summary, content.query.unfiltered());
    let is_off = !content.setting.is_verifying;
    let states = if is_off { &UNVERIFYING[..] } else { &OF_STATES[..] };
    tile(h, "caches", None, &count(summary.caches), &format!("{} located", count(summary.located)));
    for &(state, name, detail) in states {
        let caches = summary.states[state as usize];
        let href = Query { state: Some(state), ..all.clone() }.href();
        tile(h, name, (caches > 0).then_some(&href), &count(caches), detail);
    }
    tile(h, "clouds", None, &count(summary.clouds.len()), &{
        counted(summary.countries.len(), "country", "countries")
    });
    tile(h, "sent", None, &rate(summary.load), "by all caches together");
}

/// What wants attention, each with its caches; that nothing does, where nothing does.
fn attention(h: &mut Markup, content: &Content<'_>) {
    let (summary, all) = (content.summary, content.query.unfiltered());
    let state = |state: State| Query { state: Some(state), ..all.clone() }.href();
    let of = |state: State| summary.states[state as usize];
    let (failing, banned, drained) = (State::Failing, State::Banned, State::Drained);
    let full = Query { load_min: 80, ..all.clone() }.href();
    let found = [
        (of(failing), "failing", state(failing)),
        (of(banned), "banned", state(banned)),
        (of(drained), "drained", state(drained)),
        (summary.full, "loaded to 80% and more", full),
        (summary.drifting, "with a clock that differs", String::new()),
        (content.complaints.len(), "errors of agents", "#errors".to_owned()),
    ];
    let class = match (summary.caches, of(failing)) {
        (0, _) => "nothing",
        (_, 0) if found.iter().all(|(caches, ..)| *caches == 0) => "good",
        (_, 0) => "open",
        _ => "poor",
    };
    h.tag("p", &[("class", &format_args!("attention {class}"))], |h| {
        let mut is_first = true;
        for (caches, what, href) in found.iter().filter(|(caches, ..)| *caches > 0) {
            h.text(if is_first { "Wants attention: " } else { "; " });
            is_first = false;
            let text = format_args!("{} {what}", count(*caches));
            match href.as_str() {
                "" => h.text(text),
                href => h.leaf("a", &[("href", &href)], text),
            }
        }
        if is_first && summary.caches > 0 {
            h.text("Nothing wants attention.");
        }
    });
}

/// How an operator takes a cache out of service, and back.
fn operating(h: &mut Markup) {
    h.verbatim(
        "<details id=\"operating\"><summary>How to drain and ban</summary><p class=\"words\">A \
         drained cache gets no new clients; a banned one is not served at all. The decision holds \
         for its address and port until it is withdrawn by <code>unverified</code>. The id stands \
         in the address of the link behind a host. From the registry's host, where the server was \
         started with <code>--operator-socket FILE</code>:</p>\
         <pre class=\"plan\">curl --unix-socket FILE -X PUT http://operator/v1/caches/ID/state \\\n  \
         --data '{&quot;state&quot;:&quot;drained&quot;}'</pre><p class=\"words\">From elsewhere a \
         network of <code>--trust</code> may, or a key of an operator.</p></details>",
    );
}

fn tile(h: &mut Markup, name: &str, href: Option<&String>, figure: &str, detail: &str) {
    h.tag("div", &[("class", &"tile")], |h| {
        h.leaf("dt", &[], name);
        h.tag("dd", &[("class", &"figure")], |h| match href {
            Some(href) => {
                let id = format!("only-{name}");
                h.leaf("a", &[("id", &id), ("href", href)], figure);
            }
            None => h.text(figure),
        });
        h.leaf("dd", &[("class", &"detail")], detail);
    });
}

fn footer(h: &mut Markup) {
    h.verbatim(
        "<footer><p class=\"note\">For programs: <a href=\"/v1/caches\">all caches as JSON</a>, \
         <a href=\"/v1/openapi.json\">what else can be asked</a>, \
         <a href=\"/metrics\">counters</a>. Outline of the land: Natural Earth.</p></footer>",
    );
}
