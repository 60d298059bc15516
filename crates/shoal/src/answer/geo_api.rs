//! The geo-API of CVMFS: a list of servers in the order of their distance from whoever asks.
//!
//! `GET /cvmfs/REPO/api/v1.0/geo/CACHING/SERVER,SERVER,…` is answered by the servers' numbers,
//! counted from 1, nearest first: `2,1,3`. Behind `+PXYSEP+` stand fallback proxies: they are
//! ordered from whoever asks, and the servers before it from the nearest of them. The format, the
//! texts of errors and the distance (the arc on the unit sphere, as an arc cosine) are those of
//! CVMFS's `cvmfs_geo.py` and `cvmfs_api.py`; names are resolved by the caller.

use std::borrow::Cow;
use std::net::Ipv6Addr;

use crate::geo::Spot;

/// The most names of servers in one question.
pub const MAX_NAMES: usize = 64;
/// The longest name that is looked up, bytes; what is longer has no position.
pub const MAX_NAME_BYTES: usize = 256;
/// For how long an answer may be kept, seconds.
pub const MAX_AGE_S: u32 = 3600;
/// For how long an error may be kept, seconds.
pub const ERROR_MAX_AGE_S: u32 = 300;

/// What stands between servers and fallback proxies.
const SEPARATOR: &str = "+PXYSEP+";

/// Why a question has no answer: status 400, and the text is the body after `Bad Request: `.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// Not `vVERSION/FUNCTION/REST`.
    #[error("malformed api URL")]
    Malformed,
    /// Another function than `geo`.
    #[error("unrecognized api function")]
    Unrecognized,
    /// No list of servers.
    #[error("no slash in geo path")]
    NoSlash,
    /// More than [`MAX_NAMES`]: a limit that the original does not have.
    #[error("more than 64 servers")]
    TooMany,
    /// Nobody knows where the client is.
    #[error("remote addr not found in database")]
    NoOrigin,
    /// Nobody knows where any of the servers is.
    #[error("no server addr found in database")]
    NoServer,
}

impl Fault {
    /// The whole body, with its line end.
    #[must_use]
    pub fn body(self) -> String {
        format!("Bad Request: {self}\n")
    }
}

/// A question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question<'a> {
    /// The name of the client's proxy, or anything that keeps its answers apart from others'.
    /// Where it is a name with a position, that is the origin.
    pub caching: &'a str,
    /// The elements of the list, the separator too.
    pub servers: Vec<&'a str>,
}

impl Question<'_> {
    /// The names to be looked up for [`answer`], one for each element; `None` has no position.
    pub fn names(&self) -> impl Iterator<Item = Option<&str>> {
        self.servers
            .iter()
            .map(|name| bare(name))
            .map(|name| may_be_looked_up(name).then_some(name))
    }
}

/// An address of IPv6 without the brackets that it has in a URL; any other name as it is.
#[must_use]
pub fn bare(name: &str) -> &str {
    let inner = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    inner.filter(|inner| inner.parse::<Ipv6Addr>().is_ok()).unwrap_or(name)
}

/// A path with what is escaped in it (RFC 3986, section 2.1) as it is meant. What is no escape
/// stands for itself, and bytes that are no text for a character that no name has.
#[must_use]
pub fn decoded(path: &str) -> Cow<'_, str> {
    if !path.contains('%') {
        return Cow::Borrowed(path);
    }
    let (bytes, mut out, mut at) = (path.as_bytes(), Vec::with_capacity(path.len()), 0);
    while let Some(&byte) = bytes.get(at) {
        let digit = |at: usize| char::from(*bytes.get(at)?).to_digit(16);
        let escaped = if byte == b'%' { digit(at + 1).zip(digit(at + 2)) } else { None };
        let value = escaped.and_then(|(high, low)| u8::try_from(16 * high + low).ok());
        out.push(value.unwrap_or(byte));
        at += if value.is_some() { 3 } else { 1 };
    }
    Cow::Owned(String::from_utf8_lossy(&out).into_owned())
}

/// Reads what follows `/cvmfs/REPO/api/`.
///
/// # Errors
///
/// [`Fault::Malformed`], [`Fault::Unrecognized`], [`Fault::NoSlash`] or [`Fault::TooMany`].
pub fn question(rest: &str) -> Result<Question<'_>, Fault> {
    let (version, rest) = rest.split_once('/').ok_or(Fault::Malformed)?;
    let (function, path) = rest.split_once('/').ok_or(Fault::Malformed)?;
    if !version.starts_with('v') {
        return Err(Fault::Malformed);
    }
    if function != "geo" {
        return Err(Fault::Unrecognized);
    }
    let (caching, list) = path.split_once('/').ok_or(Fault::NoSlash)?;
    let names = list.split(',').filter(|name| *name != SEPARATOR);
    // The list may hold the separator once more than names count.
    if names.take(MAX_NAMES + 1).count() > MAX_NAMES || list.split(',').count() > MAX_NAMES + 1 {
        return Err(Fault::TooMany);
    }
    Ok(Question { caching, servers: list.split(',').collect() })
}

/// Whether a name may be given to a resolver: `^[0-9a-zA-Z.:-]*$`, at most [`MAX_NAME_BYTES`],
/// and not empty.
#[must_use]
pub fn may_be_looked_up(name: &str) -> bool {
    let of_names = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b':' | b'-');
    (1..=MAX_NAME_BYTES).contains(&name.len()) && name.bytes().all(of_names)
}

/// The body: the servers' numbers in order, a comma between them, a line end behind.
///
/// `origin` is where the client is, `positions` where each element of [`Question::servers`] is
/// (the separator's is not looked at). Those without a position come last, in the order of the
/// question; so do those that are equally far.
///
/// # Errors
///
/// [`Fault::NoOrigin`] without an origin; [`Fault::NoServer`] if no server has a position.
pub fn answer(
    question: &Question<'_>,
    origin: Option<Spot>,
    positions: &[Option<Spot>],
) -> Result<String, Fault> {
    let origin = origin.ok_or(Fault::NoOrigin)?;
    let position = |index: usize| positions.get(index).copied().flatten();
    let all = 0..question.servers.len();
    let order = match question.servers.iter().position(|name| *name == SEPARATOR) {
        None => sorted(origin, all, position)?,
        Some(separator) => {
            let proxies = sorted(origin, separator + 1..all.end, position);
            let nearest = proxies.as_ref().ok().and_then(|order| position(*order.first()?));
            let mut order = sorted(nearest.unwrap_or(origin), 0..separator, position)?;
            order.extend(proxies.unwrap_or_else(|_| (separator + 1..all.end).collect()));
            // As many numbers as the question had elements.
            order.push(separator);
            order
        }
    };
    let numbers: Vec<String> = order.iter().map(|index| (index + 1).to_string()).collect();
    Ok(numbers.join(",") + "\n")
}

/// Indices by distance, those without a position last.
fn sorted(
    from: Spot,
    indices: std::ops::Range<usize>,
    position: impl Fn(usize) -> Option<Spot>,
) -> Result<Vec<usize>, Fault> {
    let arc_of = |index| position(index).map_or(f64::INFINITY, |spot| arc(from, spot));
    let mut arcs: Vec<(f64, usize)> = indices.map(|index| (arc_of(index), index)).collect();
    if !arcs.iter().any(|(arc, _)| arc.is_finite()) {
        return Err(Fault::NoServer);
    }
    arcs.sort_by(|a, b| a.0.total_cmp(&b.0));
    Ok(arcs.into_iter().map(|(_, index)| index).collect())
}

/// The arc between two places on the unit sphere, radians.
///
/// *Source*: `distance_on_unit_sphere` of `cvmfs_geo.py`. Where rounding takes the cosine out of
/// its range the original fails; here it is cut.
#[must_use]
pub fn arc(a: Spot, b: Spot) -> f64 {
    #[expect(clippy::float_cmp, reason = "the same place, as the original asks it")]
    if a.latitude == b.latitude && a.longitude == b.longitude {
        return 0.0;
    }
    let (phi1, phi2) = ((90.0 - a.latitude).to_radians(), (90.0 - b.latitude).to_radians());
    let theta = a.longitude.to_radians() - b.longitude.to_radians();
    let cosine = phi1.sin() * phi2.sin() * theta.cos() + phi1.cos() * phi2.cos();
    cosine.clamp(-1.0, 1.0).acos()
}
