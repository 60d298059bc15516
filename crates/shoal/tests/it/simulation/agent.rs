//! One agent of the simulated day, with what an onlooker knows of it.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use plimsoll_shoal::heartbeat::{Echo, Heartbeat, Kind, Number, Upstream};
use plimsoll_shoal::registry::Cache;

pub(super) const SECOND: u64 = 1_000_000_000;

#[derive(Debug)]
pub(super) struct Agent {
    pub(super) beat: Heartbeat,
    pub(super) interval_ns: u64,
    /// Its clock less the true one, seconds.
    pub(super) clock_s: f64,
    /// Of what it sent last: its timestamps never fall, whatever its clock does.
    pub(super) sent_s: f64,
    pub(super) running: bool,
    /// How often it was started: a message of an earlier life has another uuid.
    pub(super) life: u32,
    /// Of the onlooker: what was delivered of this life, and when.
    pub(super) seen: Option<Delivered>,
    /// When it said goodbye in this life, by its own clock.
    pub(super) farewell_s: Option<f64>,
}

/// What was delivered of an agent's present life.
#[derive(Debug)]
pub(super) struct Delivered {
    pub(super) cache: Arc<Cache>,
    pub(super) timestamp: f64,
    /// When it must be gone, if nothing more is delivered.
    pub(super) end_ns: u64,
}

impl Agent {
    pub(super) fn new(number: u32, interval_s: Option<u64>) -> Self {
        let address = Ipv4Addr::from(0x0b00_0000 + number / 3);
        let mut agent = Self {
            beat: Heartbeat {
                uuid: "".into(),
                hostname: "cache.example".into(),
                port: Echo { value: 3128 + (number % 3) as u16, text: "3128".into() },
                kind: if number.is_multiple_of(5) { Kind::Varnish } else { Kind::Squid },
                upstream: Upstream::Both,
                public_ip: Some(IpAddr::V4(address)),
                private_ip: None,
                external_ip: None,
                timestamp: 0.0,
                load: Number::Float(0.0),
                max_load: None,
                verified: false,
                interval_s: interval_s.map(|interval| interval as f64),
                cloud: None,
                version: None,
                coordinates: None,
            },
            interval_ns: interval_s.unwrap_or(30) * SECOND,
            clock_s: 0.0,
            sent_s: 0.0,
            running: false,
            life: 0,
            seen: None,
            farewell_s: None,
        };
        agent.start(number);
        agent
    }

    /// Starts it (again): under a new uuid, with a clock that it reads anew.
    pub(super) fn start(&mut self, number: u32) {
        self.life += 1;
        self.beat.uuid = format!("{number:016x}{:016x}", self.life).into();
        self.sent_s = 0.0;
        self.running = true;
        self.seen = None;
        self.farewell_s = None;
    }

    /// What its heartbeat says of the time.
    pub(super) fn stamp(&mut self, true_unix_s: f64) -> f64 {
        self.sent_s = (true_unix_s + self.clock_s).max(self.sent_s + 1e-3);
        self.sent_s
    }

    /// How long it may live without a heartbeat.
    pub(super) fn ttl_ns(&self) -> u64 {
        let own = self.beat.interval_s.map(|_| (4 * self.interval_ns).max(15 * SECOND));
        own.unwrap_or(u64::MAX).min(180 * SECOND)
    }
}
