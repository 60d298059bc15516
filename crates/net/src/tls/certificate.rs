//! What is read of a certificate: by whom it is, for whom, and from when to when (RFC 5280, section
//! 4.1; the encoding is ITU-T X.690).
//!
//! Nothing is verified here: whoever connects verifies. Only as much of DER is read as leads there;
//! what does not fit is no certificate, and nothing is kept of it.

use plimsoll_units::civil;
use std::time::Duration;

/// The fields of a certificate that are told of. Names are their DER.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Certificate<'a> {
    /// The authority that signed it.
    pub(super) issuer: &'a [u8],
    /// The one it was made for.
    pub(super) subject: &'a [u8],
    pub(super) validity: Validity,
}

/// From when to when a certificate is valid, in seconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Validity {
    pub(super) from: i64,
    pub(super) to: i64,
}

const SEQUENCE: u8 = 0x30;
const INTEGER: u8 = 0x02;
/// `[0]`, which holds the version.
const VERSION: u8 = 0xa0;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

impl<'a> Certificate<'a> {
    /// Reads DER; `None` where it is no certificate.
    pub(super) fn read(der: &'a [u8]) -> Option<Self> {
        let (whole, _) = expect(der, SEQUENCE)?;
        let (fields, _) = expect(whole, SEQUENCE)?;
        let fields = expect(fields, VERSION).map_or(fields, |(_, rest)| rest);
        let (_serial_number, fields) = expect(fields, INTEGER)?;
        let (_algorithm, fields) = expect(fields, SEQUENCE)?;
        let (issuer, fields) = expect(fields, SEQUENCE)?;
        let (validity, fields) = expect(fields, SEQUENCE)?;
        let (subject, _) = expect(fields, SEQUENCE)?;
        let (from_tag, from, rest) = element(validity)?;
        let (to_tag, to, _) = element(rest)?;
        let validity = Validity { from: seconds(from_tag, from)?, to: seconds(to_tag, to)? };
        Some(Self { issuer, subject, validity })
    }
}

impl Validity {
    /// Whether it is valid so long after 1970.
    pub(super) fn holds(self, since_1970: Duration) -> bool {
        i64::try_from(since_1970.as_secs()).is_ok_and(|now| (self.from..=self.to).contains(&now))
    }
}

/// The contents of the first element, which has this tag, and what follows it.
fn expect(der: &[u8], wanted: u8) -> Option<(&[u8], &[u8])> {
    let (tag, contents, rest) = element(der)?;
    (tag == wanted).then_some((contents, rest))
}

/// Tag and contents of the first element, and what follows it.
fn element(der: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let [tag, first, rest @ ..] = der else { return None };
    let (len, rest) = match first {
        0..=0x7f => (usize::from(*first), rest),
        0x81..=0x84 => {
            let (bytes, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            (bytes.iter().fold(0, |len, byte| len << 8 | usize::from(*byte)), rest)
        }
        _ => return None,
    };
    let (contents, rest) = rest.split_at_checked(len)?;
    Some((*tag, contents, rest))
}

/// `YYMMDDhhmmssZ` or `YYYYMMDDhhmmssZ`.
fn seconds(tag: u8, text: &[u8]) -> Option<i64> {
    let digits = text.strip_suffix(b"Z")?;
    let two = |at: usize| {
        let [a @ b'0'..=b'9', b @ b'0'..=b'9'] = *digits.get(at..at + 2)? else { return None };
        Some(i64::from(a - b'0') * 10 + i64::from(b - b'0'))
    };
    let (year, at) = match tag {
        UTC_TIME => (two(0).map(|year| year + if year < 50 { 2000 } else { 1900 })?, 2),
        GENERALIZED_TIME => (two(0)? * 100 + two(2)?, 4),
        _ => return None,
    };
    let [month, day, hour, minute, second] = [0, 2, 4, 6, 8].map(|more| two(at + more));
    let (month, day) = (u32::try_from(month?).ok()?, u32::try_from(day?).ok()?);
    let days = civil::is_date(year, month, day).then(|| civil::days(year, month, day))?;
    let fits = digits.len() == at + 10 && hour? < 24 && minute? < 60 && second? <= 60;
    fits.then_some(((days * 24 + hour?) * 60 + minute?) * 60 + second?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_seconds_since_1970() {
        let utc = |text: &str| seconds(UTC_TIME, text.as_bytes());
        assert_eq!(utc("700101000000Z"), Some(0));
        assert_eq!(utc("261125201635Z"), Some(1_795_637_795));
        assert_eq!(utc("000229120000Z"), Some(951_825_600));
        assert_eq!(utc("491231235959Z"), Some(2_524_607_999));
        assert_eq!(seconds(GENERALIZED_TIME, b"20500101000000Z"), Some(2_524_608_000));
        assert_eq!(seconds(GENERALIZED_TIME, b"99991231235959Z"), Some(253_402_300_799));
        for wrong in [
            "",
            "Z",
            "7001010000Z",
            "70010100000aZ",
            "701301000000Z",
            "700101000000",
            "2611252048000",
        ] {
            assert_eq!(utc(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn whatever_bytes_come_reading_ends() {
        let der = [
            &b"\x30\x32\x30\x30\xa0\x03\x02\x01\x02\x02\x01\x07"[..],
            b"\x30\x00\x30\x01\x05\x30\x1e\x17\x0d",
            b"700101000000Z\x17\x0d261125201635Z\x30\x01\x06",
        ]
        .concat();
        let validity = Validity { from: 0, to: 1_795_637_795 };
        let wanted = Certificate { issuer: &[5], subject: &[6], validity };
        assert_eq!(Certificate::read(&der), Some(wanted));
        for at in 0..der.len() {
            assert_eq!(Certificate::read(&der[..at]), None);
            for bit in 0..8 {
                let mut wrong = der.clone();
                wrong[at] ^= 1 << bit;
                let _ = Certificate::read(&wrong);
            }
        }
    }
}
