//! The file of a scenario, as a log has it, and what is said beside.

use std::fmt::Write as _;

use plimsoll_units::{show_count, show_duration, show_rate, show_share};

use super::pages::Page;
use super::{By, Few, LeftOut, LogScenario, Walks};
use crate::scenario::written::{StepNames, comment, literal, path, quoted, table};

impl Walks<'_> {
    pub(super) fn scenario(
        self,
        origin: &str,
        format: String,
        damage: Option<String>,
    ) -> LogScenario {
        let host = self.pages.main_host();
        let (pages, seldom, others) = self.pages.most(&host, self.options.pages);
        let (files, _, _) = self.files.most(&host, self.options.pages);
        let mut left_out = self.left_out.clone();
        (left_out.seldom, left_out.hosts) = (seldom, others);
        let (first, last) = self.span.unwrap_or_default();
        let mut scenario = LogScenario {
            text: String::new(),
            format,
            lines: self.lines,
            unreadable: self.unreadable,
            requests: self.requests,
            sessions: self.sessions.count(),
            pages: self.sessions.pages(),
            static_files: files.iter().map(|file| file.count).sum(),
            distinct: pages.len(),
            think: self.sessions.thinks.distribution(),
            think_s: self.sessions.thinks.mean_s(),
            span_s: last - first,
            few: self.senders.few().filter(|_| self.options.by == By::Address),
            without_cookie: self.without_cookie,
            left_out,
            damage,
        };
        let mut text = String::new();
        comment(&mut text, &self.head(&scenario, origin));
        self.steps(&scenario, &mut text);
        page_scenario(&pages, &files, scenario.pages, &mut text);
        scenario.text = text;
        scenario
    }

    fn head(&self, scenario: &LogScenario, origin: &str) -> Vec<String> {
        let by = match &self.options.by {
            By::Address => "client".to_owned(),
            By::Cookie(name) => format!("cookie {name}"),
        };
        let mut head = vec![
            format!("Made of {origin} by `plimsoll scenario from-log`."),
            format!(
                "{} sessions by {by}, {} pages, {:.2} a session.",
                show_count(scenario.sessions),
                show_count(scenario.pages),
                scenario.pages as f64 / scenario.sessions.max(1) as f64
            ),
        ];
        if scenario.span_s > 0 {
            let rate = scenario.sessions as f64 / scenario.span_s as f64;
            let rate = show_rate(rate);
            head.push(format!("The log has users arrive at {rate} in the mean: --rate {rate}"));
        }
        head.extend(scenario.remarks());
        head
    }

    /// The first page, and then as many as sessions have, with think times between.
    fn steps(&self, scenario: &LogScenario, out: &mut String) {
        out.push_str("\n[[step]]\nchoose = [\n");
        for lengths in self.sessions.lengths() {
            let (least, greatest) = lengths.bounds();
            let page = table([("call", quoted("page"))]);
            let mut steps = vec![page.clone()];
            if let Some(rounds) = rounds(least - 1, greatest - 1) {
                let think =
                    scenario.think.map(|think| table([("think", quoted(&think.to_string()))]));
                let within: Vec<String> = think.into_iter().chain([page]).collect();
                let within = format!("[ {} ]", within.join(", "));
                steps.push(table([("loop", rounds), ("steps", within)]));
            }
            let steps = format!("[ {} ]", steps.join(", "));
            let way = table([("weight", lengths.sessions.to_string()), ("steps", steps)]);
            let _ = writeln!(out, "  {way},");
        }
        out.push_str("]\n");
    }
}

/// How often a loop goes round; `None` for never.
fn rounds(least: u64, greatest: u64) -> Option<String> {
    match (least, greatest) {
        (_, 0) => None,
        (least, greatest) if least == greatest => Some(least.to_string()),
        (least, greatest) => Some(quoted(&format!("{least}..{greatest}"))),
    }
}

/// What is asked for as one page: the page, and static files, as many as a page has in the mean.
fn page_scenario(pages: &[Page], files: &[Page], count: u64, out: &mut String) {
    out.push_str("\n[[scenario.page.steps]]\n");
    let mut names = StepNames::default();
    ways(pages, &mut names, out);
    let asked: u64 = files.iter().map(|file| file.count).sum();
    if asked == 0 {
        return;
    }
    // From none to twice the mean: browsers keep files, so that some pages need none.
    let most = (2.0 * asked as f64 / count.max(1) as f64).round().max(1.0);
    let call = table([("call", quoted("static"))]);
    let _ = writeln!(out, "\n[[scenario.page.steps]]\ngroup = \"static files\"");
    let looped = table([("loop", quoted(&format!("0..{most}"))), ("steps", format!("[ {call} ]"))]);
    let _ = writeln!(out, "steps = [ {looped} ]\n\n[[scenario.static.steps]]");
    ways(files, &mut names, out);
}

/// A step that is one of several, by how often each was asked for.
fn ways(pages: &[Page], names: &mut StepNames, out: &mut String) {
    out.push_str("choose = [\n");
    for page in pages {
        let name = names.name(&page.verb, &page.target);
        let target = literal(&path(&page.target));
        let mut step = vec![("name", quoted(&name)), (page.verb.as_str(), target)];
        if !page.statuses.is_empty() {
            let statuses: Vec<String> = page.statuses.iter().map(u16::to_string).collect();
            step.push(("check", table([("status", quoted(&statuses.join(",")))])));
        }
        let steps = format!("[ {} ]", table(step));
        let _ =
            writeln!(out, "  {},", table([("weight", page.count.to_string()), ("steps", steps)]));
    }
    out.push_str("]\n");
}

/// That the clients of a log are servers in between.
fn are_servers(few: &Few) -> String {
    let Few { client, clients, is_forwarded } = few;
    let who = match clients {
        1 => format!("all pages are asked for by one client, {client}"),
        n => format!("all pages are asked for by {n} clients, {client} among them"),
    };
    let what = match is_forwarded {
        true => {
            "and most lines end with another address: behind a proxy or balancer users are told \
             by --format, with $http_x_forwarded_for in the place of that field"
        }
        false => {
            "is it a proxy or balancer? Then users are told by another field: --by cookie:NAME, or \
             --format with $http_x_forwarded_for where the log has it"
        }
    };
    format!("{who}; {what}")
}

impl LogScenario {
    /// What a reader of the file must know, a sentence each.
    #[must_use]
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks: Vec<String> = self.damage.iter().cloned().collect();
        if self.unreadable > 0 {
            remarks.push(format!("{} lines cannot be read", show_count(self.unreadable)));
        }
        if self.without_cookie > 0 {
            let count = show_count(self.without_cookie);
            remarks.push(format!("{count} requests have not the cookie: told by their client"));
        }
        remarks.extend(self.few.as_ref().map(are_servers));
        if let Some(think) = self.think {
            let mean = (self.think_s * 1e9).max(0.0);
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive")]
            let mean = show_duration(mean as u64);
            remarks.push(format!("users think {mean} in the mean between two pages: {think}"));
        }
        let LeftOut { methods, failed, without_url, without_client, beyond, seldom, hosts } =
            &self.left_out;
        if !methods.is_empty() {
            let counts = methods.iter().map(|(name, n)| format!("{} of {name}", show_count(*n)));
            let counts = counts.collect::<Vec<_>>().join(", ");
            remarks.push(format!("left out, as no log has their bodies: {counts}"));
        }
        for (count, what) in [
            (failed, "requests that were answered 400 or above"),
            (without_url, "requests without a URL or a method"),
            (without_client, "requests whose client the log does not say"),
            (beyond, "requests beyond what is kept of clients and pages"),
            (hosts, "requests of other hosts"),
        ] {
            if *count > 0 {
                remarks.push(format!("left out: {} {what}", show_count(*count)));
            }
        }
        if *seldom > 0 {
            let share = show_share(*seldom as f64 / self.pages.max(1) as f64);
            let kept = show_count(self.distinct as u64);
            remarks.push(format!("{share} of the pages are beyond the {kept} asked for most"));
        }
        remarks
    }
}
