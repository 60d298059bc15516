//! The Huffman code of header strings (RFC 7541, section 5.2 and appendix B).
//!
//! The code is canonical: sorted by length and then by symbol, codes ascend by one. Lengths are
//! therefore all that has to be written down; codes and the tables for decoding are made from them
//! when this is compiled.

use super::Malformed;

/// Bits of the code of each byte, and of the end-of-string symbol.
#[rustfmt::skip]
const LENGTHS: [u8; 257] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28,
    28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,
    5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
    13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
    7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
    15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5,
    6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
    20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
    24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
    22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23,
    21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
    19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
    20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
    26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
    30,
];

const SHORTEST: usize = 5;
const LONGEST: usize = 30;
/// The end-of-string symbol: never sent but for its first bits, as padding.
const END: u16 = 256;

struct Tables {
    codes: [u32; 257],
    /// Symbols in the order of their codes.
    symbols: [u16; 257],
    /// For each length: its first code, and where its symbols begin.
    first: [u32; LONGEST + 1],
    begins: [u16; LONGEST + 1],
    /// For each length: the first word of 32 bits that begins with a longer code.
    limit: [u64; LONGEST + 1],
    /// For each first byte: the length and the symbol of a code of at most 8 bits, else 0.
    short: [u16; 256],
}

const TABLES: Tables = tables();

#[expect(clippy::cast_possible_truncation, reason = "symbols and lengths are below 2^9")]
const fn tables() -> Tables {
    let mut made = Tables {
        codes: [0; 257],
        symbols: [0; 257],
        first: [0; LONGEST + 1],
        begins: [0; LONGEST + 1],
        limit: [0; LONGEST + 1],
        short: [0; 256],
    };
    let (mut code, mut count, mut length) = (0u32, 0, SHORTEST);
    while length <= LONGEST {
        made.first[length] = code;
        made.begins[length] = count as u16;
        let mut symbol = 0;
        while symbol < 257 {
            if LENGTHS[symbol] as usize == length {
                made.codes[symbol] = code;
                made.symbols[count] = symbol as u16;
                if length <= 8 {
                    let spare = 8 - length;
                    let mut at = (code as usize) << spare;
                    let end = at + (1 << spare);
                    while at < end {
                        made.short[at] = (length as u16) << 8 | symbol as u16;
                        at += 1;
                    }
                }
                count += 1;
                code += 1;
            }
            symbol += 1;
        }
        made.limit[length] = (code as u64) << (32 - length);
        code <<= 1;
        length += 1;
    }
    made
}

/// How many bytes a string takes when it is coded.
pub(super) fn coded_len(text: &[u8]) -> usize {
    let bits: usize = text.iter().map(|&byte| usize::from(LENGTHS[usize::from(byte)])).sum();
    bits.div_ceil(8)
}

/// Appends a coded string.
pub(super) fn encode(text: &[u8], out: &mut Vec<u8>) {
    let (mut word, mut bits) = (0u64, 0u32);
    for &byte in text {
        let length = u32::from(LENGTHS[usize::from(byte)]);
        word = word << length | u64::from(TABLES.codes[usize::from(byte)]);
        bits += length;
        while bits >= 8 {
            bits -= 8;
            out.push(low_byte(word >> bits));
        }
    }
    if bits > 0 {
        out.push(low_byte(word << (8 - bits)) | (0xff >> bits));
    }
}

fn low_byte(word: u64) -> u8 {
    word.to_le_bytes()[0]
}

/// Appends the string that `coded` stands for.
///
/// # Errors
/// [`Malformed`]: the end-of-string symbol, padding of 8 bits or more, or that is not all ones
/// (section 5.2).
pub(super) fn decode(coded: &[u8], out: &mut Vec<u8>) -> Result<(), Malformed> {
    // Bits that are read and not used stand at the top of the word; below them are zeros.
    let (mut word, mut bits) = (0u64, 0u32);
    let mut rest = coded.iter();
    loop {
        while bits <= 56 {
            let Some(&byte) = rest.next() else { break };
            word |= u64::from(byte) << (56 - bits);
            bits += 8;
        }
        let (symbol, length) = next(word);
        if length > bits {
            break;
        }
        let Ok(byte) = u8::try_from(symbol) else { return Err(Malformed) };
        out.push(byte);
        word <<= length;
        bits -= length;
    }
    let padded = bits < 8 && word.leading_ones() >= bits;
    if padded { Ok(()) } else { Err(Malformed) }
}

/// The symbol at the top of a word, and the bits of its code.
#[inline]
fn next(word: u64) -> (u16, u32) {
    let short = TABLES.short[usize::from(word.to_be_bytes()[0])];
    if short != 0 {
        return (short & 0xff, u32::from(short >> 8));
    }
    let top = word >> 32;
    let mut length = 9;
    while length < LONGEST && top >= TABLES.limit[length] {
        length += 1;
    }
    let code = top >> (32 - length);
    let at = code - u64::from(TABLES.first[length]) + u64::from(TABLES.begins[length]);
    let symbol = usize::try_from(at).ok().and_then(|at| TABLES.symbols.get(at));
    // Lengths are at most 30.
    (symbol.copied().unwrap_or(END), u32::try_from(length).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decoded(coded: &[u8]) -> Result<Vec<u8>, Malformed> {
        let mut out = Vec::new();
        decode(coded, &mut out).map(|()| out)
    }

    #[test]
    fn codes_are_those_of_the_appendix() {
        // RFC 7541, appendix B: some of each length.
        for (symbol, code, length) in [
            (48, 0x0, 5),
            (32, 0x14, 6),
            (66, 0x5d, 7),
            (38, 0xf8, 8),
            (33, 0x3f8, 10),
            (124, 0x7fc, 11),
            (35, 0xffa, 12),
            (0, 0x1ff8, 13),
            (94, 0x3ffc, 14),
            (123, 0x7ffe, 15),
            (92, 0x7fff0, 19),
            (128, 0xfffe6, 20),
            (153, 0x1f_ffdc, 21),
            (129, 0x3f_ffd2, 22),
            (1, 0x7f_ffd8, 23),
            (9, 0xff_ffea, 24),
            (199, 0x1ff_ffec, 25),
            (192, 0x3ff_ffe0, 26),
            (203, 0x7ff_ffde, 27),
            (2, 0xfff_ffe2, 28),
            (249, 0xfff_fffe, 28),
            (22, 0x3fff_fffe, 30),
            (256, 0x3fff_ffff, 30),
        ] {
            assert_eq!(TABLES.codes[symbol], code, "symbol {symbol}");
            assert_eq!(LENGTHS[symbol], length, "symbol {symbol}");
        }
    }

    #[test]
    fn padding_is_less_than_a_byte_of_ones() {
        assert_eq!(decoded(b"").unwrap(), b"");
        // `0` is 00000, then 111.
        assert_eq!(decoded(&[0x07]).unwrap(), b"0");
        assert_eq!(decoded(&[0x00]), Err(Malformed), "padded by zeros");
        assert_eq!(decoded(&[0x07, 0xff]), Err(Malformed), "a byte of padding");
        assert_eq!(decoded(&[0xff]), Err(Malformed));
        assert_eq!(decoded(&[0xff, 0xff, 0xff, 0xff]), Err(Malformed), "end of string");
        assert_eq!(decoded(&[0xff, 0xff, 0xff, 0xfc, 0x07]), Err(Malformed), "end of string");
    }

    proptest! {
        #[test]
        fn what_is_coded_reads_back(text in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut coded = Vec::new();
            encode(&text, &mut coded);
            prop_assert_eq!(coded.len(), coded_len(&text));
            prop_assert_eq!(decoded(&coded).unwrap(), text);
        }

        #[test]
        fn what_reads_is_what_would_be_coded(
            coded in proptest::collection::vec(any::<u8>(), 0..24),
        ) {
            if let Ok(text) = decoded(&coded) {
                let mut again = Vec::new();
                encode(&text, &mut again);
                prop_assert_eq!(again, coded);
            }
        }
    }
}
