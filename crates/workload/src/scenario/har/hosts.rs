//! The servers of a scenario: that of the site which was asked first, and those of its API.

use std::collections::BTreeMap;

use super::activity::{is_beacon, is_call, is_document};
use super::steps::{Timed, is_static_kind};
use super::urls::split;
use crate::scenario::written::is_static;

/// How many pages another site must have, so that one of fewer pages was only the way there.
const MANY_PAGES: u64 = 4;
/// How many calls a server beyond the site must have answered to be its API.
const MANY_CALLS: u64 = 3;

/// The servers that a scenario asks.
#[derive(Debug, Default)]
pub(super) struct Servers {
    /// The one whose paths stand alone.
    pub(super) main: String,
    /// Those whose steps name them.
    pub(super) others: Vec<String>,
}

/// What was asked of a server.
#[derive(Debug, Default, Clone)]
struct ServerUse {
    /// Its place among the servers, by when they were asked first.
    place: usize,
    /// Whether a page or a redirect was among it.
    is_site: bool,
    pages: u64,
    /// What scripts asked for, that was answered by JSON.
    calls: u64,
    /// All that is no static file and no redirect.
    steps: u64,
}

impl Servers {
    /// The servers of a recording; those that are `chosen` by name, where any are.
    ///
    /// # Errors
    /// A name of no server, with the names that there are. Nothing at all where none was asked.
    pub(super) fn of(entries: &[Timed], chosen: &[String]) -> Result<Self, Option<WrongHost>> {
        let asked = asked(entries);
        if !chosen.is_empty() {
            return Self::chosen(&asked, chosen).map_err(Some);
        }
        let main = main(&asked).ok_or(None)?;
        let site = site(main).to_owned();
        let calls: u64 = asked.values().map(|of| of.calls).sum();
        let is_api = |server: &str, of: &ServerUse| {
            let is_own = self::site(server) == site && of.steps > 0;
            let is_asked_most = of.calls >= MANY_CALLS && of.calls * 2 >= calls;
            server != main && (is_own || is_asked_most)
        };
        let others = in_order(&asked).filter(|(server, of)| is_api(server, of));
        let others = others.map(|(server, _)| server.clone()).collect();
        Ok(Self { main: main.to_owned(), others })
    }

    fn chosen(asked: &BTreeMap<String, ServerUse>, chosen: &[String]) -> Result<Self, WrongHost> {
        let mut servers: Vec<String> = Vec::new();
        for name in chosen {
            let wanted = name.trim_end_matches('/').to_ascii_lowercase();
            let fits = |server: &str| {
                let authority = server.split_once("://").map_or(server, |(_, of)| of);
                let host = authority.rsplit_once(':').map_or(authority, |(host, _)| host);
                [server, authority, host].contains(&wanted.as_str())
            };
            let mut found: Vec<_> = asked.iter().filter(|(server, _)| fits(server)).collect();
            found.sort_by_key(|(_, of)| (std::cmp::Reverse(of.pages), of.place));
            if found.is_empty() {
                let known = in_order(asked).map(|(server, _)| server.clone()).take(8).collect();
                return Err(WrongHost { found: name.clone(), known });
            }
            servers.extend(found.into_iter().map(|(server, _)| server.clone()));
        }
        let main = servers[0].clone();
        let mut others: Vec<String> = Vec::new();
        for server in servers {
            if server != main && !others.contains(&server) {
                others.push(server);
            }
        }
        Ok(Self { main, others })
    }

    /// What a step asks for: a path of the main server, or a URL of another one; nothing where that
    /// is none of them.
    pub(super) fn prefix(&self, server: &str) -> Option<&str> {
        if server == self.main {
            return Some("");
        }
        self.others.iter().map(String::as_str).find(|other| *other == server)
    }
}

/// A name that no server has.
#[derive(Debug)]
pub(super) struct WrongHost {
    pub(super) found: String,
    pub(super) known: Vec<String>,
}

fn in_order(asked: &BTreeMap<String, ServerUse>) -> impl Iterator<Item = (&String, &ServerUse)> {
    let mut servers: Vec<_> = asked.iter().collect();
    servers.sort_by_key(|(_, of)| of.place);
    servers.into_iter()
}

/// What was asked of each server.
fn asked(entries: &[Timed]) -> BTreeMap<String, ServerUse> {
    let mut asked: BTreeMap<String, ServerUse> = BTreeMap::new();
    for (_, entry) in entries {
        let status = entry.response.status;
        let Some((server, target)) = split(&entry.request.url).filter(|_| status > 0) else {
            continue;
        };
        let place = asked.len();
        let of = asked.entry(server).or_insert_with(|| ServerUse { place, ..ServerUse::default() });
        let is_redirect = (300..400).contains(&status) && status != 304;
        let is_file = is_static_kind(entry) || is_static(&target);
        let is_page = is_document(entry) && !is_redirect && !is_file;
        of.is_site |= is_page || is_redirect && !is_file;
        of.pages += u64::from(is_page && (200..300).contains(&status));
        let is_json = entry.response.content.kind.contains("json");
        of.calls += u64::from(is_json && is_call(entry) && !is_beacon(entry));
        of.steps += u64::from(!is_file && !is_redirect && entry.request.method != "OPTIONS");
    }
    asked
}

/// The main server: of the site that was asked first, the server with most pages. A site that has
/// no page, or one page where another has many, was only the way there.
fn main(asked: &BTreeMap<String, ServerUse>) -> Option<&str> {
    let pages_of = |site: &str| -> u64 {
        asked.iter().filter(|(server, _)| self::site(server) == site).map(|(_, of)| of.pages).sum()
    };
    let most = asked.keys().map(|server| pages_of(site(server))).max()?;
    let is_way_there = |site: &str| {
        let pages = pages_of(site);
        pages == 0 && most > 0 || most >= MANY_PAGES && pages * 3 < most
    };
    let sites = || in_order(asked).filter(|(_, of)| of.is_site).map(|(server, _)| server);
    let first = sites().find(|server| !is_way_there(site(server)));
    let first = first.or_else(|| sites().next());
    let first = first.or_else(|| in_order(asked).map(|(server, _)| server).next())?;
    let own = asked.iter().filter(|(server, _)| site(server) == site(first));
    let main = own.min_by_key(|(_, of)| (std::cmp::Reverse(of.pages), of.place))?;
    Some(main.0)
}

/// What servers of a site share: the last two labels of the name, or three below such as `co.uk`.
fn site(server: &str) -> &str {
    let authority = server.split_once("://").map_or(server, |(_, of)| of);
    let is_address = authority.starts_with('[')
        || authority.split(':').next().is_some_and(|of| of.parse::<std::net::IpAddr>().is_ok());
    if is_address {
        return authority;
    }
    let host = authority.split(':').next().unwrap_or_default();
    let labels: Vec<&str> = host.rsplit('.').collect();
    const BELOW: [&str; 12] =
        ["co", "com", "org", "net", "gov", "gob", "ac", "edu", "or", "ne", "go", "nom"];
    let is_country = labels.len() > 2 && labels[0].len() == 2 && BELOW.contains(&labels[1]);
    let kept = if is_country { 3 } else { 2 };
    if labels.len() < 2 {
        // A name without a dot is a host by itself, and so are its ports.
        return authority;
    }
    let len: usize = labels.iter().take(kept).map(|label| label.len() + 1).sum();
    &host[(host.len() + 1).saturating_sub(len)..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_is_what_servers_share() {
        for (server, shared) in [
            ("https://shop.example", "shop.example"),
            ("https://api.eu.shop.example:8443", "shop.example"),
            ("https://www.shop.co.uk", "shop.co.uk"),
            ("https://www.bbc.de", "bbc.de"),
            ("https://api.shop.de", "shop.de"),
            ("http://127.0.0.1:8080", "127.0.0.1:8080"),
            ("http://[::1]:8080", "[::1]:8080"),
            ("http://localhost:3000", "localhost:3000"),
        ] {
            assert_eq!(site(server), shared, "{server}");
        }
    }
}
