//! What a request asks for, for a server whose answers depend on it: path, cookie, token.
//!
//! Read from a head that has been found right already; of a form's body no more than
//! `MOST_FORM` bytes are kept.

/// The most of a form's body that is kept, bytes.
const MOST_FORM: usize = 64 * 1024;

/// A request, as far as an answer depends on it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestHead {
    /// Whether it is a POST.
    pub is_post: bool,
    /// The path, without the query; `*` of OPTIONS as it is.
    pub path: Vec<u8>,
    query: Vec<u8>,
    cookies: Vec<u8>,
    header: Vec<u8>,
    is_form: bool,
    form: Vec<u8>,
}

impl RequestHead {
    /// Of a whole head.
    #[must_use]
    pub fn of(head: &[u8]) -> Self {
        let mut asked = Self::default();
        let mut lines = head.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
        let mut words = lines.next().unwrap_or_default().split(|&byte| byte == b' ');
        asked.is_post = words.next() == Some(b"POST");
        let target = origin(words.next().unwrap_or_default());
        let end = target.iter().position(|&byte| byte == b'?').unwrap_or(target.len());
        asked.path = target[..end].to_vec();
        asked.query = target.get(end + 1..).unwrap_or_default().to_vec();
        for line in lines {
            let Some(colon) = line.iter().position(|&byte| byte == b':') else { continue };
            let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
            if name.eq_ignore_ascii_case(b"cookie") {
                if !asked.cookies.is_empty() {
                    asked.cookies.push(b';');
                }
                asked.cookies.extend_from_slice(value);
            } else if name.eq_ignore_ascii_case(b"x-token") {
                asked.header = value.to_vec();
            } else if name.eq_ignore_ascii_case(b"content-type") {
                let kind = b"application/x-www-form-urlencoded";
                asked.is_form =
                    value.get(..kind.len()).is_some_and(|start| start.eq_ignore_ascii_case(kind));
            }
        }
        asked
    }

    /// Takes bytes of the body, where it is a form's.
    pub(crate) fn body(&mut self, bytes: &[u8]) {
        if self.is_form {
            let room = MOST_FORM.saturating_sub(self.form.len());
            self.form.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
    }

    /// The value of a cookie.
    #[must_use]
    pub fn cookie(&self, name: &[u8]) -> Option<&[u8]> {
        field(&self.cookies, b';', name)
    }

    /// The token that came with it: by its header, its form or its query.
    #[must_use]
    pub fn token(&self) -> Option<&[u8]> {
        let header = (!self.header.is_empty()).then_some(&*self.header);
        let form = || field(&self.form, b'&', b"token");
        header.or_else(form).or_else(|| field(&self.query, b'&', b"token"))
    }
}

/// The value of the first `name=value` of that name.
fn field<'a>(text: &'a [u8], between: u8, name: &[u8]) -> Option<&'a [u8]> {
    let mut fields = text.split(|&byte| byte == between).map(<[u8]>::trim_ascii);
    fields.find_map(|field| field.strip_prefix(name)?.strip_prefix(b"="))
}

/// A target without its scheme and authority.
fn origin(target: &[u8]) -> &[u8] {
    if target.starts_with(b"/") {
        return target;
    }
    let Some(at) = target.windows(3).position(|part| part == b"://") else { return target };
    let rest = &target[at + 3..];
    rest.iter().position(|&byte| byte == b'/').map_or(b"/", |slash| &rest[slash..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_token_may_stand() {
        let of = |target: &str, headers: &str, body: &str| {
            let head = format!("POST {target} HTTP/1.1\r\nHost: h\r\n{headers}\r\n");
            let mut asked = RequestHead::of(head.as_bytes());
            asked.body(body.as_bytes());
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            (text(&asked.path), asked.token().map(text))
        };
        let form = "content-type: application/x-www-form-urlencoded; charset=utf-8\r\n";
        let found = |path: &str, token: &str| (path.to_owned(), Some(token.to_owned()));
        assert_eq!(of("/a?x=1&token=t", "", ""), found("/a", "t"));
        assert_eq!(of("/a?token=q", form, "x=1&token=f"), found("/a", "f"));
        assert_eq!(of("/a?token=q", "X-TOKEN:  h \r\n", ""), found("/a", "h"));
        assert_eq!(of("http://h:80/b?token=q", "", ""), found("/b", "q"));
        assert_eq!(of("http://h?token=q", "", "").0, "/");
        assert_eq!(of("/a?mytoken=1", "", "token=f"), ("/a".to_owned(), None));
    }

    #[test]
    fn cookies_and_a_long_form() {
        let head = b"GET / HTTP/1.1\r\nCookie: a=1; sid=2\r\ncookie: b=3\r\n\r\n";
        let mut asked = RequestHead::of(head);
        assert_eq!(asked.cookie(b"sid"), Some(&b"2"[..]));
        assert_eq!(asked.cookie(b"b"), Some(&b"3"[..]));
        assert_eq!(asked.cookie(b"id"), None);
        assert!(!asked.is_post);
        asked.is_form = true;
        for _ in 0..3 {
            asked.body(&[b'x'; 50_000]);
        }
        assert_eq!(asked.form.len(), MOST_FORM);
    }
}
