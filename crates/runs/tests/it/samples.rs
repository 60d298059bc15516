//! `artifacts/samples.bin`: every request comes back; a torn end costs a block.

use std::fs;
use std::num::NonZeroU128;
use std::path::Path;

use plimsoll_runs::names::NO_NAME;
use plimsoll_runs::{
    Ended, ErrorKind, Phase, RunError, RunWriter, Sample, Sink as _, TraceId, samples,
};
use proptest::prelude::*;

use crate::made;

fn writer(root: &Path) -> RunWriter {
    let mut meta = made::meta("a", 0, 10);
    meta.load.as_mut().unwrap().samples = true;
    RunWriter::create(root, &meta).unwrap()
}

fn read(file: &Path) -> Result<Vec<Sample>, RunError> {
    samples::SampleReader::open(file)?.collect()
}

/// An ordinary sample: the n-th request of 10,000 a second.
pub(crate) fn ordinary(n: u64) -> Sample {
    let due_ns = n * 100_000;
    Sample {
        due_ns,
        sent_ns: due_ns + 20_000 + n % 7 * 1000,
        first_byte_ns: due_ns + 180_000 + n % 13 * 3000,
        done_ns: due_ns + 200_000 + n % 13 * 3000,
        bytes: 1024,
        request: u32::try_from(n % 3).unwrap(),
        name: if n % 5 == 4 { NO_NAME } else { u16::try_from(n % 3).unwrap() },
        connection: u32::try_from(n % 64).unwrap(),
        status: if n % 100 == 99 { 503 } else { 200 },
        phase: Phase::Measured,
        error: (n % 100 == 99).then_some(ErrorKind::Status),
        trace: (n % 100 == 7).then(|| TraceId(NonZeroU128::new(u128::from(n) << 64 | 9).unwrap())),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_break_the_reader(
        mut bytes in prop::collection::vec(any::<u8>(), 0..400),
        header in any::<bool>(),
        sound in any::<bool>(),
    ) {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("samples.bin");
        if header {
            let mut whole = b"PLSAMPLE\x03\0\0\0\0\0\0\0".to_vec();
            if sound {
                // A block whose checksum is right and whose records are anything.
                whole.extend(u32::try_from(bytes.len()).unwrap().to_le_bytes());
                whole.extend(1000_u32.to_le_bytes());
                whole.extend(samples::checksum(&bytes).to_le_bytes());
            }
            whole.append(&mut bytes);
            bytes = whole;
        }
        fs::write(&file, bytes).unwrap();
        // Any outcome but a panic or an endless reading.
        let _ = read(&file);
    }
}

#[test]
fn many_samples_are_small_and_in_order() {
    let root = tempfile::tempdir().unwrap();
    let mut writer = writer(root.path());
    let all: Vec<Sample> = (0..100_000).map(ordinary).collect();
    for some in all.chunks(512) {
        writer.samples(some).unwrap();
    }
    let run = writer.finish(made::end(Ended::Complete)).unwrap();
    let file = run.path().join("artifacts/samples.bin");
    assert_eq!(read(&file).unwrap(), all);
    let bytes = fs::metadata(&file).unwrap().len();
    assert!(bytes < 20 * 100_000, "{bytes} bytes for 100,000 samples");
}

#[test]
fn without_samples_there_is_no_file() {
    let root = tempfile::tempdir().unwrap();
    let mut writer = RunWriter::create(root.path(), &made::meta("a", 0, 1)).unwrap();
    writer.samples(&[ordinary(1)]).unwrap();
    let run = writer.finish(made::end(Ended::Complete)).unwrap();
    assert!(run.samples().unwrap().is_none());
    assert!(!run.path().join("artifacts/samples.bin").exists());
}

#[test]
fn torn_anywhere_it_gives_the_whole_blocks_before() {
    let root = tempfile::tempdir().unwrap();
    let mut writer = writer(root.path());
    let all: Vec<Sample> = (0..20).map(ordinary).collect();
    // Three blocks: one a second.
    for (k, some) in all.chunks(8).enumerate() {
        writer.samples(some).unwrap();
        writer.interval(&made::second(k as u64)).unwrap();
    }
    let file = writer.path().join("artifacts/samples.bin");
    let whole = fs::read(&file).unwrap();
    let torn = root.path().join("torn.bin");
    let mut ends = std::collections::BTreeMap::new();
    for cut in 0..=whole.len() {
        fs::write(&torn, &whole[..cut]).unwrap();
        let found = read(&torn).unwrap();
        assert!(all.starts_with(&found), "cut at byte {cut}");
        *ends.entry(found.len()).or_insert(0) += 1;
    }
    assert_eq!(ends.keys().copied().collect::<Vec<_>>(), [0, 8, 16, 20]);
    assert_eq!(ends[&20], 1, "only the whole file has all");
    // A block that was written over with zeros, or with one bit flipped, ends the file.
    for (at, bit) in [(whole.len() - 1, 1), (whole.len() - 9, 0x80)] {
        let mut damaged = whole.clone();
        damaged[at] ^= bit;
        fs::write(&torn, &damaged).unwrap();
        assert_eq!(read(&torn).unwrap().len(), 16);
    }
    let mut zeros = whole.clone();
    zeros.resize(whole.len() + 4096, 0);
    fs::write(&torn, &zeros).unwrap();
    assert_eq!(read(&torn).unwrap(), all);
}

#[test]
fn other_files_and_later_versions_are_refused() {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("samples.bin");
    fs::write(&file, [b'x'; 100]).unwrap();
    assert!(matches!(read(&file), Err(RunError::Damaged { .. })));
    fs::write(&file, b"PLSAMPLE\x04\0\0\0\0\0\0\0").unwrap();
    assert!(matches!(read(&file), Err(RunError::Format { found: 4, known: 3, .. })));
}

/// A file of version 1, by hand: an answer of 404, and a request that was never sent.
#[test]
fn what_the_first_version_wrote_can_still_be_read() {
    let (measured, sent, first, done) = (1_u16, 1 << 5, 1 << 6, 1 << 7);
    let (same_status, same_request) = (1 << 8, 1 << 9);
    let failed = |kind: ErrorKind| (kind as u16 + 1) << 1;
    let mut payload = Vec::new();
    let flags = measured | failed(ErrorKind::Status) | sent | first | done;
    payload.extend(flags.to_le_bytes());
    // Due at 50, sent 1 later, answered 2 after that, done 4 after due: zigzag; then bytes,
    // connection, 404 in two bytes of LEB128, request.
    payload.extend([100, 2, 4, 8, 99, 3, 0x94, 0x03, 7]);
    let flags = failed(ErrorKind::Cut) | done | same_status | same_request;
    payload.extend(flags.to_le_bytes());
    payload.extend([20, 0, 0, 0]);
    let mut bytes = b"PLSAMPLE\x01\0\0\0\0\0\0\0".to_vec();
    bytes.extend(u32::try_from(payload.len()).unwrap().to_le_bytes());
    bytes.extend(2_u32.to_le_bytes());
    bytes.extend(samples::checksum(&payload).to_le_bytes());
    bytes.extend(payload);
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("samples.bin");
    fs::write(&file, bytes).unwrap();
    let answered = Sample {
        due_ns: 50,
        sent_ns: 51,
        first_byte_ns: 53,
        done_ns: 54,
        bytes: 99,
        request: 7,
        name: NO_NAME,
        connection: 3,
        status: 404,
        phase: Phase::Measured,
        error: Some(ErrorKind::Status),
        trace: None,
    };
    let cut = Sample {
        due_ns: 60,
        sent_ns: 0,
        first_byte_ns: 0,
        done_ns: 60,
        bytes: 0,
        connection: 0,
        phase: Phase::WarmUp,
        error: Some(ErrorKind::Cut),
        ..answered
    };
    assert_eq!(read(&file).unwrap(), [answered, cut]);
}

/// One of version 3 in which nothing was recorded is another only in its number.
#[test]
fn what_the_second_version_wrote_can_still_be_read() {
    let root = tempfile::tempdir().unwrap();
    let mut writer = writer(root.path());
    let all: Vec<Sample> = (0..50).map(|n| Sample { trace: None, ..ordinary(n) }).collect();
    writer.samples(&all).unwrap();
    let run = writer.finish(made::end(Ended::Complete)).unwrap();
    let file = run.path().join("artifacts/samples.bin");
    let mut bytes = fs::read(&file).unwrap();
    assert_eq!(bytes[8], 3);
    bytes[8] = 2;
    fs::write(&file, bytes).unwrap();
    assert_eq!(read(&file).unwrap(), all);
}

/// A table of Parquet, read by the reader of its own library, says what the lines of JSON say: in
/// more rows than one group has.
#[cfg(feature = "parquet")]
#[test]
fn a_table_of_parquet_has_what_the_lines_have() {
    use parquet::file::reader::{FileReader as _, SerializedFileReader};
    use plimsoll_runs::export::{Format, export};

    let root = tempfile::tempdir().unwrap();
    let mut writer = writer(root.path());
    let mut all: Vec<Sample> = (0..140_000).map(ordinary).collect();
    let nothing = Sample { sent_ns: 0, first_byte_ns: 0, done_ns: 0, status: 0, ..ordinary(9) };
    all.push(Sample { phase: Phase::WarmUp, error: Some(ErrorKind::Cut), ..nothing });
    for some in all.chunks(512) {
        writer.samples(some).unwrap();
    }
    let run = writer.finish(made::end(Ended::Complete)).unwrap();
    let exported = |format: Format| {
        let mut out = Vec::new();
        export(&run, format, &mut out).unwrap();
        out
    };
    let path = root.path().join("samples.parquet");
    fs::write(&path, exported(Format::SamplesParquet)).unwrap();
    let reader = SerializedFileReader::new(fs::File::open(&path).unwrap()).unwrap();
    assert_eq!(reader.num_row_groups(), 2);
    let lines = String::from_utf8(exported(Format::SamplesJsonl)).unwrap();
    let (mut lines, mut count) = (lines.lines(), 0);
    for row in reader.get_row_iter(None).unwrap() {
        let row = row.unwrap();
        let line: serde_json::Value = serde_json::from_str(lines.next().unwrap()).unwrap();
        let columns: Vec<_> = row.get_column_iter().collect();
        assert_eq!(columns.len(), line.as_object().unwrap().len());
        for (name, field) in columns {
            assert_eq!(field.to_string(), line[name].to_string(), "{name} of {line}");
        }
        count += 1;
    }
    assert_eq!((count, lines.next()), (140_001, None));
    let bytes = fs::metadata(&path).unwrap().len();
    assert!(bytes < 20 * 140_000, "{bytes} bytes for 140,001 samples");
}
