//! From untrusted bytes to a [`Heartbeat`].
//!
//! What is required and what has which type is what Shoal's server reads; where it would break (a
//! `load` that is a string makes every answer an error, a `timestamp` that is one ends it) the
//! heartbeat is refused. `null` is as good as absent.

use std::net::IpAddr;
use std::ops::RangeInclusive;

use super::fields::{Field, Fields, Value};
use super::limits::{
    CLOUD_BYTES, HOSTNAME_BYTES, INTERVAL, LATITUDE, LOAD, LONGITUDE, MAX_LOAD, MAX_LOAD_BYTES,
    TIMESTAMP, UUID_BYTES, VERSION_BYTES,
};
use super::quote::python_string;
use super::{Echo, Goodbye, Heartbeat, Kind, Number, Refusal, Upstream};
use crate::address;

/// Reads a heartbeat.
///
/// Required are `uuid`, `hostname`, `timestamp`, `load`, `cache_port` or `squid_port` (the first
/// wins) and an address. Fields that are not ours mean nothing, but may not break the bounds of
/// the whole either.
///
/// *Cost*: no allocation but for the fields that are kept.
///
/// # Errors
///
/// A [`Refusal`] that says which field is at fault and how: `TooLong`, `Malformed`, `Missing`,
/// `Type` or `Range`.
pub fn parse(body: &[u8]) -> Result<Heartbeat, Refusal> {
    let fields = Fields::read(body)?;
    let beat = Heartbeat {
        uuid: uuid(&fields)?,
        hostname: required(fields.name(Field::Hostname, is_host, HOSTNAME_BYTES)?, "hostname")?,
        port: port(&fields)?,
        kind: kind(&fields)?,
        upstream: upstream(&fields)?,
        public_ip: fields.public_address(Field::PublicIp)?,
        private_ip: fields.address(Field::PrivateIp)?,
        external_ip: fields.public_address(Field::ExternalIp)?,
        timestamp: timestamp(&fields)?,
        load: load(&fields)?,
        max_load: max_load(&fields)?,
        verified: fields.flag(Field::Verified)?.unwrap_or(false),
        interval_s: fields.within(Field::Interval, &INTERVAL, "1 to 3600")?,
        cloud: fields.name(Field::Cloud, is_cloud, CLOUD_BYTES)?,
        version: fields.name(Field::Version, is_printable, VERSION_BYTES)?,
        coordinates: coordinates(&fields)?,
    };
    if beat.address().is_none() && beat.private_ip.is_none() {
        return Err(Refusal::Missing("public_ip"));
    }
    Ok(beat)
}

/// Reads a goodbye: `uuid`, `timestamp`, `"goodbye": true`, and no `load`, because with one it
/// would be a heartbeat to a server of Shoal's.
///
/// # Errors
///
/// As [`parse`].
pub fn parse_goodbye(body: &[u8]) -> Result<Goodbye, Refusal> {
    let fields = Fields::read(body)?;
    let goodbye = Goodbye { uuid: uuid(&fields)?, timestamp: timestamp(&fields)? };
    if !required(fields.flag(Field::Goodbye)?, "goodbye")? {
        return Err(Refusal::Range("goodbye", "true"));
    }
    if *fields.get(Field::Load) != Value::Absent {
        return Err(Refusal::Malformed("a goodbye with a load".into()));
    }
    Ok(goodbye)
}

fn required<T>(value: Option<T>, name: &'static str) -> Result<T, Refusal> {
    value.ok_or(Refusal::Missing(name))
}

impl Fields<'_> {
    fn flag(&self, field: Field) -> Result<Option<bool>, Refusal> {
        match self.get(field) {
            Value::Absent => Ok(None),
            Value::Bool(value) => Ok(Some(*value)),
            _ => Err(Refusal::Type(field.name(), "true or false")),
        }
    }

    fn text(&self, field: Field) -> Result<Option<&str>, Refusal> {
        match self.get(field) {
            Value::Absent => Ok(None),
            Value::Text(text) => Ok(Some(text)),
            _ => Err(Refusal::Type(field.name(), "a string")),
        }
    }

    /// Text of such bytes and length. An empty one is absent where [`Self::text`] may be.
    fn name(
        &self,
        field: Field,
        allowed: fn(u8) -> bool,
        length: RangeInclusive<usize>,
    ) -> Result<Option<Box<str>>, Refusal> {
        match self.text(field)? {
            None => Ok(None),
            // An agent's `cloud` that is not set is an empty string.
            Some("") if field == Field::Cloud || field == Field::Version => Ok(None),
            Some(text) if length.contains(&text.len()) && text.bytes().all(allowed) => {
                Ok(Some(text.into()))
            }
            Some(text) => Err(match text.chars().find(|c| !c.is_ascii() || !allowed(*c as u8)) {
                Some(odd) => Refusal::Character(field.name(), odd),
                None => Refusal::Range(field.name(), "of the length it may have"),
            }),
        }
    }

    fn address(&self, field: Field) -> Result<Option<IpAddr>, Refusal> {
        match self.text(field)? {
            None | Some("") => Ok(None),
            Some(text) => match text.parse() {
                Ok(address) => Ok(Some(address::normal(address))),
                Err(_) => Err(Refusal::Range(field.name(), "an IP address")),
            },
        }
    }

    /// An address that stands for a host elsewhere, too.
    fn public_address(&self, field: Field) -> Result<Option<IpAddr>, Refusal> {
        let address = self.address(field)?;
        if address.is_none_or(address::may_be_public) {
            return Ok(address);
        }
        let right = "an address that others reach: not loopback, link-local, multicast or 0.0.0.0";
        Err(Refusal::Range(field.name(), right))
    }

    #[expect(clippy::cast_precision_loss, reason = "bounds are far below 2⁵³ or do not reach it")]
    fn number(&self, field: Field) -> Result<Option<f64>, Refusal> {
        match *self.get(field) {
            Value::Absent => Ok(None),
            Value::Int(value) => Ok(Some(value as f64)),
            Value::Negative(value) => Ok(Some(value as f64)),
            Value::Float(value) => Ok(Some(value)),
            Value::Bool(_) | Value::Text(_) | Value::Nested => {
                Err(Refusal::Type(field.name(), "a number"))
            }
        }
    }

    fn within(
        &self,
        field: Field,
        bounds: &RangeInclusive<f64>,
        wanted: &'static str,
    ) -> Result<Option<f64>, Refusal> {
        match self.number(field)? {
            Some(value) if !bounds.contains(&value) => Err(Refusal::Range(field.name(), wanted)),
            value => Ok(value),
        }
    }
}

fn is_host(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-')
}

fn is_cloud(byte: u8) -> bool {
    is_host(byte) || byte == b'_'
}

/// Whether a text may be a cloud's name: `[A-Za-z0-9._-]{1,64}`.
#[must_use]
pub fn is_cloud_name(text: &str) -> bool {
    CLOUD_BYTES.contains(&text.len()) && text.bytes().all(is_cloud)
}

fn is_printable(byte: u8) -> bool {
    matches!(byte, b' '..=b'~')
}

fn uuid(fields: &Fields<'_>) -> Result<Box<str>, Refusal> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    required(fields.name(Field::Uuid, allowed, UUID_BYTES)?, "uuid")
}

fn timestamp(fields: &Fields<'_>) -> Result<f64, Refusal> {
    let wanted = "seconds since 1970";
    required(fields.within(Field::Timestamp, &TIMESTAMP, wanted)?, "timestamp")
}

fn load(fields: &Fields<'_>) -> Result<Number, Refusal> {
    let value = required(fields.within(Field::Load, &LOAD, "0 to 10⁹")?, "load")?;
    match *fields.get(Field::Load) {
        Value::Int(load) => Ok(Number::Int(load)),
        _ if value.is_sign_negative() => Err(Refusal::Range("load", "0 to 10⁹")),
        _ => Ok(Number::Float(value)),
    }
}

fn port(fields: &Fields<'_>) -> Result<Echo<u16>, Refusal> {
    let field = match fields.get(Field::CachePort) {
        Value::Absent => Field::SquidPort,
        _ => Field::CachePort,
    };
    let value = match fields.get(field) {
        Value::Absent => return Err(Refusal::Missing("cache_port")),
        Value::Int(value) => u16::try_from(*value).ok(),
        Value::Negative(_) => None,
        // `parse` would take a sign.
        Value::Text(text) if text.len() <= 5 && text.bytes().all(|byte| byte.is_ascii_digit()) => {
            text.parse().ok()
        }
        Value::Text(_) => None,
        _ => return Err(Refusal::Type(field.name(), "an integer or a string of digits")),
    };
    match value {
        None | Some(0) => Err(Refusal::Range(field.name(), "1 to 65535")),
        Some(value) => Ok(Echo { value, text: fields.get(field).echo() }),
    }
}

fn max_load(fields: &Fields<'_>) -> Result<Option<Echo<f64>>, Refusal> {
    let refused = Refusal::Range("max_load", "a number of 0 to 10¹²");
    let value = match fields.get(Field::MaxLoad) {
        Value::Absent => return Ok(None),
        Value::Text(text) if text.is_empty() => return Ok(None),
        Value::Text(text) if is_number(text) => text.parse().map_err(|_| refused.clone())?,
        Value::Text(_) => return Err(refused),
        _ => fields.number(Field::MaxLoad)?.unwrap_or(0.0),
    };
    if !MAX_LOAD.contains(&value) || value.is_sign_negative() {
        return Err(refused);
    }
    Ok(Some(Echo { value, text: fields.get(Field::MaxLoad).echo() }))
}

/// Digits with a point and an exponent at most: what both Rust and Python read as one number.
fn is_number(text: &str) -> bool {
    let allowed = |byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-');
    MAX_LOAD_BYTES.contains(&text.len())
        && text.starts_with(|first: char| first.is_ascii_digit())
        && text.bytes().all(allowed)
}

impl Value<'_> {
    /// What Python's `json.dumps` writes for what its `json.loads` read.
    fn echo(&self) -> Box<str> {
        let mut text = Vec::with_capacity(16);
        match self {
            Self::Int(value) => Number::Int(*value).push(&mut text),
            Self::Float(value) => Number::Float(*value).push(&mut text),
            Self::Text(value) => python_string(value, &mut text),
            Self::Absent | Self::Bool(_) | Self::Negative(_) | Self::Nested => {}
        }
        // All of it is ASCII, so it is never replaced.
        String::from_utf8_lossy(&text).into()
    }
}

fn kind(fields: &Fields<'_>) -> Result<Kind, Refusal> {
    match fields.text(Field::CacheType)? {
        None | Some("squid") => Ok(Kind::Squid),
        Some("varnish") => Ok(Kind::Varnish),
        Some(_) => Err(Refusal::Range("cache_type", "squid or varnish")),
    }
}

fn upstream(fields: &Fields<'_>) -> Result<Upstream, Refusal> {
    match fields.text(Field::Upstream)? {
        None | Some("both") => Ok(Upstream::Both),
        Some("cvmfs") => Ok(Upstream::Cvmfs),
        Some("frontier") => Ok(Upstream::Frontier),
        Some(_) => Err(Refusal::Range("upstream", "both, cvmfs or frontier")),
    }
}

/// Both angles or neither.
fn coordinates(fields: &Fields<'_>) -> Result<Option<(f64, f64)>, Refusal> {
    let latitude = fields.within(Field::Latitude, &LATITUDE, "-90 to 90")?;
    let longitude = fields.within(Field::Longitude, &LONGITUDE, "-180 to 180")?;
    match (latitude, longitude) {
        (None, None) => Ok(None),
        (Some(latitude), Some(longitude)) => Ok(Some((latitude, longitude))),
        (None, Some(_)) => Err(Refusal::Missing("latitude")),
        (Some(_), None) => Err(Refusal::Missing("longitude")),
    }
}
