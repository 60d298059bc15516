//! Caches that run no agent, from a site list: `grid-squids.json` or `worker-proxies.json`.
//!
//! An entry is named and holds `ip` or `ips` (networks of its clients), `names`, `proxies` and
//! perhaps `disabled` and `source`. Each of `proxies` holds lists of `HOST:PORT` under `default`
//! or under the name of a destination, perhaps `loadbalance` (`proxies`: all share the load) and
//! `ipranges` (networks, or `FIRST-LAST`, for which it is). Fields unknown here are passed over;
//! known ones of another kind are errors, which name their entry.
//!
//! Source: WLCG Web Proxy Auto Discovery (wlcg-wpad), the lists it reads.

use std::net::IpAddr;

use ipnet::IpNet;
use serde_json::{Map, Value};

use crate::http1::is_host;

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
    /// Something in an entry is not what it should be.
    #[error("entry {entry:?} at line {line}, column {column}: {what}")]
    Entry {
        /// The entry's name.
        entry: String,
        /// Where it begins, from 1.
        line: usize,
        /// In bytes, from 1.
        column: usize,
        /// What is at fault, with the value.
        what: String,
    },
}

/// Reads a list. Entries that are disabled give no caches.
///
/// # Errors
/// Where it is no such list; nothing of a list with a fault is taken.
pub fn parse(text: &[u8]) -> Result<Vec<StaticCache>, ImportError> {
    if text.len() > MOST_BYTES {
        return Err(ImportError::Long);
    }
    let json: Value =
        serde_json::from_slice(text).map_err(|error| ImportError::Json(Some(error)))?;
    let Value::Object(entries) = json else { return Err(ImportError::Json(None)) };
    let mut caches = Vec::new();
    for (name, entry) in &entries {
        let found = entry_of(name, entry);
        let named = |what| {
            let (line, column) = position(text, name);
            ImportError::Entry { entry: name.chars().take(100).collect(), line, column, what }
        };
        caches.extend(found.map_err(named)?);
        if caches.len() > MOST_ENTRIES {
            return Err(ImportError::Many);
        }
    }
    Ok(caches)
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

fn entry_of(name: &str, entry: &Value) -> Result<Vec<StaticCache>, String> {
    let Value::Object(entry) = entry else { return Err("it is not an object".to_owned()) };
    match entry.get("disabled") {
        None | Some(Value::Null | Value::Bool(false)) => {}
        // A text says why.
        Some(Value::Bool(true) | Value::String(_)) => return Ok(Vec::new()),
        Some(other) => return Err(format!("`disabled` is {}", short(other))),
    }
    let mut own = ranges(entry, "ip")?;
    own.extend(ranges(entry, "ips")?);
    let source = entry.get("source").and_then(Value::as_str).map(str::to_owned);
    let none = Vec::new();
    let proxies = match entry.get("proxies") {
        None => &none,
        Some(Value::Array(proxies)) => proxies,
        Some(other) => return Err(format!("`proxies` is {}", short(other))),
    };
    let mut caches = Vec::new();
    for proxy in proxies {
        let Value::Object(proxy) = proxy else {
            return Err(format!("one of `proxies` is {}", short(proxy)));
        };
        let narrowed = ranges(proxy, "ipranges")?;
        let networks = if narrowed.is_empty() { &own } else { &narrowed };
        let loadbalance = proxy.get("loadbalance").is_some_and(|value| value == "proxies");
        let lists = proxy.iter().filter(|(key, _)| *key != "ipranges" && *key != "ips");
        // What is not a list says something else of the proxies: how they are used, since when.
        for (destination, list) in lists {
            let is_default = destination == "default";
            let Value::Array(list) = list else {
                if is_default {
                    return Err(format!("`default` is {}", short(list)));
                }
                continue;
            };
            for (rank, item) in list.iter().enumerate() {
                let (host, port) = host_and_port(item)
                    .ok_or_else(|| format!("`{destination}` holds {}", short(item)))?;
                caches.push(StaticCache {
                    site: name.to_owned(),
                    host,
                    port,
                    destination: destination.clone(),
                    networks: networks.clone(),
                    loadbalance,
                    rank,
                    source: source.clone(),
                });
            }
        }
    }
    Ok(caches)
}

/// One network or a list of them, under a key that may be absent.
fn ranges(fields: &Map<String, Value>, key: &str) -> Result<Vec<Range>, String> {
    let one = |value: &Value| {
        let range = value.as_str().and_then(Range::parse);
        range.ok_or_else(|| format!("`{key}` holds {}", short(value)))
    };
    match fields.get(key) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(all)) => all.iter().map(one).collect(),
        Some(value) => Ok(vec![one(value)?]),
    }
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
