//! Users of the host, as `/etc/passwd` has them.

use crate::error::TestbedError;

/// A user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct User {
    pub(crate) id: u32,
    pub(crate) group: u32,
}

/// Whether this program is root's: it gives what it starts to a user without rights then.
pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

impl User {
    /// Who runs this program.
    pub(crate) fn own() -> Self {
        let (id, group) = (rustix::process::geteuid(), rustix::process::getegid());
        Self { id: id.as_raw(), group: group.as_raw() }
    }

    /// The user of a name.
    ///
    /// # Errors
    /// Where there is none.
    pub(crate) fn find(name: &str) -> Result<Self, TestbedError> {
        let text = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
        let wrong = || TestbedError::Wrong(format!("find the user `{name}`: /etc/passwd has none"));
        Self::parse(&text, name).ok_or_else(wrong)
    }

    fn parse(text: &str, name: &str) -> Option<Self> {
        let line = text.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut fields = line.split(':').skip(2).map(|field| field.parse().ok());
        Some(Self { id: fields.next()??, group: fields.next()?? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_found_by_name() {
        let text = "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65533::/:/bin/false\n";
        assert_eq!(User::parse(text, "nobody"), Some(User { id: 65534, group: 65533 }));
        assert_eq!(User::parse(text, "no"), None);
    }
}
