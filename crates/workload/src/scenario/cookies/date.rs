//! Dates of cookies, RFC 6265 section 5.1.1: whatever order and form their parts come in.

use plimsoll_units::civil;

/// The parts that have been found.
#[derive(Default)]
struct Parts {
    time: Option<(u32, u32, u32)>,
    day: Option<u32>,
    month: Option<u32>,
    year: Option<u32>,
}

/// Seconds since 1970-01-01T00:00:00Z; `None` where the text is no date.
#[must_use]
pub fn parse(text: &[u8]) -> Option<i64> {
    let mut parts = Parts::default();
    for token in text.split(|&byte| is_delimiter(byte)).filter(|token| !token.is_empty()) {
        parts.take(token);
    }
    let (hour, minute, second) = parts.time?;
    let (day, month) = (parts.day?, parts.month?);
    let year = match parts.year? {
        year @ 70..=99 => year + 1900,
        year @ 0..=69 => year + 2000,
        year => year,
    };
    let year = i64::from(year);
    if year < 1601 || !civil::is_date(year, month, day) || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    Some(civil::days(year, month, day) * 86_400 + i64::from(hour * 3600 + minute * 60 + second))
}

impl Parts {
    /// Takes a token for the first part that is still missing and that it may be.
    fn take(&mut self, token: &[u8]) {
        if self.time.is_none()
            && let Some(time) = time(token)
        {
            self.time = Some(time);
        } else if self.day.is_none()
            && let Some(day) = number(token, 1, 2)
        {
            self.day = Some(day);
        } else if self.month.is_none()
            && let Some(month) = month(token)
        {
            self.month = Some(month);
        } else if self.year.is_none()
            && let Some(year) = number(token, 2, 4)
        {
            self.year = Some(year);
        }
    }
}

fn is_delimiter(byte: u8) -> bool {
    matches!(byte, 0x09 | 0x20..=0x2f | 0x3b..=0x40 | 0x5b..=0x60 | 0x7b..=0x7e)
}

/// From `least` to `most` digits, and behind them nothing or what is no digit.
fn number(token: &[u8], least: usize, most: usize) -> Option<u32> {
    let len = token.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let digits = (least..=most).contains(&len).then(|| &token[..len])?;
    Some(digits.iter().fold(0, |value, &digit| value * 10 + u32::from(digit - b'0')))
}

/// `8:49:37`, each of one digit or two.
fn time(token: &[u8]) -> Option<(u32, u32, u32)> {
    let mut fields = token.splitn(3, |&byte| byte == b':');
    let whole = |field: &[u8]| field.iter().all(u8::is_ascii_digit).then(|| number(field, 1, 2));
    let (hour, minute) = (whole(fields.next()?)??, whole(fields.next()?)??);
    Some((hour, minute, number(fields.next()?, 1, 2)?))
}

fn month(token: &[u8]) -> Option<u32> {
    const NAMES: &[u8] = b"janfebmaraprmayjunjulaugsepoctnovdec";
    let name = token.get(..3)?.to_ascii_lowercase();
    let at = NAMES.chunks(3).position(|month| month == name)?;
    u32::try_from(at + 1).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_in_every_form() {
        for text in [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
            "06 november 1994 8:49:37",
            "1994 Nov 08:49:37 6th",
        ] {
            let found = parse(text.as_bytes());
            assert_eq!(found, Some(784_111_777), "{text}");
        }
        assert_eq!(parse(b"Thu, 01-Jan-1970 00:00:00 GMT"), Some(0));
        assert_eq!(parse(b"Thu, 01 Jan 69 00:00:00 GMT"), Some(3_124_224_000));
    }

    #[test]
    fn what_is_no_date() {
        for text in [
            "",
            "0",
            "tomorrow",
            "Sun, 06 Nov 1994",
            "31 Feb 1994 08:49:37",
            "06 Nov 1600 08:49:37",
            "06 Nov 1994 24:00:00",
            "06 Nov 1994 08:60:00",
            "06 Nov 1994 08:49:61",
            "06 Nov 1994 08:49",
            "06 Nov 19945 08:49:37",
        ] {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
    }
}
