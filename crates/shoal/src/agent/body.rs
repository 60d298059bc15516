//! The bodies an agent sends: the spelling, order and spacing of Shoal's current agent, our own
//! fields before `timestamp`, the counters of host and cache behind `load`.
//!
//! Source: Shoal's agent, as it writes with Python's `json.dumps`.

use std::net::IpAddr;

use super::squid::Counters;
use crate::heartbeat::{Heartbeat, Number};

/// What the host and the cache count besides the load; all of it optional.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Measured {
    /// Share of the processors' time, 0 to 1.
    pub cpu: Option<f64>,
    /// Connections of the cache's port.
    pub connections: Option<u64>,
    /// Of the cache itself.
    pub counters: Option<Counters>,
}

/// A heartbeat's body.
#[must_use]
pub fn heartbeat(beat: &Heartbeat, measured: &Measured) -> String {
    let mut out = Object(String::with_capacity(512));
    out.text("uuid", &beat.uuid);
    out.text("hostname", &beat.hostname);
    out.raw("cache_port", &beat.port.text);
    out.text("cache_type", beat.kind.name());
    out.raw("verified", if beat.verified { "true" } else { "false" });
    if let Some(max_load) = &beat.max_load {
        out.raw("max_load", &max_load.text);
    }
    out.text("upstream", beat.upstream.name());
    out.address("private_ip", beat.private_ip);
    out.address("public_ip", beat.public_ip);
    out.address("external_ip", beat.external_ip);
    out.number("interval", beat.interval_s);
    if let Some(cloud) = &beat.cloud {
        out.text("cloud", cloud);
    }
    if let Some(version) = &beat.version {
        out.text("version", version);
    }
    out.number("latitude", beat.coordinates.map(|(latitude, _)| latitude));
    out.number("longitude", beat.coordinates.map(|(_, longitude)| longitude));
    out.number("timestamp", Some(beat.timestamp));
    match beat.load {
        Number::Int(load) => out.raw("load", &load.to_string()),
        Number::Float(load) => out.number("load", Some(load)),
    }
    out.number("cpu", measured.cpu);
    out.integer("connections", measured.connections);
    if let Some(counters) = measured.counters {
        out.number("hit_ratio", counters.hit_ratio);
        out.integer("clients", counters.clients);
        out.integer("disk_used_kib", counters.disk_used_kib);
    }
    out.end()
}

/// A goodbye's body: without `load`, which makes Shoal's server pass it over.
#[must_use]
pub fn goodbye(uuid: &str, timestamp: f64) -> String {
    let mut out = Object(String::new());
    out.text("uuid", uuid);
    out.number("timestamp", Some(timestamp));
    out.raw("goodbye", "true");
    out.end()
}

/// An object as it is written.
struct Object(String);

impl Object {
    fn raw(&mut self, name: &str, json: &str) {
        self.0.push_str(if self.0.is_empty() { "{\"" } else { ", \"" });
        self.0.push_str(name);
        self.0.push_str("\": ");
        self.0.push_str(json);
    }

    fn text(&mut self, name: &str, text: &str) {
        let mut json = String::with_capacity(text.len() + 2);
        json.push('"');
        for unit in text.encode_utf16() {
            match u8::try_from(unit).map(char::from) {
                Ok(c @ ('"' | '\\')) => json.extend(['\\', c]),
                Ok(c @ ' '..='~') => json.push(c),
                _ => json.push_str(&format!("\\u{unit:04x}")),
            }
        }
        json.push('"');
        self.raw(name, &json);
    }

    fn address(&mut self, name: &str, address: Option<IpAddr>) {
        if let Some(address) = address {
            self.text(name, &address.to_string());
        }
    }

    fn number(&mut self, name: &str, value: Option<f64>) {
        if let Some(value) = value.filter(|value| value.is_finite()) {
            self.raw(name, zmij::Buffer::new().format_finite(value));
        }
    }

    fn integer(&mut self, name: &str, value: Option<u64>) {
        if let Some(value) = value {
            self.raw(name, &value.to_string());
        }
    }

    fn end(mut self) -> String {
        self.0.push('}');
        self.0
    }
}
