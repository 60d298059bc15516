//! The fields of a line of a table, with the quotes of CSV (RFC 4180) or without.

/// The fields of a line, without blanks and quotes around them. Within quotes a separator is text.
pub(super) fn fields(line: &str, separator: char) -> impl Iterator<Item = &str> {
    let mut rest = Some(line);
    std::iter::from_fn(move || {
        let line = rest?;
        let (field, after) = match end_of_field(line, separator) {
            Some(end) => (&line[..end], Some(&line[end + separator.len_utf8()..])),
            None => (line, None),
        };
        rest = after;
        Some(clean(field))
    })
}

/// Where the separator behind the first field of a line is; `None` where there is none.
fn end_of_field(line: &str, separator: char) -> Option<usize> {
    let quoted = line.trim_start_matches(' ').strip_prefix('"');
    let from = quoted.map_or(0, |inner| {
        let start = line.len() - inner.len();
        // A doubled quote closes and opens again: what is behind the last one counts.
        let mut inside = true;
        let ends = |c: char| {
            inside ^= c == '"';
            c == separator && !inside
        };
        inner.find(ends).map_or(line.len(), |at| start + at)
    });
    line[from..].find(separator).map(|at| from + at)
}

/// A field without blanks and quotes around it.
pub(super) fn clean(field: &str) -> &str {
    let field = field.trim();
    field.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(field).trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_keep_separators() {
        let of = |line| fields(line, ',').collect::<Vec<_>>();
        assert_eq!(of("a,b,,c"), ["a", "b", "", "c"]);
        assert_eq!(of(""), [""]);
        assert_eq!(of("\"GET /a,b\", 5 ,\"x\""), ["GET /a,b", "5", "x"]);
        assert_eq!(of("\"a\"\",b\",c"), ["a\"\",b", "c"]);
        assert_eq!(of("\"open,b"), ["\"open,b"]);
        assert_eq!(of("a\"b,c"), ["a\"b", "c"]);
    }
}
