//! Times that a format puts together of parts, as `strftime` has them.

use plimsoll_units::ParseError;

use super::super::date::{self, Moment};
use super::{Field, What};

/// A part of a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Year,
    Month,
    /// `Mar`.
    MonthName,
    /// With a zero or a blank before one digit.
    Day,
    Hour,
    Minute,
    Second,
    /// `+0100`.
    Zone,
    Millis,
    Micros,
}

impl Part {
    /// How many bytes it has.
    pub(super) fn bytes(self) -> usize {
        match self {
            Self::Year => 4,
            Self::Month | Self::Day | Self::Hour | Self::Minute | Self::Second => 2,
            Self::MonthName | Self::Millis => 3,
            Self::Zone => 5,
            Self::Micros => 6,
        }
    }
}

/// What the words of `strftime` stand for.
pub(super) fn strftime(words: &str) -> Result<Vec<What>, ParseError> {
    let mut found = Vec::new();
    let mut at = 0;
    let bytes = words.as_bytes();
    while let Some(&byte) = bytes.get(at) {
        if byte != b'%' {
            found.push(What::Text(byte));
            at += 1;
            continue;
        }
        let letter = words[at + 1..].chars().next();
        let of: &[Element] = match letter {
            Some('Y') => &[Element::Of(Part::Year)],
            Some('m') => &[Element::Of(Part::Month)],
            Some('b' | 'h') => &[Element::Of(Part::MonthName)],
            Some('d' | 'e') => &[Element::Of(Part::Day)],
            Some('H') => &[Element::Of(Part::Hour)],
            Some('M') => &[Element::Of(Part::Minute)],
            Some('S') => &[Element::Of(Part::Second)],
            Some('z') => &[Element::Of(Part::Zone)],
            Some('F') => &DATE,
            Some('T') => &TIME,
            Some('R') => &TIME[..3],
            Some('%') => &[Element::Text(b'%')],
            other => {
                let len = 1 + other.map_or(0, char::len_utf8);
                let wanted = "a part of a time that is read: %Y %m %b %d %e %H %M %S %z %F %T";
                let error = ParseError::new(wanted, &words[at..at + len], at, len);
                return Err(error.hint("or sec, msec, usec, msec_frac, usec_frac alone"));
            }
        };
        found.extend(of.iter().map(|element| match element {
            Element::Of(part) => What::Field(Field::Part(*part)),
            Element::Text(byte) => What::Text(*byte),
        }));
        at += 2;
    }
    Ok(found)
}

/// What a word of `strftime` is made of.
#[derive(Clone, Copy)]
enum Element {
    Of(Part),
    Text(u8),
}

/// `%F`.
const DATE: [Element; 5] = [
    Element::Of(Part::Year),
    Element::Text(b'-'),
    Element::Of(Part::Month),
    Element::Text(b'-'),
    Element::Of(Part::Day),
];

/// `%T`.
const TIME: [Element; 5] = [
    Element::Of(Part::Hour),
    Element::Text(b':'),
    Element::Of(Part::Minute),
    Element::Text(b':'),
    Element::Of(Part::Second),
];

/// The parts of one line's time.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Parts {
    year: u32,
    month: u32,
    day: u32,
    hour: u32,
    minute: u32,
    second: u32,
    zone_s: Option<i32>,
    nanos: Option<u32>,
}

impl Parts {
    /// Takes in a part; `None` where it is none.
    pub(super) fn take(&mut self, part: Part, text: &[u8]) -> Option<()> {
        let two = || date::two(text, 0);
        match part {
            Part::Year => self.year = date::four(text, 0)?,
            Part::Month => self.month = two()?,
            Part::MonthName => self.month = date::month(text)?,
            Part::Day if text[0] == b' ' => self.day = date::two(&[b'0', text[1]], 0)?,
            Part::Day => self.day = two()?,
            Part::Hour => self.hour = two()?,
            Part::Minute => self.minute = two()?,
            Part::Second => self.second = two()?,
            Part::Zone => self.zone_s = date::zone(text)?,
            Part::Millis | Part::Micros => {
                let (nanos, len) = date::nanos_of(text)?;
                self.nanos = Some(nanos).filter(|_| len == text.len());
            }
        }
        Some(())
    }

    /// The moment that all parts make.
    pub(super) fn moment(&self) -> Option<Moment> {
        let day = date::days(self.year, self.month, self.day)?;
        Moment::of(day, (self.hour, self.minute, self.second), self.zone_s, self.nanos)
    }
}
