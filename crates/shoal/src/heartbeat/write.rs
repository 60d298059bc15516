//! A heartbeat and a goodbye as an agent says them: the fields in the order and the spelling of
//! Shoal's current agent with the spacing of Python's `json.dumps`, ours before `timestamp`.

use std::net::IpAddr;

use super::number::python_float;
use super::quote::python_string;
use super::{Goodbye, Heartbeat};

impl Heartbeat {
    /// The body that announces it; [`super::parse`] reads it back as it is.
    #[must_use]
    pub fn to_json(&self) -> String {
        self.written().end()
    }

    /// The body, to which more can be added.
    pub(crate) fn written(&self) -> Object {
        let mut out = Object::new();
        out.text("uuid", &self.uuid);
        out.text("hostname", &self.hostname);
        out.raw("cache_port", self.port.text.as_bytes());
        out.text("cache_type", self.kind.name());
        out.raw("verified", if self.verified { b"true" } else { b"false" });
        if let Some(most) = &self.max_load {
            out.raw("max_load", most.text.as_bytes());
        }
        out.text("upstream", self.upstream.name());
        out.address("private_ip", self.private_ip);
        out.address("public_ip", self.public_ip);
        out.address("external_ip", self.external_ip);
        out.float("interval", self.interval_s);
        if let Some(cloud) = &self.cloud {
            out.text("cloud", cloud);
        }
        if let Some(version) = &self.version {
            out.text("version", version);
        }
        out.float("latitude", self.coordinates.map(|(latitude, _)| latitude));
        out.float("longitude", self.coordinates.map(|(_, longitude)| longitude));
        out.float("timestamp", Some(self.timestamp));
        out.name("load");
        self.load.push(&mut out.json);
        out
    }
}

impl Goodbye {
    /// The body that says it; [`super::parse_goodbye`] reads it back as it is.
    #[must_use]
    pub fn to_json(&self) -> String {
        goodbye_body(&self.uuid, self.timestamp)
    }
}

/// The body by which an agent takes leave: an object, because Shoal's server ends at anything
/// else, and without `load`, because it then discards it.
///
/// `timestamp` is the wall clock, seconds since 1970.
#[must_use]
pub fn goodbye_body(uuid: &str, timestamp: f64) -> String {
    let mut out = Object::new();
    out.text("uuid", uuid);
    out.float("timestamp", Some(timestamp));
    out.raw("goodbye", b"true");
    out.end()
}

/// The body by which an agent says why it announces its cache no more: it holds no identity,
/// because logs show it, and no `load`, so that Shoal's server passes over it.
#[must_use]
pub fn complaint_body(hostname: &str, timestamp: f64, error: &str) -> String {
    let mut out = Object::new();
    out.text("hostname", hostname);
    out.float("timestamp", Some(timestamp));
    out.text("error", error);
    out.end()
}

/// An object as it is written.
pub(crate) struct Object {
    json: Vec<u8>,
}

impl Object {
    fn new() -> Self {
        let mut json = Vec::with_capacity(512);
        json.push(b'{');
        Self { json }
    }

    fn name(&mut self, name: &str) {
        if self.json.len() > 1 {
            self.json.extend_from_slice(b", ");
        }
        python_string(name, &mut self.json);
        self.json.extend_from_slice(b": ");
    }

    fn raw(&mut self, name: &str, json: &[u8]) {
        self.name(name);
        self.json.extend_from_slice(json);
    }

    fn text(&mut self, name: &str, text: &str) {
        self.name(name);
        python_string(text, &mut self.json);
    }

    fn address(&mut self, name: &str, address: Option<IpAddr>) {
        if let Some(address) = address {
            self.text(name, &address.to_string());
        }
    }

    /// Nothing for what is absent.
    pub(crate) fn float(&mut self, name: &str, value: Option<f64>) {
        if let Some(value) = value {
            self.name(name);
            python_float(value, &mut self.json);
        }
    }

    /// Nothing for what is absent.
    pub(crate) fn integer(&mut self, name: &str, value: Option<u64>) {
        if let Some(value) = value {
            self.raw(name, value.to_string().as_bytes());
        }
    }

    pub(crate) fn end(mut self) -> String {
        self.json.push(b'}');
        // All of it is ASCII but what an Echo was given, which is text.
        String::from_utf8_lossy(&self.json).into_owned()
    }
}
