//! A strict reader of the pages we write: elements that nest, attributes in double quotes.

/// What a page is made of.
#[derive(Debug, Default)]
pub(crate) struct Page {
    /// Every element: its name and attributes.
    pub(crate) elements: Vec<(String, Vec<(String, String)>)>,
    /// All text between elements, as a reader sees it.
    pub(crate) text: String,
    /// The content of `style` elements.
    pub(crate) style: String,
    /// The content of `script` elements.
    pub(crate) script: String,
}

impl Page {
    /// The values of an attribute, over all elements.
    pub(crate) fn values<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a str> {
        self.elements
            .iter()
            .flat_map(|(_, attributes)| attributes)
            .filter(move |(name, _)| name == key)
            .map(|(_, value)| value.as_str())
    }

    /// How many elements of a name there are.
    pub(crate) fn count(&self, name: &str) -> usize {
        self.elements.iter().filter(|(element, _)| element == name).count()
    }
}

/// Elements of HTML without an end.
const VOID: [&str; 2] = ["meta", "input"];

/// Reads a page; panics where it is not well formed.
pub(crate) fn parse(page: &str) -> Page {
    elements(page.strip_prefix("<!DOCTYPE html>\n").expect("a doctype"))
}

/// Reads a picture; panics where it is not well formed.
pub(crate) fn parse_svg(picture: &str) -> Page {
    let start = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
    elements(picture.strip_prefix(start).expect("a declaration"))
}

fn elements(mut rest: &str) -> Page {
    let mut parsed = Page::default();
    let mut open: Vec<String> = Vec::new();
    while !rest.is_empty() {
        let at = rest.find('<').unwrap_or(rest.len());
        assert!(!rest[..at].contains('>'), "a bare > in {:?}", &rest[..at]);
        parsed.text.push_str(&unescape(&rest[..at]));
        rest = &rest[at..];
        if rest.is_empty() {
            break;
        }
        // Quoted values hold no bare `>`, because it is escaped.
        let end = rest.find('>').expect("an end of the tag");
        let (tag, after) = (&rest[1..end], &rest[end + 1..]);
        rest = after;
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name), "closes what is open");
            continue;
        }
        let (tag, empty) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
        let (name, attributes) = attributes(tag);
        if name == "style" || name == "script" {
            let close = format!("</{name}>");
            let end = rest.find(&close).expect("an end of raw text");
            let raw = if name == "style" { &mut parsed.style } else { &mut parsed.script };
            raw.push_str(&rest[..end]);
            rest = &rest[end + close.len()..];
        } else if !empty && !VOID.contains(&name.as_str()) {
            open.push(name.clone());
        }
        parsed.elements.push((name, attributes));
    }
    assert!(open.is_empty(), "left open: {open:?}");
    parsed
}

fn attributes(tag: &str) -> (String, Vec<(String, String)>) {
    let (name, mut rest) = tag.split_once(' ').unwrap_or((tag, ""));
    let plain = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    assert!(!name.is_empty() && plain(name), "the name of an element: {name:?}");
    let mut attributes: Vec<(String, String)> = Vec::new();
    while !rest.is_empty() {
        let (key, after) = rest.split_once("=\"").expect("a value in quotes");
        let (value, after) = after.split_once('"').expect("an end of the value");
        assert!(plain(key), "the name of an attribute: {key:?}");
        assert!(attributes.iter().all(|(known, _)| known != key), "{key} once");
        attributes.push((key.to_owned(), unescape(value)));
        rest = after.strip_prefix(' ').unwrap_or(after);
    }
    (name.to_owned(), attributes)
}

fn unescape(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        let end = rest[at..].find(';').expect("an end of the entity") + at;
        out.push(match &rest[at..=end] {
            "&amp;" => '&',
            "&lt;" => '<',
            "&gt;" => '>',
            "&quot;" => '"',
            "&#39;" => '\'',
            other => panic!("an entity that is not ours: {other}"),
        });
        rest = &rest[end + 1..];
    }
    out.push_str(rest);
    out
}
