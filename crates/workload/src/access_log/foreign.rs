//! Formats that are known and not read: they are refused by their name.

/// What lines that no parser reads look like, with what can be done; `None` where that is unknown.
pub(super) fn named<'a>(lines: &(impl Iterator<Item = &'a [u8]> + Clone)) -> Option<&'static str> {
    if lines.clone().any(|line| line.starts_with(b"#Fields:")) {
        return Some("a log in the W3C's Extended Log File Format whose fields name no requests");
    }
    lines.clone().take(10).find_map(line)
}

/// What a line looks like.
fn line(line: &[u8]) -> Option<&'static str> {
    let words: Vec<&[u8]> = line.split(|&byte| byte == b' ').take(6).collect();
    let brace = memchr::memchr(b'{', line);
    if line.starts_with(b"{") {
        return None;
    }
    if contains(line, " haproxy[") || is_haproxy(line) {
        return Some("a log of HAProxy without requests, which `option httplog` writes");
    }
    if is_syslog_head(&words) {
        return Some(if brace.is_some() {
            "a log behind the head of syslog, which `sed 's/^[^{]*//'` cuts off"
        } else {
            "a log behind the head of syslog"
        });
    }
    if words.len() > 1 && words.iter().all(|word| contains(word, "=")) {
        return Some("a log of `key=value` pairs (logfmt)");
    }
    None
}

/// The head of a line of HAProxy: `[03/Mar/2026:08:00:00.123] front back/server 0/0/0/1/1 200`.
fn is_haproxy(line: &[u8]) -> bool {
    let Some(close) = memchr::memchr(b']', line) else { return false };
    let words: Vec<&[u8]> = line[close + 1..].split(|&byte| byte == b' ').take(5).collect();
    matches!(words[..], [b"", _, backend, timers, ..]
        if contains(backend, "/") && timers.split(|&byte| byte == b'/').count() == 5)
}

/// Whether a line begins as syslog's do: `Mar  3 08:00:00 host program[77]: `, or `<134>1 `.
fn is_syslog_head(words: &[&[u8]]) -> bool {
    let is_time = |word: &[u8]| matches!(word, [_, _, b':', _, _, b':', _, _]);
    let mut words = words.iter().filter(|word| !word.is_empty());
    let (Some(first), Some(_), third) = (words.next(), words.next(), words.next()) else {
        return false;
    };
    let is_number = matches!(first, [b'<', b'0'..=b'9', ..]) && first.contains(&b'>');
    let is_month = first.len() == 3 && first.iter().all(u8::is_ascii_alphabetic);
    is_number || is_month && third.is_some_and(|word| is_time(word))
}

fn contains(text: &[u8], part: &str) -> bool {
    memchr::memmem::find(text, part.as_bytes()).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_that_come_later_are_named() {
        for (text, part) in [
            ("#Software: X\n#Fields: date time c-ip x-bytes\n2026-03-03 08", "W3C"),
            ("Mar  3 08:00:00 lb haproxy[77]: 192.0.2.5:4 [03/Mar/2026:08", "HAProxy"),
            ("192.0.2.5:4 [03/Mar/2026:08:00:00.123] f b/s 0/0/0/1/1 200 3", "HAProxy"),
            ("Mar  3 08:00:00 lb nginx: {\"a\":1}", "sed"),
            ("<134>1 2026-03-03T08:00:00Z h squid 1 - - 1.1 x", "syslog"),
            ("time=2026-03-03T08:00:00Z method=GET path=/", "logfmt"),
        ] {
            let lines = text.as_bytes().split(|&byte| byte == b'\n');
            let found = named(&lines).unwrap_or_default();
            assert!(found.contains(part), "{text}: {found}");
        }
        for text in ["", "time,rate", "some prose of a few words", "1 2 3", "{}", "[", "a b c"] {
            assert_eq!(named(&std::iter::once(text.as_bytes())), None, "{text}");
        }
    }
}
