//! Lists in the values of HTTP fields: elements between commas, parameters between semicolons.
//!
//! Source: RFC 9110, section 5.6, and RFC 6455, section 9.1.

/// Whether the bytes are a token: a name that needs no quotes.
pub(crate) fn is_token(text: &str) -> bool {
    let is_mark = |byte| b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || is_mark(byte))
}

/// The parts of a list, without the blanks around them. What stands in quotes is not taken apart.
pub(crate) fn split(list: &str, at: char) -> impl Iterator<Item = &str> {
    let mut is_quoted = false;
    let mut is_escaped = false;
    let parts = list.split(move |letter| {
        let escaped = is_escaped;
        is_escaped = is_quoted && letter == '\\' && !escaped;
        is_quoted ^= letter == '"' && !escaped;
        letter == at && !is_quoted
    });
    parts.map(str::trim)
}

/// Whether a list has a word, in capitals or not.
pub(crate) fn has_word(list: &str, word: &str) -> bool {
    split(list, ',').any(|part| part.eq_ignore_ascii_case(word))
}

/// A parameter: its name, and its value without quotes. `None` where it has not that form.
pub(crate) fn parameter(text: &str) -> Option<(&str, Option<&str>)> {
    let Some((name, value)) = text.split_once('=') else {
        return is_token(text).then_some((text, None));
    };
    let (name, value) = (name.trim(), value.trim());
    let inner = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let value = inner.unwrap_or(value);
    (is_token(name) && is_token(value)).then_some((name, Some(value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_hold_commas_and_quotes() {
        let parts: Vec<_> = split(r#"a; b="x, \" y" , c ,d"#, ',').collect();
        assert_eq!(parts, [r#"a; b="x, \" y""#, "c", "d"]);
    }
}
