//! Heartbeats and caches made from JSON as agents send it.

use std::sync::Arc;

use plimsoll_shoal::Now;
use plimsoll_shoal::geo::Place;
use plimsoll_shoal::heartbeat::{Heartbeat, parse};
use plimsoll_shoal::registry::Cache;
use serde_json::Value;

/// What an agent said, if it is believed.
pub(crate) fn beat(said: &Value) -> Option<Heartbeat> {
    parse(said.to_string().as_bytes()).ok()
}

/// A cache of which only the name, the place and a few fields matter.
pub(crate) fn cache(number: u64, place: Option<Place>, more: &Value) -> Arc<Cache> {
    let mut said = serde_json::json!({
        "uuid": format!("{number:032x}"), "hostname": format!("squid{number}.example"),
        "cache_port": 3128, "public_ip": format!("192.0.2.{}", number % 250),
        "timestamp": 1_795_162_050.393_179, "load": 0.0,
    });
    for (key, value) in more.as_object().unwrap() {
        said[key] = value.clone();
    }
    let beat = beat(&said).expect("a heartbeat");
    let id = 0x00ff_0000_0000_0000 + number;
    let now = Now { elapsed_ns: 0, unix_s: 1_795_162_041.376_272 };
    Arc::new(Cache::new(number, id, &beat, place.map(Arc::new), now))
}
