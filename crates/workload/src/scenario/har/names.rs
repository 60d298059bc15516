//! What stands in the place of values that a scenario must not hold, or cannot know: secrets, and
//! tokens that a page gave.

use std::collections::BTreeMap;

use plimsoll_net::url::percent_decode;

use super::json::{self, Node, Replacement};
use super::pieces::{Hole, Pieces};
use super::scan::{self, Text};
use super::secret_names::{Secrecy, is_drawn, is_secret, secrecy};
use super::secrets::Secrets;
use super::tokens::Tokens;

/// How deep texts within texts are looked into.
const MOST_DEEP: usize = 4;
/// Members that name what a member beside them holds.
const NAMING: [&str; 6] = ["name", "key", "field", "id", "label", "type"];
/// Members that hold what a member beside them names.
const NAMED: [&str; 4] = ["value", "val", "content", "text"];

/// Secrets and tokens of a recording, and what could not be judged.
#[derive(Debug, Default)]
pub(super) struct Names {
    pub(super) secrets: Secrets,
    pub(super) tokens: Tokens,
    /// Whether somebody signs in by the present request.
    pub(super) signs_in: bool,
    /// Bodies that were searched as texts, as their grammar is not known, by type.
    pub(super) unjudged: BTreeMap<String, u64>,
    /// Files that were sent, of which the recording has nothing.
    pub(super) files: u64,
}

impl Names {
    /// What stands in the place of a field's whole value: a variable's name, or a secret's.
    pub(super) fn field(&mut self, name: &str, value: &str) -> Option<Pieces> {
        if value.is_empty() {
            return None;
        }
        if let Some(variable) = self.tokens.variable(name, value) {
            return Some(Pieces::of_hole(Hole::new(variable, value)));
        }
        is_secret(name, value, self.signs_in).then(|| self.secrets.hide(name, value))
    }

    /// What stands in the place of a header's whole value: a token may be sent under a name of its
    /// own.
    pub(super) fn header(&mut self, name: &str, value: &str) -> Pieces {
        if secrecy(name) != Secrecy::Ordinary
            && let Some(variable) = self.tokens.variable_of_value(value)
        {
            return Pieces::of_hole(Hole::new(variable, value));
        }
        self.field(name, value).unwrap_or_else(|| self.text(value, Text::Body))
    }

    /// A field's value, with names in it.
    pub(super) fn value(&mut self, name: &str, value: &str) -> Pieces {
        self.field(name, value).unwrap_or_else(|| self.text(value, Text::Value))
    }

    /// A text of which no grammar is known, with names in it.
    pub(super) fn text(&mut self, text: &str, kind: Text) -> Pieces {
        self.text_within(text, kind, 0)
    }

    fn text_within(&mut self, text: &str, kind: Text, depth: usize) -> Pieces {
        if text.trim_start().starts_with(['{', '['])
            && let Some((node, told)) = self.json_within(text, depth)
        {
            return node.spliced(text, &told);
        }
        let found = scan::find(text, kind, self.signs_in);
        let mut holes = self.secrets.within(text);
        for (range, name) in found {
            // A hole behind a brace or a backslash would read as something else.
            let before = text[..range.start].trim_end_matches(['{', '\\']).len();
            let range = before..range.end;
            let hole = self.secrets.hide(&name, &text[range.clone()]);
            holes.insert(0, (range, hole));
        }
        let is_apart = |(range, _): &(std::ops::Range<usize>, Pieces)| {
            range.start == 0 || !text[..range.start].ends_with(['{', '\\'])
        };
        holes.retain(is_apart);
        let pieces = Pieces::spliced(text, scan::in_order(holes));
        if depth < MOST_DEEP && text.contains('%') {
            let decoded = String::from_utf8(percent_decode(text.as_bytes()));
            let decoded = decoded.ok().filter(|decoded| decoded != text);
            let within = decoded.map(|decoded| self.text_within(&decoded, kind, depth + 1));
            if let Some(within) = within.filter(|of| of.count_holes() > pieces.count_holes()) {
                return within.url_encoded();
            }
        }
        pieces
    }

    /// A text that is JSON, and what stands in the place of its values.
    pub(super) fn json(&mut self, text: &str) -> Option<(Node, Vec<Replacement>)> {
        self.json_within(text, 0)
    }

    fn json_within(&mut self, text: &str, depth: usize) -> Option<(Node, Vec<Replacement>)> {
        if depth >= MOST_DEEP {
            return None;
        }
        let node = json::read(text)?;
        let mut told = Vec::new();
        self.tell(&node, "", text, depth, &mut told);
        Some((node, told))
    }

    /// Tells what stands in the place of each value, in their order.
    fn tell(
        &mut self,
        node: &Node,
        name: &str,
        text: &str,
        depth: usize,
        out: &mut Vec<Replacement>,
    ) {
        match node {
            Node::Text(range) => {
                let value = json::decoded(text, range);
                let pieces = self.field(name, &value);
                let pieces =
                    pieces.unwrap_or_else(|| self.text_within(&value, Text::Value, depth + 1));
                out.push(if pieces.has_holes() {
                    Replacement::Text(pieces)
                } else {
                    Replacement::Same
                });
            }
            Node::Number(range) => {
                let number = &text[range.clone()];
                let hole = self.field(name, number);
                out.push(hole.map_or(Replacement::Same, Replacement::Number));
            }
            Node::Word(_) => out.push(Replacement::Same),
            Node::List(values) => {
                values.iter().for_each(|value| self.tell(value, name, text, depth, out));
            }
            Node::Object(members) => {
                let named = members.iter().find_map(|(key, value)| match value {
                    Node::Text(range) if NAMING.contains(&key.as_str()) => {
                        Some(json::decoded(text, range)).filter(|of| is_secret(of, "123456", true))
                    }
                    _ => None,
                });
                let own = |key: &str| is_secret(key, "123456", self.signs_in);
                let inherits = !name.is_empty() && own(name);
                let names: Vec<String> = members
                    .iter()
                    .map(|(key, _)| {
                        match &named {
                            Some(named) if NAMED.contains(&key.as_str()) => named.clone(),
                            // What is within a secret is one, whatever it is called.
                            _ if inherits && !own(key) => format!("{name}.{key}"),
                            _ => key.clone(),
                        }
                    })
                    .collect();
                for ((_, value), name) in members.iter().zip(names) {
                    self.tell(value, &name, text, depth, out);
                }
            }
        }
    }

    /// Path and query as they were sent, but for the values that have names.
    pub(super) fn target(&mut self, target: &str) -> String {
        match target.split_once('?') {
            None => self.path(target),
            Some((path, query)) => format!("{}?{}", self.path(path), self.pairs(query, true)),
        }
    }

    fn path(&mut self, path: &str) -> String {
        let (mut written, mut before) = (Vec::new(), String::new());
        for segment in path.split('/') {
            written.push(self.segment(segment, &before));
            before = segment.to_ascii_lowercase();
        }
        written.join("/")
    }

    /// A segment of a path, with its parameters (`;jsessionid=…`).
    fn segment(&mut self, segment: &str, before: &str) -> String {
        let raw = || segment.replace("{{", "\\{{");
        let Ok(decoded) = String::from_utf8(percent_decode(segment.as_bytes())) else {
            return raw();
        };
        const LEADS: [&str; 9] = [
            "reset",
            "verify",
            "confirm",
            "confirmation",
            "activate",
            "invite",
            "invitation",
            "magic",
            "unsubscribe",
        ];
        let is_of_secret = LEADS.iter().any(|lead| before.contains(lead))
            || is_secret(before, "LEAK0001", self.signs_in);
        if is_of_secret && is_drawn(&decoded) {
            return self.secrets.hide(before, &decoded).template();
        }
        let pieces = self.text(&decoded, Text::Value);
        if pieces.has_holes() { pieces.in_path().template() } else { raw() }
    }

    /// `a=1&b=2` as it was, but for the values that have names: of a query, whose values are
    /// encoded where they are filled in, or of a body, where they are written with `urlencode`.
    pub(super) fn pairs(&mut self, text: &str, is_query: bool) -> String {
        let mut write = |pair: &str| {
            let raw = || pair.replace("{{", "\\{{");
            let (name, value) = pair.split_once('=').unwrap_or(("", pair));
            let (Some(field), Some(decoded)) = (decoded(name), decoded(value)) else {
                return raw();
            };
            let pieces = self.value(&field, &decoded);
            if !pieces.has_holes() {
                return raw();
            }
            let pieces = if is_query { pieces.in_query() } else { pieces.url_encoded() };
            let name = name.replace("{{", "\\{{");
            let joins = if pair.contains('=') { "=" } else { "" };
            format!("{name}{joins}{}", pieces.template())
        };
        text.split('&').map(&mut write).collect::<Vec<_>>().join("&")
    }
}

/// A name or a value of a form, decoded; `None` where it is no UTF-8.
pub(super) fn decoded(text: &str) -> Option<String> {
    String::from_utf8(percent_decode(text.replace('+', " ").as_bytes())).ok()
}
