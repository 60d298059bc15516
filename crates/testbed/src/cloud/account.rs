//! Whose instances are rented: the account of the credentials at hand, which stands in the ledger,
//! so that nobody takes another account's answer for that of this one.
//!
//! Source: *AWS Security Token Service API Reference*, `GetCallerIdentity`: no right is needed for
//! it.

use serde::{Deserialize, Serialize};

use super::answer::is_plain;
use super::client::{Cloud, Where};
use super::error::CloudError;

/// The service that tells it, and its version.
const SERVICE: &str = "sts";
const VERSION: &str = "2011-06-15";

/// Whose credentials they are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Account {
    /// The number of the account, as its cloud tells it.
    Number(String),
    /// The name of the key, where the cloud does not tell the account.
    Key(String),
}

/// As people read it.
impl std::fmt::Display for Account {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => write!(f, "the account {number}"),
            Self::Key(key) => write!(f, "the owner of the key {key}"),
        }
    }
}

impl Account {
    /// Whether another one is surely another account.
    #[must_use]
    pub fn is_surely_not(&self, other: &Self) -> bool {
        matches!((self, other), (Self::Number(one), Self::Number(other)) if one != other)
    }
}

impl Cloud {
    /// The account of the credentials at hand: it is asked once for a key. Beside it, why the cloud
    /// did not tell it, where the name of the key stands for it.
    ///
    /// # Errors
    /// Credentials that cannot be had.
    pub fn account(&self) -> Result<(Account, Option<String>), CloudError> {
        let key = self.key_id()?;
        if let Some(known) = self.known_account(&key) {
            return Ok(known);
        }
        // A connection that broke says nothing of the account.
        let asked = match self.asked_account() {
            Err(CloudError::Silent { .. }) => self.asked_account(),
            asked => asked,
        };
        let found = match asked {
            Ok(number) => (Account::Number(number), None),
            Err(error) => (Account::Key(key.clone()), Some(error.to_string())),
        };
        self.knows_account(key, found.clone());
        Ok(found)
    }

    /// Asks the cloud: it is no loss where it does not answer.
    fn asked_account(&self) -> Result<String, CloudError> {
        let at = Where { api_version: VERSION.to_owned(), ..self.at().clone() };
        let answer = self.of_same(at, SERVICE)?.ask("GetCallerIdentity", &Vec::new())?;
        let number = answer.find("Account").map(|of| of.text.trim().to_owned());
        number.filter(|number| is_plain(number)).ok_or_else(|| CloudError::Answer {
            action: "GetCallerIdentity".to_owned(),
            why: "it names no account".to_owned(),
        })
    }
}

#[cfg(test)]
mod tests;
