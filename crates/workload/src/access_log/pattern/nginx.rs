//! The words of nginx's `log_format`: `$name` and `${name}`.

use plimsoll_units::{ParseError, nearest};

use super::{Field, Piece, What};

/// Variables whose values are read.
const READ: [(&str, Field); 20] = [
    ("remote_addr", Field::Client),
    ("http_x_forwarded_for", Field::Forwarded),
    ("proxy_add_x_forwarded_for", Field::Forwarded),
    ("status", Field::Status),
    ("body_bytes_sent", Field::Bytes(0)),
    ("bytes_sent", Field::Bytes(1)),
    ("http_host", Field::Site(0)),
    ("host", Field::Site(1)),
    ("server_name", Field::Site(2)),
    ("request", Field::Request),
    ("request_method", Field::Method),
    ("request_uri", Field::Target),
    ("uri", Field::Path),
    ("document_uri", Field::Path),
    ("is_args", Field::Mark),
    ("args", Field::Arguments),
    ("query_string", Field::Arguments),
    ("time_local", Field::Clf),
    ("time_iso8601", Field::Iso),
    ("msec", Field::Epoch),
];

/// Variables that are passed over. `_` is none of nginx's: it stands for one of the user's own.
const OTHER: [&str; 49] = [
    "_",
    "ancient_browser",
    "binary_remote_addr",
    "connection",
    "connection_requests",
    "connection_time",
    "connections_active",
    "connections_reading",
    "connections_waiting",
    "connections_writing",
    "content_length",
    "content_type",
    "date_gmt",
    "date_local",
    "document_root",
    "gzip_ratio",
    "hostname",
    "http2",
    "http3",
    "https",
    "invalid_referer",
    "limit_conn_status",
    "limit_rate",
    "limit_req_status",
    "modern_browser",
    "msie",
    "nginx_version",
    "pid",
    "pipe",
    "proxy_host",
    "proxy_port",
    "proxy_protocol_addr",
    "proxy_protocol_port",
    "proxy_protocol_server_addr",
    "proxy_protocol_server_port",
    "realip_remote_addr",
    "realip_remote_port",
    "realpath_root",
    "remote_port",
    "remote_user",
    "request_body",
    "request_completion",
    "request_filename",
    "request_id",
    "request_length",
    "request_time",
    "scheme",
    "server_addr",
    "server_port",
];

/// More of them.
const MORE: [&str; 12] = [
    "request_body_file",
    "server_protocol",
    "secure_link",
    "secure_link_expires",
    "session_time",
    "slice_range",
    "tcpinfo_rcv_space",
    "tcpinfo_rtt",
    "tcpinfo_rttvar",
    "tcpinfo_snd_cwnd",
    "uid_got",
    "uid_set",
];

/// Beginnings of variables that are passed over, and whether their values may be lists.
const FAMILIES: [(&str, bool); 10] = [
    ("http_", true),
    ("upstream_", true),
    ("arg_", false),
    ("cookie_", false),
    ("sent_http_", false),
    ("sent_trailer_", false),
    ("ssl_", false),
    ("geoip_", false),
    ("geoip2_", false),
    ("jwt_", false),
];

/// The pieces of a format.
pub(super) fn pieces(text: &str) -> Result<Vec<Piece>, ParseError> {
    let bytes = text.as_bytes();
    let mut pieces = Vec::new();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let (what, len) = match (byte, bytes.get(at + 1)) {
            (b'$', _) => {
                let (field, len) = variable(text, at)?;
                (What::Field(field), len)
            }
            (b'\\', Some(b't')) => (What::Text(b'\t'), 2),
            (b'\\', Some(&escaped @ (b'"' | b'\'' | b'\\'))) => (What::Text(escaped), 2),
            _ => (What::Text(byte), 1),
        };
        pieces.push(Piece { what, at, len });
        at += len;
    }
    Ok(pieces)
}

/// The field of the variable at a place, and how long its name is.
fn variable(text: &str, at: usize) -> Result<(Field, usize), ParseError> {
    let rest = &text[at + 1..];
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let (name, len) = match rest.strip_prefix('{') {
        Some(inner) => match inner.split_once('}') {
            Some((name, _)) => (name, name.len() + 3),
            None => return Err(ParseError::new("a } behind ${", &text[at..], at, rest.len() + 1)),
        },
        None => {
            let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
            (&rest[..end], end + 1)
        }
    };
    field(&name.to_ascii_lowercase()).map(|field| (field, len)).ok_or_else(|| {
        let wanted = "a variable of nginx such as $request";
        let error = ParseError::new(wanted, &text[at..at + len], at, len);
        let known = READ.iter().map(|(name, _)| *name).chain(OTHER).chain(MORE);
        match nearest(name, known) {
            Some(near) => error.hint(format!("write ${near}, or $_ for what is passed over")),
            None => error.hint("write $_ for a variable of your own, which is passed over"),
        }
    })
}

fn field(name: &str) -> Option<Field> {
    if let Some((_, field)) = READ.iter().find(|(known, _)| *known == name) {
        return Some(*field);
    }
    if OTHER.contains(&name) || MORE.contains(&name) {
        return Some(Field::Other);
    }
    let of_family = |(family, _): &&(&str, bool)| {
        name.strip_prefix(*family).is_some_and(|rest| !rest.is_empty())
    };
    let (_, is_list) = FAMILIES.iter().find(of_family)?;
    Some(if *is_list { Field::List } else { Field::Other })
}
