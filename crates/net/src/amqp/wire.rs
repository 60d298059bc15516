//! Fields of AMQP 0-9-1 (section 4.2.5 of its specification): integers in network order, short
//! and long strings, tables.
//!
//! RabbitMQ's types of table values differ from the specification's (its `s` is a 16-bit integer,
//! not a string); both are read, because values that are no text are skipped by their length only.

use super::Error;
use plimsoll_units::truncate;

/// Tables and arrays in one another.
const MAX_LEVELS: usize = 4;

/// A name of a table, and its value if that is a text.
pub type Entry<'a> = (&'a [u8], Option<&'a [u8]>);

/// What is left of a payload.
#[derive(Debug, Clone, Copy)]
pub struct Fields<'a>(pub &'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], Error> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(Error::Malformed("a field"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(Error::Malformed("a field"))?;
        self.0 = rest;
        Ok(*taken)
    }

    pub(super) fn octet(&mut self) -> Result<u8, Error> {
        Ok(self.array::<1>()?[0])
    }

    pub(super) fn short(&mut self) -> Result<u16, Error> {
        Ok(u16::from_be_bytes(self.array()?))
    }

    pub(super) fn long(&mut self) -> Result<u32, Error> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    pub(super) fn longlong(&mut self) -> Result<u64, Error> {
        Ok(u64::from_be_bytes(self.array()?))
    }

    /// At most 255 bytes.
    pub(super) fn short_string(&mut self) -> Result<&'a [u8], Error> {
        let length = self.octet()?;
        self.take(length.into())
    }

    /// A long string, or the whole of a table.
    pub(super) fn long_string(&mut self) -> Result<&'a [u8], Error> {
        let length = self.long()?;
        self.take(usize::try_from(length).map_err(|_| Error::Malformed("a length"))?)
    }

    /// The next name and value of a table, the value if it is a text; `None` at its end.
    ///
    /// # Errors
    /// [`Error::Malformed`].
    pub fn entry(&mut self) -> Result<Option<Entry<'a>>, Error> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let name = self.short_string()?;
        Ok(Some((name, self.value(MAX_LEVELS)?)))
    }

    /// A value, if it is a text.
    fn value(&mut self, levels: usize) -> Result<Option<&'a [u8]>, Error> {
        let length = match self.octet()? {
            b'S' => return self.long_string().map(Some),
            b'x' => return self.long_string().map(|_| None),
            b'F' | b'A' if levels == 0 => return Err(Error::Malformed("tables too deep")),
            b'F' => {
                let mut table = Self(self.long_string()?);
                while !table.0.is_empty() {
                    table.short_string()?;
                    table.value(levels - 1)?;
                }
                return Ok(None);
            }
            b'A' => {
                let mut array = Self(self.long_string()?);
                while !array.0.is_empty() {
                    array.value(levels - 1)?;
                }
                return Ok(None);
            }
            b't' | b'b' | b'B' => 1,
            b's' | b'u' => 2,
            b'I' | b'i' | b'f' => 4,
            b'D' => 5,
            b'l' | b'L' | b'd' | b'T' => 8,
            b'V' => 0,
            _ => return Err(Error::Malformed("a value of an unknown type")),
        };
        self.take(length).map(|_| None)
    }
}

/// Bytes to be sent.
pub(super) trait Push {
    /// A string of at most 255 bytes; what is longer is cut.
    fn short_string(&mut self, text: &str);
    fn long_string(&mut self, bytes: &[u8]);
    /// The length in front of what `fill` writes.
    fn sized(&mut self, fill: impl FnOnce(&mut Self));
}

impl Push for Vec<u8> {
    fn short_string(&mut self, text: &str) {
        let text = truncate(text, usize::from(u8::MAX));
        self.push(u8::try_from(text.len()).unwrap_or(u8::MAX));
        self.extend_from_slice(text.as_bytes());
    }

    fn long_string(&mut self, bytes: &[u8]) {
        self.sized(|out| out.extend_from_slice(bytes));
    }

    fn sized(&mut self, fill: impl FnOnce(&mut Self)) {
        let start = self.len();
        self.extend_from_slice(&[0; 4]);
        fill(self);
        let length = u32::try_from(self.len() - start - 4).unwrap_or(u32::MAX);
        self[start..start + 4].copy_from_slice(&length.to_be_bytes());
    }
}

/// A value of a table that we send.
#[derive(Debug, Clone, Copy)]
pub enum Value<'a> {
    /// A text.
    Text(&'a str),
    /// Yes or no.
    Flag(bool),
    /// A number.
    Number(u32),
    /// A table.
    Table(&'a [(&'a str, Value<'a>)]),
}

/// Writes a table.
pub(super) fn push_table(out: &mut Vec<u8>, entries: &[(&str, Value<'_>)]) {
    out.sized(|out| {
        for (name, value) in entries {
            out.short_string(name);
            match value {
                Value::Text(text) => {
                    out.push(b'S');
                    out.long_string(text.as_bytes());
                }
                Value::Flag(flag) => out.extend_from_slice(&[b't', u8::from(*flag)]),
                Value::Number(number) => {
                    out.push(b'l');
                    out.extend_from_slice(&i64::from(*number).to_be_bytes());
                }
                Value::Table(entries) => {
                    out.push(b'F');
                    push_table(out, entries);
                }
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::{Fields, Push as _, Value, push_table};

    #[test]
    fn a_table_reads_back() {
        let inner = [("deep", Value::Text("x"))];
        let mut out = Vec::new();
        push_table(
            &mut out,
            &[
                ("a", Value::Text("text")),
                ("b", Value::Flag(true)),
                ("c", Value::Number(7)),
                ("d", Value::Table(&inner)),
                ("e", Value::Text("")),
            ],
        );
        let mut table = Fields(Fields(&out).long_string().unwrap());
        let mut read = Vec::new();
        while let Some(entry) = table.entry().unwrap() {
            read.push(entry);
        }
        let text = |text: &'static str| Some(text.as_bytes());
        let names = [b"a", b"b", b"c", b"d", b"e"].map(|name| &name[..]);
        let values = [text("text"), None, None, None, text("")];
        assert_eq!(read, names.into_iter().zip(values).collect::<Vec<_>>());
    }

    #[test]
    fn whatever_is_cut_off_or_too_deep_is_refused() {
        let mut deep = vec![1, b'n', b'A', 0, 0, 0, 0];
        for _ in 0..8 {
            let mut outer = vec![1, b'n', b'A'];
            outer.sized(|out| out.extend_from_slice(&deep[2..]));
            deep = outer;
        }
        Fields(&deep).entry().unwrap_err();
        let whole = [1, b'n', b'S', 0, 0, 0, 2, b'h', b'i'];
        assert_eq!(Fields(&whole).entry().unwrap(), Some((&b"n"[..], Some(&b"hi"[..]))));
        for end in 1..whole.len() {
            Fields(&whole[..end]).entry().unwrap_err();
        }
        Fields(&[1, b'n', b'?']).entry().unwrap_err();
    }

    #[test]
    fn a_long_name_is_cut_at_a_character() {
        let mut out = Vec::new();
        out.short_string(&"ü".repeat(200));
        assert_eq!((out[0], out.len()), (254, 255));
    }
}
