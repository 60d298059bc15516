//! Names as they stand in a text, to dense numbers: as numbers as long as all of them are, and as
//! text from then on.

use hashbrown::HashTable;

use super::Names;
use super::hash;
use super::table::Table;

/// Names of objects. Text that is a number written in the shortest way is that number.
#[derive(Debug)]
pub(super) enum NameIndex {
    Numbers(Table),
    Text(TextIndex),
}

/// The room for names is used up.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NoRoom;

impl NameIndex {
    pub(super) fn new() -> Self {
        Self::Numbers(Table::new())
    }

    /// The dense number of a name; `most` bytes of text are kept.
    pub(super) fn number(&mut self, name: &[u8], most: u64) -> Result<u32, NoRoom> {
        if let Self::Numbers(table) = self {
            if let Some(id) = number(name) {
                return Ok(table.number(id));
            }
            let table = std::mem::replace(table, Table::new());
            let mut text = TextIndex::default();
            for entry in table.into_entries() {
                text.number(entry.id.to_string().as_bytes(), most)?;
            }
            *self = Self::Text(text);
        }
        match self {
            Self::Text(text) => text.number(name, most),
            Self::Numbers(_) => Err(NoRoom),
        }
    }

    pub(super) fn finish(self) -> Names {
        match self {
            Self::Numbers(table) => {
                Names::Numbers(table.into_entries().iter().map(|entry| entry.id).collect())
            }
            Self::Text(TextIndex { mut bytes, mut ends, .. }) => {
                bytes.shrink_to_fit();
                ends.shrink_to_fit();
                Names::Text { bytes, ends }
            }
        }
    }
}

/// A number without anything that writing it again would lose.
pub(super) fn number(text: &[u8]) -> Option<u64> {
    let plain = text.iter().all(u8::is_ascii_digit) && matches!(text.len(), 1..=20);
    if !plain || (text[0] == b'0' && text.len() > 1) {
        return None;
    }
    text.iter()
        .try_fold(0u64, |number, &byte| number.checked_mul(10)?.checked_add(u64::from(byte - b'0')))
}

/// Texts one after another, and where to find each.
#[derive(Debug, Default)]
pub(super) struct TextIndex {
    bytes: Vec<u8>,
    ends: Vec<u64>,
    places: HashTable<Place>,
}

#[derive(Debug, Clone, Copy)]
struct Place {
    hash: u32,
    number: u32,
}

/// The table takes some of the upper bits and some of the lower.
fn spread(hash: u32) -> u64 {
    u64::from(hash) << 32 | u64::from(hash)
}

impl TextIndex {
    /// The dense number of a text; `most` bytes are kept.
    pub(super) fn number(&mut self, text: &[u8], most: u64) -> Result<u32, NoRoom> {
        let hash = hash::text(text);
        let is_it =
            |place: &Place| place.hash == hash && of(&self.bytes, &self.ends, place.number) == text;
        if let Some(place) = self.places.find(spread(hash), is_it) {
            return Ok(place.number);
        }
        let end = self.bytes.len() as u64 + text.len() as u64;
        let number = u32::try_from(self.ends.len()).map_err(|_| NoRoom)?;
        if end > most || number == u32::MAX {
            return Err(NoRoom);
        }
        self.bytes.extend_from_slice(text);
        self.ends.push(end);
        let place = Place { hash, number };
        self.places.insert_unique(spread(hash), place, |place| spread(place.hash));
        Ok(number)
    }
}

#[expect(clippy::cast_possible_truncation, reason = "places within a vector")]
fn of<'a>(bytes: &'a [u8], ends: &[u64], number: u32) -> &'a [u8] {
    let number = number as usize;
    let start = number.checked_sub(1).map_or(0, |before| ends[before]);
    &bytes[start as usize..ends[number] as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: u64 = 1 << 30;

    #[test]
    fn numbers_stay_numbers_as_long_as_all_are() {
        let mut index = NameIndex::new();
        for (name, expected) in [("7", 0), ("0", 1), ("18446744073709551615", 2), ("7", 0)] {
            assert_eq!(index.number(name.as_bytes(), MOST), Ok(expected));
        }
        assert_eq!(index.finish(), Names::Numbers(vec![7, 0, u64::MAX]));
    }

    #[test]
    fn one_text_makes_all_text() {
        for odd in ["x", "07", "+7", "18446744073709551616", "7 ", "é"] {
            let mut index = NameIndex::new();
            for (name, expected) in [("7", 0), ("12", 1), (odd, 2), ("12", 1), ("7", 0), (odd, 2)] {
                assert_eq!(index.number(name.as_bytes(), MOST), Ok(expected), "{odd}");
            }
            let names = index.finish();
            assert_eq!(names.text(0), Some(&b"7"[..]));
            assert_eq!(names.text(1), Some(&b"12"[..]));
            assert_eq!(names.text(2), Some(odd.as_bytes()));
        }
    }

    #[test]
    fn text_is_bounded() {
        let mut index = TextIndex::default();
        assert_eq!(index.number(b"abc", 5), Ok(0));
        assert_eq!(index.number(b"de", 5), Ok(1));
        assert_eq!(index.number(b"f", 5), Err(NoRoom));
        assert_eq!(index.number(b"abc", 5), Ok(0));
        assert_eq!(index.number(b"", 5), Ok(2));
    }

    #[test]
    fn many_texts_agree_with_a_map() {
        let mut index = TextIndex::default();
        let mut map = std::collections::BTreeMap::new();
        for n in 0..60_000_u32 {
            let name = format!("/item/{}", n.wrapping_mul(2_654_435_761) % 9000);
            let next = u32::try_from(map.len()).unwrap();
            let expected = *map.entry(name.clone()).or_insert(next);
            assert_eq!(index.number(name.as_bytes(), MOST), Ok(expected));
        }
        assert!(map.len() > 5000);
    }
}
