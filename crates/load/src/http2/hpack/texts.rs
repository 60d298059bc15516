//! Header blocks as texts, for who wants the fields of answers. It reads what
//! [`super::decode::Decoder`] has found in order, with a table of its own: loads without checks pay
//! nothing for it.

use super::decode::Input;
use super::known::{DYNAMIC_FROM, STATIC};
use super::{ENTRY_OVERHEAD, Malformed, TABLE_SIZE};
use std::collections::VecDeque;

/// A field: its name in lower case, as HTTP/2 has it, and its value.
pub(in crate::http2) type Field = (String, Vec<u8>);

/// The peer's table, with its texts.
#[derive(Default)]
pub(in crate::http2) struct Texts {
    /// The youngest first.
    entries: VecDeque<Field>,
    size: usize,
    /// The size it may have at most, less than [`TABLE_SIZE`] if the peer has said so.
    shrunk: usize,
}

impl Texts {
    /// The fields of a whole block, without pseudo-header fields.
    ///
    /// # Errors
    /// [`Malformed`], where the block is.
    pub(in crate::http2) fn read(
        &mut self,
        block: &[u8],
        text: &mut Vec<u8>,
    ) -> Result<Vec<Field>, Malformed> {
        let mut input = Input { bytes: block, text };
        let mut fields = Vec::new();
        while let Some(&first) = input.bytes.first() {
            if first & 0xe0 == 0x20 {
                let size = input.integer(5)?;
                self.shrunk = TABLE_SIZE.checked_sub(size).ok_or(Malformed)?;
                self.evict(0);
                continue;
            }
            let field = if first & 0x80 != 0 {
                let index = input.integer(7)?;
                self.at(index)?
            } else if first & 0x40 != 0 {
                let field = self.literal(&mut input, 6)?;
                self.add(field.clone());
                field
            } else {
                self.literal(&mut input, 4)?
            };
            if !field.0.starts_with(':') {
                fields.push(field);
            }
        }
        Ok(fields)
    }

    fn literal(&self, input: &mut Input<'_>, prefix: u32) -> Result<Field, Malformed> {
        let name = match input.integer(prefix)? {
            0 => String::from_utf8_lossy(input.string()?).into_owned(),
            index => self.at(index)?.0,
        };
        Ok((name, input.string()?.to_vec()))
    }

    fn at(&self, index: usize) -> Result<Field, Malformed> {
        if index >= DYNAMIC_FROM {
            return self.entries.get(index - DYNAMIC_FROM).cloned().ok_or(Malformed);
        }
        let known = index.checked_sub(1).and_then(|at| STATIC.get(at)).ok_or(Malformed)?;
        Ok((known.0.to_owned(), known.1.as_bytes().to_vec()))
    }

    fn add(&mut self, field: Field) {
        let size = size(&field);
        self.evict(size);
        if size <= TABLE_SIZE - self.shrunk {
            self.size += size;
            self.entries.push_front(field);
        }
    }

    fn evict(&mut self, room: usize) {
        while self.size + room > TABLE_SIZE - self.shrunk {
            let Some(oldest) = self.entries.pop_back() else { break };
            self.size -= size(&oldest);
        }
    }
}

fn size(field: &Field) -> usize {
    field.0.len() + field.1.len() + ENTRY_OVERHEAD
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 7541, appendix C.6: three answers on one connection, Huffman coding, a table of 256
    /// bytes that has to give way.
    #[test]
    fn reads_the_examples_of_the_standard() {
        let hex = |text: &str| -> Vec<u8> {
            let digits: Vec<u8> = text.bytes().filter(|b| !b.is_ascii_whitespace()).collect();
            let pair = |pair: &[u8]| std::str::from_utf8(pair).unwrap().to_owned();
            digits.chunks(2).map(|of| u8::from_str_radix(&pair(of), 16).unwrap()).collect()
        };
        let mut texts = Texts::default();
        let mut scratch = Vec::new();
        // The table's size is said first, as our own is larger than that of the examples.
        let mut first = vec![0x3f, 0xe1, 0x01];
        first.extend(hex(
            "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b
             ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3",
        ));
        let fields = texts.read(&first, &mut scratch).unwrap();
        let shown = |fields: &[Field]| -> Vec<String> {
            let one = |(n, v): &Field| format!("{n}: {}", String::from_utf8_lossy(v));
            fields.iter().map(one).collect()
        };
        assert_eq!(
            shown(&fields),
            [
                "cache-control: private",
                "date: Mon, 21 Oct 2013 20:13:21 GMT",
                "location: https://www.example.com",
            ]
        );
        let second = texts.read(&hex("4883 640e ffc1 c0bf"), &mut scratch).unwrap();
        assert_eq!(shown(&second), shown(&fields), "from the table");
        let third = hex(
            "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad
             94e7 821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160
             65c0 03ed 4ee5 b106 3d50 07",
        );
        let third = shown(&texts.read(&third, &mut scratch).unwrap());
        assert_eq!(third[3], "content-encoding: gzip");
        assert!(third[4].starts_with("set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600"));
        assert!(texts.read(&[0xff, 0x00], &mut scratch).is_err(), "beyond the table");
    }
}
