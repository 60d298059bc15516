//! Gzip files as they are found: of several members (RFC 1952, 2.2), with padding behind the last,
//! torn off in the middle.
//!
//! [`Gunzip`] gives what can be unpacked. Bytes behind the last member that begin no other, as
//! tapes and block devices leave them, are passed over and counted. Where the data breaks off or is
//! damaged, reading fails; with [`Gunzip::forgiving`] it ends there, and [`Gunzip::damage`] tells.

use std::io::{self, BufRead, Read};

use flate2::bufread::GzDecoder;

/// The first bytes of a member.
pub(crate) const MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Unpacks gzip.
#[derive(Debug)]
pub(crate) struct Gunzip<R> {
    place: Place<R>,
    forgives: bool,
    damage: Option<io::Error>,
    passed_over: u64,
}

/// Where in the file reading stands.
#[derive(Debug)]
enum Place<R> {
    Member(Box<GzDecoder<R>>),
    Between(R),
    Behind(R),
    End,
}

impl<R: BufRead> Gunzip<R> {
    /// What cannot be unpacked is an error.
    pub(crate) fn strict(packed: R) -> Self {
        let place = Place::Between(packed);
        Self { place, forgives: false, damage: None, passed_over: 0 }
    }

    /// What cannot be unpacked is an end.
    pub(crate) fn forgiving(packed: R) -> Self {
        Self { forgives: true, ..Self::strict(packed) }
    }

    /// Why the data could not be unpacked to its end, once that is reached.
    pub(crate) fn damage(&self) -> Option<&io::Error> {
        self.damage.as_ref()
    }

    /// Bytes behind the last member, once the end is reached.
    pub(crate) fn passed_over(&self) -> u64 {
        self.passed_over
    }

    fn step(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            let next = match &mut self.place {
                Place::Member(member) => {
                    let read = member.read(out)?;
                    if read > 0 || out.is_empty() {
                        return Ok(read);
                    }
                    None
                }
                // The buffer may hold no more than the first byte of what follows.
                Place::Between(packed) => Some(packed.fill_buf()?.first().copied()),
                Place::Behind(packed) => {
                    let len = packed.fill_buf()?.len();
                    packed.consume(len);
                    self.passed_over += len as u64;
                    if len > 0 {
                        continue;
                    }
                    None
                }
                Place::End => return Ok(0),
            };
            self.place = match (std::mem::replace(&mut self.place, Place::End), next) {
                (Place::Member(member), _) => Place::Between(member.into_inner()),
                (Place::Between(packed), Some(Some(first))) if first == MAGIC[0] => {
                    Place::Member(Box::new(GzDecoder::new(packed)))
                }
                (Place::Between(packed), Some(Some(_))) => Place::Behind(packed),
                _ => Place::End,
            };
        }
    }
}

impl<R: BufRead> Read for Gunzip<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self.step(out) {
            Err(error) if self.forgives && is_damage(&error) => {
                self.damage = Some(error);
                self.place = Place::End;
                Ok(0)
            }
            other => other,
        }
    }
}

/// Whether an error says that the data is not whole, not that a device failed.
fn is_damage(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
    matches!(error.kind(), InvalidData | InvalidInput | UnexpectedEof)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::{BufReader, Write as _};

    fn packed(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    /// What is unpacked, whether the data was damaged, and the bytes passed over.
    fn unpacked(bytes: &[u8]) -> (Vec<u8>, bool, u64) {
        let mut reader = Gunzip::forgiving(BufReader::with_capacity(7, bytes));
        let mut text = Vec::new();
        reader.read_to_end(&mut text).unwrap();
        (text, reader.damage().is_some(), reader.passed_over())
    }

    #[test]
    fn members_and_padding_behind_them() {
        let both = [packed(b"one "), packed(b""), packed(b"two")].concat();
        assert_eq!(unpacked(&both), (b"one two".to_vec(), false, 0));
        let padded = [both.clone(), vec![0; 1000]].concat();
        assert_eq!(unpacked(&padded), (b"one two".to_vec(), false, 1000));
        let mut strict = Gunzip::strict(&padded[..]);
        assert_eq!(io::copy(&mut strict, &mut io::sink()).unwrap(), 7);
    }

    #[test]
    fn every_cut_gives_a_beginning_and_tells() {
        let text: Vec<u8> = (0..4000_u32).flat_map(|n| (n * n).to_le_bytes()).collect();
        let whole = packed(&text);
        for len in (1..whole.len()).step_by(97) {
            let (found, damaged, over) = unpacked(&whole[..len]);
            assert!(text.starts_with(&found) && damaged && over == 0, "{len}");
            assert!(io::copy(&mut Gunzip::strict(&whole[..len]), &mut io::sink()).is_err());
        }
        let mut wrong = whole.clone();
        *wrong.last_mut().unwrap() ^= 1;
        assert_eq!(unpacked(&wrong), (text, true, 0));
    }
}
