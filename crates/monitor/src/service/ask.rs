//! How a service is asked: by HTTP, or by a line over a connection that is kept.
//!
//! Both are bounded in length and time. A connection of a store is kept from one sample to the
//! next, so that watching leaves no socket in `TIME_WAIT` behind, which others count.

use std::io;
use std::time::Duration;

use plimsoll_net::http::client::{Ask, Deadline, Dial, Error, Limits, Peer, Plain, Wire};
use plimsoll_net::url::{Parts, Url, bracketed};
use plimsoll_units::ParseError;

use crate::collector::{CollectError, Token};

/// A page of a service, fetched by `GET`.
pub(crate) struct Page {
    url: Url,
    limits: Limits,
    /// The header `Authorization`, where one is asked for.
    authorization: Option<String>,
}

impl Page {
    /// The page at an address, which is a URL or `HOST:PORT`. Without a path, the usual one is
    /// taken.
    pub(crate) fn at(address: &str, usual_path: &str, limits: Limits) -> Result<Self, ParseError> {
        let mut url = Url::parse(address)?;
        if url.secure {
            let error = ParseError::new("an address that is not encrypted", address, 0, 5);
            return Err(error.hint("give one that begins with http://"));
        }
        if url.path == "/" {
            usual_path.clone_into(&mut url.path);
        }
        Ok(Self { url, limits, authorization: None })
    }

    /// The same page, for which a token is given.
    pub(crate) fn with_token(self, token: &Token) -> Self {
        Self { authorization: Some(format!("Bearer {}", token.0)), ..self }
    }

    /// The text of the page.
    pub(crate) fn text(&self) -> Result<String, CollectError> {
        self.text_by(&Plain)
    }

    /// The text of the page, over a connection that is opened so.
    pub(crate) fn text_by(&self, dial: &dyn Dial) -> Result<String, CollectError> {
        let failed = |source| CollectError::Ask { address: self.url.to_string(), source };
        let given = self.authorization.as_deref().map(|text| ("Authorization", text));
        let headers: Vec<(&str, &str)> = given.into_iter().collect();
        let asked = Ask { headers: &headers, ..Ask::get(&self.url) };
        let answer = asked.send(dial, self.limits).map_err(failed)?;
        if answer.status != 200 {
            return Err(failed(Error::Status(answer.status)));
        }
        String::from_utf8(answer.body).map_err(|error| {
            let found = String::from_utf8_lossy(error.as_bytes());
            CollectError::garbage("a page in UTF-8", &found)
        })
    }
}

/// A service that is asked by a line, over a connection that is kept.
pub(crate) struct Conversation {
    host: String,
    port: u16,
    limits: Limits,
    wire: Option<Box<dyn Wire>>,
    /// What is said first over a new connection.
    opening: Option<Opening>,
}

/// Sends something over a connection, and reads until the answer is whole.
pub(crate) type Talk<'a> =
    dyn FnMut(&[u8], &dyn Fn(&[u8]) -> bool) -> Result<Vec<u8>, CollectError> + 'a;

/// Says what has to be said before anything is asked.
type Opening = Box<dyn Fn(&mut Talk<'_>) -> Result<(), CollectError> + Send>;

impl Conversation {
    /// A conversation with the service at `HOST:PORT`, or at a URL of this scheme. Without a port,
    /// the usual one is taken. Nothing is opened yet.
    pub(crate) fn with(
        address: &str,
        scheme: &'static str,
        usual_port: u16,
        limits: Limits,
    ) -> Result<Self, ParseError> {
        let prefix = if address.contains("://") { "" } else { "tcp://" };
        let whole = format!("{prefix}{address}");
        let shifted =
            |error: ParseError| ParseError { at: error.at.saturating_sub(prefix.len()), ..error };
        let parts = Parts::split(&whole).map_err(shifted)?;
        if prefix.is_empty() && parts.scheme != scheme {
            let wanted = format!("HOST:PORT or {scheme}://HOST:PORT");
            return Err(ParseError::new(&wanted, parts.scheme, 0, parts.scheme.len()));
        }
        if parts.user_info.is_some() {
            let wanted = "an address without user and password";
            return Err(ParseError::new(wanted, "@", 0, address.len()));
        }
        let (host, port) = parts.host_and_port().map_err(shifted)?;
        Ok(Self { host, port: port.unwrap_or(usual_port), limits, wire: None, opening: None })
    }

    /// The same, whose connections begin with what this says.
    pub(crate) fn opened_by(
        self,
        opening: impl Fn(&mut Talk<'_>) -> Result<(), CollectError> + Send + 'static,
    ) -> Self {
        Self { opening: Some(Box::new(opening)), ..self }
    }

    /// Sends a request, and reads the answer until `is_whole` holds of it.
    ///
    /// Where the kept connection turns out to be closed, a new one is opened, once.
    pub(crate) fn ask(
        &mut self,
        request: &[u8],
        is_whole: impl Fn(&[u8]) -> bool,
    ) -> Result<Vec<u8>, CollectError> {
        let deadline = Deadline::after(self.limits.total);
        if let Some(mut wire) = self.wire.take() {
            match self.exchange(&mut *wire, request, &is_whole, &deadline) {
                Err(Error::Exchange(_)) => {}
                result => return self.kept(wire, result),
            }
        }
        let peer = Peer::new(&self.host, self.port);
        let mut wire = Plain.dial(peer, &deadline).map_err(|error| self.failed(error))?;
        if let Some(opening) = &self.opening {
            opening(&mut |request, is_whole| {
                let answer = self.exchange(&mut *wire, request, is_whole, &deadline);
                answer.map_err(|error| self.failed(error))
            })?;
        }
        let answer = self.exchange(&mut *wire, request, &is_whole, &deadline);
        self.kept(wire, answer)
    }

    /// Keeps a connection whose answer came whole.
    fn kept(
        &mut self,
        wire: Box<dyn Wire>,
        answer: Result<Vec<u8>, Error>,
    ) -> Result<Vec<u8>, CollectError> {
        let answer = answer.map_err(|error| self.failed(error))?;
        self.wire = Some(wire);
        Ok(answer)
    }

    fn exchange(
        &self,
        wire: &mut dyn Wire,
        request: &[u8],
        is_whole: &dyn Fn(&[u8]) -> bool,
        deadline: &Deadline,
    ) -> Result<Vec<u8>, Error> {
        wire.limit(deadline.left()?).map_err(Error::Exchange)?;
        wire.write_all(request).map_err(|error| deadline.named(error))?;
        let (mut read, mut chunk) = (Vec::new(), [0; 4096]);
        while !is_whole(&read) {
            if read.len() > self.limits.answer_bytes {
                return Err(Error::Long(self.limits.answer_bytes));
            }
            wire.limit(deadline.left()?).map_err(Error::Exchange)?;
            match wire.read(&mut chunk) {
                Ok(0) => return Err(Error::Exchange(io::ErrorKind::UnexpectedEof.into())),
                Ok(length) => read.extend_from_slice(&chunk[..length]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(deadline.named(error)),
            }
        }
        Ok(read)
    }

    /// Closes the connection. This is for after an answer that was not understood.
    pub(crate) fn hang_up(&mut self) {
        self.wire = None;
    }

    fn failed(&self, source: Error) -> CollectError {
        let address = format!("{}:{}", bracketed(&self.host), self.port);
        CollectError::Ask { address, source }
    }
}

/// The limits of an answer of a few hundred lines.
pub(crate) fn limits(total: Duration) -> Limits {
    Limits::within(total)
}
