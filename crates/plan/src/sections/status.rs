//! Which HTTP statuses count as a success: `2xx`, `200,304,5xx`, `200..299`.

use std::fmt;

use plimsoll_units::ParseError;

const WANTED: &str = "statuses such as 2xx or 200,304";

/// A set of statuses from 100 to 999.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statuses {
    /// Ranges, both ends included, ascending, neither touching nor overlapping.
    ranges: Vec<(u16, u16)>,
}

impl Statuses {
    /// `2xx`.
    #[must_use]
    pub fn successful() -> Self {
        Self { ranges: vec![(200, 299)] }
    }

    /// Reads single statuses, classes and ranges, joined by commas.
    ///
    /// # Errors
    /// A part that is none of them, at its position.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let mut ranges = Vec::new();
        let mut at = 0;
        for part in text.split(',') {
            let trimmed = part.trim();
            let start = at + part.len() - part.trim_start().len();
            let range = range(trimmed).ok_or_else(|| {
                ParseError::new(WANTED, trimmed, start, trimmed.len())
                    .hint("a status is a number from 100 to 999, a class 1xx to 9xx")
            })?;
            ranges.push(range);
            at += part.len() + 1;
        }
        ranges.sort_unstable();
        let mut joined: Vec<(u16, u16)> = Vec::new();
        for (low, high) in ranges {
            match joined.last_mut() {
                Some(last) if low <= last.1 + 1 => last.1 = last.1.max(high),
                _ => joined.push((low, high)),
            }
        }
        Ok(Self { ranges: joined })
    }

    /// Whether a status is one of them.
    #[must_use]
    pub fn contains(&self, status: u16) -> bool {
        self.ranges.iter().any(|&(low, high)| (low..=high).contains(&status))
    }

    /// The ranges, both ends included, ascending.
    #[must_use]
    pub fn ranges(&self) -> &[(u16, u16)] {
        &self.ranges
    }
}

fn range(text: &str) -> Option<(u16, u16)> {
    if let Some((low, high)) = text.split_once("..") {
        let (low, high) = (status(low.trim())?, status(high.trim())?);
        return (low <= high).then_some((low, high));
    }
    if let Some(class) = text.strip_suffix("xx").or_else(|| text.strip_suffix("XX")) {
        let class = match class.as_bytes() {
            [digit @ b'1'..=b'9'] => u16::from(digit - b'0') * 100,
            _ => return None,
        };
        return Some((class, class + 99));
    }
    status(text).map(|status| (status, status))
}

fn status(text: &str) -> Option<u16> {
    let digits = text.len() == 3 && text.bytes().all(|b| b.is_ascii_digit());
    let number: u16 = if digits { text.parse().ok()? } else { return None };
    (number >= 100).then_some(number)
}

impl fmt::Display for Statuses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, &(low, high)) in self.ranges.iter().enumerate() {
            if n > 0 {
                f.write_str(",")?;
            }
            match (low, high) {
                (low, high) if low == high => write!(f, "{low}")?,
                (low, high) if low % 100 == 0 && high == low + 99 => write!(f, "{}xx", low / 100)?,
                (low, high) => write!(f, "{low}..{high}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_statuses_classes_and_ranges() {
        let statuses = Statuses::parse("200, 304,5xx").unwrap();
        assert!(statuses.contains(200) && statuses.contains(304) && statuses.contains(599));
        assert!(!statuses.contains(201) && !statuses.contains(499) && !statuses.contains(600));
        assert_eq!(statuses.to_string(), "200,304,5xx");
        assert_eq!(Statuses::parse("200..204,205").unwrap().to_string(), "200..205");
        assert_eq!(Statuses::parse("2xx").unwrap(), Statuses::successful());
        assert_eq!(Statuses::parse("299,2xx,300..399").unwrap().to_string(), "200..399");
    }

    #[test]
    fn refuses_what_is_none_at_its_position() {
        for text in ["", "2x", "0xx", "99", "1000", "200,", "300..200", "éxx", "+20"] {
            assert!(Statuses::parse(text).is_err(), "{text}");
        }
        let error = Statuses::parse("200, 30x").unwrap_err();
        assert_eq!((error.at, error.len, error.found.as_str()), (5, 3, "30x"));
    }
}
