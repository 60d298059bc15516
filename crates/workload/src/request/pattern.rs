//! Patterns of paths: what of a path is alike for all that is asked of one kind, so that figures
//! can be told by it. `/items/4711?from=9` and `/items/42` are both `/items/{id}`.

/// The pattern of a request's target: its path, in which what names a single thing is `{id}`. The
/// query is left out.
///
/// A segment names a single thing where it is a number, a UUID, or at least eight hexadecimal
/// digits with a figure among them; an ending such as `.jpg` stays.
#[must_use]
pub fn pattern(target: &str) -> String {
    let path = target.split(['?', '#']).next().unwrap_or_default();
    let segments: Vec<String> = path.split('/').map(segment).collect();
    segments.join("/")
}

fn segment(of: &str) -> String {
    let (stem, ending) = match of.rsplit_once('.') {
        Some((stem, ending)) if is_ending(ending) => (stem, Some(ending)),
        _ => (of, None),
    };
    match (is_single(stem), ending) {
        (false, _) => of.to_owned(),
        (true, None) => "{id}".to_owned(),
        (true, Some(ending)) => format!("{{id}}.{ending}"),
    }
}

fn is_ending(ending: &str) -> bool {
    let has_letter = ending.bytes().any(|byte| byte.is_ascii_alphabetic());
    has_letter && ending.len() <= 5 && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

fn is_single(stem: &str) -> bool {
    let has_digit = stem.bytes().any(|byte| byte.is_ascii_digit());
    let is_number = has_digit && stem.bytes().all(|byte| byte.is_ascii_digit());
    let is_hex = has_digit && stem.len() >= 8 && stem.bytes().all(|b| b.is_ascii_hexdigit());
    is_number || is_hex || is_uuid(stem)
}

fn is_uuid(stem: &str) -> bool {
    const LENGTHS: [usize; 5] = [8, 4, 4, 4, 12];
    let parts: Vec<&str> = stem.split('-').collect();
    let is_hex = |part: &str| part.bytes().all(|byte| byte.is_ascii_hexdigit());
    parts.len() == LENGTHS.len()
        && parts.iter().zip(LENGTHS).all(|(part, len)| part.len() == len && is_hex(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_names_a_single_thing_is_left_open() {
        for (target, wanted) in [
            ("/", "/"),
            ("/items/42", "/items/{id}"),
            ("/items/4711/reviews?page=3", "/items/{id}/reviews"),
            ("/img/123.jpg", "/img/{id}.jpg"),
            ("/u/123e4567-e89b-12d3-a456-426614174000", "/u/{id}"),
            ("/static/9f86d081884c7d65.css", "/static/{id}.css"),
            ("/wiki/Main_Page", "/wiki/Main_Page"),
            ("/v2/deadbeef", "/v2/deadbeef"),
            ("/a?b=1", "/a"),
            ("/2024/05", "/{id}/{id}"),
            ("*", "*"),
        ] {
            assert_eq!(pattern(target), wanted);
        }
    }
}
