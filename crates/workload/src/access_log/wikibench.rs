//! Traces of WikiBench: one request of Wikipedia a line.
//!
//! `929840891 1190146243.303 http://en.wikipedia.org/wiki/Special:Random -`
//!
//! A number that counts requests, the time in seconds, the URL, and whether the request changed the
//! data base: `-` is a GET, `save` a POST, as WikiBench itself replays them.
//!
//! Source: G. Urdaneta, G. Pierre, M. van Steen, "Wikipedia workload analysis for decentralized
//! hosting", Computer Networks 53(11), 2009; E.-J. van Baaren, "WikiBench", 2009.

use super::date;
use super::entry::{Entry, LoggedFields, Rest, Why, is_target};
use super::squid::Fields;

pub(super) fn parse(line: &[u8]) -> Result<Entry<'_>, Why> {
    let mut fields = Fields(line);
    let counter = fields.next().ok_or("no counter")?;
    if !counter.iter().all(u8::is_ascii_digit) {
        return Err("no counter such as 929840891");
    }
    let time = fields.next().and_then(date::epoch).ok_or("no time such as 1190146243.303")?;
    let target = fields.next().filter(|url| is_target(url)).ok_or("no URL")?;
    let method: &[u8] = match (fields.next(), fields.next()) {
        (Some(b"-"), None) => b"GET",
        (Some(b"save"), None) => b"POST",
        _ => return Err("neither `-` nor `save` at its end"),
    };
    let rest = Rest::Found(LoggedFields::default());
    Ok(Entry { moment: time, method, target, escaped: false, rest })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_what_is_missing() {
        let line = "929840891 1190146243.303 http://en.wikipedia.org/wiki/A -";
        let entry = parse(line.as_bytes()).unwrap();
        assert_eq!((entry.moment.second, entry.moment.nanos), (1_190_146_243, Some(303_000_000)));
        assert_eq!(
            (entry.method, entry.target),
            (&b"GET"[..], &b"http://en.wikipedia.org/wiki/A"[..])
        );
        let saved = line.replace(" -", " save");
        assert_eq!(parse(saved.as_bytes()).unwrap().method, b"POST");
        for (line, part) in [
            ("", "counter"),
            ("x 1190146243.303 http://h/ -", "counter"),
            ("1 12 http://h/ -", "time"),
            ("1 1190146243.303 none -", "URL"),
            ("1 1190146243.303 http://h/", "save"),
            ("1 1190146243.303 http://h/ - -", "save"),
        ] {
            let why = parse(line.as_bytes()).unwrap_err();
            assert!(why.contains(part), "{line}: {why}");
        }
    }
}
