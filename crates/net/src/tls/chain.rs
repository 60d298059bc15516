//! What a chain of certificates says of itself: for whom each is, by whom, and until when.
//!
//! Only that is read of a certificate, and nothing is verified: whoever connects verifies. Source:
//! RFC 5280, section 4.1 (the fields), ITU-T X.690 (their encoding).

use std::path::{Path, PathBuf};

use plimsoll_units::civil;

use super::{TlsError, certificates};

/// The certificates of a file, the server's own first.
#[derive(Debug, Clone)]
pub struct Chain {
    path: PathBuf,
    links: Vec<Link>,
}

/// A certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Link {
    issuer: Vec<u8>,
    subject: Vec<u8>,
    /// Seconds since 1970.
    from_s: i64,
    until_s: i64,
}

/// What is wrong with a chain.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChainFault {
    /// Not to be read.
    #[error("certificate {0} of it is not one")]
    Odd(usize),
    /// Its time is over.
    #[error("certificate {0} of it expired {1} ago")]
    Expired(usize, String),
    /// Its time has not come.
    #[error("certificate {0} of it is not valid for another {1}")]
    Early(usize, String),
    /// The authority's stands first.
    #[error("it is in the reverse order: the server's own certificate comes first")]
    Reversed,
    /// One did not issue the one before it.
    #[error("certificate {0} of it was not issued by the next: one is missing, or out of order")]
    Broken(usize),
    /// It was longer, of the same authority.
    #[error("it has {0} certificates where there were {1}: is it whole?")]
    Shorter(usize, usize),
}

impl Chain {
    /// Reads a file of certificates, PEM.
    pub fn read(path: &Path) -> Result<Self, TlsError> {
        let links = certificates(path)?;
        let links = links.iter().enumerate().map(|(index, der)| {
            link(der).ok_or_else(|| TlsError::Chain(path.to_owned(), ChainFault::Odd(index + 1)))
        });
        Ok(Self { path: path.to_owned(), links: links.collect::<Result<_, _>>()? })
    }

    /// Whether it is to be served instead of the one before.
    pub fn may_replace(&self, before: &Self, unix_s: f64) -> Result<(), TlsError> {
        let is_less = || self.is_less_than(before).filter(|_| before.fault(unix_s).is_none());
        match self.fault(unix_s).or_else(is_less) {
            Some(fault) => Err(TlsError::Chain(self.path.clone(), fault)),
            None => Ok(()),
        }
    }

    /// A chain that lacks what the one before had, of the same authority, is not whole. Whether the
    /// root stands at its end does not matter: whoever connects has it.
    fn is_less_than(&self, before: &Self) -> Option<ChainFault> {
        let issuer = |chain: &Self| chain.links.first().map(|link| link.issuer.clone());
        let is_between = |link: &&Link| link.issuer != link.subject;
        let needed = |chain: &Self| chain.links.iter().filter(is_between).count();
        let (now, then) = (needed(self), needed(before));
        (now < then && issuer(self) == issuer(before)).then_some(ChainFault::Shorter(now, then))
    }

    /// What is wrong with it now.
    pub fn fault(&self, unix_s: f64) -> Option<ChainFault> {
        self.order().or_else(|| self.time(unix_s))
    }

    /// Whether it is in order: each issued by the next.
    pub fn order(&self) -> Option<ChainFault> {
        let pairs = || self.links.windows(2).map(|pair| (&pair[0], &pair[1]));
        let broken = pairs().position(|(one, next)| one.issuer != next.subject)?;
        let is_reversed = pairs().all(|(one, next)| next.issuer == one.subject);
        Some(if is_reversed { ChainFault::Reversed } else { ChainFault::Broken(broken + 1) })
    }

    #[expect(clippy::cast_possible_truncation, reason = "seconds since 1970")]
    fn time(&self, unix_s: f64) -> Option<ChainFault> {
        let now_s = unix_s as i64;
        (1..).zip(&self.links).find_map(|(number, link)| {
            if link.until_s < now_s {
                Some(ChainFault::Expired(number, span(now_s - link.until_s)))
            } else if link.from_s > now_s {
                Some(ChainFault::Early(number, span(link.from_s - now_s)))
            } else {
                None
            }
        })
    }
}

/// A time for people.
fn span(seconds: i64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

const SEQUENCE: u8 = 0x30;
const INTEGER: u8 = 0x02;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
/// `[0]`, which holds the version.
const VERSION: u8 = 0xa0;

fn link(der: &[u8]) -> Option<Link> {
    let (whole, _) = value(der, SEQUENCE)?;
    let (fields, _) = value(whole, SEQUENCE)?;
    let fields = value(fields, VERSION).map_or(fields, |(_, rest)| rest);
    let (_, fields) = value(fields, INTEGER)?;
    let (_, fields) = value(fields, SEQUENCE)?;
    let (issuer, fields) = value(fields, SEQUENCE)?;
    let (validity, fields) = value(fields, SEQUENCE)?;
    let (subject, _) = value(fields, SEQUENCE)?;
    let (from_s, until) = moment(validity)?;
    let (until_s, _) = moment(until)?;
    Some(Link { issuer: issuer.to_vec(), subject: subject.to_vec(), from_s, until_s })
}

/// The content of a value of this tag, and what follows it.
fn value(input: &[u8], wanted: u8) -> Option<(&[u8], &[u8])> {
    let (&tag, rest) = input.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        0x81..=0x84 => {
            let (digits, rest) = rest.split_at_checked(usize::from(first - 0x80))?;
            (digits.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)), rest)
        }
        _ => return None,
    };
    if tag == wanted { rest.split_at_checked(length) } else { None }
}

/// A moment, seconds since 1970, and what follows it.
fn moment(input: &[u8]) -> Option<(i64, &[u8])> {
    let (year, text, rest) = if let Some((text, rest)) = value(input, UTC_TIME) {
        let (year, text) = text.split_at_checked(2)?;
        let year = number(year)?;
        // RFC 5280, section 4.1.2.5.1.
        (if year < 50 { 2000 + year } else { 1900 + year }, text, rest)
    } else {
        let (text, rest) = value(input, GENERALIZED_TIME)?;
        let (year, text) = text.split_at_checked(4)?;
        (number(year)?, text, rest)
    };
    let digits = text.strip_suffix(b"Z").filter(|digits| digits.len() == 10)?;
    let part = |at: usize| number(&digits[at..at + 2]);
    let (month, day) = (u32::try_from(part(0)?).ok()?, u32::try_from(part(2)?).ok()?);
    let days = civil::is_date(year, month, day).then(|| civil::days(year, month, day))?;
    Some((((days * 24 + part(4)?) * 60 + part(6)?) * 60 + part(8)?, rest))
}

fn number(digits: &[u8]) -> Option<i64> {
    let is_number = digits.iter().all(u8::is_ascii_digit);
    is_number.then(|| std::str::from_utf8(digits).ok()?.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::{moment, span};

    #[test]
    fn moments_known() {
        let utc = |text: &str| moment(&[&[0x17, 13][..], text.as_bytes()].concat()).map(|m| m.0);
        assert_eq!(utc("700101000000Z"), Some(0));
        assert_eq!(utc("261125204800Z"), Some(1_795_639_680));
        assert_eq!(utc("491231235959Z"), Some(2_524_607_999));
        assert_eq!(utc("261325204800Z"), None);
        assert_eq!(utc("2611252048000"), None);
        let long = [&[0x18, 15][..], b"20500101000000Z"].concat();
        assert_eq!(moment(&long).map(|m| m.0), Some(2_524_608_000));
    }

    #[test]
    fn spans_are_for_people() {
        let known = [(5, "5 s"), (300, "5 min"), (10_000, "2 h"), (864_000, "10 days")];
        for (seconds, text) in known {
            assert_eq!(span(seconds), text);
        }
    }
}
