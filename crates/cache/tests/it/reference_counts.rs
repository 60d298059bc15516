//! Exact miss counts of the reference trace: ten million requests, Zipf 0.8 over a million objects.
//!
//! Counts are libCacheSim's: of its sources of October 2024, those of S3-FIFO of libcachesim 0.3.5.
//! Capacities are 0.1%, 1% and 10% of the objects, and of their bytes.

use std::num::NonZeroUsize;
use std::ops::Range;

use plimsoll_cache::capacity::Unit;
use plimsoll_cache::simulate::{Cell, Comparison, Replays};
use plimsoll_cache::trace::Trace;
use plimsoll_cache::trace::reference::Reference;

/// Misses with every object counted as one; misses and missed bytes in bytes.
type Counts = (&'static str, [u64; 3], [(u64, u64); 3]);

const OBJECTS: &str = "962obj,9620obj,96205obj";
const BYTES: &str = "10519339B,105193399B,1051933995B";

const EXACT: [Counts; 9] = [
    (
        "fifo",
        [9_151_105, 7_954_216, 5_584_551],
        [(9_116_319, 96_894_131_645), (7_943_514, 86_144_426_875), (5_582_087, 60_956_131_920)],
    ),
    (
        "clock",
        [8_956_899, 7_617_483, 5_085_967],
        [(8_941_354, 95_946_397_125), (7_608_605, 83_123_928_594), (5_088_008, 55_565_444_021)],
    ),
    (
        "lru",
        [9_014_638, 7_710_473, 5_202_123],
        [(8_992_838, 96_277_186_017), (7_701_257, 83_995_758_123), (5_202_463, 56_914_367_396)],
    ),
    (
        "slru",
        [8_158_526, 6_750_549, 4_504_938],
        [(8_183_511, 91_236_031_025), (6_770_540, 78_008_661_524), (4_559_955, 52_187_889_024)],
    ),
    (
        "lfu",
        [8_175_853, 6_771_350, 4_514_348],
        [(8_335_648, 91_330_190_264), (6_659_208, 74_063_638_372), (4_486_831, 49_158_755_915)],
    ),
    (
        "gdsf",
        [8_611_172, 7_192_691, 4_734_581],
        [(7_990_395, 94_770_618_752), (5_849_366, 85_834_896_857), (2_581_768, 66_678_705_792)],
    ),
    (
        "arc",
        [8_093_323, 6_689_701, 4_521_850],
        [(8_322_207, 90_789_872_545), (6_808_943, 74_929_781_269), (4_499_595, 48_756_493_511)],
    ),
    (
        "sieve",
        [8_092_348, 6_754_006, 4_514_348],
        [(8_495_655, 92_600_410_158), (6_566_483, 73_449_752_880), (4_475_257, 48_945_455_911)],
    ),
    (
        "s3fifo",
        [8_072_461, 6_639_347, 4_427_522],
        [(7_871_151, 88_097_865_035), (6_607_452, 73_345_262_066), (4_416_038, 47_930_099_255)],
    ),
];

/// Belady's counts, which are a bound where every object counts as one.
const BELADY: [u64; 3] = [7_503_127, 5_718_968, 3_126_934];

/// Policies whose parts are rounded or hashed another way: within 0.002 of the miss ratio.
const NEAR: [Counts; 3] = [
    (
        "wtinylfu",
        [8_111_373, 6_665_504, 4_402_248],
        [(7_765_596, 90_418_522_479), (6_367_995, 77_703_955_925), (4_309_956, 48_430_422_976)],
    ),
    (
        "lirs",
        [8_092_988, 6_693_195, 4_526_106],
        [(7_792_121, 90_610_259_661), (6_464_421, 78_651_009_356), (4_491_345, 50_791_402_855)],
    ),
    (
        "2q",
        [8_189_067, 6_810_067, 4_630_107],
        [(8_143_630, 90_093_983_903), (6_842_829, 75_686_453_826), (4_625_168, 50_215_492_281)],
    ),
];

const REQUESTS: f64 = 1e7;

fn trace() -> Trace {
    let requests = REQUESTS as usize;
    Reference { objects: 1_000_000, requests, seed: 42 }.trace().unwrap()
}

fn cells(trace: &Trace, policies: &[&str], sizes: &str) -> Vec<Cell> {
    let comparison = Comparison {
        policies: policies.iter().map(|policy| policy.parse().unwrap()).collect(),
        sizes: sizes.split(',').map(|size| size.parse().unwrap()).collect(),
        admission: None,
        skip: 0,
        parts: NonZeroUsize::MIN,
        by_size: false,
    };
    let replays = Replays::new(trace, &comparison, || 0).unwrap();
    let all = comparison.policies.len() * comparison.sizes.len();
    let (former, latter) = (0..all / 2, all / 2..all);
    let replay = |places: Range<usize>| -> Vec<Cell> {
        places.map(|place| replays.replay(place).unwrap()).collect()
    };
    std::thread::scope(|scope| {
        let others = scope.spawn(|| replay(latter));
        [replay(former), others.join().unwrap()].concat()
    })
}

/// Compares cells with counts, within a share of the requests.
fn compare(cells: &[Cell], counts: &[Counts], within: f64) {
    let mut cells = cells.iter();
    for (policy, objects, bytes) in counts {
        for place in 0..3 {
            let cell = cells.next().unwrap();
            let (misses, missed) = match cell.capacity.unit {
                Unit::Objects => (objects[place], None),
                Unit::Bytes => (bytes[place].0, Some(bytes[place].1)),
            };
            let off = cell.all.misses.abs_diff(misses) as f64 / REQUESTS;
            assert!(off <= within, "{policy} {}: {} for {misses}", cell.size, cell.all.misses);
            if within == 0.0 && missed.is_some() {
                assert_eq!(Some(cell.all.missed_bytes), missed, "{policy} {}", cell.size);
            }
        }
    }
    assert!(cells.next().is_none());
}

#[test]
fn misses_are_those_of_libcachesim() {
    let trace = trace();
    let names = |counts: &[Counts]| counts.iter().map(|of| of.0).collect::<Vec<_>>();
    for sizes in [OBJECTS, BYTES] {
        compare(&cells(&trace, &names(&EXACT), sizes), &EXACT, 0.0);
        compare(&cells(&trace, &names(&NEAR), sizes), &NEAR, 0.002);
    }
    let belady = cells(&trace, &["belady"], OBJECTS);
    assert_eq!(belady.iter().map(|cell| cell.all.misses).collect::<Vec<_>>(), BELADY);
}
