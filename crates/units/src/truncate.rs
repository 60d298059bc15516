//! Texts from outside, cut to a length.

/// The first bytes of a text, at most so many, in whole characters.
pub fn truncate(text: &str, most: usize) -> &str {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
