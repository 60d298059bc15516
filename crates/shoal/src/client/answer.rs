//! The caches in a registry's answer: Shoal's own, by rank under `"0"`, `"1"` …, or ours, a list
//! under `caches`.
//!
//! Answers are untrusted. What is used of one goes into commands and files, so a host is an
//! address or `[A-Za-z0-9.-]{1,253}` and a port a number from 1 to 65535, as a number or a string;
//! an entry that has no such host or port is dropped and counted. Everything else may be missing.

use std::net::IpAddr;

use serde_json::Value;

use plimsoll_net::url::is_host;

/// The most entries that are looked at.
const MOST: usize = 1000;

/// A cache as a registry tells it.
#[derive(Debug, Clone, PartialEq)]
pub struct Offer {
    /// Its name, if it may stand anywhere.
    pub host: Option<String>,
    /// 1 to 65535.
    pub port: u16,
    /// Its public address, else its external one.
    pub public: Option<IpAddr>,
    /// Its private address.
    pub private: Option<IpAddr>,
    /// It is of the client's own site.
    pub local: bool,
    /// `squid` or `varnish`, where that is told.
    pub kind: Option<String>,
    /// `both`, `cvmfs` or `frontier`, where that is told.
    pub upstream: Option<String>,
    /// Where that is told.
    pub distance_km: Option<f64>,
}

/// What was read of an answer.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Answer {
    /// In the registry's order.
    pub offers: Vec<Offer>,
    /// How many entries were not believed.
    pub dropped: usize,
    /// It was in our form.
    pub ours: bool,
}

/// Reads an answer; `null` and an empty one are answers without caches. `None` where it is not
/// JSON of either form.
#[must_use]
pub fn parse(body: &[u8]) -> Option<Answer> {
    let json: Value = serde_json::from_slice(body).ok()?;
    let (entries, ours): (Vec<&Value>, bool) = match &json {
        Value::Null => (Vec::new(), false),
        Value::Object(fields) => match fields.get("caches") {
            Some(Value::Array(caches)) => (caches.iter().collect(), true),
            Some(_) => return None,
            None => {
                let ranked = fields.iter().map(|(rank, entry)| Some((rank.parse().ok()?, entry)));
                let mut ranked: Vec<(u64, &Value)> = ranked.collect::<Option<_>>()?;
                ranked.sort_by_key(|&(rank, _)| rank);
                (ranked.into_iter().map(|(_, entry)| entry).collect(), false)
            }
        },
        _ => return None,
    };
    let mut answer =
        Answer { ours, dropped: entries.len().saturating_sub(MOST), ..Answer::default() };
    for entry in entries.into_iter().take(MOST) {
        match offer(entry) {
            Some(offer) => answer.offers.push(offer),
            None => answer.dropped += 1,
        }
    }
    Some(answer)
}

fn offer(entry: &Value) -> Option<Offer> {
    let text = |name: &str| entry.get(name).and_then(Value::as_str);
    let address = |name: &str| text(name).and_then(|text| text.parse::<IpAddr>().ok());
    // What is said and wrong makes the whole entry doubtful; what is not said is only missing.
    for name in ["hostname", "host", "public_ip", "external_ip", "private_ip"] {
        let said = entry.get(name).filter(|value| !value.is_null());
        let is_fine = |value: &Value| {
            let text = value.as_str().unwrap_or_default();
            if name.starts_with("host") { is_host(text) } else { text.parse::<IpAddr>().is_ok() }
        };
        if !said.is_none_or(is_fine) {
            return None;
        }
    }
    let host = text("hostname").or_else(|| text("host"));
    let port = ["squid_port", "cache_port", "port"].into_iter().find_map(|name| entry.get(name))?;
    let public = address("public_ip").or_else(|| address("external_ip"));
    if host.is_none() && public.is_none() {
        return None;
    }
    let word = |text: &str| {
        let is_word = text.len() <= 16 && text.bytes().all(|b| b.is_ascii_lowercase());
        is_word.then(|| text.to_owned())
    };
    let distance_km = entry.get("distance_km").and_then(Value::as_f64);
    Some(Offer {
        host: host.map(str::to_owned),
        port: port_of(port)?,
        public,
        private: address("private_ip"),
        local: entry.get("local").and_then(Value::as_bool).unwrap_or(false),
        kind: text("cache_type").or_else(|| text("type")).and_then(word),
        upstream: text("upstream").and_then(word),
        distance_km: distance_km.filter(|distance| distance.is_finite() && *distance >= 0.0),
    })
}

fn port_of(value: &Value) -> Option<u16> {
    let port = match value {
        Value::Number(number) => number.as_u64()?,
        Value::String(text) if text.bytes().all(|b| b.is_ascii_digit()) => text.parse().ok()?,
        _ => return None,
    };
    u16::try_from(port).ok().filter(|&port| port > 0)
}
