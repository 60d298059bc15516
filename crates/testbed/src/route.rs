//! How a host is reached, and what of a host may enter a command.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::command::Words;
use crate::error::TestbedError;

/// The most characters of what enters a command.
const MOST: usize = 253;

/// How a host is reached, as the ledger keeps it: enough to reach it again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Route {
    /// Its name in the plan.
    pub name: String,
    /// What `ssh` is given: an address, a name, or a `Host` of its configuration.
    pub address: String,
    /// The user to log in as, where `ssh` is not to choose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The port of its SSH server, where `ssh` is not to choose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// The configuration of `ssh`, where it is not the user's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<PathBuf>,
}

/// Whether a text from outside may enter a command: `[0-9A-Za-z.:-]{1,253}`, and no option.
#[must_use]
pub(crate) fn is_plain(text: &str) -> bool {
    let is_known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | ':' | '-');
    (1..=MOST).contains(&text.len()) && text.chars().all(is_known) && !text.starts_with('-')
}

impl Route {
    /// Refuses what must not enter a command. The plan is checked where it is read; a ledger is a
    /// file too.
    ///
    /// # Errors
    /// A text with another character.
    pub(crate) fn check(&self) -> Result<(), TestbedError> {
        let user = self.user.iter().map(|user| user.replace('_', "x"));
        let texts = [self.name.clone(), self.address.clone()].into_iter().chain(user);
        match texts.into_iter().find(|text| !is_plain(text)) {
            None => Ok(()),
            Some(text) => Err(TestbedError::Wrong(format!(
                "reach the host `{}`: expected letters, digits, `.`, `:` and `-`, found `{text}`",
                self.name
            ))),
        }
    }

    /// The words that lead `ssh` to it, behind its own options.
    pub(crate) fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        for (option, value) in
            [("-l", self.user.clone()), ("-p", self.port.map(|port| port.to_string()))]
        {
            words.extend(value.into_iter().flat_map(|value| [option.to_owned(), value]));
        }
        words.extend(["--".to_owned(), self.address.clone()]);
        words
    }

    /// The words that name the configuration of `ssh`; they stand before all options.
    pub(crate) fn configuration(&self) -> Vec<String> {
        let config = self.config.iter();
        config.flat_map(|file| ["-F".to_owned(), file.display().to_string()]).collect()
    }
}

/// A command as the shell of a host reads it: the one place where words are quoted for it.
pub(crate) fn quoted(words: &Words) -> String {
    words.to_string()
}

/// How people read which host it is.
impl std::fmt::Display for Route {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.name == self.address {
            true => f.write_str(&self.name),
            false => write!(f, "{} ({})", self.name, self.address),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_word_of_a_route_is_an_option_or_special_to_a_shell() {
        let route = |address: &str, user: &str| Route {
            name: "a".to_owned(),
            address: address.to_owned(),
            user: Some(user.to_owned()),
            port: Some(22),
            config: None,
        };
        route("10.0.0.5", "bench_1").check().unwrap();
        let all = route("10.0.0.5", "bench_1").words();
        assert_eq!(all, ["-l", "bench_1", "-p", "22", "--", "10.0.0.5"]);
        for (address, user) in [("-oProxyCommand=id", "a"), ("a;b", "a"), ("", "a"), ("a", "$(id)")]
        {
            route(address, user).check().unwrap_err();
        }
    }

    /// Any words arrive as they are.
    #[test]
    fn words_are_quoted_for_the_shell_of_a_host() {
        let words = ["printf", "%s|", "a b", "it's", "$(id)", "`id`", "*", "~", "", "a\nb", "!x"];
        let line = quoted(&Words::of(&words));
        let shell = Words::of(&["sh", "-c", &line]);
        let deadline = crate::command::Deadline::within(std::time::Duration::from_secs(20));
        let said = crate::command::run(&shell, std::path::Path::new("/"), &deadline).unwrap();
        assert_eq!(said, "a b|it's|$(id)|`id`|*|~||a\nb|!x|");
    }
}
