//! Forms in parts (RFC 7578), as a browser has sent them.

/// A part of a form.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) name: String,
    pub(super) value: String,
    /// Where the value stands in the text.
    pub(super) at: usize,
    /// Whether it is a file, or says of which type it is.
    pub(super) is_file: bool,
    /// Whether it has the name of a file: of none that was not chosen.
    pub(super) has_file_name: bool,
}

/// The parts of a form whose `Content-Type` is `kind`; `None` where the text is none.
pub(super) fn read(kind: &str, text: &str) -> Option<Vec<Part>> {
    let mut parameters = kind.split(';');
    let is_form = parameters.next()?.trim().eq_ignore_ascii_case("multipart/form-data");
    let boundary =
        parameters.filter_map(|of| of.trim().split_once('=')).find_map(|(key, value)| {
            key.eq_ignore_ascii_case("boundary").then(|| value.trim_matches('"'))
        });
    let boundary = format!("--{}", boundary.filter(|of| is_form && !of.is_empty())?);
    let mut rest = text.strip_prefix(&boundary)?;
    let mut parts = Vec::new();
    while !rest.starts_with("--") {
        let (part, behind) = rest.strip_prefix("\r\n")?.split_once(&format!("\r\n{boundary}"))?;
        let (head, value) = part.split_once("\r\n\r\n")?;
        let (name, is_file, has_file_name) = field(head)?;
        let at = value.as_ptr() as usize - text.as_ptr() as usize;
        parts.push(Part { name, value: value.to_owned(), at, is_file, has_file_name });
        rest = behind;
    }
    Some(parts)
}

/// The name of a part's field, whether it is more than that, and whether it names a file.
fn field(head: &str) -> Option<(String, bool, bool)> {
    let (mut name, mut is_file, mut has_file_name) = (None, false, false);
    for line in head.split("\r\n") {
        let (key, value) = line.split_once(':')?;
        if !key.trim().eq_ignore_ascii_case("content-disposition") {
            is_file = true;
            continue;
        }
        // A quote within a name is sent as %22 (WHATWG HTML), so that the next one is its end.
        let (_, of) = value.split_once(" name=\"")?;
        let (of, behind) = of.split_once('"')?;
        is_file |= behind.contains("filename");
        has_file_name |= is_file && !behind.contains("filename=\"\"");
        name = Some(of.replace("%22", "\"").replace("%0D", "\r").replace("%0A", "\n"));
    }
    Some((name?, is_file, has_file_name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_in_parts_is_read() {
        let kind = "multipart/form-data; boundary=\"x-1\"";
        let text = "--x-1\r\nContent-Disposition: form-data; name=\"a%22b\"\r\n\r\none\r\n--x\r\n\
                    --x-1\r\ncontent-disposition: form-data; name=\"f\"; filename=\"f.png\"\r\n\
                    Content-Type: image/png\r\n\r\n\r\n--x-1--\r\n";
        let part = |name: &str, value: &str, at, is_file| Part {
            name: name.to_owned(),
            value: value.to_owned(),
            at,
            is_file,
            has_file_name: is_file,
        };
        let at = text.find("one").unwrap();
        let end = text.len() - "\r\n--x-1--\r\n".len();
        let expected = [part("a\"b", "one\r\n--x", at, false), part("f", "", end, true)];
        assert_eq!(read(kind, text).unwrap(), expected);
        for cut in 0..text.len() - 4 {
            assert!(read(kind, &text[..cut]).is_none(), "{cut}");
        }
        assert!(read("multipart/form-data", text).is_none());
        assert!(read("multipart/mixed; boundary=x-1", text).is_none());
    }
}
