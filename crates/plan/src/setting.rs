//! Flags: single values that are laid over a plan's text.
//!
//! A flag goes through the same reader as the key it sets. It wins over the file: over the same
//! key, and over the keys that exclude it there (`--users 64` over a plan's `rate` and
//! `arrivals`). Two flags that exclude each other stay, for the reader to complain of.

use crate::chosen::{factor_of, levels};
use crate::describe::Describe;
use crate::key::SectionKeys;
use crate::reading::error::Fault;
use crate::reading::secret;
use crate::reading::source::{Place, Source};
use crate::reading::tree::{Entry, Node, Table, Value};
use crate::sections::{SECTIONS, section_at};

/// One value from the command line.
#[derive(Clone, PartialEq, Eq)]
pub struct Setting {
    /// Which key it sets: `load.rate`, `load.trace.scale`, `target.headers` (`Name: value`, one
    /// more header), `target.headers.Accept`, `seed`.
    pub key: String,
    /// The value, as typed.
    pub value: String,
    /// What errors call it: `--rate`.
    pub origin: String,
    /// Whether it is a level that the plan itself has: files that it names are told from the plan's
    /// folder then, and not from the working folder.
    pub is_level: bool,
}

impl Setting {
    /// `value` for `key`, as said by `origin`.
    #[must_use]
    pub fn new(
        key: impl Into<String>,
        value: impl Into<String>,
        origin: impl Into<String>,
    ) -> Self {
        Self { key: key.into(), value: value.into(), origin: origin.into(), is_level: false }
    }

    /// A level of the factor that is its origin, for `key`.
    #[must_use]
    pub fn level(
        key: impl Into<String>,
        value: impl Into<String>,
        origin: impl Into<String>,
    ) -> Self {
        Self { is_level: true, ..Self::new(key, value, origin) }
    }

    /// Reads `KEY=VALUE`, the argument of `--set`.
    ///
    /// # Errors
    /// Where there is no `=`, or nothing before it.
    pub fn from_pair(pair: &str) -> Result<Self, plimsoll_units::ParseError> {
        match pair.split_once('=') {
            Some((key, value)) if !key.trim().is_empty() => {
                let key = key.trim();
                Ok(Self::new(key, value.trim(), format!("--set {key}")))
            }
            _ => Err(plimsoll_units::ParseError::new(
                "KEY=VALUE such as load.rate=500/s",
                pair.split('=').next().unwrap_or_default(),
                0,
                pair.len(),
            )),
        }
    }
}

impl std::fmt::Debug for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // A header of any name may carry a secret, and a name may be mistyped.
        let hidden = self.key.contains("headers")
            || secret::line_is_secret(&format!("{}={}", self.key, self.value));
        let value = if hidden { crate::reading::secret::REDACTED } else { &self.value };
        write!(f, "{} {}={value}", self.origin, self.key)
    }
}

/// Writes `trace = "x.csv"` out as `trace = { file = "x.csv" }`, wherever a table may be shortened.
pub(crate) fn write_out(root: &mut Table) {
    for keys in SECTIONS {
        let (Some(shorthand), Some((parent, name))) = (keys.shorthand, keys.path.split_once('.'))
        else {
            continue;
        };
        let Some(Entry { node: Node { value: Value::Table(section), .. }, .. }) =
            root.get_mut(parent)
        else {
            continue;
        };
        let Some(entry) = section.get_mut(name) else { continue };
        let is_list = keys.key(shorthand).is_some_and(|key| key.takes.is_list());
        let is_short = match entry.node.value {
            Value::Text(_) => true,
            Value::List(_) => is_list,
            _ => false,
        };
        if is_short {
            let place = entry.node.place;
            let key_place = entry.key_place;
            let node = std::mem::replace(
                &mut entry.node,
                Node { value: Value::Table(Table::empty(place)), place },
            );
            if let Value::Table(inner) = &mut entry.node.value {
                inner.set(Entry { key: shorthand.into(), key_place, node });
            }
        }
    }
}

/// Lays the flags over the tree, in their order: of two for the same key the later one wins.
pub(crate) fn lay_over(
    root: &mut Table,
    sources: &mut Vec<Source>,
    settings: &[Setting],
) -> Vec<Fault> {
    let mut faults = Vec::new();
    // The text, and the file of a test-bed that is laid over it: flags win over both.
    let files = sources.len();
    for setting in settings {
        let index = sources.len();
        let mut source = Source::flag(&setting.origin, &setting.value);
        source.is_level = setting.is_level;
        let path = path_of(&setting.key);
        let of_factor = factor_of(&setting.key).into_iter().flat_map(|name| name.split('.'));
        if path.iter().copied().chain(of_factor).any(secret::key_is_secret)
            || secret::holds_password(&setting.value)
            || path.last().is_some_and(|key| secret::proxy_is_secret(key, &setting.value))
        {
            source.secrets.push((0, setting.value.len()));
        }
        let place = Place::new(index, 0, setting.value.len());
        faults.extend(of_factor_alone(root, setting, place));
        displace(root, &path, files);
        let node = match factor_of(&setting.key) {
            Some(factor) => levels(root, factor, &setting.value, place),
            None => Ok(Node { value: Value::Typed(setting.value.clone()), place }),
        };
        let node = node.map_err(|fault| faults.push(*fault)).ok();
        match map_entry(&path, setting, &mut source, index) {
            Some(Ok((key, node))) => insert(root, &[path[0], path[1], &key], node, files),
            Some(Err(fault)) => faults.push(fault),
            None => node.into_iter().for_each(|node| insert(root, &path, node, files)),
        }
        sources.push(source);
    }
    faults
}

/// What is wrong with `--set` for a key that is a factor: the factor's levels would take its place.
fn of_factor_alone(root: &Table, setting: &Setting, place: Place) -> Option<Fault> {
    let Value::Table(factors) = &root.get("factor")?.node.value else { return None };
    let is_set = setting.origin.starts_with("--set ") && !setting.is_level;
    let is_plain = is_set && factor_of(&setting.key).is_none();
    let key = &setting.key;
    (is_plain && factors.get(key).is_some()).then(|| Fault {
        message: format!(
            "`{key}` is a factor of the plan: its levels take the place of this value"
        ),
        place,
        also: None,
        hint: Some(format!("--set 'factor.{key}={}'", setting.value)),
    })
}

/// The parts of a key's path. What stands behind a map of a role is one name, dots and all:
/// `role.web.sysctl.net.core.somaxconn`.
fn path_of(key: &str) -> Vec<&str> {
    if let Some(factor) = factor_of(key) {
        return vec!["factor", factor];
    }
    let is_deep = ["role.", "workload.class."].iter().any(|of| key.starts_with(of));
    key.splitn(if is_deep { 4 } else { 3 }, '.').collect()
}

/// A flag for a whole map, `Name: value`, as the name and the value.
fn map_entry(
    path: &[&str],
    setting: &Setting,
    source: &mut Source,
    index: usize,
) -> Option<Result<(String, Node), Fault>> {
    let [section, map] = path else { return None };
    if !section_at(section)?.key(map)?.takes.is_map() {
        return None;
    }
    let value = &setting.value;
    let Some((name, rest)) = value.split_once(':') else {
        source.secrets.push((0, value.len()));
        return Some(Err(Fault {
            message: "expected `Name: value`, found no colon".into(),
            place: Place::new(index, 0, value.len()),
            also: None,
            hint: Some("write a header as \"Accept: text/html\"".into()),
        }));
    };
    let text = rest.trim();
    let start = value.len() - rest.trim_start().len();
    let place = Place::new(index, start, start + text.len());
    if secret::key_is_secret(name) {
        source.secrets.push((start, start + text.len()));
    }
    let node = Node { value: Value::Typed(text.into()), place };
    Some(Ok((name.trim().to_owned(), node)))
}

/// Removes from the file what a flag excludes.
fn displace(root: &mut Table, path: &[&str], files: usize) {
    let [section, key, rest @ ..] = path else { return };
    let Some(keys) = section_at(section) else { return };
    let sub = section_at(&format!("{section}.{key}"));
    // A detail (`load.trace.scale`) does not choose; what it is a detail of does.
    if let [detail] = rest
        && sub.is_none_or(|sub| sub.shorthand != Some(detail))
    {
        return;
    }
    let Some(Entry { node: Node { value: Value::Table(table), .. }, .. }) = root.get_mut(section)
    else {
        return;
    };
    for choice in keys.choices {
        if !choice.keys().any(|chosen| chosen == *key) {
            continue;
        }
        table.entries.retain(|entry| {
            let name = entry.key.as_str();
            let from_flag = entry.key_place.source >= files;
            let other = name != *key && choice.keys().any(|known| known == name);
            let with = choice.companions_of(name);
            let foreign = !with.is_empty() && !with.contains(key);
            from_flag || !(other || foreign)
        });
    }
}

/// Sets the value at a path, making tables on the way.
fn insert(root: &mut Table, path: &[&str], node: Node, files: usize) {
    let place = Place::whole(node.place.source);
    let (Some(first), Some(last)) = (path.first(), path.last()) else { return };
    let mut table = root;
    let mut walked = String::new();
    for part in &path[..path.len() - 1] {
        walked = if walked.is_empty() { (*part).into() } else { format!("{walked}.{part}") };
        // A section that flags have opened is the command line's; a table within it, its flag's.
        let opened = if walked.contains('.') { node.place } else { Place::whole(0) };
        table = subtable(table, part, opened, place.source);
    }
    let keys = section_at(if path.len() == 1 { "" } else { first });
    let full = if walked.is_empty() { (*last).into() } else { format!("{walked}.{last}") };
    if let Some(SectionKeys { shorthand: Some(shorthand), .. }) = section_at(&full) {
        let table = subtable(table, last, node.place, place.source);
        table.set(Entry { key: (*shorthand).into(), key_place: place, node });
        return;
    }
    let takes = |key: &str| keys?.key(key).map(|key| key.takes);
    let is_map_entry = path.len() == 3 && takes(path[1]).is_some_and(Describe::is_map);
    let of_nested = || section_at(&walked)?.key(last).map(|key| key.takes);
    let appends = match path.len() {
        2 => takes(last).is_some_and(Describe::is_list),
        3 => of_nested().is_some_and(Describe::is_list),
        _ => false,
    };
    if is_map_entry {
        add_to_map(table, last, (node, place), files);
    } else if appends {
        append(table, last, (node, place), files);
    } else {
        table.set(Entry { key: (*last).into(), key_place: place, node });
    }
}

/// The table under a key; what stood there and is no table is replaced.
fn subtable<'a>(table: &'a mut Table, key: &str, place: Place, flag: usize) -> &'a mut Table {
    let there =
        matches!(table.get(key), Some(Entry { node: Node { value: Value::Table(_), .. }, .. }));
    if !there {
        let node = Node { value: Value::Table(Table::empty(place)), place };
        let key_place = Place::whole(flag);
        table.set(Entry { key: key.into(), key_place, node });
    }
    match table.get_mut(key) {
        Some(Entry { node: Node { value: Value::Table(inner), .. }, .. }) => inner,
        _ => unreachable!("the table was there or has just been put there"),
    }
}

/// One more value of a list of flags; the first of them replaces what the file says.
fn append(table: &mut Table, key: &str, (node, place): (Node, Place), files: usize) {
    if let Some(Entry { key_place, node: Node { value: Value::List(items), .. }, .. }) =
        table.get_mut(key)
        && key_place.source >= files
    {
        items.push(node);
        return;
    }
    let node = Node { place: node.place, value: Value::List(vec![node]) };
    table.set(Entry { key: key.into(), key_place: place, node });
}

/// One more entry of a map whose names ignore case: a flag replaces the file's, joins another
/// flag's.
fn add_to_map(table: &mut Table, name: &str, of: (Node, Place), files: usize) {
    table
        .entries
        .retain(|entry| entry.key_place.source >= files || !entry.key.eq_ignore_ascii_case(name));
    let mut entries = table.entries.iter_mut();
    let Some(entry) = entries.find(|entry| entry.key.eq_ignore_ascii_case(name)) else {
        // One alone is no list: most maps have none.
        let (node, key_place) = of;
        return table.set(Entry { key: name.to_owned(), key_place, node });
    };
    let key = entry.key.clone();
    if !matches!(entry.node.value, Value::List(_)) {
        let node = entry.node.clone();
        entry.node = Node { place: node.place, value: Value::List(vec![node]) };
    }
    append(table, &key, of, files);
}
