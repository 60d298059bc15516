//! One request and its answer by HTTP/2, over a connection of its own: by the driver of loads, so
//! that a user who is tried asks as those of a load do.

use std::io::ErrorKind;
use std::sync::Arc;

use plimsoll_load::driver::{Driver as _, Event, Fate, Slot};
use plimsoll_load::http1::encode::Head;
use plimsoll_load::http2::Http2;
use plimsoll_net::http::client::{Answer, Deadline, Wire};
use plimsoll_units::failure::chain;
use plimsoll_workload::arrivals::Share;
use plimsoll_workload::request::{RenderState, Request, Requests, Url};
use plimsoll_workload::scenario::{Message, Scenario};

use super::MOST_BYTES;

/// The only request on its connection.
const SLOT: Slot = Slot(0);
const CLOSED: &str = "the server closed the connection before its answer was whole";

/// Sends a message to a server and reads its answer.
///
/// # Errors
/// Why there is none, in a sentence.
pub(super) fn exchange(
    wire: &mut dyn Wire,
    message: &Message,
    (scenario, url): (&Scenario, &Url),
    deadline: &Deadline,
) -> Result<Answer, String> {
    let late = |error: std::io::Error| chain(&deadline.named(error));
    let limit = |wire: &mut dyn Wire| -> Result<(), String> {
        let left = deadline.left().map_err(|error| chain(&error))?;
        wire.limit(left).map_err(late)
    };
    let mut driver = driver(scenario, url);
    let mut out = Vec::new();
    let mut connection = driver.open(&mut out);
    driver.prepare(0, message, &url.authority(), MOST_BYTES as u64);
    let mut made = Vec::new();
    out.extend_from_slice(driver.request(&mut connection, SLOT, 0, &mut made));
    let (mut chunk, mut events) = ([0; 16 * 1024], Vec::new());
    loop {
        limit(wire)?;
        wire.write_all(&out).and_then(|()| wire.flush()).map_err(late)?;
        let count = match wire.read(&mut chunk) {
            Ok(0) => return Err(CLOSED.to_owned()),
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::Interrupted => 0,
            Err(error) => return Err(late(error)),
        };
        out.clear();
        let fate = driver.receive(&mut connection, &chunk[..count], &mut out, &mut events);
        for event in events.drain(..) {
            match event {
                Event::FirstByte(_) => {}
                Event::Done { code, .. } => {
                    let answer = driver.answer(&mut connection, SLOT).unwrap_or_default();
                    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                    let fields = answer.fields.iter();
                    let headers = fields.map(|(name, value)| (name.clone(), text(value)));
                    let headers = headers.collect();
                    return Ok(Answer { status: code, headers, body: answer.body });
                }
                Event::Refused(_) => return Err("the server refused the request".to_owned()),
                Event::Failed { .. } => {
                    let words = driver.words(SLOT).unwrap_or_else(|| CLOSED.into());
                    return Err(String::from_utf8_lossy(&words).into_owned());
                }
            }
        }
        if fate == Fate::Close {
            return Err(CLOSED.to_owned());
        }
    }
}

fn driver(scenario: &Scenario, url: &Url) -> Http2 {
    let user_agent = concat!("plimsoll/", env!("CARGO_PKG_VERSION")).to_owned();
    let head = Head { user_agent, host: None, close: false, proxy: None };
    let requests = Arc::new(Requests::one(Request::new(url.clone())));
    let render = RenderState::new(0, Share { index: 0, of: 1 });
    let schemes = scenario.origins().iter().map(|url| url.scheme.name).collect();
    Http2::new(requests, head, render, 1, false).of_users(schemes)
}
