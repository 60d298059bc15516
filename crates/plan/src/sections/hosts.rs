//! `[testbed.hosts]`: the hosts on which the provider `ssh` starts servers, and which of them a
//! role stands on.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use plimsoll_units::ParseError;
use serde_json::{Value as Json, json};

use crate::reading::Reading;
use crate::reading::text::quoted;
use crate::reading::tree::{Entry, Node, Table, Value};
use crate::section::Section;
use crate::sections::testbed::{Provider, Role, Testbed};
use crate::takes::{Own, Parsed};

/// The most hosts of a plan.
const MOST: usize = 1000;
/// The most characters of a host's name, which stands in names of files.
const MOST_NAME: usize = 40;
/// The most characters of what enters a command (RFC 1035 gives names of hosts 253).
const MOST_WORD: usize = 253;
/// What a host may say beside its address.
const KEYS: [&str; 7] = ["address", "serves", "role", "roles", "tags", "user", "port"];

/// A host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// What `ssh` is given: an address, a name, or a `Host` of the user's configuration.
    pub address: String,
    /// The address that servers listen at, where it is not what `address` leads to.
    pub serves: Option<Ipv4Addr>,
    /// The roles that alone stand on it; without any, those that name no hosts.
    pub roles: Vec<String>,
    /// What roles choose it by.
    pub tags: Vec<String>,
    /// The user to log in as; by default the one that `ssh` chooses.
    pub user: Option<String>,
    /// The port of its SSH server; by default the one that `ssh` chooses.
    pub port: Option<u16>,
}

pub(crate) const HOSTS: Own<BTreeMap<String, Host>> = Own {
    takes: "table",
    schema: hosts_schema,
    is_map: true,
    read: read_hosts,
    write: write_hosts,
};

/// A folder of a host, by its whole path.
pub(crate) const FOLDER: Parsed<String> =
    Parsed::text("folder", "a folder by its whole path, such as /srv/bench", |text| {
        let is_known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-');
        let is_whole = text.starts_with('/') && !text.split('/').any(|part| part == "..");
        if is_whole && text.len() <= MOST_WORD && text.chars().all(is_known) {
            return Ok(text.to_owned());
        }
        let wanted = "a whole path of letters, digits, `.`, `_` and `-`";
        Err(ParseError::new(wanted, text, 0, text.len()))
    });

fn hosts_schema() -> Json {
    json!({"type": "object"})
}

/// Whether a text may enter a command or a template: letters, digits, `.`, `:` and `-`, of which
/// none is special to a shell, and no option of a program.
fn is_plain(text: &str, most: usize) -> bool {
    let is_known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | ':' | '-');
    (1..=most).contains(&text.len()) && text.chars().all(is_known) && !text.starts_with('-')
}

/// A text that may enter a command.
fn plain(reading: &Reading, node: &Node) -> Option<String> {
    let text = reading.line(node)?;
    if is_plain(text, MOST_WORD) {
        return Some(text.to_owned());
    }
    let message = format!(
        "expected 1 to {MOST_WORD} letters, digits, `.`, `:` and `-`, which begin with no `-`"
    );
    reading.fault(node.place, message, None);
    None
}

fn plain_all(reading: &Reading, node: &Node) -> Option<Vec<String>> {
    let Value::List(nodes) = &node.value else { return Some(vec![plain(reading, node)?]) };
    nodes.iter().map(|node| plain(reading, node)).collect()
}

pub(crate) fn read_hosts(reading: &Reading, node: &Node) -> Option<BTreeMap<String, Host>> {
    let entries = reading.map(node);
    if entries.len() > MOST {
        reading.fault(node.place, format!("expected at most {MOST} hosts"), None);
        return None;
    }
    entries.iter().map(|entry| read_host(reading, entry)).collect()
}

fn read_host(reading: &Reading, entry: &Entry) -> Option<(String, Host)> {
    let Entry { key, node, .. } = entry;
    if !is_plain(key, MOST_NAME) {
        let message = format!(
            "expected a name of 1 to {MOST_NAME} letters, digits, `.`, `:` and `-`, which begins \
             with no `-`"
        );
        reading.fault(entry.key_place, message, None);
        return None;
    }
    let host = match &node.value {
        Value::Table(table) => read_table(reading, node, table)?,
        _ => Host {
            address: plain(reading, node)?,
            serves: None,
            roles: Vec::new(),
            tags: Vec::new(),
            user: None,
            port: None,
        },
    };
    Some((key.clone(), host))
}

/// A host as `[USER@]HOST[:PORT]`, and its name; `None` where the text is none. An address with
/// colons has no port.
pub(crate) fn host_of_text(text: &str) -> Option<(String, Host)> {
    let (user, rest) =
        text.rsplit_once('@').map_or((None, text), |(user, rest)| (Some(user), rest));
    let (address, port) = match rest.split_once(':') {
        Some((address, port)) if !port.contains(':') => (address, Some(port.parse().ok()?)),
        _ => (rest, None),
    };
    let is_user = |user: &str| is_plain(&user.replace('_', "x"), MOST_NAME);
    let is_wrong = user.is_some_and(|user| !is_user(user)) || port == Some(0);
    if is_wrong || !is_plain(address, MOST_NAME) {
        return None;
    }
    let (address, user) = (address.to_owned(), user.map(str::to_owned));
    let (serves, roles, tags) = (None, Vec::new(), Vec::new());
    // Two servers of SSH at one address are two hosts.
    let name = port.map_or_else(|| address.clone(), |port| format!("{address}:{port}"));
    Some((name, Host { address, serves, roles, tags, user, port }))
}

fn read_table(reading: &Reading, node: &Node, table: &Table) -> Option<Host> {
    if let Some(entry) = table.entries.iter().find(|entry| !KEYS.contains(&entry.key.as_str())) {
        let hint = format!("known here: {}", KEYS.join(", "));
        reading.fault(entry.key_place, format!("unknown key `{}`", entry.key), Some(hint));
        return None;
    }
    let node_of = |key: &str| table.get(key).map(|entry| &entry.node);
    let Some(address) = node_of("address") else {
        let hint = "address = \"10.0.0.5\"".to_owned();
        reading.fault(node.place, "expected the `address` of the host", Some(hint));
        return None;
    };
    let roles = match (node_of("role"), node_of("roles")) {
        (Some(one), Some(_)) => {
            reading.fault(one.place, "expected `role` or `roles`, found both", None);
            return None;
        }
        (one, several) => one.or(several).map(|node| plain_roles(reading, node)),
    };
    let serves = node_of("serves").map(|node| {
        let text = reading.line(node)?;
        let address = text.parse().ok();
        if address.is_none() {
            reading.fault(node.place, "expected an address such as 10.0.0.5", None);
        }
        address
    });
    let port = node_of("port")
        .map(|node| reading.whole(node, 1..=u64::from(u16::MAX)).and_then(|of| of.try_into().ok()));
    // What was wrong with one of them has been noted.
    Some(Host {
        address: plain(reading, address)?,
        serves: all(serves)?,
        roles: all(roles)?.unwrap_or_default(),
        tags: all(node_of("tags").map(|node| plain_all(reading, node)))?.unwrap_or_default(),
        user: all(node_of("user").map(|node| user(reading, node)))?,
        port: all(port)?,
    })
}

/// What was given, where it was not wrong.
fn all<T>(given: Option<Option<T>>) -> Option<Option<T>> {
    match given {
        None => Some(None),
        Some(read) => read.map(Some),
    }
}

/// The name of a user: `_` is common in those.
fn user(reading: &Reading, node: &Node) -> Option<String> {
    let text = reading.line(node)?;
    if is_plain(&text.replace('_', "x"), MOST_NAME) {
        return Some(text.to_owned());
    }
    let message = format!("expected a user of 1 to {MOST_NAME} letters, digits, `_`, `.` and `-`");
    reading.fault(node.place, message, None);
    None
}

/// Names of roles, which have `_` and no `-`. Whether there are such is checked later.
fn plain_roles(reading: &Reading, node: &Node) -> Option<Vec<String>> {
    let nodes = match &node.value {
        Value::List(nodes) => nodes.iter().collect(),
        _ => vec![node],
    };
    nodes.into_iter().map(|node| reading.line(node).map(str::to_owned)).collect()
}

pub(crate) fn write_hosts(hosts: &BTreeMap<String, Host>) -> String {
    let host = |(name, of): (&String, &Host)| format!("{} = {}", quoted(name), write_host(of));
    let hosts = hosts.iter().map(host).collect::<Vec<_>>().join(", ");
    if hosts.is_empty() { "{}".to_owned() } else { format!("{{ {hosts} }}") }
}

fn write_host(of: &Host) -> String {
    let list = |texts: &[String]| {
        let texts: Vec<String> = texts.iter().map(|text| quoted(text)).collect();
        format!("[{}]", texts.join(", "))
    };
    let given = [
        of.serves.map(|address| format!("serves = {}", quoted(&address.to_string()))),
        (!of.roles.is_empty()).then(|| format!("roles = {}", list(&of.roles))),
        (!of.tags.is_empty()).then(|| format!("tags = {}", list(&of.tags))),
        of.user.as_ref().map(|user| format!("user = {}", quoted(user))),
        of.port.map(|port| format!("port = {port}")),
    ];
    let given: Vec<String> = given.into_iter().flatten().collect();
    if given.is_empty() {
        return quoted(&of.address);
    }
    format!("{{ address = {}, {} }}", quoted(&of.address), given.join(", "))
}

impl Testbed {
    /// The hosts that a role may stand on, in the order in which its instances are dealt out: those
    /// that it lists; else those that have all its tags; else those that name the role; else those
    /// that name none.
    #[must_use]
    pub fn hosts_of<'a>(&'a self, name: &str, role: &'a Role) -> Vec<&'a str> {
        if !role.hosts.is_empty() {
            return role.hosts.iter().map(String::as_str).collect();
        }
        let named = |of: fn(&str, &Role, &Host) -> bool| {
            let found = self.hosts.iter().filter(move |(_, host)| of(name, role, host));
            found.map(|(name, _)| name.as_str()).collect::<Vec<&str>>()
        };
        if !role.tags.is_empty() {
            return named(|_, role, host| role.tags.iter().all(|tag| host.tags.contains(tag)));
        }
        let of_it = named(|name, _, host| host.roles.iter().any(|of| of == name));
        if of_it.is_empty() { named(|_, _, host| host.roles.is_empty()) } else { of_it }
    }

    /// Whether it is said which hosts a role stands on: then there is one instance on each, where
    /// the role has no `count`.
    pub(crate) fn names_hosts_of(&self, name: &str, role: &Role) -> bool {
        let is_named = |host: &Host| host.roles.iter().any(|of| of == name);
        !role.hosts.is_empty() || !role.tags.is_empty() || self.hosts.values().any(is_named)
    }
}

/// Refuses hosts that no role can have, and roles that no host can take, at their places.
pub(crate) fn check_hosts(
    reading: &Reading,
    root: &Table,
    section: &Section<'_>,
    testbed: &Testbed,
    roles: &[(String, Role)],
) {
    let of_ssh = "provider = \"ssh\"";
    if testbed.provider != Provider::Ssh {
        for key in ["hosts", "ssh_config", "host_folder"].into_iter().filter(|key| section.has(key))
        {
            section.fault(key, format!("`{key}` goes with {of_ssh}"), Some(of_ssh));
        }
    } else if testbed.hosts.is_empty() {
        let hint = "[testbed.hosts] and web1 = \"10.0.0.5\"";
        section.fault("hosts", "the provider `ssh` needs hosts", Some(hint));
        return;
    }
    for (host, of) in &testbed.hosts {
        if let Some(role) =
            of.roles.iter().find(|role| !roles.iter().any(|(name, _)| name == *role))
        {
            let message =
                format!("expected a role of the plan for the host `{host}`, found `{role}`");
            section.fault("hosts", message, None);
        }
    }
    for (name, role) in roles {
        let place = |key: &str| {
            let table = |entry: &Entry| match &entry.node.value {
                Value::Table(table) => table.get(key).map(|entry| entry.node.place),
                _ => None,
            };
            let Some(Value::Table(all)) = root.get("role").map(|entry| &entry.node.value) else {
                return root.place;
            };
            let entry = all.get(name);
            entry.and_then(|entry| table(entry).or(Some(entry.key_place))).unwrap_or(root.place)
        };
        let fault = |key: &str, message: String| reading.fault(place(key), message, None);
        if testbed.provider != Provider::Ssh {
            for (key, is_given) in
                [("hosts", !role.hosts.is_empty()), ("tags", !role.tags.is_empty())]
            {
                if is_given {
                    fault(key, format!("`{key}` of a role goes with {of_ssh} in [testbed]"));
                }
            }
        } else if let Some(host) = role.hosts.iter().find(|host| !testbed.hosts.contains_key(*host))
        {
            fault("hosts", format!("expected a host of [testbed.hosts], found `{host}`"));
        } else if !role.hosts.is_empty() && !role.tags.is_empty() {
            fault("tags", "expected `hosts` or `tags`, found both".to_owned());
        } else if testbed.hosts_of(name, role).is_empty() {
            let key = if role.tags.is_empty() { "hosts" } else { "tags" };
            fault(key, format!("no host of [testbed.hosts] can have the role `{name}`"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_written_with_its_user_and_its_port() {
        let read =
            |text: &str| host_of_text(text).map(|(name, of)| (name, of.address, of.user, of.port));
        let host = |name: &str, address: &str, user: Option<&str>, port| {
            Some((name.to_owned(), address.to_owned(), user.map(str::to_owned), port))
        };
        assert_eq!(read("gen1"), host("gen1", "gen1", None, None));
        let whole = host("gen1:2222", "gen1", Some("bench_1"), Some(2222));
        assert_eq!(read("bench_1@gen1:2222"), whole);
        assert_eq!(read("fe80::1"), host("fe80::1", "fe80::1", None, None));
        for text in ["", "@", "a@", "-oProxyCommand=x", "a b", "$(id)", "gen1:", "gen1:0", "a@b@c"]
        {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn what_enters_a_command_has_no_special_characters() {
        for text in ["10.0.0.5", "fe80::1", "web-1.example", "A"] {
            assert!(is_plain(text, MOST_WORD), "{text}");
        }
        let long = "a".repeat(254);
        for text in ["", "-oProxyCommand=x", "-l", "a b", "a;b", "$(id)", "a\nb", "a_b", "ü", &long]
        {
            assert!(!is_plain(text, MOST_WORD), "{text}");
        }
    }
}
