//! How often each page was asked for, and how it was answered.

use std::collections::BTreeMap;

/// The most distinct pages that are counted.
const MOST: usize = 100_000;
/// The most text of them, bytes.
const MOST_TEXT: usize = 64 << 20;
/// The most distinct statuses that are kept of a page.
const STATUSES: usize = 6;

/// Pages, by host, verb and target.
#[derive(Debug, Default)]
pub(super) struct Pages {
    counts: BTreeMap<Box<str>, Counted>,
    text: usize,
    key: String,
}

#[derive(Debug, Default)]
struct Counted {
    count: u64,
    statuses: Vec<u16>,
}

/// A page of the scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Page {
    pub(super) count: u64,
    pub(super) verb: String,
    pub(super) target: String,
    /// What it may be answered, where that is not 2xx alone.
    pub(super) statuses: Vec<u16>,
}

impl Pages {
    /// Counts a request; false where there is no room for a new page.
    pub(super) fn add(&mut self, host: &str, verb: &str, target: &str, status: u16) -> bool {
        self.key.clear();
        for part in [host, " ", verb, " ", target] {
            self.key.push_str(part);
        }
        if !self.counts.contains_key(self.key.as_str()) {
            if self.counts.len() >= MOST || self.text + self.key.len() > MOST_TEXT {
                return false;
            }
            self.text += self.key.len();
            self.counts.insert(self.key.as_str().into(), Counted::default());
        }
        if let Some(counted) = self.counts.get_mut(self.key.as_str()) {
            counted.count += 1;
            let has_room = counted.statuses.len() < STATUSES;
            if has_room && !counted.statuses.contains(&status) {
                counted.statuses.push(status);
            }
        }
        true
    }

    /// The host that was asked most, and its requests.
    pub(super) fn main_host(&self) -> String {
        let mut hosts: BTreeMap<&str, u64> = BTreeMap::new();
        for (key, counted) in &self.counts {
            *hosts.entry(host_of(key).0).or_default() += counted.count;
        }
        let most = hosts.into_iter().max_by_key(|&(_, count)| count);
        most.map(|(host, _)| host.to_owned()).unwrap_or_default()
    }

    /// The pages of a host that were asked for most, most first, so many at most; and how many
    /// requests of that host and of others are in none of them.
    pub(super) fn most(&self, host: &str, most: usize) -> (Vec<Page>, u64, u64) {
        let mut others = 0;
        let mut pages = Vec::new();
        for (key, counted) in &self.counts {
            let (its_host, rest) = host_of(key);
            let (verb, target) = rest.split_once(' ').unwrap_or(("get", rest));
            if its_host != host {
                others += counted.count;
                continue;
            }
            pages.push(Page {
                count: counted.count,
                verb: verb.to_owned(),
                target: target.to_owned(),
                statuses: statuses(&counted.statuses),
            });
        }
        // The order of the map decides between those that are equal.
        pages.sort_by_key(|page| std::cmp::Reverse(page.count));
        let seldom = pages.iter().skip(most).map(|page| page.count).sum();
        pages.truncate(most);
        (pages, seldom, others)
    }
}

fn host_of(key: &str) -> (&str, &str) {
    key.split_once(' ').unwrap_or(("", key))
}

/// What a page may be answered; empty where 2xx is all. 304 is an answer to a browser that has the
/// page already: a user of the scenario gets it whole.
fn statuses(seen: &[u16]) -> Vec<u16> {
    let mut statuses: Vec<u16> =
        seen.iter().map(|&status| if status == 304 { 200 } else { status }).collect();
    statuses.sort_unstable();
    statuses.dedup();
    if statuses.iter().all(|status| (200..300).contains(status)) {
        statuses.clear();
    }
    statuses
}
