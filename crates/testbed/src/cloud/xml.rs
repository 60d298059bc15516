//! Answers in XML as a tree of elements: names without prefixes, their text, what is in them.
//!
//! What comes is bounded: its length by who reads it, its depth and the number of its elements
//! here. Entities beyond the five of XML are refused, so nothing can be blown up.

use quick_xml::Reader;
use quick_xml::events::Event;

/// No answer is deeper.
const MOST_DEPTH: usize = 32;
/// No answer has more elements.
const MOST_ELEMENTS: usize = 200_000;

/// An element.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Element {
    /// Its name, without a prefix.
    pub(crate) name: String,
    /// The text in it, without that of elements in it.
    pub(crate) text: String,
    /// The elements in it, in order.
    pub(crate) within: Vec<Self>,
}

/// Why an answer cannot be read.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("no XML that can be read: {0}")]
pub(crate) struct XmlError(pub(crate) String);

impl Element {
    /// Reads a document: its one element.
    ///
    /// # Errors
    /// What is no XML, or too deep or too much of it.
    pub(crate) fn read(text: &str) -> Result<Self, XmlError> {
        let mut reader = Reader::from_str(text);
        let wrong = |why: &str| XmlError(why.to_owned());
        let (mut open, mut count) = (vec![Self::default()], 0_usize);
        loop {
            let event = reader.read_event().map_err(|error| XmlError(error.to_string()))?;
            match event {
                Event::Start(start) => {
                    count += 1;
                    if open.len() > MOST_DEPTH || count > MOST_ELEMENTS {
                        return Err(wrong("it is too deep or has too many elements"));
                    }
                    let name = start.local_name().as_ref().to_owned();
                    open.push(Self { name, ..Self::default() });
                }
                Event::Empty(start) => {
                    count += 1;
                    if count > MOST_ELEMENTS {
                        return Err(wrong("it is too deep or has too many elements"));
                    }
                    let name = start.local_name().as_ref().to_owned();
                    let last = open.last_mut().ok_or_else(|| wrong("it ends too early"))?;
                    last.within.push(Self { name, ..Self::default() });
                }
                Event::End(_) => {
                    let ended = open.pop().ok_or_else(|| wrong("it ends too often"))?;
                    let last = open.last_mut().ok_or_else(|| wrong("it ends too often"))?;
                    last.within.push(ended);
                }
                Event::Text(text) => {
                    open.iter_mut().last().into_iter().for_each(|of| of.text.push_str(&text));
                }
                Event::CData(text) => {
                    open.iter_mut().last().into_iter().for_each(|of| of.text.push_str(&text));
                }
                Event::GeneralRef(name) => {
                    let known = resolved(&name).ok_or_else(|| wrong("an unknown entity"))?;
                    open.iter_mut().last().into_iter().for_each(|of| of.text.push(known));
                }
                Event::DocType(_) => return Err(wrong("it has a DOCTYPE")),
                Event::Eof => break,
                _ => {}
            }
        }
        match (open.len(), open.pop().and_then(|of| of.within.into_iter().next())) {
            (1, Some(element)) => Ok(element),
            _ => Err(wrong("it has no whole element")),
        }
    }

    /// The first element of a name in it.
    pub(crate) fn get(&self, name: &str) -> Option<&Self> {
        self.within.iter().find(|of| of.name == name)
    }

    /// The text at a path of names; empty where there is none.
    pub(crate) fn at(&self, path: &[&str]) -> &str {
        let found = path.iter().try_fold(self, |of, name| of.get(name));
        found.map_or("", |of| of.text.trim())
    }

    /// The elements `item`, or `member`, of a list.
    pub(crate) fn items(&self, list: &str) -> impl Iterator<Item = &Self> {
        let list = self.get(list).map(|of| of.within.as_slice()).unwrap_or_default();
        list.iter().filter(|of| of.name == "item" || of.name == "member")
    }

    /// The first element of a name, however deep.
    pub(crate) fn find(&self, name: &str) -> Option<&Self> {
        self.within.iter().find_map(|of| if of.name == name { Some(of) } else { of.find(name) })
    }
}

/// The character of a reference: one of the five, or by its number.
fn resolved(name: &quick_xml::events::BytesRef<'_>) -> Option<char> {
    if let Ok(Some(of_number)) = name.resolve_char_ref() {
        return Some(of_number);
    }
    match &**name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_a_tree_of_its_elements() {
        let text = "<?xml version='1.0'?><e:A xmlns:e='u'><set><item><id>i-1</id></item>\
                    <item><id> a &amp; &#98; </id></item></set><none/></e:A>";
        let of = Element::read(text).unwrap();
        assert_eq!(of.name, "A");
        let ids: Vec<&str> = of.items("set").map(|item| item.at(&["id"])).collect();
        assert_eq!(ids, ["i-1", "a & b"]);
        assert_eq!((of.at(&["none"]), of.at(&["set", "other"])), ("", ""));
        assert_eq!(of.find("id").map(|id| id.text.as_str()), Some("i-1"));
    }

    #[test]
    fn what_is_no_answer_is_refused() {
        let deep = "<a>".repeat(MOST_DEPTH + 2);
        let doctype = "<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>";
        for text in ["", "no", "<a>", "<a></b>", "<a>&b;</a>", doctype, &deep] {
            assert!(Element::read(text).is_err(), "{text}");
        }
        for many in ["<b/>", "<b></b>"] {
            let text = format!("<a>{}</a>", many.repeat(MOST_ELEMENTS));
            assert!(Element::read(&text).is_err(), "{many}");
        }
    }

    #[test]
    fn any_bytes_end_in_a_tree_or_an_error() {
        let whole = "<a><b>c</b><item d='e'>&lt;</item><![CDATA[x]]></a>";
        for at in 0..whole.len() {
            for byte in [b'<', b'>', b'&', b';', b'/', 0] {
                let mut bytes = whole.as_bytes().to_vec();
                bytes[at] = byte;
                let text = String::from_utf8(bytes).unwrap();
                drop(Element::read(&text));
                drop(Element::read(&text[..at]));
            }
        }
    }
}
