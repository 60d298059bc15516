//! What of a recording is secret, and the environment variables that stand in its place.

use std::collections::BTreeMap;

/// Headers whose values are secret.
const HEADERS: [&str; 6] = [
    "authorization",
    "proxy-authorization",
    "x-api-key",
    "api-key",
    "x-auth-token",
    "x-access-token",
];
/// Parts of names of fields whose values are secret.
const FIELDS: [&str; 8] =
    ["password", "passwd", "passphrase", "pwd", "secret", "apikey", "api_key", "access_token"];

/// Whether a header's value is secret.
pub(super) fn is_secret_header(name: &str) -> bool {
    HEADERS.iter().any(|secret| name.eq_ignore_ascii_case(secret))
}

/// Whether a field's value is secret.
pub(super) fn is_secret_field(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name == "pass" || name == "pin" || FIELDS.iter().any(|secret| name.contains(secret))
}

/// The secrets that were found, each with the name of its variable.
#[derive(Debug, Default)]
pub(super) struct Secrets {
    names: BTreeMap<String, String>,
}

impl Secrets {
    /// What stands in the place of a secret: `{{env.PASSWORD}}`. The same value has one name.
    pub(super) fn hide(&mut self, field: &str, value: &str) -> String {
        if value.is_empty() {
            return String::new();
        }
        if let Some(name) = self.names.get(value) {
            return placeholder(name);
        }
        let letters =
            |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
        let mut name: String = field.chars().map(letters).collect();
        if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
            name.insert_str(0, "SECRET_");
        }
        let taken = |name: &str| self.names.values().any(|taken| taken == name);
        let free = (2..).map(|n| format!("{name}_{n}"));
        let name = std::iter::once(name.clone()).chain(free).find(|name| !taken(name));
        let name = name.unwrap_or_default();
        self.names.insert(value.to_owned(), name.clone());
        placeholder(&name)
    }

    /// A text in which no secret that is known stands; written so that all else is sent as it is.
    pub(super) fn hide_in(&self, text: &str) -> String {
        let mut secrets: Vec<_> = self.names.iter().collect();
        secrets.sort_by_key(|(value, _)| std::cmp::Reverse(value.len()));
        let mut hidden = String::new();
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            let secret = secrets.iter().find(|(value, _)| rest.starts_with(value.as_str()));
            let taken = match secret {
                Some((value, name)) => {
                    hidden.push_str(&placeholder(name));
                    value.len()
                }
                None if rest.starts_with("{{") => {
                    hidden.push_str("\\{{");
                    2
                }
                None => {
                    hidden.push(c);
                    c.len_utf8()
                }
            };
            rest = &rest[taken..];
        }
        hidden
    }

    /// The names of the variables, in order.
    pub(super) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.names.values().cloned().collect();
        names.sort();
        names
    }
}

fn placeholder(name: &str) -> String {
    format!("{{{{env.{name}}}}}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_name_a_value() {
        let mut secrets = Secrets::default();
        assert_eq!(secrets.hide("wpPassword", "pear tree"), "{{env.WPPASSWORD}}");
        assert_eq!(secrets.hide("retype", "pear tree"), "{{env.WPPASSWORD}}");
        assert_eq!(secrets.hide("wp-password", "x"), "{{env.WP_PASSWORD}}");
        assert_eq!(secrets.hide("wpPassword", "other1"), "{{env.WPPASSWORD_2}}");
        assert_eq!(secrets.hide("7", "seven"), "{{env.SECRET_7}}");
        assert_eq!(secrets.hide("pin", ""), "");
        assert_eq!(secrets.hide_in("a pear tree, {{y}}"), "a {{env.WPPASSWORD}}, \\{{y}}");
        assert_eq!(secrets.names(), ["SECRET_7", "WPPASSWORD", "WPPASSWORD_2", "WP_PASSWORD"]);
    }

    #[test]
    fn what_is_secret() {
        assert!(is_secret_header("Authorization") && !is_secret_header("Accept"));
        assert!(is_secret_field("wpPassword") && is_secret_field("user[pass_pwd]"));
        assert!(
            is_secret_field("pass") && !is_secret_field("compass") && !is_secret_field("pinned")
        );
    }
}
