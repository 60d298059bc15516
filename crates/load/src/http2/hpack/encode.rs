//! Fields of a request as bytes of a header block (RFC 7541, section 6).

use super::{huffman, known};

/// How a field that is in no table is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::http2) enum Literal {
    /// The peer puts it into its table.
    Added,
    /// Only this time.
    Plain,
    /// Only this time, and nobody on the way may put it into a table: a secret (section 7.1.3).
    Never,
}

/// Whether the static table has this field whole: it is then written as one byte.
pub(in crate::http2) fn is_known(name: &str, value: &[u8]) -> bool {
    known::find(name, value).1.is_some()
}

/// Appends a field.
pub(in crate::http2) fn field(name: &str, value: &[u8], literal: Literal, out: &mut Vec<u8>) {
    let (named, pair) = known::find(name, value);
    if let (Some(index), true) = (pair, literal != Literal::Never) {
        return integer(index, 7, 0x80, out);
    }
    let (prefix, first) = match literal {
        Literal::Added => (6, 0x40),
        Literal::Plain => (4, 0x00),
        Literal::Never => (4, 0x10),
    };
    integer(named.unwrap_or(0), prefix, first, out);
    if named.is_none() {
        string(name.as_bytes(), out);
    }
    string(value, out);
}

/// Appends a field that the peer has in its table: `age` is 0 for the youngest.
pub(in crate::http2) fn added(age: usize, out: &mut Vec<u8>) {
    integer(known::DYNAMIC_FROM + age, 7, 0x80, out);
}

/// Appends that the table is to have this size from now on (section 6.3).
pub(in crate::http2) fn resize(size: usize, out: &mut Vec<u8>) {
    integer(size, 5, 0x20, out);
}

/// Appends a string, coded if that is shorter (section 5.2).
fn string(text: &[u8], out: &mut Vec<u8>) {
    let coded = huffman::coded_len(text);
    if coded < text.len() {
        integer(coded, 7, 0x80, out);
        huffman::encode(text, out);
    } else {
        integer(text.len(), 7, 0, out);
        out.extend_from_slice(text);
    }
}

/// Appends an integer whose first byte begins with other bits (section 5.1).
fn integer(value: usize, prefix: u32, first: u8, out: &mut Vec<u8>) {
    let most = (1usize << prefix) - 1;
    if value < most {
        return out.push(first | value.to_le_bytes()[0]);
    }
    out.push(first | most.to_le_bytes()[0]);
    let mut left = value - most;
    while left >= 0x80 {
        out.push(left.to_le_bytes()[0] | 0x80);
        left >>= 7;
    }
    out.push(left.to_le_bytes()[0]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn integers_are_those_of_the_appendix() {
        // RFC 7541, C.1.
        for (value, prefix, bytes) in [(10, 5, "0a"), (1337, 5, "1f9a0a"), (42, 8, "2a")] {
            let mut out = Vec::new();
            integer(value, prefix, 0, &mut out);
            assert_eq!(hex(&out), bytes);
        }
    }

    #[test]
    fn requests_are_those_of_the_appendix() {
        // RFC 7541, C.4: three requests on one connection, strings coded.
        let mut out = Vec::new();
        field(":method", b"GET", Literal::Added, &mut out);
        field(":scheme", b"http", Literal::Added, &mut out);
        field(":path", b"/", Literal::Added, &mut out);
        field(":authority", b"www.example.com", Literal::Added, &mut out);
        assert_eq!(hex(&out), "828684418cf1e3c2e5f23a6ba0ab90f4ff");
        out.clear();
        field(":method", b"GET", Literal::Added, &mut out);
        field(":scheme", b"http", Literal::Added, &mut out);
        field(":path", b"/", Literal::Added, &mut out);
        added(0, &mut out);
        field("cache-control", b"no-cache", Literal::Added, &mut out);
        assert_eq!(hex(&out), "828684be5886a8eb10649cbf");
        out.clear();
        field(":method", b"GET", Literal::Added, &mut out);
        field(":scheme", b"https", Literal::Added, &mut out);
        field(":path", b"/index.html", Literal::Added, &mut out);
        added(1, &mut out);
        field("custom-key", b"custom-value", Literal::Added, &mut out);
        assert_eq!(hex(&out), "828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf");
    }

    #[test]
    fn a_secret_is_never_put_into_a_table() {
        let mut out = Vec::new();
        // C.2.3, whose strings are not coded because that would not be shorter by much here.
        field("password", b"secret", Literal::Never, &mut out);
        assert_eq!(out[0], 0x10);
        out.clear();
        field("accept-encoding", b"gzip, deflate", Literal::Never, &mut out);
        assert_eq!(out[0], 0x1f, "also where the static table has it");
        out.clear();
        resize(0, &mut out);
        assert_eq!(hex(&out), "20");
    }
}
