//! Problems as RFC 9457 has them, with the `reason` by which programs tell them apart.

use super::digits::integer;
use super::python_string;

/// Writes a problem; its content type is [`super::PROBLEM_JSON`].
///
/// `type` is `about:blank`, so `title` is HTTP's own phrase for the status (RFC 9457, 4.2.1);
/// `reason` is a word of the documented list, `detail` a sentence for people.
pub fn problem(out: &mut Vec<u8>, status: u16, reason: &str, detail: &str) {
    out.extend_from_slice(b"{\"type\":\"about:blank\",\"title\":");
    python_string(status_text(status), out);
    out.extend_from_slice(b",\"status\":");
    integer(out, u64::from(status));
    out.extend_from_slice(b",\"detail\":");
    python_string(detail, out);
    out.extend_from_slice(b",\"reason\":");
    python_string(reason, out);
    out.push(b'}');
}

/// HTTP's phrase for each status that the registry answers with.
#[must_use]
pub fn status_text(status: u16) -> &'static str {
    match status {
        200 => "OK",
        204 => "No Content",
        304 => "Not Modified",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        413 => "Content Too Large",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        503 => "Service Unavailable",
        505 => "HTTP Version Not Supported",
        _ => "Unknown",
    }
}
