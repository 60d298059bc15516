//! Header blocks as RFC 7541, appendix C, gives them, and what breaks its rules.

use super::*;
use crate::http2::hpack::encode::{self, Literal};
use proptest::prelude::*;

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let digit = |byte: u8| u8::try_from(char::from(byte).to_digit(16).unwrap()).unwrap();
    digits.chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}

fn read(decoder: &mut Decoder, block: &[u8]) -> Result<Section, Malformed> {
    decoder.read(block, &mut Vec::new())
}

/// Name and value lengths of the table, the youngest first.
fn lengths(decoder: &Decoder) -> Vec<(usize, usize)> {
    decoder.entries.iter().map(|entry| (entry.name_len, entry.value_len)).collect()
}

/// Makes the table as small as the appendix has it: 256 bytes.
fn small() -> Decoder {
    let mut decoder = Decoder::default();
    read(&mut decoder, &[0x3f, 0xe1, 0x01]).unwrap();
    assert_eq!(decoder.shrunk, TABLE_SIZE - 256);
    decoder
}

#[test]
fn answers_are_those_of_the_appendix() {
    // RFC 7541, C.5 (not coded) and C.6 (coded): the same three answers, a table of 256 bytes.
    let plain = [
        "4803333032580770726976617465611d4d6f6e2c203231204f63742032303133\
         2032303a31333a323120474d546e1768747470733a2f2f7777772e6578616d706c652e636f6d",
        "4803333037c1c0bf",
        "88c1611d4d6f6e2c203231204f637420323031332032303a31333a323220474d54c05a04677a69707738666f6f\
         3d4153444a4b48514b425a584f5157454f50495541585157454f49553b206d61782d6167653d333630303b2076\
         657273696f6e3d31",
    ];
    let coded = [
        "488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff6e919d29ad171863c78f\
         0b97c8e9ae82ae43d3",
        "4883640effc1c0bf",
        "88c16196d07abe941054d444a8200595040b8166e084a62d1bffc05a839bd9ab77ad94e7821dd7f2e6c7b335df\
         dfcd5b3960d5af27087f3672c1ab270fb5291f9587316065c003ed4ee5b1063d5007",
    ];
    for blocks in [plain, coded] {
        let mut decoder = small();
        let section = read(&mut decoder, &bytes(blocks[0])).unwrap();
        assert_eq!((section.status, section.malformed), (Some(302), false));
        assert_eq!(decoder.size, 222);
        // The first is evicted by the fourth.
        let section = read(&mut decoder, &bytes(blocks[1])).unwrap();
        assert_eq!((section.status, section.malformed), (Some(307), false));
        assert_eq!(lengths(&decoder), [(7, 3), (8, 23), (4, 29), (13, 7)]);
        assert_eq!(decoder.size, 222);
        let section = read(&mut decoder, &bytes(blocks[2])).unwrap();
        assert_eq!((section.status, section.malformed), (Some(200), false));
        assert_eq!(lengths(&decoder), [(10, 56), (16, 4), (4, 29)]);
        assert_eq!(decoder.size, 215);
    }
}

#[test]
fn literals_are_those_of_the_appendix() {
    // C.2.1 to C.2.4: the first is added, the others are not; none is an answer's.
    let mut decoder = Decoder::default();
    read(&mut decoder, &bytes("400a637573746f6d2d6b65790d637573746f6d2d686561646572")).unwrap();
    assert_eq!((lengths(&decoder), decoder.size), (vec![(10, 13)], 55));
    let section = read(&mut decoder, &bytes("040c2f73616d706c652f70617468")).unwrap();
    assert!(section.malformed, "an answer has no :path");
    read(&mut decoder, &bytes("100870617373776f726406736563726574")).unwrap();
    assert!(read(&mut decoder, &[0x82]).unwrap().malformed, "nor a :method");
    assert_eq!(decoder.entries.len(), 1);
}

#[test]
fn what_breaks_the_rules_is_refused() {
    for (block, why) in [
        (&[0x80][..], "index 0"),
        (&[0xbe], "an index beyond the table"),
        (&[0x7f, 0x00], "a name beyond the table"),
        (&[0x88, 0x20], "a new size after a field"),
        (&[0x3f, 0xe2, 0x1f], "a size of 4097"),
        (&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f], "an integer without bound"),
        (&[0xff], "an integer that ends too soon"),
        (&[0x08], "a field without a value"),
        (&[0x08, 0x03, b'2', b'0'], "a value that ends too soon"),
        (&[0x08, 0x81, 0x00], "a coded string that is padded by zeros"),
        (&[0x00, 0x01, b'a'], "a name without a value"),
    ] {
        assert_eq!(read(&mut Decoder::default(), block), Err(Malformed), "{why}");
    }
    assert!(read(&mut Decoder::default(), &[0x3f, 0xe1, 0x1f]).is_ok(), "a size of 4096");
}

#[test]
fn a_wrong_section_is_told_from_a_wrong_block() {
    let fields = |list: &[(&str, &str)]| {
        let mut block = Vec::new();
        for (name, value) in list {
            encode::field(name, value.as_bytes(), Literal::Plain, &mut block);
        }
        read(&mut Decoder::default(), &block).unwrap()
    };
    let good = fields(&[(":status", "200"), ("content-length", "12"), ("x", "y")]);
    assert_eq!((good.status, good.length, good.malformed), (Some(200), Some(12), false));
    assert!(
        !fields(&[(":status", "200"), ("content-length", "1"), ("content-length", "1")]).malformed
    );
    for wrong in [
        &[("x", "y"), (":status", "200")][..],
        &[(":status", "200"), (":status", "200")],
        &[(":status", "20")],
        &[(":status", "2000")],
        &[(":status", "099")],
        &[(":status", "+20")],
        &[(":status", "200"), (":path", "/")],
        &[(":status", "200"), (":unknown", "")],
        &[(":status", "200"), ("Server", "x")],
        &[(":status", "200"), ("", "x")],
        &[(":status", "200"), ("a b", "x")],
        &[(":status", "200"), ("x", "a\r\nb")],
        &[(":status", "200"), ("connection", "close")],
        &[(":status", "200"), ("transfer-encoding", "chunked")],
        &[(":status", "200"), ("content-length", "")],
        &[(":status", "200"), ("content-length", "-1")],
        &[(":status", "200"), ("content-length", "1"), ("content-length", "2")],
    ] {
        assert!(fields(wrong).malformed, "{wrong:?}");
    }
}

#[test]
fn an_equal_block_means_the_same_only_while_the_table_does() {
    let mut decoder = Decoder::default();
    let status = |value: &[u8]| {
        let mut block = Vec::new();
        encode::field(":status", value, Literal::Added, &mut block);
        block
    };
    read(&mut decoder, &status(b"201")).unwrap();
    let youngest = [0xbe];
    for _ in 0..3 {
        assert_eq!(read(&mut decoder, &youngest).unwrap().status, Some(201));
    }
    read(&mut decoder, &status(b"503")).unwrap();
    assert_eq!(read(&mut decoder, &youngest).unwrap().status, Some(503));
    read(&mut decoder, &[0x20]).unwrap();
    assert_eq!(read(&mut decoder, &youngest), Err(Malformed), "the table has been emptied");
}

#[test]
fn what_is_added_to_a_table_that_is_too_small_changes_nothing_but_empties_it() {
    let mut decoder = Decoder::default();
    let mut block = vec![0x88];
    encode::field("server", b"nginx", Literal::Added, &mut block);
    read(&mut decoder, &block).unwrap();
    assert_eq!((decoder.entries.len(), decoder.same.len()), (1, 0));
    // 5000 bytes are more than the table: it is empty then.
    let mut large = vec![0x88];
    encode::field("x", &[b'!'; 5000], Literal::Added, &mut large);
    read(&mut decoder, &large).unwrap();
    assert_eq!((decoder.entries.len(), decoder.size), (0, 0));
    read(&mut decoder, &[&[0x20], &block[..]].concat()).unwrap();
    assert!(decoder.same.is_empty(), "a new size is not the same twice");
    for _ in 0..2 {
        assert_eq!(read(&mut decoder, &block).unwrap().status, Some(200));
        assert_eq!((decoder.entries.len(), &decoder.same), (0, &block));
    }
}

/// The table as section 4 describes it, with its texts.
#[derive(Default)]
struct Plain {
    entries: Vec<(String, Vec<u8>)>,
}

impl Plain {
    fn add(&mut self, name: &str, value: &[u8]) {
        self.entries.insert(0, (name.to_owned(), value.to_vec()));
        let mut size = 0;
        self.entries.retain(|(name, value)| {
            size += name.len() + value.len() + 32;
            size <= TABLE_SIZE
        });
    }
}

proptest! {
    /// Random fields, added or not, by name, by index, by literal: the table stays what it would be
    /// with its texts, and the status is the one that was written last.
    #[test]
    fn the_table_is_kept(
        fields in proptest::collection::vec(
            ("[a-z-]{1,20}", proptest::collection::vec(0x20u8..0x7f, 0..400), any::<bool>()), 1..60,
        ),
        status in 100u16..1000,
        picks in proptest::collection::vec(any::<proptest::sample::Index>(), 0..20),
    ) {
        let (mut decoder, mut plain) = (Decoder::default(), Plain::default());
        for (name, value, add) in &fields {
            let mut block = Vec::new();
            let literal = if *add { Literal::Added } else { Literal::Plain };
            let status = status.to_string();
            encode::field(":status", status.as_bytes(), Literal::Plain, &mut block);
            if *add && !encode::is_known(name, value) {
                plain.add(name, value);
            }
            encode::field(name, value, literal, &mut block);
            let section = read(&mut decoder, &block).unwrap();
            prop_assert_eq!(section.status.map(|status| status.to_string()), Some(status));
        }
        let expected: Vec<(usize, usize)> =
            plain.entries.iter().map(|(name, value)| (name.len(), value.len())).collect();
        prop_assert_eq!(lengths(&decoder), expected);
        for pick in picks {
            let index = pick.index(TABLE_SIZE / 32);
            let mut block = Vec::new();
            encode::added(index, &mut block);
            prop_assert_eq!(read(&mut decoder, &block).is_ok(), index < plain.entries.len());
        }
    }

    #[test]
    fn any_bytes_get_an_answer(blocks in proptest::collection::vec(
        proptest::collection::vec(any::<u8>(), 0..300), 0..6,
    )) {
        let mut decoder = Decoder::default();
        for block in blocks {
            if read(&mut decoder, &block).is_err() {
                break;
            }
            let size: usize = decoder.entries.iter().map(Field::size).sum();
            prop_assert_eq!(size, decoder.size);
            prop_assert!(size <= TABLE_SIZE);
        }
    }
}
