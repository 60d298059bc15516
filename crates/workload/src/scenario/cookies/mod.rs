//! The cookies of one user: RFC 6265, by domain, path, `Secure` and expiry.
//!
//! A [`Jar`] is 24 bytes while it is empty and keeps its cookies in the order in which they are
//! sent, so that a `Cookie` header is written in one pass. Ports play no part: a cookie of
//! `h:8080` goes to `h:9090` too (section 8.5).
//!
//! # Where it differs from the RFC
//!
//! * There is no list of public suffixes: a `Domain` is refused when it is a single label (`com`,
//!   `localhost`) or not the host's own. `Domain=co.uk` from `shop.co.uk` is taken, and goes to
//!   every host below `co.uk` that the scenario asks.
//! * `HttpOnly` and `SameSite` change nothing: there is no script and no page of another site.
//! * Bounds are those of browsers and of the draft that revises the RFC (6265bis): 4096 bytes for
//!   name and value, 1024 for an attribute, and [`MOST`] cookies. When the jar is full, a cookie
//!   that has expired goes first, else the oldest.
//!
//! # Units and time
//!
//! `now_s` is the time of day in seconds since 1970-01-01T00:00:00Z, and is given by the caller.

mod date;

use std::net::IpAddr;

pub use date::parse as parse_date;

/// The most cookies of one user.
pub const MOST: usize = 180;
/// The longest name and value together, bytes; a longer cookie is refused.
pub const MOST_BYTES: usize = 4096;
/// The longest attribute, bytes; a longer one is passed over.
const MOST_ATTRIBUTE: usize = 1024;
/// When a cookie without an expiry ends: not before its user.
const NEVER: i64 = i64::MAX;

/// Where a cookie would go.
#[derive(Clone, Copy)]
struct Place<'a> {
    host: &'a str,
    /// Without its query.
    path: &'a [u8],
    is_secure: bool,
    now_s: i64,
}

/// Why a `Set-Cookie` was not obeyed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// It is no `name=value`, or has control characters.
    #[error("expected a cookie such as name=value")]
    NoCookie,
    /// Name and value are longer than [`MOST_BYTES`].
    #[error("expected a cookie of at most 4096 bytes")]
    TooLong,
    /// Its domain is not the host's own, or a single label that the host is below.
    #[error("expected a domain of the host that was asked, and of more than one label below it")]
    Domain,
}

/// The cookies of one user.
#[derive(Debug, Clone, Default)]
pub struct Jar {
    /// Longer paths first; of equally long ones the older first (section 5.4).
    cookies: Vec<Cookie>,
    /// How many cookies were ever made, to tell the older from the newer.
    made: u32,
}

/// A cookie; its texts stand behind each other in one allocation.
#[derive(Clone)]
struct Cookie {
    /// Name, value, path, domain.
    text: Box<[u8]>,
    name: u16,
    value: u16,
    path: u16,
    is_host_only: bool,
    is_secure: bool,
    /// Number of its making.
    made: u32,
    /// From this second on it is no more.
    expires_s: i64,
}

impl Cookie {
    fn name(&self) -> &[u8] {
        &self.text[..usize::from(self.name)]
    }

    fn value(&self) -> &[u8] {
        &self.text[usize::from(self.name)..self.path_at()]
    }

    fn path(&self) -> &[u8] {
        &self.text[self.path_at()..self.domain_at()]
    }

    fn domain(&self) -> &[u8] {
        &self.text[self.domain_at()..]
    }

    fn path_at(&self) -> usize {
        usize::from(self.name) + usize::from(self.value)
    }

    fn domain_at(&self) -> usize {
        self.path_at() + usize::from(self.path)
    }

    /// Whether it goes to a place (section 5.4, step 1).
    fn goes_to(&self, place: Place<'_>) -> bool {
        let host = place.host.as_bytes();
        place.now_s < self.expires_s
            && (place.is_secure || !self.is_secure || is_this_host(place.host))
            && path_matches(place.path, self.path())
            && match self.is_host_only {
                true => host.eq_ignore_ascii_case(self.domain()),
                false => domain_matches(place.host, self.domain()),
            }
    }
}

/// Values may be secret: only names and where they go are shown.
impl std::fmt::Debug for Cookie {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (name, domain) = (self.name().escape_ascii(), self.domain().escape_ascii());
        write!(f, "{name}=…; Domain={domain}; Path={}", self.path().escape_ascii())
    }
}

impl Jar {
    /// Obeys the value of a `Set-Cookie` header of the answer to a request for `path`, with its
    /// query or without, of `host`, a name or an address without a port.
    ///
    /// # Errors
    /// Why it was not obeyed; the jar is as before. A cookie that has expired when it comes is
    /// obeyed: the one of its name, domain and path is forgotten.
    pub fn set(
        &mut self,
        header: &[u8],
        host: &str,
        path: &str,
        now_s: i64,
    ) -> Result<(), Refused> {
        let given = Given::parse(header, now_s)?;
        let (domain, is_host_only) = match given.domain {
            None => (host.to_ascii_lowercase(), true),
            Some(domain) => {
                let domain = own_domain(domain, host)?;
                // Nothing is below an address, nor below a name of one label (section 5.3, step 5).
                let is_alone = domain.parse::<IpAddr>().is_ok() || !domain.contains('.');
                (domain, is_alone)
            }
        };
        let path = given.path.unwrap_or_else(|| default_path(path));
        let same = |cookie: &Cookie| {
            let is_named = cookie.name() == given.name && cookie.path() == path;
            is_named && cookie.domain() == domain.as_bytes()
        };
        let before = self.cookies.iter().position(same);
        if given.expires_s <= now_s {
            before.map(|at| self.cookies.remove(at));
            return Ok(());
        }
        let text = [given.name, given.value, path, domain.as_bytes()].concat();
        let short = |part: &[u8]| u16::try_from(part.len()).map_err(|_| Refused::TooLong);
        let cookie = Cookie {
            name: short(given.name)?,
            value: short(given.value)?,
            path: short(path)?,
            text: text.into(),
            is_host_only,
            is_secure: given.is_secure,
            made: before.map_or(self.made, |at| self.cookies[at].made),
            expires_s: given.expires_s,
        };
        match before {
            // The same path and time of making: its place is the same.
            Some(at) => self.cookies[at] = cookie,
            None => self.insert(cookie, now_s),
        }
        Ok(())
    }

    fn insert(&mut self, cookie: Cookie, now_s: i64) {
        if self.cookies.len() >= MOST {
            self.cookies.retain(|kept| now_s < kept.expires_s);
        }
        if self.cookies.len() >= MOST {
            let oldest = (0..self.cookies.len()).min_by_key(|&at| self.cookies[at].made);
            oldest.map(|at| self.cookies.remove(at));
        }
        self.made = self.made.saturating_add(1);
        let at = self.cookies.partition_point(|kept| kept.path >= cookie.path);
        // Most users have one cookie, or two.
        self.cookies.reserve_exact(usize::from(self.cookies.len() == self.cookies.capacity()));
        self.cookies.insert(at, cookie);
    }

    /// Appends what the `Cookie` header of a request for `path` of `host` says, such as `a=1; b=2`,
    /// to `out`; returns how many cookies that are. Where it is none, nothing is appended.
    ///
    /// # Cost
    /// One pass; allocates only where `out` has to grow.
    pub fn write_header(
        &self,
        out: &mut Vec<u8>,
        host: &str,
        path: &str,
        is_secure: bool,
        now_s: i64,
    ) -> usize {
        let place = Place { host, path: without_query(path), is_secure, now_s };
        let mut written = 0;
        for cookie in self.cookies.iter().filter(|cookie| cookie.goes_to(place)) {
            if written > 0 {
                out.extend_from_slice(b"; ");
            }
            out.extend_from_slice(cookie.name());
            out.push(b'=');
            out.extend_from_slice(cookie.value());
            written += 1;
        }
        written
    }

    /// The value of the first cookie of that name that goes with a request for `path` of `host`.
    #[must_use]
    pub fn get(
        &self,
        name: &[u8],
        host: &str,
        path: &str,
        is_secure: bool,
        now_s: i64,
    ) -> Option<&[u8]> {
        let place = Place { host, path: without_query(path), is_secure, now_s };
        let mut cookies = self.cookies.iter();
        cookies.find(|cookie| cookie.name() == name && cookie.goes_to(place)).map(Cookie::value)
    }

    /// How many cookies there are, expired ones included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.cookies.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.cookies.is_empty()
    }
}

/// The name and the value of a `Set-Cookie`, before its attributes.
#[must_use]
pub fn pair(header: &[u8]) -> Option<(&[u8], &[u8])> {
    let pair = header.split(|&byte| byte == b';').next()?;
    let equals = memchr::memchr(b'=', pair)?;
    let (name, value) = (trim(&pair[..equals]), trim(&pair[equals + 1..]));
    (!name.is_empty()).then_some((name, value))
}

/// What a `Set-Cookie` says (section 5.2).
struct Given<'a> {
    name: &'a [u8],
    value: &'a [u8],
    /// Without its leading dot.
    domain: Option<&'a [u8]>,
    path: Option<&'a [u8]>,
    is_secure: bool,
    expires_s: i64,
}

impl<'a> Given<'a> {
    fn parse(header: &'a [u8], now_s: i64) -> Result<Self, Refused> {
        if header.iter().any(|&byte| (byte < b' ' && byte != b'\t') || byte == 0x7f) {
            return Err(Refused::NoCookie);
        }
        let (name, value) = pair(header).ok_or(Refused::NoCookie)?;
        if name.len() + value.len() > MOST_BYTES {
            return Err(Refused::TooLong);
        }
        let (domain, path, is_secure, expires_s) = (None, None, false, NEVER);
        let mut given = Self { name, value, domain, path, is_secure, expires_s };
        let mut max_age = None;
        for attribute in header.split(|&byte| byte == b';').skip(1) {
            let equals = memchr::memchr(b'=', attribute);
            let name = trim(&attribute[..equals.unwrap_or(attribute.len())]);
            let value = trim(equals.map_or(&[], |equals| &attribute[equals + 1..]));
            if value.len() > MOST_ATTRIBUTE {
                continue;
            }
            match name.to_ascii_lowercase().as_slice() {
                b"max-age" => max_age = seconds(value).or(max_age),
                b"expires" => given.expires_s = date::parse(value).unwrap_or(given.expires_s),
                b"domain" => given.domain = Some(value.strip_prefix(b".").unwrap_or(value)),
                b"path" => given.path = value.starts_with(b"/").then_some(value),
                b"secure" => given.is_secure = true,
                _ => {}
            }
        }
        // An empty domain is as none (section 5.2.3).
        given.domain = given.domain.filter(|domain| !domain.is_empty());
        if let Some(age) = max_age {
            given.expires_s = if age <= 0 { i64::MIN } else { now_s.saturating_add(age) };
        }
        Ok(given)
    }
}

/// The seconds of a `Max-Age`: digits, or `-` and digits; else it is passed over (section 5.2.2).
fn seconds(text: &[u8]) -> Option<i64> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let age = digits
        .iter()
        .fold(0_i64, |age, &digit| age.saturating_mul(10).saturating_add(i64::from(digit - b'0')));
    Some(if digits.len() < text.len() { -age } else { age })
}

/// The domain, where a host may set a cookie for it.
fn own_domain(domain: &[u8], host: &str) -> Result<String, Refused> {
    let domain = std::str::from_utf8(domain).map_err(|_| Refused::Domain)?.to_ascii_lowercase();
    let has_labels = domain.split('.').count() > 1 && domain.split('.').all(|l| !l.is_empty());
    let is_itself = host.eq_ignore_ascii_case(&domain) && !domain.contains(':');
    match is_itself || has_labels && domain_matches(host, domain.as_bytes()) {
        true => Ok(domain),
        false => Err(Refused::Domain),
    }
}

/// Whether it is this very host, to which nobody can listen on the way: a `Secure` cookie goes
/// there by plain HTTP too, as of browsers and curl.
fn is_this_host(host: &str) -> bool {
    let name = host.to_ascii_lowercase();
    name == "localhost"
        || name.ends_with(".localhost")
        || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Whether a host is a domain, or below it (section 5.1.3). An address is below none.
fn domain_matches(host: &str, domain: &[u8]) -> bool {
    let bytes = host.as_bytes();
    let Some(rest) = bytes.len().checked_sub(domain.len()) else { return false };
    bytes[rest..].eq_ignore_ascii_case(domain)
        && (rest == 0 || (bytes[rest - 1] == b'.' && host.parse::<IpAddr>().is_err()))
}

/// Whether a path is a cookie's, or below it (section 5.1.4).
fn path_matches(path: &[u8], cookie: &[u8]) -> bool {
    path.strip_prefix(cookie)
        .is_some_and(|rest| rest.is_empty() || cookie.ends_with(b"/") || rest[0] == b'/')
}

/// The path of a cookie that names none: the request's up to its last slash (section 5.1.4).
fn default_path(path: &str) -> &[u8] {
    let path = without_query(path);
    match memchr::memrchr(b'/', path) {
        Some(last) if last > 0 && path[0] == b'/' => &path[..last],
        _ => b"/",
    }
}

/// The path of a request target, which is `/` where it has none.
fn without_query(target: &str) -> &[u8] {
    let bytes = target.as_bytes();
    let path = &bytes[..memchr::memchr2(b'?', b'#', bytes).unwrap_or(bytes.len())];
    if path.is_empty() { b"/" } else { path }
}

fn trim(text: &[u8]) -> &[u8] {
    text.trim_ascii()
}
