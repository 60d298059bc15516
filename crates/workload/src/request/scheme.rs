//! Schemes of URLs, as data: which there are, the registry of protocols says.

use plimsoll_units::{ParseError, nearest};

/// A scheme: what stands before `://`, and what follows from it.
#[derive(Debug, PartialEq, Eq)]
pub struct Scheme {
    /// As it stands in a URL.
    pub name: &'static str,
    /// Other names for it.
    pub also: &'static [&'static str],
    /// The same over TLS; `None` where it is that itself.
    pub over_tls: Option<&'static Self>,
    /// The port where the URL names none.
    pub port: u16,
    /// Whether it is spoken over TLS: then over no Unix socket.
    pub is_secure: bool,
    /// What there is to a store; `None` where there are paths, of HTTP.
    pub store: Option<StoreScheme>,
}

/// What there is to a store's scheme.
#[derive(Debug, PartialEq, Eq)]
pub struct StoreScheme {
    /// What it calls its databases.
    pub databases: Databases,
    /// Whether nobody is let in without a user's name.
    pub needs_user: bool,
    /// Whether a user's name without a password is a password without a name.
    pub takes_bare_password: bool,
    /// Keys of a URL's query by which its own clients are told whether to speak TLS: `sslmode`.
    pub tls_keys: &'static [&'static str],
    /// Why nobody may log in, where its protocol has no way to.
    pub refuses_login: Option<&'static str>,
    /// Whether its servers may leave commands lying that are sent behind another one.
    pub leaves_lying: bool,
    /// Whether it reads from a disk, and so may begin cold.
    pub has_disk: bool,
    /// Whether a record has several replicas.
    pub has_replicas: bool,
}

impl StoreScheme {
    /// One database in memory, on one node, which lets in with a password or without.
    pub const PLAIN: Self = Self {
        databases: Databases::None,
        needs_user: false,
        takes_bare_password: false,
        tls_keys: &[],
        refuses_login: None,
        leaves_lying: false,
        has_disk: false,
        has_replicas: false,
    };
}

/// What a store calls its databases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Databases {
    /// There is one only.
    None,
    /// Numbers; where none is given, 0.
    Numbers,
    /// Names; one has to be given.
    Names,
    /// Names of letters, digits and `_`; one has to be given.
    Words,
}

/// HTTP over plain TCP, or a Unix socket.
pub static HTTP: Scheme = Scheme { over_tls: Some(&HTTPS), ..Scheme::plain("http", 80, None) };
/// HTTP over TLS.
pub static HTTPS: Scheme = Scheme::secure("https", 443, None);
/// WebSockets over plain TCP, or a Unix socket: HTTP, of which a connection becomes one.
pub static WS: Scheme = Scheme { over_tls: Some(&WSS), ..Scheme::plain("ws", 80, None) };
/// WebSockets over TLS.
pub static WSS: Scheme = Scheme::secure("wss", 443, None);
/// The schemes of what is asked for by paths.
pub static OF_HTTP: [&Scheme; 4] = [&HTTP, &HTTPS, &WS, &WSS];

impl Scheme {
    /// Whether it is that of WebSockets.
    #[must_use]
    pub fn is_websocket(&self) -> bool {
        [WS.name, WSS.name].contains(&self.name)
    }

    /// That of the requests with which its WebSockets begin; any other is that itself.
    #[must_use]
    pub fn of_requests(&'static self) -> &'static Self {
        match self.is_websocket() {
            true if self.is_secure => &HTTPS,
            true => &HTTP,
            false => self,
        }
    }

    /// One without TLS, and of one name.
    #[must_use]
    pub const fn plain(name: &'static str, port: u16, store: Option<StoreScheme>) -> Self {
        Self { name, also: &[], over_tls: None, port, is_secure: false, store }
    }

    /// One over TLS, and of one name.
    #[must_use]
    pub const fn secure(name: &'static str, port: u16, store: Option<StoreScheme>) -> Self {
        Self { is_secure: true, ..Self::plain(name, port, store) }
    }

    /// Reads what stands before `://`: the scheme, and whether it is spoken over a Unix socket.
    ///
    /// # Errors
    /// One that is none of these, with the nearest.
    pub(super) fn find(
        name: &str,
        among: &[&'static Self],
    ) -> Result<(&'static Self, bool), ParseError> {
        let lower = name.to_ascii_lowercase();
        let named = |name: &str| {
            among.iter().copied().find(|known| known.name == name || known.also.contains(&name))
        };
        let over_unix = lower.strip_suffix("+unix").and_then(named).filter(|of| !of.is_secure);
        if let Some(scheme) = over_unix {
            return Ok((scheme, true));
        }
        if let Some(scheme) = named(&lower) {
            return Ok((scheme, false));
        }
        Err(unknown(name, &lower, among))
    }
}

fn unknown(name: &str, lower: &str, among: &[&'static Scheme]) -> ParseError {
    let (http, stores): (Vec<&Scheme>, Vec<&Scheme>) =
        among.iter().copied().partition(|scheme| scheme.store.is_none());
    let http = http.into_iter().map(|scheme| scheme.name).chain(["http+unix"]);
    // Those over TLS are told by the manual: the line is long enough.
    let (secure, plain): (Vec<&Scheme>, Vec<&Scheme>) =
        stores.into_iter().partition(|scheme| scheme.is_secure);
    let names: Vec<&str> = http.chain(plain.iter().map(|scheme| scheme.name)).collect();
    let wanted = match names.as_slice() {
        [before @ .., last] => format!("the scheme {} or {last}", before.join(", ")),
        [] => "a scheme".to_owned(),
    };
    let error = ParseError::new(wanted, name, 0, name.len());
    let others = among.iter().flat_map(|scheme| scheme.also.iter().copied());
    let others = others.chain(secure.iter().map(|scheme| scheme.name));
    match nearest(lower, names.iter().copied().chain(others)) {
        Some(near) => error.hint(format!("write {near}")),
        None => error,
    }
}
