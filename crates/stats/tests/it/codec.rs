//! The V2 codec against the `hdrhistogram` crate, both ways.

use hdrhistogram::Histogram as Reference;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer, V2Serializer};
use plimsoll_stats::histogram::codec::{DecodeError, decode, encode_v2, encode_v2_compressed};
use plimsoll_stats::histogram::{Histogram, MAX_VALUE};
use proptest::prelude::*;

use crate::histogram::{both, reference, same_buckets, values};

fn their_v2(histogram: &Reference<u64>) -> Vec<u8> {
    let mut bytes = Vec::new();
    V2Serializer::new().serialize(histogram, &mut bytes).unwrap();
    bytes
}

fn their_compressed(histogram: &Reference<u64>) -> Vec<u8> {
    let mut bytes = Vec::new();
    V2DeflateSerializer::new().serialize(histogram, &mut bytes).unwrap();
    bytes
}

fn they_read(bytes: &[u8]) -> Reference<u64> {
    Deserializer::new().deserialize(&mut &bytes[..]).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn writes_the_references_bytes_and_reads_them(values in values()) {
        let (ours, theirs) = both(&values);
        let bytes = encode_v2(&ours);
        prop_assert_eq!(&bytes, &their_v2(&theirs));
        prop_assert!(decode(&bytes).unwrap().buckets().eq(ours.buckets()));
        prop_assert!(decode(&their_compressed(&theirs)).unwrap().buckets().eq(ours.buckets()));
        same_buckets(&ours, &they_read(&bytes))?;
        same_buckets(&ours, &they_read(&encode_v2_compressed(&ours)))?;
    }

    #[test]
    fn great_counts_survive(counts in prop::collection::vec(1_u64..1 << 55, 1..30)) {
        let mut ours = Histogram::new();
        for (n, &count) in counts.iter().enumerate() {
            ours.record_n((n as u64) << (n % 30), count);
        }
        let back = decode(&encode_v2_compressed(&ours)).unwrap();
        prop_assert!(back.buckets().eq(ours.buckets()));
        prop_assert_eq!(back.count(), ours.count());
    }
}

#[test]
fn bounds_after_decoding_are_those_of_the_outer_buckets() {
    let mut histogram = Histogram::new();
    histogram.record(1_000_000);
    histogram.record(7);
    let back = decode(&encode_v2(&histogram)).unwrap();
    assert_eq!((back.min(), back.max(), back.count()), (Some(7), Some(1_000_447), 2));
    let empty = decode(&encode_v2_compressed(&Histogram::new())).unwrap();
    assert!(empty.is_empty() && empty.min().is_none());
}

#[test]
fn a_wider_range_is_read_as_long_as_its_values_fit() {
    let mut wide = Reference::<u64>::new_with_bounds(1, u64::MAX / 4, 3).unwrap();
    wide.record(MAX_VALUE).unwrap();
    assert_eq!(decode(&their_v2(&wide)).unwrap().max(), Some(MAX_VALUE));
    wide.record(MAX_VALUE + 1).unwrap();
    assert!(matches!(decode(&their_v2(&wide)), Err(DecodeError::Range)));
}

#[test]
fn another_precision_or_unit_is_refused_with_both_named() {
    let two_digits = Reference::<u64>::new_with_bounds(1, MAX_VALUE, 2).unwrap();
    let error = decode(&their_compressed(&two_digits)).unwrap_err().to_string();
    assert!(error.starts_with("expected significant digits 3, found 2"), "{error}");
    let micros = Reference::<u64>::new_with_bounds(1000, MAX_VALUE, 3).unwrap();
    let error = decode(&their_v2(&micros)).unwrap_err().to_string();
    assert!(error.starts_with("expected lowest discernible value 1, found 1000"), "{error}");
    let mut scaled = their_v2(&reference());
    scaled[32..40].copy_from_slice(&0.001_f64.to_be_bytes());
    let error = decode(&scaled).unwrap_err().to_string();
    assert!(error.starts_with("expected unit ratio 1, found 0.001"), "{error}");
    let mut shifted = their_v2(&reference());
    shifted[11] = 1;
    assert!(matches!(decode(&shifted), Err(DecodeError::Layout { .. })));
}

#[test]
fn damage_is_told_apart() {
    let mut histogram = Histogram::new();
    (0..1000).for_each(|n| histogram.record(n * n));
    for bytes in [encode_v2(&histogram), encode_v2_compressed(&histogram)] {
        for cut in 0..bytes.len() {
            assert!(matches!(decode(&bytes[..cut]), Err(DecodeError::Cut { .. })), "at {cut}");
        }
        let mut long = bytes.clone();
        long.push(0);
        assert!(matches!(decode(&long), Err(DecodeError::Long { .. })));
        let mut other = bytes;
        other[3] ^= 0xff;
        assert!(matches!(decode(&other), Err(DecodeError::Cookie { .. })));
    }
}

#[test]
fn a_bomb_is_not_inflated() {
    // 64 MB of zeros in 64 KB: inflation ends at the longest valid payload.
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    let zeros = vec![0_u8; 1 << 20];
    for _ in 0..64 {
        std::io::Write::write_all(&mut encoder, &zeros).unwrap();
    }
    let stream = encoder.finish().unwrap();
    let mut bytes = 0x1c84_9314_u32.to_be_bytes().to_vec();
    bytes.extend_from_slice(&u32::try_from(stream.len()).unwrap().to_be_bytes());
    bytes.extend_from_slice(&stream);
    assert!(matches!(decode(&bytes), Err(DecodeError::Cookie { found: 0 })));
}

#[test]
fn counts_that_overflow_and_skips_beyond_the_layout_are_refused() {
    let head = |payload: &[u8]| {
        let mut bytes = encode_v2(&Histogram::new())[..40].to_vec();
        bytes[4..8].copy_from_slice(&u32::try_from(payload.len()).unwrap().to_be_bytes());
        bytes.extend_from_slice(payload);
        bytes
    };
    // i64::MAX three times.
    let most = [0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
    assert!(matches!(decode(&head(&most.repeat(3))), Err(DecodeError::Sum)));
    // i64::MIN empty buckets.
    assert!(matches!(decode(&head(&[0xff; 9])), Err(DecodeError::Range)));
    assert!(matches!(decode(&head(&vec![0; 40_000])), Err(DecodeError::Range)));
    // An unfinished number.
    assert!(matches!(decode(&head(&[0x80])), Err(DecodeError::Cut { .. })));
}
