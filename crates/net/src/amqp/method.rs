//! The methods of AMQP 0-9-1 that are needed here, as payloads of frames.
//!
//! Source: the specification's XML, `amqp0-9-1.xml`, and RabbitMQ's extensions (publisher
//! confirms, `basic.nack`, `connection.blocked`).

use super::wire::{Fields, Push as _, Value, push_table};
use super::{Error, Exchange, Queue};

/// A method by its class and its number there.
pub(super) type Method = (u16, u16);

pub(super) const CONNECTION_START: Method = (10, 10);
pub(super) const CONNECTION_START_OK: Method = (10, 11);
pub(super) const CONNECTION_TUNE: Method = (10, 30);
pub(super) const CONNECTION_TUNE_OK: Method = (10, 31);
pub(super) const CONNECTION_OPEN: Method = (10, 40);
pub(super) const CONNECTION_OPEN_OK: Method = (10, 41);
pub(super) const CONNECTION_CLOSE: Method = (10, 50);
pub(super) const CONNECTION_CLOSE_OK: Method = (10, 51);
pub(super) const CONNECTION_BLOCKED: Method = (10, 60);
pub(super) const CONNECTION_UNBLOCKED: Method = (10, 61);
pub(super) const CHANNEL_OPEN: Method = (20, 10);
pub(super) const CHANNEL_OPEN_OK: Method = (20, 11);
pub(super) const CHANNEL_CLOSE: Method = (20, 40);
pub(super) const CHANNEL_CLOSE_OK: Method = (20, 41);
pub(super) const EXCHANGE_DECLARE: Method = (40, 10);
pub(super) const EXCHANGE_DECLARE_OK: Method = (40, 11);
pub(super) const QUEUE_DECLARE: Method = (50, 10);
pub(super) const QUEUE_DECLARE_OK: Method = (50, 11);
pub(super) const QUEUE_BIND: Method = (50, 20);
pub(super) const QUEUE_BIND_OK: Method = (50, 21);
pub(super) const BASIC_QOS: Method = (60, 10);
pub(super) const BASIC_QOS_OK: Method = (60, 11);
pub(super) const BASIC_CONSUME: Method = (60, 20);
pub(super) const BASIC_CONSUME_OK: Method = (60, 21);
pub(super) const BASIC_CANCEL: Method = (60, 30);
pub(super) const BASIC_PUBLISH: Method = (60, 40);
pub(super) const BASIC_RETURN: Method = (60, 50);
pub(super) const BASIC_DELIVER: Method = (60, 60);
pub(super) const BASIC_ACK: Method = (60, 80);
pub(super) const BASIC_NACK: Method = (60, 120);
pub(super) const CONFIRM_SELECT: Method = (85, 10);
pub(super) const CONFIRM_SELECT_OK: Method = (85, 11);

/// A method's payload, of which `fill` writes the arguments.
pub(super) fn method((class, number): Method, fill: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::with_capacity(64);
    out.extend_from_slice(&class.to_be_bytes());
    out.extend_from_slice(&number.to_be_bytes());
    fill(&mut out);
    out
}

/// Which method a payload is, and its arguments.
pub(super) fn split(payload: &[u8]) -> Result<(Method, Fields<'_>), Error> {
    let mut fields = Fields(payload);
    let method = (fields.short()?, fields.short()?);
    Ok((method, fields))
}

/// The answer to `connection.start`: who we are, and the password, in the mechanism `PLAIN`.
pub(super) fn start_ok(name: &str, user: &str, password: &str) -> Vec<u8> {
    let capabilities = [
        ("authentication_failure_close", Value::Flag(true)),
        ("basic.nack", Value::Flag(true)),
        ("connection.blocked", Value::Flag(true)),
        ("consumer_cancel_notify", Value::Flag(true)),
        ("publisher_confirms", Value::Flag(true)),
    ];
    method(CONNECTION_START_OK, |out| {
        push_table(
            out,
            &[
                ("product", Value::Text("plimsoll")),
                ("version", Value::Text(env!("CARGO_PKG_VERSION"))),
                ("connection_name", Value::Text(name)),
                ("capabilities", Value::Table(&capabilities)),
            ],
        );
        out.short_string("PLAIN");
        out.long_string(format!("\0{user}\0{password}").as_bytes());
        out.short_string("en_US");
    })
}

pub(super) fn tune_ok(channel_max: u16, frame_max: u32, heartbeat_s: u16) -> Vec<u8> {
    method(CONNECTION_TUNE_OK, |out| {
        out.extend_from_slice(&channel_max.to_be_bytes());
        out.extend_from_slice(&frame_max.to_be_bytes());
        out.extend_from_slice(&heartbeat_s.to_be_bytes());
    })
}

pub(super) fn connection_open(vhost: &str) -> Vec<u8> {
    method(CONNECTION_OPEN, |out| {
        out.short_string(vhost);
        out.extend_from_slice(&[0, 0]);
    })
}

pub(super) fn connection_close() -> Vec<u8> {
    method(CONNECTION_CLOSE, |out| {
        out.extend_from_slice(&200_u16.to_be_bytes());
        out.short_string("bye");
        out.extend_from_slice(&[0; 4]);
    })
}

pub(super) fn channel_open() -> Vec<u8> {
    method(CHANNEL_OPEN, |out| out.push(0))
}

/// An exchange that is neither deleted by itself nor internal, without arguments.
pub(super) fn exchange_declare(exchange: Exchange<'_>) -> Vec<u8> {
    const DURABLE: u8 = 1 << 1;
    let Exchange { name, kind, is_durable } = exchange;
    method(EXCHANGE_DECLARE, |out| {
        out.extend_from_slice(&[0, 0]);
        out.short_string(name);
        out.short_string(kind);
        out.push(if is_durable { DURABLE } else { 0 });
        push_table(out, &[]);
    })
}

pub(super) fn queue_declare(queue: Queue<'_>) -> Vec<u8> {
    const DURABLE: u8 = 1 << 1;
    const EXCLUSIVE: u8 = 1 << 2;
    const AUTO_DELETE: u8 = 1 << 3;
    let Queue { name, is_durable, is_exclusive, arguments } = queue;
    let durable = if is_durable { DURABLE } else { 0 };
    let exclusive = if is_exclusive { EXCLUSIVE | AUTO_DELETE } else { 0 };
    method(QUEUE_DECLARE, |out| {
        out.extend_from_slice(&[0, 0]);
        out.short_string(name);
        out.push(durable | exclusive);
        push_table(out, arguments);
    })
}

pub(super) fn queue_bind(queue: &str, exchange: &str, key: &str) -> Vec<u8> {
    method(QUEUE_BIND, |out| {
        out.extend_from_slice(&[0, 0]);
        out.short_string(queue);
        out.short_string(exchange);
        out.short_string(key);
        out.push(0);
        push_table(out, &[]);
    })
}

pub(super) fn basic_qos(most: u16) -> Vec<u8> {
    method(BASIC_QOS, |out| {
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&most.to_be_bytes());
        out.push(0);
    })
}

pub(super) fn basic_consume(queue: &str) -> Vec<u8> {
    const EXCLUSIVE: u8 = 1 << 2;
    method(BASIC_CONSUME, |out| {
        out.extend_from_slice(&[0, 0]);
        out.short_string(queue);
        out.short_string("");
        out.push(EXCLUSIVE);
        push_table(out, &[]);
    })
}

/// Acknowledges all deliveries up to this one.
pub(super) fn basic_ack(delivery_tag: u64) -> Vec<u8> {
    method(BASIC_ACK, |out| {
        out.extend_from_slice(&delivery_tag.to_be_bytes());
        out.push(1);
    })
}

/// A message that comes back where no queue takes it (`mandatory`).
pub(super) fn basic_publish(exchange: &str, key: &str) -> Vec<u8> {
    method(BASIC_PUBLISH, |out| {
        out.extend_from_slice(&[0, 0]);
        out.short_string(exchange);
        out.short_string(key);
        out.push(1);
    })
}

pub(super) fn confirm_select() -> Vec<u8> {
    method(CONFIRM_SELECT, |out| out.push(0))
}

const CONTENT_TYPE: u16 = 1 << 15;
const CONTENT_ENCODING: u16 = 1 << 14;
const HEADERS: u16 = 1 << 13;

/// What comes before a body: its length, its type, and headers where there are some.
pub(super) fn content_header(
    length: usize,
    content_type: &str,
    headers: &[(&str, String)],
) -> Vec<u8> {
    let mut out = Vec::with_capacity(64);
    out.extend_from_slice(&60_u16.to_be_bytes());
    out.extend_from_slice(&[0, 0]);
    out.extend_from_slice(&(length as u64).to_be_bytes());
    let headers: Vec<_> =
        headers.iter().map(|(name, text)| (*name, Value::Text(text.as_str()))).collect();
    let with = if headers.is_empty() { 0 } else { HEADERS };
    out.extend_from_slice(&(CONTENT_TYPE | with).to_be_bytes());
    out.short_string(content_type);
    if !headers.is_empty() {
        push_table(&mut out, &headers);
    }
    out
}

/// The length of a body, and the table of its headers, empty where there is none.
///
/// The table is not looked into: publishers write it, and a broken one is their message's fault.
pub(super) fn read_content_header(payload: &[u8]) -> Result<(u64, &[u8]), Error> {
    let mut fields = Fields(payload);
    fields.long()?;
    let length = fields.longlong()?;
    let flags = fields.short()?;
    for flag in [CONTENT_TYPE, CONTENT_ENCODING] {
        if flags & flag != 0 && fields.short_string().is_err() {
            return Ok((length, &[]));
        }
    }
    let headers = if flags & HEADERS == 0 { &[] } else { fields.long_string().unwrap_or_default() };
    Ok((length, headers))
}
