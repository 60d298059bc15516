//! Heartbeats and caches made from JSON as agents send it.

use std::sync::Arc;

use plimsoll_shoal::geo::Place;
use plimsoll_shoal::heartbeat::{Echo, Heartbeat, Kind, Number, Upstream};
use plimsoll_shoal::registry::Cache;
use serde_json::Value;

/// What an agent said, if it has all that a heartbeat needs.
pub(crate) fn beat(said: &Value) -> Option<Heartbeat> {
    let text = |key: &str| said[key].as_str();
    let port = ["cache_port", "squid_port"].map(|key| said.get(key).filter(|port| !port.is_null()));
    let address = |key: &str| text(key).and_then(|address| address.parse().ok());
    Some(Heartbeat {
        uuid: text("uuid")?.into(),
        hostname: text("hostname")?.into(),
        port: echo(port[0].or(port[1])?)?,
        kind: if text("cache_type") == Some("varnish") { Kind::Varnish } else { Kind::Squid },
        upstream: match text("upstream") {
            Some("cvmfs") => Upstream::Cvmfs,
            Some("frontier") => Upstream::Frontier,
            _ => Upstream::Both,
        },
        public_ip: address("public_ip"),
        private_ip: address("private_ip"),
        external_ip: address("external_ip"),
        timestamp: said["timestamp"].as_f64()?,
        load: said["load"]
            .as_u64()
            .map(Number::Int)
            .or(said["load"].as_f64().map(Number::Float))?,
        max_load: said.get("max_load").and_then(echo),
        verified: said["verified"] == true,
        interval_s: said["interval"].as_f64(),
        cloud: text("cloud").map(Into::into),
        version: text("version").map(Into::into),
        coordinates: None,
    })
}

/// A number or a string with a number, and the ASCII text in which it came.
fn echo<T: std::str::FromStr>(value: &Value) -> Option<Echo<T>> {
    let digits = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    Some(Echo { value: digits.parse().ok()?, text: value.to_string().into() })
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
    let mut cache = Cache::new(number, id, &beat, place.map(Arc::new));
    cache.created_s = 1_795_162_041.376_272;
    Arc::new(cache)
}
