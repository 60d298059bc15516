//! The query of `/v1/nearest`: how many caches, for whom, of which cloud and kind.

use std::borrow::Cow;
use std::net::IpAddr;

use super::paths::DEFAULT_COUNT;
use crate::address::normal;
use crate::order::Menu;

/// The most caches that `/v1/nearest` gives.
pub const MAX_N: usize = 100;

/// What `/v1/nearest` is asked with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query<'a> {
    /// The most caches wanted, 1 to [`MAX_N`].
    pub n: usize,
    /// The address for whose place to answer; it chooses nothing but that.
    pub ip: Option<IpAddr>,
    /// Only caches of this cloud, `[A-Za-z0-9._-]{1,64}`.
    pub cloud: Option<Cow<'a, str>>,
    /// [`Menu::All`] where no kind is named.
    pub menu: Menu,
}

/// What is wrong with a query: a problem with status 400 and the reason `range`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum QueryFault {
    /// `n` is out of its bounds.
    #[error("`n` is not a number from 1 to 100")]
    N,
    /// `ip` is none.
    #[error("`ip` is not an IPv4 or IPv6 address")]
    Ip,
    /// `cloud` is no cloud's name.
    #[error("`cloud` is not a name of letters, digits, `.`, `_` and `-`, at most 64 of them")]
    Cloud,
    /// `type` is no kind.
    #[error("`type` is neither squid nor varnish")]
    Type,
    /// A parameter stands there twice.
    #[error("a parameter is given twice")]
    Twice,
}

impl<'a> Query<'a> {
    /// Reads what stands behind `?` in a path, or the whole path.
    ///
    /// *Shape*: `name=value` between `&`, `%XX` and `+` as forms have them (WHATWG, URL,
    /// section 5.1); a parameter without a value is as good as absent, others than the four are
    /// ignored.
    ///
    /// # Errors
    ///
    /// A [`QueryFault`] that names the parameter at fault.
    pub fn parse(path: &'a str) -> Result<Self, QueryFault> {
        let text = path.split_once('?').map_or("", |(_, query)| query);
        let [mut n, mut ip, mut cloud, mut kind] = [const { None }; 4];
        for pair in text.split('&') {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let place = match name {
                _ if value.is_empty() => continue,
                "n" => &mut n,
                "ip" => &mut ip,
                "cloud" => &mut cloud,
                "type" => &mut kind,
                _ => continue,
            };
            if place.replace(decoded(value)).is_some() {
                return Err(QueryFault::Twice);
            }
        }
        Ok(Self {
            n: n.map_or(Ok(DEFAULT_COUNT), |n| number(&n))?,
            ip: ip.map(|ip| ip.parse().map(normal).map_err(|_| QueryFault::Ip)).transpose()?,
            cloud: cloud.map(name_of_cloud).transpose()?,
            menu: match kind.as_deref() {
                None => Menu::All,
                Some("squid") => Menu::Squid,
                Some("varnish") => Menu::Varnish,
                Some(_) => return Err(QueryFault::Type),
            },
        })
    }
}

fn number(text: &str) -> Result<usize, QueryFault> {
    // `parse` would take a sign.
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let n = text.parse().ok().filter(|n| digits && (1..=MAX_N).contains(n));
    n.ok_or(QueryFault::N)
}

fn name_of_cloud(name: Cow<'_, str>) -> Result<Cow<'_, str>, QueryFault> {
    let of_names = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    let good = (1..=64).contains(&name.len()) && name.bytes().all(of_names);
    if good { Ok(name) } else { Err(QueryFault::Cloud) }
}

/// What a value means: `%XX` is a byte, `+` a blank; what is not UTF-8 then is replaced.
pub(crate) fn decoded(value: &str) -> Cow<'_, str> {
    if !value.bytes().any(|byte| matches!(byte, b'%' | b'+')) {
        return Cow::Borrowed(value);
    }
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        rest = behind;
        let byte = match (first, behind) {
            (b'%', [high, low, after @ ..]) => match (digit(*high), digit(*low)) {
                (Some(high), Some(low)) => {
                    rest = after;
                    high * 16 + low
                }
                _ => b'%',
            },
            (b'+', _) => b' ',
            (other, _) => *other,
        };
        bytes.push(byte);
    }
    Cow::Owned(String::from_utf8_lossy(&bytes).into_owned())
}

fn digit(hex: u8) -> Option<u8> {
    char::from(hex).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}
