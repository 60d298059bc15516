//! `[testbed]` and `[role.NAME]`: the servers under test, what they are made by, and what each may
//! use. Which recipes there are, and what they take, is known on a floor above.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use plimsoll_units::secret::Source as SecretSource;
use plimsoll_units::{ParseError, Words, share, show_share};
use plimsoll_workload::pool::BillingUnit;

use crate::describe::Describe;
use crate::reading::Reading;
use crate::reading::secret::{REDACTED, key_is_secret};
use crate::reading::text::quoted;
use crate::reading::tree::{Entry, Node, Table, Value, is_source};
use crate::section::Section;
use crate::sections::billing::PRICE;
use crate::sections::hosts::{FOLDER, HOSTS, Host};
use crate::takes::{
    Count, DURATION, File, Form, Line, List, Parsed, SIZE, Small, Takes, either, word,
};
use crate::write::Writer;
use serde_json::{Value as Json, json};

section! {
    /// Where the servers under test stand. A plan with it starts them, and ends them.
    ["testbed"]
    pub struct Testbed {
        /// What gives an instance its place: a port of this host, a network namespace with limits
        /// of its own, which needs root, a port of a host that is reached by `ssh`, or a cloud with
        /// the EC2 Query API, which costs money.
        provider: Provider { either::<Provider>(), or Provider::Process, "namespace" }
        /// The hosts of the provider `ssh`: the name of each, and its address, or a table with
        /// `address`, `serves`, `role` or `roles`, `tags`, `user` and `port`.
        hosts: BTreeMap<String, Host> { HOSTS, or BTreeMap::new(), r#"{ web1 = "10.0.0.5" }"# }
        /// The configuration of `ssh`.
        ssh_config: Option<PathBuf> { File, said "the user's own", "ssh_config" }
        /// The folder of the hosts below which those of instances are made.
        // tidy: allow(shared-folder, a word of the manual)
        host_folder: Option<String> { FOLDER, said "/var/tmp", "/srv/bench" }
        /// The most instances at once, of all roles together. `ec2` needs it.
        max: Option<u32> { COUNT, "8" }
        /// The most that rented instances may cost, in all cells together. `ec2` needs it.
        budget: Option<Budget> { BUDGET, "5 USD" }
        /// The price of an hour of an instance. `[billing]` has it for a pool.
        price: Option<f64> { PRICE, said "that of `[billing]`", "0.17" }
        /// The unit of time that the cloud charges: every started one.
        unit: Option<BillingUnit> { word::<BillingUnit>(), said "that of `[billing]`", "second" }
        /// The region of the cloud.
        region: Option<String> { Line("region"),
            said "that of `AWS_REGION` or `AWS_DEFAULT_REGION`, else `us-east-1`", "eu-central-1" }
        /// The zone within the region.
        zone: Option<String> { Line("zone"), said "the cloud chooses", "eu-central-1b" }
        /// The image that instances are started from.
        image: Option<String> { Line("image"), "ami-0123456789abcdef0" }
        /// The instance type.
        kind: Option<String> ["type"] { Line("type"), "c5.large" }
        /// The key pair by which people can look into instances.
        key_pair: Option<String> { Line("key pair"), "mine" }
        /// The security group, by its id or its name.
        security_group: Option<String> { Line("group"), "sg-0123456789abcdef0" }
        /// A script, or settings of cloud-init, that instances execute when they start. It must
        /// hold no secret: the cloud shows it to all who may describe instances.
        user_data: Option<PathBuf> { File, "web.sh" }
        /// Tags of instances, beside those of the program.
        tags: BTreeMap<String, String> { MAP, or BTreeMap::new(), r#"{ project = "study" }"# }
        /// Where the cloud's API is, with its path: https, but on this host.
        endpoint: Option<String> { Line("URL"), said "Amazon's of the region",
            "https://cloud.example:8773/services/compute" }
        /// Where its Auto Scaling API is, for a pool that follows a group, where that is another
        /// place than `endpoint`.
        scaling_endpoint: Option<String> { Line("URL"), said "`endpoint`, or Amazon's",
            "https://cloud.example:8773/services/AutoScaling" }
        /// The version of the API: older ones know neither pages nor tags.
        api_version: String { VERSION, or API_VERSION.to_owned(), "2013-02-01" }
        /// The profile of `~/.aws/credentials`.
        profile: Option<String> { Line("profile"), said "the environment's credentials", "study" }
    }
}

impl Testbed {
    /// Reads the section, and what has to be in it for what it rents. `asks` says whether the pool
    /// asks a cloud which instances it has: then it says which cloud.
    pub(crate) fn read(section: &Section<'_>, asks: bool) -> Option<Self> {
        let testbed = Self::read_keys(section)?;
        if testbed.provider == Provider::Ec2 {
            let obligatory = [("max", "8"), ("budget", "5 USD")];
            for (key, value) in obligatory.into_iter().filter(|(key, _)| !section.has(key)) {
                section.missing_beside(key, "provider", value);
            }
            return Some(testbed);
        }
        if let Some(key) = RENTED.iter().find(|key| section.has(key)) {
            let message = format!("`{key}` goes with the provider `ec2`");
            section.fault(key, message, Some("provider = \"ec2\""));
        }
        if let Some(key) = CLOUD.iter().find(|key| !asks && section.has(key)) {
            let message = format!(
                "`{key}` goes with the provider `ec2`, or with a pool that follows a group or a tag"
            );
            section.fault(key, message, Some("provider = \"ec2\""));
        }
        Some(testbed)
    }

    pub(crate) fn write(&self, out: &mut Writer) {
        out.section(Self::SECTION.path);
        let mut left_out = if self.tags.is_empty() { vec!["tags"] } else { Vec::new() };
        left_out.extend(self.hosts.is_empty().then_some("hosts"));
        if self.provider != Provider::Ec2 {
            left_out.extend((self.api_version == API_VERSION).then_some("api_version"));
        }
        self.write_keys(out, &left_out);
    }
}

/// The region that is asked where neither a plan nor the environment names one.
pub const REGION: &str = "us-east-1";
/// The version of the API that is spoken where none is named.
const API_VERSION: &str = "2016-11-15";
/// The keys that say which cloud is asked, and by whom.
const CLOUD: [&str; 5] = ["region", "endpoint", "scaling_endpoint", "api_version", "profile"];
/// The keys that are of rented instances alone.
const RENTED: [&str; 11] = [
    "max",
    "budget",
    "price",
    "unit",
    "zone",
    "image",
    "type",
    "key_pair",
    "security_group",
    "user_data",
    "tags",
];

/// The keys of a role that are of rented instances alone.
const RENTED_ROLE: [&str; 3] = ["type", "region", "user_data"];

/// Leaves out what only rented instances have of roles whose test-bed rents none: of a plan over
/// which another test-bed is laid, and of one that is kept with a run.
pub(crate) fn leave_out_rented(root: &mut Table) {
    let provider = root.get("testbed").and_then(|entry| match &entry.node.value {
        Value::Table(table) => Some(&table.get("provider")?.node.value),
        _ => None,
    });
    if matches!(provider, Some(Value::Text(name)) if name == "ec2") {
        return;
    }
    let Some(Entry { node: Node { value: Value::Table(roles), .. }, .. }) = root.get_mut("role")
    else {
        return;
    };
    for role in &mut roles.entries {
        if let Value::Table(role) = &mut role.node.value {
            role.entries.retain(|entry| !RENTED_ROLE.contains(&entry.key.as_str()));
        }
    }
}

/// An amount of money.
#[derive(Debug, Clone, PartialEq)]
pub struct Budget {
    /// How much.
    pub amount: f64,
    /// In which currency: `USD`.
    pub currency: String,
}

impl std::fmt::Display for Budget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.amount, self.currency)
    }
}

const BUDGET: Parsed<Budget> = Parsed::text("amount", "an amount such as 5 USD", |text| {
    let wrong = || ParseError::new("an amount such as 5 USD", text, 0, text.len());
    let (amount, currency) = text.trim().split_once(' ').ok_or_else(wrong)?;
    let amount = amount.parse::<f64>().ok().filter(|of| (0.0..=1e9).contains(of) && *of > 0.0);
    let is_sign = (1..=8).contains(&currency.chars().count())
        && !currency.chars().any(|c| c.is_control() || c.is_whitespace());
    match (amount, is_sign) {
        (Some(amount), true) => Ok(Budget { amount, currency: currency.to_owned() }),
        _ => Err(wrong()),
    }
});
const VERSION: Parsed<String> = Parsed::text("version", "a version such as 2016-11-15", |text| {
    let is_digit =
        |(at, c): (usize, char)| if at == 4 || at == 7 { c == '-' } else { c.is_ascii_digit() };
    match text.len() == 10 && text.chars().enumerate().all(is_digit) {
        true => Ok(text.to_owned()),
        false => Err(ParseError::new("a version such as 2016-11-15", text, 0, text.len())),
    }
});

/// What gives instances their places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    /// Children of this program, on ports of this host.
    Process,
    /// Network namespaces and cgroups.
    Namespace,
    /// Hosts that are reached by `ssh`.
    Ssh,
    /// Instances that are rented from a cloud with the EC2 Query API.
    Ec2,
}

impl Words for Provider {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("process", Self::Process),
        ("namespace", Self::Namespace),
        ("ssh", Self::Ssh),
        ("ec2", Self::Ec2),
    ];
}

section! {
    /// A role of the servers under test: how its instances are made, and what each may use.
    ["role.LABEL"]
    pub struct Role {
        /// How instances are made: a recipe of the program, or `recipes/NAME.toml` beside the plan.
        recipe: String { Line("recipe"), required "`recipe`", "nginx" }
        /// How many instances there are; one on each host, where hosts are named.
        count: u32 { COUNT, or 1, "2" }
        /// The hosts that they stand on, in turn.
        hosts: Vec<String> { NAMES, or Vec::new(), r#"["web1", "web2"]"# }
        /// They stand on the hosts that have all of these tags, in turn.
        tags: Vec<String> { NAMES, or Vec::new(), r#"["fast"]"# }
        /// The share of one core that each may use; above 100% of several.
        cpu: Option<f64> { CPU, "20%" }
        /// In which period that share holds: a short one is a slow processor, a long one stops and
        /// goes.
        cpu_period: Duration { PERIOD, or Duration::from_millis(10), "100ms" }
        /// The cores that each may use.
        cpuset: Option<String> { Line("cores"), "0-1" }
        /// The most memory of each.
        memory: Option<u64> { SIZE, "128MiB" }
        /// The most processes and threads of each.
        processes: Option<u32> { COUNT, "100" }
        /// How much its link to the others carries each way, bits a second.
        rate: Option<u64> { RATE, "20Mbit" }
        /// The image that they start from, made by `plimsoll testbed bake`; of instances that are
        /// rented, the cloud's, where it is not that of `[testbed]`.
        image: Option<String> { Line("image"), "web" }
        /// Of instances that are rented: the instance type.
        kind: Option<String> ["type"] { Line("type"), said "that of `[testbed]`", "c5.large" }
        /// Of instances that are rented: the region.
        region: Option<String> { Line("region"), said "that of `[testbed]`", "eu-central-1" }
        /// Of instances that are rented: what they execute when they start.
        user_data: Option<PathBuf> { File, said "that of `[testbed]`", "web.sh" }
        /// Of instances that are rented: the price of an hour.
        price: Option<f64> { PRICE, said "that of `[testbed]`", "0.17" }
        /// The user that they run as.
        user: Option<String> { Line("user"), said "the recipe's, without rights", "www-data" }
        /// Settings of the kernel in the namespace of each.
        sysctl: BTreeMap<String, String> { MAP, or BTreeMap::new(), r#"{ "net.core.somaxconn" = 128 }"# }
        /// Parameters of the recipe; a secret is `{ env = "NAME" }` or `{ file = "F" }`.
        vars: BTreeMap<String, Given> { VALUES, or BTreeMap::new(), "{ workers = 2 }" }
        /// Variables of the environment of each; secrets are given as those of `vars`.
        environment: BTreeMap<String, Given> { VALUES, or BTreeMap::new(), r#"{ TZ = "UTC" }"# }
        /// Files that are copied into the folder of each, by their paths there; a secret one is
        /// `{ file = "F", secret = true }`.
        files: BTreeMap<String, Copied> { COPIES, or BTreeMap::new(), r#"{ "site.conf" = "site.conf" }"# }
    }
}

/// Names of hosts, and of tags.
const NAMES: List<Line> = List(Line("name"), "list of names");
/// The most instances of a role.
const COUNT: Small = Count(1..=10_000_u32);
/// A share of cores: above 100% of several.
const CPU: Parsed<f64> = Parsed {
    takes: "cores as a share",
    wanted: "a share of one core such as 20% or 200%",
    form: Form::Text,
    parse: |text| {
        let wrong =
            || ParseError::new("a share of one core from 1% to 100000%", text, 0, text.len());
        let number = text.strip_suffix('%').and_then(|of| of.trim().parse::<f64>().ok());
        let of_cores = number.map_or_else(|| share(text), |percent| Ok(percent / 100.0))?;
        Some(of_cores).filter(|of| (0.01..=1000.0).contains(of)).ok_or_else(wrong)
    },
    show: |of| show_share(*of),
};
const PERIOD: Parsed<Duration> = DURATION
    .only(|text| match plimsoll_units::duration(text)? {
        period if (1..=1000).contains(&period.as_millis()) => Ok(period),
        _ => Err(ParseError::new("a period from 1ms to 1s", text, 0, text.len())),
    })
    .such_as("a period from 1ms to 1s");

/// The least and the most that a link carries, bits a second.
const RATES: RangeInclusive<u64> = 8_000..=100_000_000_000;
/// What a link carries, as `tc` has it.
pub(crate) const RATE: Parsed<u64> = Parsed {
    takes: "bits a second",
    wanted: "bits a second such as 20Mbit",
    form: Form::Text,
    parse: |text| {
        let wrong = || ParseError::new("bits a second from 8kbit to 100Gbit", text, 0, text.len());
        let units = [("kbit", 1000), ("Mbit", 1_000_000), ("Gbit", 1_000_000_000), ("bit", 1)];
        let found = units.iter().find_map(|(unit, of)| Some((text.strip_suffix(unit)?, *of)));
        let number = found.and_then(|(number, of)| number.parse::<u64>().ok()?.checked_mul(of));
        number.filter(|rate| RATES.contains(rate)).ok_or_else(wrong)
    },
    show: |rate| {
        let units = [("Gbit", 1_000_000_000), ("Mbit", 1_000_000), ("kbit", 1000), ("bit", 1)];
        let whole = units.iter().find(|(_, of)| rate % of == 0);
        whole.map_or_else(|| format!("{rate}bit"), |(unit, of)| format!("{}{unit}", rate / of))
    },
};

/// A value of a role's `vars` or `environment`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Given {
    /// As the plan has it. A printed plan leaves out one whose name announces a secret.
    Text(String),
    /// Where it comes from: the plan does not have it.
    Secret(SecretSource),
}

/// A file that is copied into the folder of each instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copied {
    /// The file.
    pub from: PathBuf,
    /// Whether nobody else may read it: it is in no copy of the plan's files then.
    pub is_secret: bool,
}

/// Values by names that may have dots in them: tables within it are parts of the names.
pub(crate) struct Map<T: 'static> {
    /// Reads the value of a name.
    read: fn(&Reading, &Node) -> Option<T>,
    /// Writes it, as it stands behind the `=`.
    write: fn(&str, &T) -> String,
}

pub(crate) const MAP: Map<String> =
    Map { read: |reading, node| reading.level(node), write: |_, text| quoted(text) };
/// Texts by name.
pub(crate) const TEXTS: Map<String> = Map {
    read: |reading, node| reading.line(node).map(str::to_owned),
    write: |_, text| quoted(text),
};
const VALUES: Map<Given> = Map { read: read_given, write: write_given };
const COPIES: Map<Copied> = Map { read: read_copied, write: |_, of| write_copied(of) };

impl<T> Describe for Map<T> {
    fn takes(&self) -> String {
        "table".to_owned()
    }

    fn schema(&self) -> Json {
        json!({"type": "object"})
    }

    fn is_map(&self) -> bool {
        true
    }
}

impl<T> Takes for Map<T> {
    type Value = BTreeMap<String, T>;

    fn read(&self, reading: &Reading, node: &Node) -> Option<Self::Value> {
        let pairs = reading.map(node).iter();
        pairs.map(|of| Some((of.key.clone(), (self.read)(reading, &of.node)?))).collect()
    }

    fn write(&self, map: &Self::Value) -> String {
        let pair =
            |(name, of): (&String, &T)| format!("{} = {}", quoted(name), (self.write)(name, of));
        let pairs = map.iter().map(pair).collect::<Vec<_>>().join(", ");
        if pairs.is_empty() { "{}".to_owned() } else { format!("{{ {pairs} }}") }
    }
}

fn read_given(reading: &Reading, node: &Node) -> Option<Given> {
    let Value::Table(table) = &node.value else {
        return reading.level(node).map(Given::Text);
    };
    let [Entry { key, node, .. }] = &table.entries[..] else { return None };
    match key.as_str() {
        "env" => reading.line(node).map(|name| Given::Secret(SecretSource::Env(name.to_owned()))),
        _ => File.read(reading, node).map(|file| Given::Secret(SecretSource::File(file))),
    }
}

fn write_given(name: &str, of: &Given) -> String {
    match of {
        Given::Text(_) if key_is_secret(name) => quoted(REDACTED),
        Given::Text(text) => quoted(text),
        Given::Secret(source) => source.to_string(),
    }
}

fn read_copied(reading: &Reading, node: &Node) -> Option<Copied> {
    let Value::Table(table) = &node.value else {
        return File.read(reading, node).map(|from| Copied { from, is_secret: false });
    };
    let is_secret = match table.get("secret").map(|entry| &entry.node) {
        None => false,
        Some(Node { value: Value::Switch(is_secret), .. }) => *is_secret,
        Some(node) => {
            reading.wrong_type(node, "true or false", None);
            return None;
        }
    };
    let from = File.read(reading, &table.get("file")?.node)?;
    Some(Copied { from, is_secret })
}

fn write_copied(of: &Copied) -> String {
    let file = quoted(&of.from.display().to_string());
    if of.is_secret { format!("{{ file = {file}, secret = true }}") } else { file }
}

impl Role {
    /// The names of values that a printed plan left out.
    pub(crate) fn redacted(&self) -> impl Iterator<Item = &str> {
        let all = self.vars.iter().chain(&self.environment);
        let is_left_out = |of: &Given| matches!(of, Given::Text(text) if text == REDACTED);
        all.filter(move |(_, of)| is_left_out(of)).map(|(name, _)| name.as_str())
    }
}

/// The keys of a role that are maps.
const MAPS: [&str; 4] = ["sysctl", "vars", "environment", "files"];

/// Joins the names of tables within the maps of roles, and within `[factor]`, by dots: `net.core`
/// is one name there, however it is written. A factor with a name of its own has a table for each
/// level, and no list.
pub(crate) fn join_names(root: &mut Table) {
    if let Some(Entry { node: Node { value: Value::Table(factors), .. }, .. }) =
        root.get_mut("factor")
    {
        let mut joined = Vec::new();
        for entry in std::mem::take(&mut factors.entries) {
            if has_list(&entry.node) { flat(entry, &mut joined) } else { joined.push(entry) }
        }
        factors.entries = joined;
    }
    let Some(Entry { node: Node { value: Value::Table(roles), .. }, .. }) = root.get_mut("role")
    else {
        return;
    };
    for role in &mut roles.entries {
        let Value::Table(role) = &mut role.node.value else { continue };
        for map in MAPS {
            role.get_mut(map).into_iter().for_each(|entry| join(&mut entry.node));
        }
    }
}

/// Whether there is a list in it, however deep.
fn has_list(node: &Node) -> bool {
    match &node.value {
        Value::List(_) => true,
        Value::Table(table) => table.entries.iter().any(|entry| has_list(&entry.node)),
        _ => false,
    }
}

fn join(node: &mut Node) {
    let Value::Table(table) = &mut node.value else { return };
    let mut joined = Vec::new();
    for entry in std::mem::take(&mut table.entries) {
        flat(entry, &mut joined);
    }
    table.entries = joined;
}

fn flat(entry: Entry, out: &mut Vec<Entry>) {
    let is_part = matches!(&entry.node.value, Value::Table(table) if !is_source(table));
    let Value::Table(table) = entry.node.value else { return out.push(entry) };
    if !is_part {
        let node = Node { value: Value::Table(table), ..entry.node };
        return out.push(Entry { node, ..entry });
    }
    for inner in table.entries {
        let key = format!("{}.{}", entry.key, inner.key);
        flat(Entry { key, ..inner }, out);
    }
}

/// The most roles of a plan.
const MOST: usize = 100;
/// The most characters of a role's name, which stands in names of interfaces and folders.
const MOST_NAME: usize = 20;

/// Reads all roles.
pub(crate) fn read_roles(
    reading: &Reading,
    root: &Table,
    testbed: Option<&Testbed>,
) -> Vec<(String, Role)> {
    let Some(Entry { node, .. }) = root.get("role") else { return Vec::new() };
    let Value::Table(all) = &node.value else {
        let hint = "[role.web] and recipe = \"nginx\"";
        reading.wrong_type(node, "a table [role.NAME] for each role", Some(hint.to_owned()));
        return Vec::new();
    };
    if all.entries.len() > MOST {
        reading.fault(node.place, format!("expected at most {MOST} roles"), None);
        return Vec::new();
    }
    let read = |entry: &Entry| read_one(reading, entry, testbed);
    let roles: Vec<_> = all.entries.iter().filter_map(read).collect();
    if testbed.is_none() && !roles.is_empty() {
        let hint = "say where it stands: [testbed] and provider = \"process\"";
        reading.fault(node.place, "`role` goes with [testbed]", Some(hint.to_owned()));
    }
    roles
}

fn read_one(reading: &Reading, entry: &Entry, testbed: Option<&Testbed>) -> Option<(String, Role)> {
    let Value::Table(table) = &entry.node.value else {
        let hint = format!("[role.{}] and recipe = \"nginx\"", entry.key);
        reading.wrong_type(&entry.node, "a table of a role", Some(hint));
        return None;
    };
    if !reading.is_plain_name(entry, MOST_NAME, false) {
        return None;
    }
    let section = Section::over(reading, table, Role::SECTION);
    let mut role = Role::read_keys(&section)?;
    let is_rented = testbed.is_none_or(|of| of.provider == Provider::Ec2);
    if let Some(key) = RENTED_ROLE.iter().find(|key| !is_rented && section.has(key)) {
        let message = format!("`{key}` goes with the provider `ec2`");
        section.fault(key, message, Some("leave it out"));
    }
    let named =
        testbed.filter(|of| table.get("count").is_none() && of.names_hosts_of(&entry.key, &role));
    if let Some(testbed) = named {
        let hosts = testbed.hosts_of(&entry.key, &role).len();
        role.count = u32::try_from(hosts).unwrap_or(u32::MAX).max(1);
    }
    Some((entry.key.clone(), role))
}

pub(crate) fn write_roles(roles: &[(String, Role)], out: &mut Writer) {
    for (name, role) in roles {
        out.section_of("role", name);
        let is_empty = [
            role.hosts.is_empty(),
            role.tags.is_empty(),
            role.sysctl.is_empty(),
            role.vars.is_empty(),
            role.environment.is_empty(),
            role.files.is_empty(),
        ];
        let keys = ["hosts", "tags"].into_iter().chain(MAPS);
        let empty = keys.zip(is_empty).filter_map(|(key, is)| is.then_some(key));
        role.write_keys(out, &empty.collect::<Vec<_>>());
    }
}
