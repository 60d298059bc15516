//! Elements of an HTML page that a selector selects, told from the tokens as they come: no tree is
//! made, and memory grows with how deep elements stand within each other, not with the page.
//!
//! For each element that is open two sets of bits are kept, a bit for a compound of the selector:
//! those whose left side up to here ends at this element, and those that end at it or at one around
//! it. What stands within an element follows from its end, from the end of one around it, and, as
//! HTML lets them be left out, from the beginnings that end `p`, `li`, `dt`, `dd`, `option`, `tr`,
//! `td` and `th`.

use html5gum::{HtmlString, Spanned, StartTag, State, Token, Tokenizer};

use super::Which;
use super::css::{Left, Selector};

/// How deep elements may stand within each other; what is deeper is read as if it were beside.
const DEEPEST: usize = 512;
/// The longest text that is taken, bytes.
const MOST_TEXT: usize = 1 << 20;

/// The attribute, or the text, of the element that is taken of those that are selected.
pub(super) fn find(
    page: &[u8],
    selector: &Selector,
    attribute: Option<&str>,
    which: Which,
    draw: impl FnOnce(usize) -> usize,
) -> Option<String> {
    let wanted = match which {
        Which::Number(number) => Some((number as usize).checked_sub(1)?),
        Which::Last => None,
        Which::Random => {
            let mut walk = Walk::new(selector, attribute, Some(usize::MAX));
            walk.through(page);
            Some(which.index(walk.count, draw)?)
        }
    };
    let mut walk = Walk::new(selector, attribute, wanted);
    walk.through(page);
    walk.taken.map(|taken| String::from_utf8_lossy(&taken).into_owned())
}

/// An element whose end has not come.
struct Open {
    name: Vec<u8>,
    /// Compounds that end here.
    here: u32,
    /// Compounds that end here, or at an element around.
    around: u32,
}

struct Walk<'a> {
    selector: &'a Selector,
    attribute: Option<&'a [u8]>,
    /// The index of the one that is taken; `None` for the last.
    wanted: Option<usize>,
    open: Vec<Open>,
    /// How many were selected so far.
    count: usize,
    taken: Option<Vec<u8>>,
    /// The text is gathered until no more than so many elements are open.
    gathers: Option<usize>,
}

impl<'a> Walk<'a> {
    fn new(selector: &'a Selector, attribute: Option<&'a str>, wanted: Option<usize>) -> Self {
        let attribute = attribute.map(str::as_bytes);
        Self { selector, attribute, wanted, open: Vec::new(), count: 0, taken: None, gathers: None }
    }

    fn through(&mut self, page: &[u8]) {
        let mut tokens = Tokenizer::new(page);
        while let Some(token) = tokens.next() {
            match token {
                Ok(Token::StartTag(tag)) => {
                    self.starts(&tag);
                    if let Some(state) = self.text_within(&tag) {
                        tokens.set_state(state);
                    }
                }
                Ok(Token::EndTag(tag)) => {
                    let end = self.open.iter().rposition(|open| open.name == tag.name.0);
                    if let Some(end) = end {
                        self.close_to(end);
                    }
                }
                Ok(Token::String(text)) if self.gathers.is_some() => {
                    let taken = self.taken.get_or_insert_default();
                    let room = MOST_TEXT.saturating_sub(taken.len());
                    taken.extend_from_slice(&text[..text.len().min(room)]);
                }
                Ok(_) => {}
            }
            if self.is_over() {
                break;
            }
        }
        if self.attribute.is_none()
            && let Some(taken) = &mut self.taken
        {
            *taken = one_blank(taken);
        }
    }

    /// How what stands within an element is read, where that is text and no elements (WHATWG HTML,
    /// 13.2.6): up to its own end. Within SVG and MathML these are elements as any other. A user
    /// executes no scripts, so that what stands within `noscript` is there.
    fn text_within(&self, tag: &StartTag<()>) -> Option<State> {
        let state = match &**tag.name {
            b"textarea" | b"title" => State::RcData,
            b"script" => State::ScriptData,
            b"style" | b"iframe" | b"xmp" | b"noembed" | b"noframes" => State::RawText,
            b"plaintext" => State::PlainText,
            _ => return None,
        };
        let is_foreign = |open: &Open| [&b"svg"[..], b"math"].contains(&&*open.name);
        (!self.open.iter().any(is_foreign)).then_some(state)
    }

    /// Whether the one that is wanted has been read.
    fn is_over(&self) -> bool {
        self.gathers.is_none() && self.wanted.is_some_and(|wanted| self.count > wanted)
    }

    fn starts(&mut self, tag: &StartTag<()>) {
        self.end_before(&tag.name);
        let bits = self.bits(tag);
        let is_selected = {
            let compounds = self.selector.compounds.iter().enumerate();
            compounds.into_iter().any(|(at, compound)| compound.is_last && bits >> at & 1 == 1)
        };
        let depth = self.open.len();
        if is_selected {
            self.select(tag, depth);
        }
        if is_void(&tag.name) {
            // It has no text.
            self.gathers = self.gathers.filter(|&until| until < depth);
        } else {
            if depth >= DEEPEST {
                self.close_to(DEEPEST - 1);
            }
            let around = self.open.last().map_or(0, |open| open.around) | bits;
            self.open.push(Open { name: tag.name.0.clone(), here: bits, around });
        }
    }

    /// The compounds that end at an element within those that are open.
    fn bits(&self, tag: &StartTag<()>) -> u32 {
        let parent = self.open.last();
        let (here, around) = parent.map_or((0, 0), |open| (open.here, open.around));
        let mut bits = 0;
        for (at, compound) in self.selector.compounds.iter().enumerate() {
            let before = at.checked_sub(1).map_or(0, |before| 1_u32 << before);
            let has_left = match compound.left {
                Left::None => true,
                Left::Ancestor => around & before != 0,
                Left::Parent => here & before != 0,
            };
            if has_left && compound.fits(&tag.name, |name| value(tag, name)) {
                bits |= 1 << at;
            }
        }
        bits
    }

    fn select(&mut self, tag: &StartTag<()>, depth: usize) {
        let value = self.attribute.map(|name| value(tag, name));
        if value == Some(None) {
            return;
        }
        let is_taken = self.wanted.is_none_or(|wanted| wanted == self.count);
        self.count += 1;
        if is_taken {
            self.taken = Some(value.flatten().map(<[u8]>::to_vec).unwrap_or_default());
            self.gathers = self.attribute.is_none().then_some(depth);
        }
    }

    /// Ends the elements that an element of that name cannot stand in.
    fn end_before(&mut self, name: &[u8]) {
        let (ended, within): (&[&[u8]], &[&[u8]]) = match name {
            b"li" => (&[b"li"], &[b"ul", b"ol", b"menu"]),
            b"dt" | b"dd" => (&[b"dt", b"dd"], &[b"dl"]),
            b"option" => (&[b"option"], &[b"select", b"datalist"]),
            b"tr" => (&[b"tr", b"td", b"th"], &[b"table"]),
            b"td" | b"th" => (&[b"td", b"th"], &[b"tr", b"table"]),
            _ if ends_paragraph(name) => (&[b"p"], &[b"button", b"td", b"th", b"table", b"object"]),
            _ => return,
        };
        let is = |open: &Open, names: &[&[u8]]| names.contains(&&*open.name);
        let from = self.open.iter().rposition(|open| is(open, within)).map_or(0, |at| at + 1);
        let end = self.open[from..].iter().position(|open| is(open, ended));
        if let Some(end) = end {
            self.close_to(from + end);
        }
    }

    fn close_to(&mut self, depth: usize) {
        self.open.truncate(depth);
        self.gathers = self.gathers.filter(|&until| until < depth);
    }
}

fn value<'t>(tag: &'t StartTag<()>, name: &[u8]) -> Option<&'t [u8]> {
    let attribute: Option<&Spanned<HtmlString, ()>> = tag.attributes.get(name);
    attribute.map(|attribute| &*attribute.value.0)
}

/// Elements that have no content and no end.
fn is_void(name: &[u8]) -> bool {
    matches!(
        name,
        b"area"
            | b"base"
            | b"br"
            | b"col"
            | b"embed"
            | b"hr"
            | b"img"
            | b"input"
            | b"link"
            | b"meta"
            | b"source"
            | b"track"
            | b"wbr"
    )
}

/// Elements that no paragraph holds: their beginning ends it.
fn ends_paragraph(name: &[u8]) -> bool {
    matches!(
        name,
        b"address"
            | b"article"
            | b"aside"
            | b"blockquote"
            | b"details"
            | b"div"
            | b"dl"
            | b"fieldset"
            | b"figure"
            | b"footer"
            | b"form"
            | b"h1"
            | b"h2"
            | b"h3"
            | b"h4"
            | b"h5"
            | b"h6"
            | b"header"
            | b"hr"
            | b"main"
            | b"nav"
            | b"ol"
            | b"p"
            | b"pre"
            | b"section"
            | b"table"
            | b"ul"
    )
}

/// The text without blanks at its ends, and with one where there are several.
fn one_blank(text: &[u8]) -> Vec<u8> {
    let words = text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(&b' ')
}
