//! Cache Digests: keys, bits and documents as Squid has them; shares of false hits as Bloom has.

use std::collections::BTreeSet;

use plimsoll_cache::protocol::digest::{
    BITS_PER_ENTRY, CONTROL_BYTES, Digest, Key, expected_false_hits, mask_bytes,
};
use proptest::prelude::*;

fn url(number: u32) -> Vec<u8> {
    format!("http://origin.example/object/{number}").into_bytes()
}

fn document(digest: &Digest) -> Vec<u8> {
    let mut bytes = Vec::new();
    digest.encode(&mut bytes);
    bytes
}

fn filled(capacity: u32, entries: u32) -> Digest {
    let mut digest = Digest::new(capacity, BITS_PER_ENTRY).unwrap();
    (0..entries).for_each(|number| digest.insert(Key::of(&url(number))));
    digest
}

/// MD5 by Python's hashlib.
#[test]
fn a_key_is_the_md5_of_the_method_and_the_url() {
    let key = Key::of(&url(1)).0.map(|byte| format!("{byte:02x}")).concat();
    assert_eq!(key, "879308790f004cf1bd9b93be5d86f71a");
    assert_ne!(Key::of(&url(1)), Key::of_method(2, &url(1)));
}

#[test]
fn a_mask_is_as_long_as_squid_makes_it() {
    let cases =
        [(452, 5, 283), (1, 1, 1), (8, 1, 1), (9, 1, 2), (8, 5, 5), (1_000_000, 5, 625_000)];
    for (capacity, bits, bytes) in cases {
        assert_eq!(mask_bytes(capacity, bits), bytes);
        assert_eq!(Digest::new(capacity, bits).unwrap().mask().len() as u64, bytes);
    }
    for (capacity, bits) in [(0, 5), (5, 0), (1 << 31, 1), (u32::MAX, 255)] {
        let error = Digest::new(capacity, bits).unwrap_err();
        assert_eq!((error.capacity, error.bits_per_entry), (capacity, bits));
    }
}

#[test]
fn a_document_has_squids_control_block() {
    let mut digest = Digest::new(452, 5).unwrap();
    digest.insert(Key([0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 8, 0xd7, 0, 0, 8, 0xd8]));
    let bytes = document(&digest);
    assert_eq!(bytes.len(), CONTROL_BYTES + 283);
    let control = [0, 5, 0, 3, 0, 0, 1, 0xc4, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0x1b, 5, 4];
    assert_eq!(bytes[..22], control);
    assert!(bytes[22..128].iter().all(|&byte| byte == 0));
    // Bits 0, 9, 2263 (the last of 2264) and 2264, which is 0 again.
    let set: Vec<(usize, u8)> =
        bytes[128..].iter().copied().enumerate().filter(|&(_, byte)| byte != 0).collect();
    assert_eq!(set, [(0, 1), (1, 2), (282, 0x80)]);
    assert_eq!(Digest::decode(&bytes), Ok(digest));
}

#[test]
fn what_is_no_document_is_refused_with_the_place() {
    let good = document(&filled(20, 3));
    for end in 0..good.len() {
        assert!(Digest::decode(&good[..end]).is_err(), "{end} bytes");
    }
    let with = |at: usize, bytes: &[u8]| {
        let mut document = good.clone();
        document[at..at + bytes.len()].copy_from_slice(bytes);
        Digest::decode(&document).unwrap_err().to_string()
    };
    assert_eq!(with(0, &[0, 2]), "expected a digest's version of at least 3 at byte 0, found 2");
    let least = "expected a digest's least version of at most 5 and its own at byte 2, found";
    assert_eq!(with(2, &[0, 6]), format!("{least} 6"));
    assert_eq!(with(0, &[0, 3, 0, 4]), format!("{least} 4"));
    let capacity = "expected a digest's capacity of 1 to 2147483647 at byte 4, found";
    assert_eq!(with(4, &[0; 4]), format!("{capacity} 0"));
    assert_eq!(with(4, &[0x80, 0, 0, 0]), format!("{capacity} 2147483648"));
    assert_eq!(with(4, &[0, 0, 0, 30]), "expected a digest's mask of 19 at byte 16, found 13");
    assert_eq!(with(20, &[0]), "expected a digest's mask of 0 at byte 16, found 13");
    assert_eq!(with(21, &[5]), "expected a number of hashes of 4 at byte 21, found 5");
    // 2 GiB are claimed, of which there are 13 bytes.
    let error = with(4, &[0x33, 0x33, 0x33, 0x33]);
    assert_eq!(error, "expected a digest's mask of 536870912 at byte 16, found 13");
    let mut claimed = good.clone();
    claimed[4..8].copy_from_slice(&[0x33, 0x33, 0x33, 0x33]);
    claimed[16..20].copy_from_slice(&536_870_912_u32.to_be_bytes());
    let error = Digest::decode(&claimed).unwrap_err().to_string();
    assert_eq!(error, "expected a digest's mask of 13 at byte 16, found 536870912");
    let long = [&good[..], &[0]].concat();
    let error = Digest::decode(&long).unwrap_err().to_string();
    assert_eq!(error, "expected a digest's mask of 14 at byte 16, found 13");
}

#[test]
fn false_hits_are_as_frequent_as_the_formula_says() {
    // At full load of 5 bits an entry: (1 - e^(-4/5))^4.
    let full = expected_false_hits(mask_bytes(1_000_000, 5), 1_000_000);
    assert!((full - 0.091_95).abs() < 5e-5, "{full}");
    for entries in [1_000, 2_500, 5_000, 10_000] {
        let digest = filled(5_000, entries);
        assert!((0..entries).all(|number| digest.contains(Key::of(&url(number)))));
        let others = 40_000;
        let hits = (0..others).filter(|number| digest.contains(Key::of(&url(1_000_000 + number))));
        let found = hits.count() as f64 / f64::from(others);
        let expected = expected_false_hits(digest.mask().len() as u64, entries.into());
        // Five standard deviations of a share among so many.
        let slack = 5.0 * (expected * (1.0 - expected) / f64::from(others)).sqrt();
        assert!((digest.false_hits() - expected).abs() < 0.05 * expected + 1e-4, "{entries}");
        assert!((found - digest.false_hits()).abs() < slack, "{entries}: {found}, {expected}");
    }
}

#[test]
fn an_emptied_digest_has_nothing() {
    let mut digest = filled(100, 100);
    assert_eq!((digest.count(), digest.capacity(), digest.bits_per_entry()), (100, 100, 5));
    digest.clear();
    assert_eq!(digest, Digest::new(100, 5).unwrap());
    assert!(digest.bits_set() == 0 && digest.false_hits() == 0.0);
}

proptest! {
    /// Against a set of bit numbers, each worked out from its bytes.
    #[test]
    fn bits_are_those_of_a_plain_set(
        capacity in 1..300_u32,
        bits_per_entry in 1..20_u8,
        keys in prop::collection::vec(any::<[u8; 16]>(), 0..60),
        others in prop::collection::vec(any::<[u8; 16]>(), 0..60),
    ) {
        let mut digest = Digest::new(capacity, bits_per_entry).unwrap();
        let size = (capacity as usize * bits_per_entry as usize).div_ceil(8) * 8;
        let numbers = |key: &[u8; 16]| -> Vec<usize> {
            let words = key.chunks(4);
            let word = |word: &[u8]| word.iter().fold(0, |sum, &byte| sum * 256 + byte as usize);
            words.map(|bytes| word(bytes) % size).collect()
        };
        let mut set = BTreeSet::new();
        for key in &keys {
            digest.insert(Key(*key));
            set.extend(numbers(key));
        }
        prop_assert_eq!(digest.bits_set(), set.len() as u64);
        for number in 0..size {
            let there = digest.mask()[number / 8] >> (number % 8) & 1 == 1;
            prop_assert_eq!(there, set.contains(&number));
        }
        for key in keys.iter().chain(&others) {
            let there = numbers(key).iter().all(|number| set.contains(number));
            prop_assert_eq!(digest.contains(Key(*key)), there);
        }
        prop_assert_eq!(Digest::decode(&document(&digest)), Ok(digest));
    }
}
