//! Exchanges with real servers, kept as text: `<` is what the server sent, `>` what we sent, in
//! hexadecimal digits, `=` the code and the bytes of a request's answer.
//!
//! They are recorded anew by `PLIMSOLL_RECORD=HOST:PORT cargo test -p plimsoll-load --test it --
//! --ignored record_an_exchange_with`, with a database `test` and its user `ann` with the password
//! `secret`; the table has the first two records.

use plimsoll_load::driver::{Driver, Event, Fate, Slot};
use plimsoll_load::store::{Pipeline, Speech};
use plimsoll_workload::store::Operations;
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

/// One step of an exchange.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    Received(Vec<u8>),
    Sent(Vec<u8>),
    Ended(u16, u64),
}

/// Asks a server for the first `count` operations, one after another, on one connection.
pub(super) fn record<S: Speech>(
    speech: S,
    operations: Arc<Operations>,
    count: u32,
    mut socket: TcpStream,
) -> Vec<Step> {
    let mut driver = Pipeline::new(speech, operations, 1, false);
    let (mut out, mut events, mut steps) = (Vec::new(), Vec::new(), Vec::new());
    let mut connection = driver.open(&mut out);
    let (mut next, mut buffer) = (0, [0; 4096]);
    loop {
        if driver.room(&connection) > 0 {
            if next == count {
                return steps;
            }
            let mut request = Vec::new();
            out.extend_from_slice(driver.request(&mut connection, Slot(next), next, &mut request));
            next += 1;
        }
        if !out.is_empty() {
            socket.write_all(&out).unwrap();
            steps.push(Step::Sent(std::mem::take(&mut out)));
        }
        let n = socket.read(&mut buffer).unwrap();
        steps.push(Step::Received(buffer[..n].to_vec()));
        let fate = driver.receive(&mut connection, &buffer[..n], &mut out, &mut events);
        assert_eq!(fate, Fate::Keep, "{:?}", driver.refusal(&connection));
        for event in events.drain(..) {
            if let Event::Done { code, bytes, .. } = event {
                steps.push(Step::Ended(code, bytes));
            }
        }
    }
}

/// Plays what the server sent in pieces of `size`; what we send, and how requests end, is as
/// before.
pub(super) fn play<S: Speech>(speech: S, operations: Arc<Operations>, steps: &[Step], size: usize) {
    let mut driver = Pipeline::new(speech, operations, 1, false);
    let (mut out, mut events) = (Vec::new(), Vec::new());
    let mut connection = driver.open(&mut out);
    let (mut next, mut ended) = (0, Vec::new());
    for step in steps {
        match step {
            Step::Received(bytes) => {
                for piece in bytes.chunks(size) {
                    let fate = driver.receive(&mut connection, piece, &mut out, &mut events);
                    assert_eq!(fate, Fate::Keep);
                }
                ended.extend(events.drain(..).filter_map(|event| match event {
                    Event::Done { code, bytes, .. } => Some((code, bytes)),
                    Event::FirstByte(_) => None,
                    other => panic!("{other:?}"),
                }));
            }
            Step::Sent(bytes) => {
                if driver.room(&connection) > 0 {
                    let mut request = Vec::new();
                    let slot = Slot(next);
                    out.extend_from_slice(driver.request(
                        &mut connection,
                        slot,
                        next,
                        &mut request,
                    ));
                    next += 1;
                }
                assert_eq!(hex(&out), hex(bytes), "in pieces of {size}");
                out.clear();
            }
            Step::Ended(code, bytes) => {
                assert_eq!(ended.remove(0), (*code, *bytes), "in pieces of {size}");
            }
        }
    }
    assert!(ended.is_empty() && out.is_empty());
}

/// What was recorded.
pub(super) fn read(text: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (mark, rest) = line.split_once(' ').unwrap();
        match (mark, steps.last_mut()) {
            ("=", _) => {
                let (code, bytes) = rest.split_once(' ').unwrap();
                steps.push(Step::Ended(code.parse().unwrap(), bytes.parse().unwrap()));
            }
            ("<", Some(Step::Received(bytes))) | (">", Some(Step::Sent(bytes))) => {
                bytes.extend(unhex(rest));
            }
            ("<", _) => steps.push(Step::Received(unhex(rest))),
            (">", _) => steps.push(Step::Sent(unhex(rest))),
            _ => panic!("{line}"),
        }
    }
    steps
}

/// The same as text.
pub(super) fn written(steps: &[Step]) -> String {
    let mut text = String::new();
    for step in steps {
        let (mark, bytes) = match step {
            Step::Received(bytes) => ('<', bytes),
            Step::Sent(bytes) => ('>', bytes),
            Step::Ended(code, bytes) => {
                writeln!(text, "= {code} {bytes}").unwrap();
                continue;
            }
        };
        for part in bytes.chunks(48) {
            writeln!(text, "{mark} {}", hex(part)).unwrap();
        }
    }
    text
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    let byte = |at| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
    (0..text.len()).step_by(2).map(byte).collect()
}
