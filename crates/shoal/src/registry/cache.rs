//! One cache, as the serving threads see it: what it is does not change; how it fares stands in
//! atomics, so that a heartbeat republishes nothing.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed};

use super::glance::{Glance, Glances, Seat};
use super::{Source, State};
use crate::Now;
use crate::geo::Place;
use crate::heartbeat::{Heartbeat, Kind, Number, Upstream};
use crate::prefetch::{fetch, fetch_all};

/// What a cache is known by beside its secret: the same one under a new uuid replaces the entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity {
    /// Its public or external address.
    pub address: Option<IpAddr>,
    /// Its address behind that.
    pub private_ip: Option<IpAddr>,
    /// Where it listens.
    pub port: u16,
}

/// Where others reach a cache: what is decided holds for it, whatever else is said of the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Spot {
    /// Its public or external address, else its private one.
    pub address: Option<IpAddr>,
    /// Where it listens.
    pub port: u16,
}

impl Identity {
    /// Where others reach it.
    #[must_use]
    pub fn spot(&self) -> Spot {
        Spot { address: self.address.or(self.private_ip), port: self.port }
    }

    /// Of what an agent says.
    #[must_use]
    pub fn of(beat: &Heartbeat) -> Self {
        Self { address: beat.address(), private_ip: beat.private_ip, port: beat.port.value }
    }
}

/// One cache.
///
/// What an answer tells of it stands first and together, in four cache lines.
#[derive(Debug)]
#[repr(C)]
pub struct Cache {
    load: AtomicU64,
    last_active: AtomicU64,
    /// When it joined: the wall clock, seconds since 1970.
    pub created_s: f64,
    /// What answers repeat as it was received, in one piece of memory: the host's name, then the
    /// port, then what it can send; and where the first two end.
    text: Box<str>,
    /// What answers repeat of its place.
    place_text: Option<Arc<[u8]>>,
    ends: (u16, u16),
    /// Where it listens.
    pub port: u16,
    /// The program.
    pub kind: Kind,
    /// What it may be used for.
    pub upstream: Upstream,
    /// Latitude and longitude of its place, degrees; NaN if it has none.
    coordinates: (f64, f64),
    /// See [`Heartbeat::public_ip`].
    pub public_ip: Option<IpAddr>,
    /// See [`Heartbeat::private_ip`].
    pub private_ip: Option<IpAddr>,
    /// See [`Heartbeat::external_ip`].
    pub external_ip: Option<IpAddr>,
    state: AtomicU8,
    alive: AtomicBool,
    drifting: AtomicBool,
    /// Whoever announced it had a key.
    pub signed: bool,
    /// Its place's country, where that has two letters.
    country: Option<[u8; 2]>,
    heard: AtomicU64,
    /// Its public name: a truncated HMAC of its uuid.
    pub id: u64,
    /// KiB/s that it can send, where it says so.
    pub max_load: Option<f64>,
    /// The cloud it runs in.
    pub cloud: Option<Box<str>>,
    /// Its agent's version.
    pub version: Option<Box<str>>,
    /// What it can send, KiB/s: `max_load`, or the default where that is missing or 0.
    full: f64,
    place: Option<Arc<Place>>,
    seat: Seat,
    /// Where its seat is.
    glances: Option<Arc<Glances>>,
    /// Entries of a registry are numbered in the order in which they joined, from 0.
    pub number: u64,
}

/// The sign of a load, which has none, says that it was written as an integer.
const INTEGER: u64 = 1 << 63;

impl Cache {
    /// A cache that a heartbeat announced: its last activity is the heartbeat's own time, as the
    /// original has it, until the next.
    #[must_use]
    pub fn new(
        number: u64,
        id: u64,
        beat: &Heartbeat,
        place: Option<Arc<Place>>,
        now: Now,
    ) -> Self {
        let most = beat.max_load.as_ref().map_or(0.0, |most| most.value);
        let (text, ends) = text_of(beat);
        let country = place.as_ref().and_then(|place| place.country_code.as_deref());
        let cache = Self {
            full: if most > 0.0 { most } else { DEFAULT_MAX_LOAD },
            number,
            id,
            coordinates: place
                .as_ref()
                .map_or((f64::NAN, f64::NAN), |place| (place.latitude, place.longitude)),
            text,
            place_text: place.as_ref().map(|place| Arc::clone(place.told())),
            ends,
            country: country.and_then(|code| code.as_bytes().try_into().ok()),
            port: beat.port.value,
            kind: beat.kind,
            upstream: beat.upstream,
            public_ip: beat.public_ip,
            private_ip: beat.private_ip,
            external_ip: beat.external_ip,
            max_load: beat.max_load.as_ref().map(|most| most.value),
            cloud: beat.cloud.clone(),
            version: beat.version.clone(),
            place,
            created_s: now.unix_s,
            load: AtomicU64::new(0),
            last_active: AtomicU64::new(beat.timestamp.to_bits()),
            heard: AtomicU64::new(now.elapsed_ns),
            state: AtomicU8::new(State::Unverified as u8),
            drifting: AtomicBool::new(drifts(beat, now)),
            signed: false,
            alive: AtomicBool::new(true),
            seat: 0,
            glances: None,
        };
        cache.set_load(beat.load);
        cache
    }

    /// The same, of whoever announced it.
    #[must_use]
    pub fn announced_by(self, source: &Source) -> Self {
        Self { signed: source.is_signed(), ..self }
    }

    /// The same, with its byte at a seat, from 1, that no other has.
    #[must_use]
    pub fn seated(self, glances: &Arc<Glances>, seat: Seat) -> Self {
        let seated = Self { seat, glances: Some(Arc::clone(glances)), ..self };
        seated.show();
        seated
    }

    /// Where it can be told at a glance how it fares.
    pub(crate) fn seat(&self) -> Seat {
        self.seat
    }

    /// How it fares.
    pub(crate) fn glance(&self) -> Glance {
        if self.alive() { Glance::of(self.state(), self.load_class()) } else { Glance::GONE }
    }

    /// Writes through. The registry's lock keeps two changes apart.
    fn show(&self) {
        if let Some(glances) = &self.glances {
            glances.set(self.seat, self.glance());
        }
    }

    /// Its host's name.
    #[must_use]
    pub fn hostname(&self) -> &str {
        self.text.get(..self.ends.0.into()).unwrap_or_default()
    }

    /// Where it listens, as it was received: `3128` or `"3128"`.
    #[must_use]
    pub fn port_text(&self) -> &str {
        self.text.get(self.ends.0.into()..self.ends.1.into()).unwrap_or_default()
    }

    /// What it can send, as it was received; empty where that was not said.
    #[must_use]
    pub fn max_load_text(&self) -> &str {
        self.text.get(self.ends.1.into()..).unwrap_or_default()
    }

    /// Where it is, if known.
    #[must_use]
    pub fn place(&self) -> Option<&Place> {
        self.place.as_deref()
    }

    /// The code of its place's country, if known.
    #[must_use]
    pub fn country_code(&self) -> Option<&str> {
        let two = self.country.as_ref().and_then(|two| std::str::from_utf8(two).ok());
        two.or_else(|| self.place()?.country_code.as_deref())
    }

    /// Latitude and longitude of its place, degrees.
    #[must_use]
    pub fn coordinates(&self) -> Option<(f64, f64)> {
        (!self.coordinates.0.is_nan()).then_some(self.coordinates)
    }

    /// What answers of Shoal's own paths repeat of its place; `None` if it has none.
    #[must_use]
    pub(crate) fn place_text(&self) -> Option<&[u8]> {
        self.place_text.as_deref()
    }

    /// Asks for the memory that an answer needs of it: for all of several caches, before any is
    /// told of, so that it comes at the same time. Its own:
    #[inline]
    pub(crate) fn fetch(&self) {
        fetch(&self.load);
        fetch(&self.coordinates);
        fetch(&self.state);
        fetch(&self.version);
    }

    /// and that of what it points to.
    #[inline]
    pub(crate) fn fetch_parts(&self) {
        fetch_all(self.text.as_bytes());
        fetch_all(self.place_text().unwrap_or_default());
    }

    /// KiB/s sent, as the last heartbeat said.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "set from a u64")]
    #[must_use]
    pub fn load(&self) -> Number {
        let bits = self.load.load(Relaxed);
        let value = f64::from_bits(bits & !INTEGER);
        if bits & INTEGER == 0 { Number::Float(value) } else { Number::Int(value as u64) }
    }

    /// Sets what it sends, KiB/s.
    pub fn set_load(&self, load: Number) {
        let integer = if matches!(load, Number::Int(_)) { INTEGER } else { 0 };
        self.load.store(load.value().abs().to_bits() | integer, Relaxed);
        self.show();
    }

    /// Takes what a later heartbeat says.
    pub(super) fn renew(&self, beat: &Heartbeat, now: Now) {
        self.set_load(beat.load);
        self.last_active.store(now.unix_s.to_bits(), Relaxed);
        self.heard.store(now.elapsed_ns, Relaxed);
        self.drifting.store(drifts(beat, now), Relaxed);
    }

    /// What it is known by beside its secret.
    #[must_use]
    pub fn identity(&self) -> Identity {
        Identity {
            address: self.public_ip.or(self.external_ip),
            private_ip: self.private_ip,
            port: self.port,
        }
    }

    /// Ends it: it expired, said goodbye or was replaced.
    pub fn end(&self) {
        self.alive.store(false, Relaxed);
        self.show();
    }

    /// The wall clock at its last heartbeat, seconds since 1970; the agent's own at the first.
    #[must_use]
    pub fn last_active_s(&self) -> f64 {
        f64::from_bits(self.last_active.load(Relaxed))
    }

    /// The monotonic clock at its last heartbeat, nanoseconds.
    #[must_use]
    pub fn heard_ns(&self) -> u64 {
        self.heard.load(Relaxed)
    }

    /// Its state.
    #[must_use]
    pub fn state(&self) -> State {
        State::from_u8(self.state.load(Relaxed))
    }

    /// Sets its state.
    pub fn set_state(&self, state: State) {
        self.state.store(state as u8, Relaxed);
        self.show();
    }

    /// Whether its clock and ours differ by more than ten seconds.
    #[must_use]
    pub fn drifting(&self) -> bool {
        self.drifting.load(Relaxed)
    }

    /// False from the moment it expired, said goodbye or was replaced.
    #[must_use]
    pub fn alive(&self) -> bool {
        self.alive.load(Relaxed)
    }

    /// Tenths of what it can send, rounded down: 0 to 10.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 10")]
    #[must_use]
    #[inline]
    pub fn load_class(&self) -> u8 {
        ((self.load().value() / self.full).min(1.0) * 10.0) as u8
    }
}

/// What a heartbeat says of the host's name, the port and what the cache can send, and where the
/// first two end. A name is at most 253 bytes, a number as text some twenty.
fn text_of(beat: &Heartbeat) -> (Box<str>, (u16, u16)) {
    let max_load = beat.max_load.as_ref().map_or("", |most| &*most.text);
    let text = [&*beat.hostname, &*beat.port.text, max_load].concat();
    let end = |bytes: usize| u16::try_from(bytes).unwrap_or(u16::MAX);
    let name_end = beat.hostname.len();
    (text.into(), (end(name_end), end(name_end + beat.port.text.len())))
}

/// Seconds by which an agent's clock may differ from ours before that is told.
const DRIFT_S: f64 = 10.0;

fn drifts(beat: &Heartbeat, now: Now) -> bool {
    (now.unix_s - beat.timestamp).abs() > DRIFT_S
}

/// KiB/s that a cache can send where it does not say: Shoal's `cache_max_load`.
pub const DEFAULT_MAX_LOAD: f64 = 122_000.0;
