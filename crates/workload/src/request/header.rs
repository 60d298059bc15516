//! Methods and headers a user gives: nothing passes that could start another header or request
//! (RFC 9110 sections 5.5, 5.6.2 and 9.1).

use plimsoll_units::ParseError;

use super::template::Template;

/// The drivers write these themselves, from the body: a wrong one would break the framing.
const FRAMING: [&str; 2] = ["content-length", "transfer-encoding"];

/// Header fields whose values are secrets.
const SECRETS: [&str; 5] =
    ["authorization", "proxy-authorization", "cookie", "x-api-key", "x-auth-token"];

/// Whether a character may stand in a token: `tchar` of RFC 9110 section 5.6.2.
pub(super) fn is_token_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c)
}

/// Whether the value of this header (any case) is a secret.
pub(super) fn is_secret(name: &str) -> bool {
    SECRETS.iter().any(|secret| name.eq_ignore_ascii_case(secret))
}

/// Reads a method: any token, as it goes on the request line (methods are case-sensitive).
///
/// # Errors
/// Nothing, a character that no method has, `CONNECT`; a known method in lower case gets a hint.
pub fn parse_method(text: &str) -> Result<String, ParseError> {
    const WANTED: &str = "a method such as GET or POST";
    const KNOWN: [&str; 8] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"];
    if text.is_empty() {
        return Err(ParseError::new(WANTED, "", 0, 0));
    }
    if let Some((at, c)) = text.char_indices().find(|&(_, c)| !is_token_char(c)) {
        return Err(ParseError::new(WANTED, &text[at..at + c.len_utf8()], at, c.len_utf8()));
    }
    if text == "CONNECT" {
        let error = ParseError::new(WANTED, text, 0, text.len());
        return Err(error.hint("CONNECT asks for a tunnel, which carries no request of its own"));
    }
    if let Some(known) = KNOWN.iter().find(|known| known.eq_ignore_ascii_case(text))
        && *known != text
    {
        let error = ParseError::new(WANTED, text, 0, text.len());
        return Err(error.hint(format!("methods are case-sensitive: write {known}")));
    }
    Ok(text.to_owned())
}

/// Checks the name of a header and gives it as it was written: names mean the same in any case, but
/// some servers look for one spelling.
///
/// # Errors
/// Nothing, a character that no name has, or one of the headers that frame a message.
pub(super) fn parse_name(text: &str) -> Result<String, ParseError> {
    const WANTED: &str = "the name of a header";
    if text.is_empty() {
        return Err(ParseError::new(WANTED, "", 0, 0));
    }
    if let Some((at, c)) = text.char_indices().find(|&(_, c)| !is_token_char(c)) {
        return Err(ParseError::new(WANTED, &text[at..at + c.len_utf8()], at, c.len_utf8()));
    }
    if FRAMING.iter().any(|name| text.eq_ignore_ascii_case(name)) {
        let wanted = "a header that does not frame the message";
        let error = ParseError::new(wanted, text, 0, text.len());
        return Err(error.hint("leave it out: it is written from the body"));
    }
    Ok(text.to_owned())
}

/// Checks the value of a header: no CR, LF, NUL or other control character but the tab.
///
/// # Errors
/// The first character that may not stand there, or a placeholder that is none.
pub(super) fn parse_value(text: &str, secret: bool) -> Result<Template, ParseError> {
    let forbidden = |c: char| c != '\t' && c.is_control();
    if let Some((at, c)) = text.char_indices().find(|&(_, c)| forbidden(c)) {
        let wanted = "a header value without line ends or control characters";
        return Err(ParseError::new(wanted, &text[at..at + c.len_utf8()], at, c.len_utf8()));
    }
    let trimmed = text.trim_matches([' ', '\t']);
    let blanks = text.len() - text.trim_start_matches([' ', '\t']).len();
    let value = Template::parse(trimmed).map_err(|error| error.shifted(blanks))?;
    Ok(if secret { value.redacted() } else { value })
}

/// Reads a header as one types it: `Name: value`, the value with placeholders.
///
/// # Errors
/// A missing colon, a wrong name, a value with a line end or another control character, a
/// placeholder that is none.
pub fn parse_header(text: &str) -> Result<(String, Template), ParseError> {
    let Some((name, value)) = text.split_once(':') else {
        let error = ParseError::new("a header such as `Accept: text/html`", text, 0, text.len());
        return Err(error.hint("put a colon between name and value"));
    };
    let parsed = parse_name(name)?;
    let secret = is_secret(&parsed);
    let value = parse_value(value, secret).map_err(|error| error.shifted(name.len() + 1))?;
    Ok((parsed, value))
}
