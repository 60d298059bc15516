//! Redirects that are followed, for every driver of HTTP.
//!
//! A driver tells where answers lead ([`Redirects::hear`]); when an answer is whole, the engine
//! asks whether the request goes on ([`Redirects::follow`]). What it then asks for takes the place
//! of the list's request, until the request has ended ([`Redirects::end`]). Nothing is kept of
//! requests that are not redirected.

use crate::driver::{Follow, Slot};
use plimsoll_workload::request::{Request, Url};
use std::collections::BTreeMap;

/// The longest `Location` that is read, in bytes; a longer one leads nowhere.
const MAX_LOCATION: usize = 16 * 1024;

/// The redirects of one thread's requests.
#[derive(Default)]
pub(crate) struct Redirects {
    /// How many are followed for one request.
    most: u32,
    /// What the server under load is told that it is called, where that is not its URL's host.
    host: Option<String>,
    /// Where answers lead that are not whole, or are looked at now.
    heard: BTreeMap<Slot, Vec<u8>>,
    going: BTreeMap<Slot, Going>,
}

/// A request that is not the list's own any more.
struct Going {
    request: Request,
    /// How many redirects have led there.
    redirects: u32,
}

impl Redirects {
    /// Up to `most` a request, at a server that is told that it is called `host`.
    pub(crate) fn new(most: u32, host: Option<String>) -> Self {
        Self { most, host, ..Self::default() }
    }

    /// Whether any are followed.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.most > 0
    }

    /// What is asked instead of the list's request.
    #[inline]
    pub(crate) fn request(&self, slot: Slot) -> Option<&Request> {
        if self.going.is_empty() {
            return None;
        }
        self.going.get(&slot).map(|going| &going.request)
    }

    /// This is asked instead of the list's request, whose placeholders are filled in: so it is the
    /// same wherever it leads.
    pub(crate) fn begin(&mut self, slot: Slot, request: Request) {
        self.going.insert(slot, Going { request, redirects: 0 });
    }

    /// An answer leads there.
    pub(crate) fn hear(&mut self, slot: Slot, location: Vec<u8>) {
        self.heard.insert(slot, location);
    }

    /// The whole answer is here, of this status: whether the request goes on. `own` is the list's
    /// request. `Err` says why it does not.
    pub(crate) fn follow(
        &mut self,
        slot: Slot,
        own: &Request,
        status: u16,
    ) -> Result<Follow, String> {
        // Without a location a redirect is an answer like any other.
        let Some(location) = self.heard.remove(&slot) else { return Ok(Follow::Answer) };
        let (from, redirects) = match self.going.get(&slot) {
            Some(going) => (&going.request, going.redirects),
            None => (own, 0),
        };
        if redirects >= self.most {
            return Err(format!("{status} behind {}", times(redirects)));
        }
        let request = self.led(from, status, &location)?;
        self.going.insert(slot, Going { request, redirects: redirects + 1 });
        Ok(Follow::Again)
    }

    /// What is asked next. No word of the location but its host is told: it may hold a secret.
    fn led(&self, from: &Request, status: u16, location: &[u8]) -> Result<Request, String> {
        let unread =
            |wanted: &str| format!("{status} leads to what cannot be read: expected {wanted}");
        if location.len() > MAX_LOCATION {
            return Err(unread("a location of at most 16 KiB"));
        }
        let location = text_of(location);
        let read = |from: &Request| {
            from.redirected(status, &location).map_err(|error| unread(&error.wanted))
        };
        let next = read(from)?;
        if next.url.is_of_server(&from.url) {
            return Ok(next);
        }
        // It may call itself as it is called.
        let given = self.host.clone().or_else(|| host_of(from));
        let named = given.and_then(|host| named(&from.url, &host));
        if let Some(url) = named {
            let named = Request { url, ..from.clone() };
            let next = read(&named)?;
            if next.url.is_of_server(&named.url) {
                let url = Url { target: next.url.target, template: None, ..from.url.clone() };
                return Ok(Request { url, ..next });
            }
        }
        let (scheme, to) = (next.url.scheme.name, next.url.authority());
        Err(format!("{status} leads to {scheme}://{to}, which is not the server under load"))
    }

    /// The request has ended.
    #[inline]
    pub(crate) fn end(&mut self, slot: Slot) {
        if self.is_on() {
            self.heard.remove(&slot);
            self.going.remove(&slot);
        }
    }
}

fn times(redirects: u32) -> String {
    match redirects {
        1 => "a redirect: one is followed".to_owned(),
        n => format!("{n} redirects: so many are followed"),
    }
}

/// The `host` header that a request has, where it is the same for all.
fn host_of(request: &Request) -> Option<String> {
    let host = request.host_given()?.as_static()?;
    Some(String::from_utf8_lossy(host).into_owned())
}

/// A location as text. One that is no UTF-8 is taken byte by byte: what is beyond ASCII is
/// percent-encoded.
fn text_of(location: &[u8]) -> String {
    let encoded = |byte: &u8| match byte {
        0..=127 => char::from(*byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    String::from_utf8(location.to_vec()).unwrap_or_else(|_| location.iter().map(encoded).collect())
}

/// The URL of the same server under another name.
fn named(url: &Url, host: &str) -> Option<Url> {
    Url::parse_literal(&format!("{}://{host}{}", url.scheme.name, url.target)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(url: &str) -> Request {
        Request::new(Url::parse(url).unwrap())
    }

    fn led(of: &mut Redirects, own: &Request, location: &str) -> Result<Follow, String> {
        of.hear(Slot(1), location.into());
        of.follow(Slot(1), own, 302)
    }

    #[test]
    fn so_many_are_followed_and_no_more() {
        let own = request("http://h:8080/a/b");
        let mut of = Redirects::new(2, None);
        assert_eq!(of.follow(Slot(1), &own, 302), Ok(Follow::Answer), "it leads nowhere");
        assert_eq!(led(&mut of, &own, "c"), Ok(Follow::Again));
        assert_eq!(of.request(Slot(1)).unwrap().url.target, "/a/c");
        assert!(of.request(Slot(2)).is_none());
        assert_eq!(led(&mut of, &own, "../d"), Ok(Follow::Again));
        assert_eq!(of.request(Slot(1)).unwrap().url.target, "/d");
        let error = led(&mut of, &own, "e").unwrap_err();
        assert_eq!(error, "302 behind 2 redirects: so many are followed");
        of.end(Slot(1));
        assert!(of.request(Slot(1)).is_none() && of.going.is_empty() && of.heard.is_empty());
        assert_eq!(led(&mut of, &own, "e"), Ok(Follow::Again), "another request in its place");
    }

    #[test]
    fn a_location_is_asked_for_byte_by_byte() {
        let own = request("http://h:8080/");
        let mut of = Redirects::new(9, None);
        of.hear(Slot(1), b"/caf\xe9?q=\xff"[..].into());
        assert_eq!(of.follow(Slot(1), &own, 302), Ok(Follow::Again));
        assert_eq!(of.request(Slot(1)).unwrap().url.target, "/caf%E9?q=%FF");
    }

    #[test]
    fn no_other_server_is_asked_by_whatever_name() {
        let own = request("http://127.0.0.1:8080/");
        let mut plain = Redirects::new(9, None);
        for (location, to) in [
            ("http://other:8080/?token=x", "http://other:8080"),
            ("https://127.0.0.1:8080/", "https://127.0.0.1:8080"),
            ("//127.0.0.1/", "http://127.0.0.1"),
        ] {
            let error = led(&mut plain, &own, location).unwrap_err();
            assert_eq!(error, format!("302 leads to {to}, which is not the server under load"));
        }
        for location in ["http+unix://%2Frun%2Fx/", "ftp://h/", "mailto:a", "/\u{1}"] {
            let error = led(&mut plain, &own, location).unwrap_err();
            assert!(error.starts_with("302 leads to what cannot be read"), "{error}");
        }
        let mut named = Redirects::new(9, Some("Shop.example".to_owned()));
        assert_eq!(led(&mut named, &own, "http://shop.example/x"), Ok(Follow::Again));
        let next = named.request(Slot(1)).unwrap();
        assert_eq!(next.url.to_string(), "http://127.0.0.1:8080/x");
        assert!(led(&mut named, &own, "http://elsewhere.example/x").is_err());
    }
}
