//! permessage-deflate: what the two ends agree on.
//!
//! A [`Deflate`] is what a client would have, what a server would allow, and what both agree on:
//! each time the most that either side may do.
//!
//! Source: RFC 7692, section 7.1, and RFC 6455, section 9.1.

use crate::token::{parameter, split};

const NAME: &str = "permessage-deflate";
const SERVER_NO_CONTEXT: &str = "server_no_context_takeover";
const CLIENT_NO_CONTEXT: &str = "client_no_context_takeover";
const SERVER_BITS: &str = "server_max_window_bits";
const CLIENT_BITS: &str = "client_max_window_bits";

/// The largest window: 2¹⁵ bytes. It is what holds where nothing is said.
const MOST_BITS: u8 = 15;

/// How one side compresses what it sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Side {
    /// Whether a message may refer to those before it. It makes similar messages small, and costs
    /// the sender 310 kB and the receiver 48 kB a connection.
    pub keeps_context: bool,
    /// The window has 2 to this power bytes: 8 to 15.
    pub window_bits: u8,
}

impl Side {
    /// Each message by itself, with the largest window.
    pub const ALONE: Self = Self { keeps_context: false, window_bits: MOST_BITS };

    /// With all that was sent before, and the largest window.
    pub const KEPT: Self = Self { keeps_context: true, window_bits: MOST_BITS };
}

/// How both sides compress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deflate {
    /// What the client sends.
    pub client: Side,
    /// What the server sends.
    pub server: Side,
}

impl Deflate {
    /// Each message by itself, both ways: no memory for it while a connection waits.
    pub const ALONE: Self = Self { client: Side::ALONE, server: Side::ALONE };

    /// With all that was sent before, both ways.
    pub const KEPT: Self = Self { client: Side::KEPT, server: Side::KEPT };
}

/// Why a server's answer is not one to the offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Disagreement {
    /// An extension, or a second one, that was not offered.
    #[error("it agrees to an extension that was not offered")]
    Extension,
    /// A parameter that is unknown, doubled, or has a value that it cannot have.
    #[error("a parameter of permessage-deflate is not one")]
    Parameter,
    /// Less than was asked for: a context, or a larger window.
    #[error("it would compress with more memory than was offered")]
    Memory,
}

/// The parameters as they stand in a header.
#[derive(Default)]
struct Stated {
    server_no_context: bool,
    client_no_context: bool,
    server_bits: Option<u8>,
    /// The inner one is missing where an offer only says that the parameter is understood.
    client_bits: Option<Option<u8>>,
}

impl Stated {
    /// Of the parameters behind the extension's name.
    fn read<'a>(parameters: impl Iterator<Item = &'a str>) -> Option<Self> {
        let mut stated = Self::default();
        for text in parameters {
            let (name, value) = parameter(text)?;
            let is_first = match (name, value) {
                (SERVER_NO_CONTEXT, None) => {
                    !std::mem::replace(&mut stated.server_no_context, true)
                }
                (CLIENT_NO_CONTEXT, None) => {
                    !std::mem::replace(&mut stated.client_no_context, true)
                }
                (SERVER_BITS, Some(value)) => stated.server_bits.replace(bits(value)?).is_none(),
                (CLIENT_BITS, value) => {
                    let bits = value.map(bits);
                    if bits == Some(None) {
                        return None;
                    }
                    stated.client_bits.replace(bits.flatten()).is_none()
                }
                _ => return None,
            };
            if !is_first {
                return None;
            }
        }
        Some(stated)
    }
}

/// 8 to 15, without zeros before it.
fn bits(value: &str) -> Option<u8> {
    let bits = value.parse().ok()?;
    ((8..=MOST_BITS).contains(&bits) && !value.starts_with(['0', '+'])).then_some(bits)
}

impl Deflate {
    /// The value of `Sec-WebSocket-Extensions` in a client's request.
    #[must_use]
    pub fn offer(&self) -> String {
        let mut text = self.text();
        match self.client.window_bits {
            MOST_BITS => text.push_str("; client_max_window_bits"),
            bits => text.push_str(&format!("; {CLIENT_BITS}={bits}")),
        }
        text
    }

    /// What an offer and an answer say in the same words.
    fn text(&self) -> String {
        let mut text = NAME.to_owned();
        let sides = [(self.server, SERVER_NO_CONTEXT), (self.client, CLIENT_NO_CONTEXT)];
        for (_, word) in sides.iter().filter(|(side, _)| !side.keeps_context) {
            text.push_str(&format!("; {word}"));
        }
        if self.server.window_bits < MOST_BITS {
            text.push_str(&format!("; {SERVER_BITS}={}", self.server.window_bits));
        }
        text
    }

    /// What a server's answer to this offer comes to: `None` where it compresses nothing.
    ///
    /// `answer` is the value of its `Sec-WebSocket-Extensions`, several joined by commas.
    ///
    /// # Errors
    /// Where it is no answer to the offer: the connection must be given up.
    pub fn agree(&self, answer: &str) -> Result<Option<Self>, Disagreement> {
        let mut extensions = split(answer, ',').filter(|extension| !extension.is_empty());
        let Some(extension) = extensions.next() else { return Ok(None) };
        let mut parts = split(extension, ';');
        if parts.next() != Some(NAME) || extensions.next().is_some() {
            return Err(Disagreement::Extension);
        }
        let stated = Stated::read(parts).ok_or(Disagreement::Parameter)?;
        let client_bits = match stated.client_bits {
            None => self.client.window_bits,
            Some(None) => return Err(Disagreement::Parameter),
            Some(Some(bits)) if bits > self.client.window_bits => {
                return Err(Disagreement::Parameter);
            }
            Some(Some(bits)) => bits,
        };
        let server_bits = stated.server_bits.unwrap_or(MOST_BITS);
        let keeps_more = !stated.server_no_context && !self.server.keeps_context;
        if keeps_more || server_bits > self.server.window_bits {
            return Err(Disagreement::Memory);
        }
        let client = Side {
            keeps_context: self.client.keeps_context && !stated.client_no_context,
            window_bits: client_bits,
        };
        let server = Side { keeps_context: !stated.server_no_context, window_bits: server_bits };
        Ok(Some(Self { client, server }))
    }

    /// What a server that allows this makes of a client's offers, with the answer's text: of the
    /// first that it can keep to. `None` where there is none.
    #[must_use]
    pub fn accept(&self, offers: &str) -> Option<(Self, String)> {
        split(offers, ',').find_map(|offer| {
            let mut parts = split(offer, ';');
            if parts.next() != Some(NAME) {
                return None;
            }
            let stated = Stated::read(parts)?;
            // A window of 2⁸ bytes is one that we cannot compress with.
            let server_bits = stated.server_bits.unwrap_or(MOST_BITS);
            let server = Side {
                keeps_context: self.server.keeps_context && !stated.server_no_context,
                window_bits: self.server.window_bits.min(server_bits),
            };
            if server.window_bits == 8 {
                return None;
            }
            let client_bits = stated
                .client_bits
                .map(|bits| self.client.window_bits.min(bits.unwrap_or(MOST_BITS)));
            let client = Side {
                keeps_context: self.client.keeps_context && !stated.client_no_context,
                window_bits: client_bits.unwrap_or(MOST_BITS),
            };
            let agreed = Self { client, server };
            let mut text = agreed.text();
            // It may be named only to those who said that they understand it.
            if let Some(bits) = client_bits.filter(|bits| *bits < MOST_BITS) {
                text.push_str(&format!("; {CLIENT_BITS}={bits}"));
            }
            Some((agreed, text))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_answers_within_the_offer_and_within_what_it_allows() {
        let (agreed, text) = Deflate::KEPT.accept(&Deflate::KEPT.offer()).unwrap();
        assert_eq!((agreed, text.as_str()), (Deflate::KEPT, "permessage-deflate"));
        let (agreed, text) = Deflate::KEPT.accept(&Deflate::ALONE.offer()).unwrap();
        assert_eq!(agreed, Deflate::ALONE);
        assert_eq!(Deflate::ALONE.agree(&text), Ok(Some(Deflate::ALONE)));
        let narrow = Deflate {
            client: Side { keeps_context: true, window_bits: 10 },
            server: Side { keeps_context: true, window_bits: 9 },
        };
        let offers = "x, permessage-deflate; client_max_window_bits";
        let (agreed, text) = narrow.accept(offers).unwrap();
        assert_eq!(agreed, narrow);
        assert_eq!(text, "permessage-deflate; server_max_window_bits=9; client_max_window_bits=10");
        // A client that does not know the parameter has the largest window.
        let (agreed, text) = narrow.accept("permessage-deflate").unwrap();
        assert_eq!((agreed.client, text.contains("client")), (Side::KEPT, false));
    }

    #[test]
    fn an_offer_that_cannot_be_kept_to_is_passed_over() {
        for offer in [
            "",
            "permessage-bzip2",
            "permessage-deflate; server_max_window_bits=8",
            "permessage-deflate; server_max_window_bits=16",
            "permessage-deflate; server_max_window_bits=09",
            "permessage-deflate; server_max_window_bits",
            "permessage-deflate; client_max_window_bits=x",
            "permessage-deflate; server_no_context_takeover=1",
            "permessage-deflate; client_no_context_takeover; client_no_context_takeover",
            "permessage-deflate; what=ever",
        ] {
            assert_eq!(Deflate::KEPT.accept(offer), None, "{offer}");
        }
        let second = "permessage-deflate; server_max_window_bits=8, \
                      permessage-deflate; server_max_window_bits=\"11\"";
        let (agreed, _) = Deflate::KEPT.accept(second).unwrap();
        assert_eq!(agreed.server.window_bits, 11);
    }

    #[test]
    fn an_answer_to_another_question_is_refused() {
        use Disagreement::{Extension, Memory, Parameter};
        for (answer, expected) in [
            ("permessage-bzip2", Extension),
            ("permessage-deflate; server_no_context_takeover, permessage-deflate", Extension),
            ("permessage-deflate", Memory),
            ("permessage-deflate; server_no_context_takeover; client_max_window_bits", Parameter),
            ("permessage-deflate; server_no_context_takeover; x", Parameter),
        ] {
            assert_eq!(Deflate::ALONE.agree(answer), Err(expected), "{answer}");
        }
        let mut narrow = Deflate::KEPT;
        narrow.client.window_bits = 9;
        let wider = "permessage-deflate; client_max_window_bits=10";
        assert_eq!(narrow.agree(wider), Err(Parameter));
        narrow.server.window_bits = 9;
        assert_eq!(narrow.agree("permessage-deflate"), Err(Memory));
        assert_eq!(narrow.agree(" "), Ok(None));
    }
}
