//! Caches that run no agent, from a site list: `grid-squids.json` or `worker-proxies.json`.
//!
//! An entry is named and holds `ip` or `ips` (networks of its clients), `names`, `proxies` and
//! perhaps `disabled` and `source`. Each of `proxies` holds lists of `HOST:PORT` under `default`
//! or under the name of a destination, perhaps `loadbalance` (`proxies`: all share the load) and
//! `ipranges` (networks, or `FIRST-LAST`, for which it is). Fields unknown here are passed over.
//! What is not understood is left out by itself and told as a [`Fault`]: a proxy, a network, an
//! entry. Proxies all of whose networks are faulty are left out too: without a network they would
//! be for everybody.
//!
//! Source: WLCG Web Proxy Auto Discovery (wlcg-wpad), the lists it reads.

use std::net::IpAddr;

use ipnet::IpNet;
use serde_json::{Map, Value};

use plimsoll_net::url::is_host;

/// The longest list that is read.
pub const MOST_BYTES: usize = 16 << 20;
const MOST_ENTRIES: usize = 100_000;

/// A cache of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StaticCache {
    /// The entry's name.
    pub site: String,
    /// An address or `[A-Za-z0-9.-]{1,253}`.
    pub host: String,
    /// 1 to 65535.
    pub port: u16,
    /// `default`, or what it is for.
    pub destination: String,
    /// Whose clients it is for; everybody's of the site where empty.
    pub networks: Vec<Range>,
    /// It shares the load with the other caches of its list.
    pub loadbalance: bool,
    /// Its place in its list, from 0: the order of use where the load is not shared.
    pub rank: usize,
    /// Where the list has it from.
    pub source: Option<String>,
}

/// Addresses from a first to a last one, both of one family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    /// The first.
    pub first: IpAddr,
    /// The last, not before the first.
    pub last: IpAddr,
}

impl Range {
    /// Whether an address is among them.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        self.first.is_ipv4() == address.is_ipv4() && (self.first..=self.last).contains(&address)
    }

    fn parse(text: &str) -> Option<Self> {
        if let Some((first, last)) = text.split_once('-') {
            let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
            let range = Self { first, last };
            return (first.is_ipv4() == last.is_ipv4() && first <= last).then_some(range);
        }
        if let Ok(network) = text.parse::<IpNet>() {
            return Some(Self { first: network.network(), last: network.broadcast() });
        }
        text.parse().ok().map(|address| Self { first: address, last: address })
    }
}

/// Why a list is not taken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// More than is read.
    #[error("the list is longer than {MOST_BYTES} bytes")]
    Long,
    /// Not JSON.
    #[error("the list is not a JSON object")]
    Json(#[source] Option<serde_json::Error>),
    /// More than is taken.
    #[error("the list has more than {MOST_ENTRIES} caches")]
    Many,
}

/// Something of a list that is not understood, and left out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("entry {entry:?} at line {line}, column {column}: {what}")]
pub struct Fault {
    /// The entry's name.
    pub entry: String,
    /// The line on which the entry begins, from 1.
    pub line: usize,
    /// The column there, in bytes, from 1.
    pub column: usize,
    /// What is at fault, with the value.
    pub what: String,
}

/// What a list holds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SiteList {
    /// The caches, in the order of their entries' names.
    pub caches: Vec<StaticCache>,
    /// What was left out, in the same order.
    pub faults: Vec<Fault>,
}

/// Reads a list. Entries that are disabled give no caches.
///
/// # Errors
/// Where it is no such list, or too long.
pub fn parse(text: &[u8]) -> Result<SiteList, ImportError> {
    if text.len() > MOST_BYTES {
        return Err(ImportError::Long);
    }
    let json: Value =
        serde_json::from_slice(text).map_err(|error| ImportError::Json(Some(error)))?;
    let Value::Object(entries) = json else { return Err(ImportError::Json(None)) };
    let mut list = SiteList::default();
    for (name, entry) in &entries {
        let mut faults = Vec::new();
        list.caches.extend(entry_of(name, entry, &mut faults));
        if list.caches.len() > MOST_ENTRIES {
            return Err(ImportError::Many);
        }
        if faults.is_empty() {
            continue;
        }
        let (line, column) = position(text, name);
        let entry: String = name.chars().take(100).collect();
        let named = |what| Fault { entry: entry.clone(), line, column, what };
        list.faults.extend(faults.into_iter().map(named));
    }
    Ok(list)
}

/// Where the name of an entry stands in a text that is a JSON object: its last, for that counts.
fn position(text: &[u8], name: &str) -> (usize, usize) {
    let (mut line, mut line_start, mut found) = (1, 0, (1, 1));
    let (mut depth, mut string): (usize, Option<usize>) = (0, None);
    let mut escaped = false;
    for (at, &byte) in text.iter().enumerate() {
        match (string, byte) {
            (Some(_), _) if escaped => escaped = false,
            (Some(_), b'\\') => escaped = true,
            (Some(start), b'"') => {
                string = None;
                let is_name = depth == 1
                    && serde_json::from_slice::<String>(&text[start..=at])
                        .is_ok_and(|text| text == name);
                if is_name {
                    found = (line, start - line_start + 1);
                }
            }
            (Some(_), _) => {}
            (None, b'"') => string = Some(at),
            (None, b'{' | b'[') => depth += 1,
            (None, b'}' | b']') => depth = depth.saturating_sub(1),
            (None, b'\n') => (line, line_start) = (line + 1, at + 1),
            (None, _) => {}
        }
    }
    found
}

/// The caches of an entry; what is not understood goes to `faults`.
fn entry_of(name: &str, entry: &Value, faults: &mut Vec<String>) -> Vec<StaticCache> {
    let Value::Object(entry) = entry else {
        faults.push("it is not an object".to_owned());
        return Vec::new();
    };
    match entry.get("disabled") {
        None | Some(Value::Null | Value::Bool(false)) => {}
        // A text says why.
        Some(Value::Bool(true) | Value::String(_)) => return Vec::new(),
        Some(other) => {
            faults.push(format!("`disabled` is {}", short(other)));
            return Vec::new();
        }
    }
    let own = [ranges(entry, "ip", faults), ranges(entry, "ips", faults)];
    let Some(own) = Networks::together(own) else { return Vec::new() };
    let source = entry.get("source").and_then(Value::as_str);
    let none = Vec::new();
    let proxies = match entry.get("proxies") {
        None => &none,
        Some(Value::Array(proxies)) => proxies,
        Some(other) => {
            faults.push(format!("`proxies` is {}", short(other)));
            &none
        }
    };
    let mut caches = Vec::new();
    for proxy in proxies {
        match proxy {
            Value::Object(proxy) => proxies_of(name, source, &own, proxy, &mut caches, faults),
            other => faults.push(format!("one of `proxies` is {}", short(other))),
        }
    }
    caches
}

/// Takes the caches of one of an entry's `proxies`.
fn proxies_of(
    site: &str,
    source: Option<&str>,
    own: &[Range],
    proxy: &Map<String, Value>,
    caches: &mut Vec<StaticCache>,
    faults: &mut Vec<String>,
) {
    let Some(narrowed) = Networks::together([ranges(proxy, "ipranges", faults)]) else { return };
    let networks = if narrowed.is_empty() { own } else { &narrowed };
    let loadbalance = proxy.get("loadbalance").is_some_and(|value| value == "proxies");
    let lists = proxy.iter().filter(|(key, _)| *key != "ipranges" && *key != "ips");
    // What is not a list says something else of the proxies: how they are used, since when.
    for (destination, list) in lists {
        let Value::Array(list) = list else {
            if destination == "default" {
                faults.push(format!("`default` is {}", short(list)));
            }
            continue;
        };
        for (rank, item) in list.iter().enumerate() {
            let Some((host, port)) = host_and_port(item) else {
                faults.push(format!("`{destination}` holds {}", short(item)));
                continue;
            };
            caches.push(StaticCache {
                site: site.to_owned(),
                host,
                port,
                destination: destination.clone(),
                networks: networks.to_vec(),
                loadbalance,
                rank,
                source: source.map(str::to_owned),
            });
        }
    }
}

/// The networks under one key.
#[derive(Debug, Default)]
struct Networks {
    ranges: Vec<Range>,
    /// Some were there that are not understood.
    has_faults: bool,
}

impl Networks {
    /// All of them; nothing where every one that was there is faulty.
    fn together<const N: usize>(all: [Self; N]) -> Option<Vec<Range>> {
        let has_faults = all.iter().any(|one| one.has_faults);
        let ranges: Vec<Range> = all.into_iter().flat_map(|one| one.ranges).collect();
        (!ranges.is_empty() || !has_faults).then_some(ranges)
    }
}

/// One network or a list of them, under a key that may be absent.
fn ranges(fields: &Map<String, Value>, key: &str, faults: &mut Vec<String>) -> Networks {
    let values = match fields.get(key) {
        None | Some(Value::Null) => &[][..],
        Some(Value::Array(all)) => all.as_slice(),
        Some(value) => std::slice::from_ref(value),
    };
    let mut networks = Networks::default();
    for value in values {
        match value.as_str().and_then(Range::parse) {
            Some(range) => networks.ranges.push(range),
            None => {
                networks.has_faults = true;
                faults.push(format!("`{key}` holds {}", short(value)));
            }
        }
    }
    networks
}

/// `HOST:PORT`, `[IPV6]:PORT`, or either behind `http://`.
fn host_and_port(value: &Value) -> Option<(String, u16)> {
    let text = value.as_str()?.trim();
    let text = text.strip_prefix("http://").unwrap_or(text).trim_end_matches('/');
    let (host, port) = text.rsplit_once(':')?;
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let host = bare.unwrap_or(host);
    let is_fine = is_host(host) && (bare.is_some() || !host.contains(':'));
    let digits = port.bytes().all(|b| b.is_ascii_digit());
    let port: u16 = port.parse().ok().filter(|&port| port > 0 && digits)?;
    is_fine.then(|| (host.to_owned(), port))
}

fn short(value: &Value) -> String {
    let text = value.to_string();
    let mut short: String = text.chars().take(60).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}
