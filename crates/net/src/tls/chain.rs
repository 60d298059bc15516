//! What is wrong with a chain of certificates that is to be served: its order, its time, a missing
//! part. Nothing is verified: whoever connects verifies.

use std::path::{Path, PathBuf};

use super::certificate::{Certificate, Validity};
use super::{TlsError, certificates};

/// The certificates of a file, the server's own first.
#[derive(Debug, Clone)]
pub struct Chain {
    path: PathBuf,
    links: Vec<Link>,
}

/// What is kept of a certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Link {
    issuer: Vec<u8>,
    subject: Vec<u8>,
    validity: Validity,
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
            let odd = || TlsError::Chain(path.to_owned(), ChainFault::Odd(index + 1));
            let Certificate { issuer, subject, validity } =
                Certificate::read(der).ok_or_else(odd)?;
            Ok(Link { issuer: issuer.to_vec(), subject: subject.to_vec(), validity })
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
            let Validity { from, to } = link.validity;
            if to < now_s {
                Some(ChainFault::Expired(number, span(now_s - to)))
            } else if from > now_s {
                Some(ChainFault::Early(number, span(from - now_s)))
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

#[cfg(test)]
mod tests {
    use super::span;

    #[test]
    fn spans_are_for_people() {
        let known = [(5, "5 s"), (300, "5 min"), (10_000, "2 h"), (864_000, "10 days")];
        for (seconds, text) in known {
            assert_eq!(span(seconds), text);
        }
    }
}
