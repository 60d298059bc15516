//! Floats and strings as Python's `json.dumps` writes them.

use plimsoll_shoal::answer::{python_float, python_string};
use plimsoll_workload::random::Stream;
use proptest::prelude::*;

use crate::support::python::python;

fn float(x: f64) -> String {
    let mut out = Vec::new();
    python_float(x, &mut out);
    String::from_utf8(out).unwrap()
}

fn string(text: &str) -> String {
    let mut out = Vec::new();
    python_string(text, &mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn floats_are_written_out_between_1e_minus_4_and_1e16() {
    // CPython 3.11: `repr` of each.
    let cases: [(f64, &str); 22] = [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1.0, "1.0"),
        (-1.5, "-1.5"),
        (0.1, "0.1"),
        (1e-4, "0.0001"),
        (9.9e-5, "9.9e-05"),
        (1e-5, "1e-05"),
        (-1.25e-5, "-1.25e-05"),
        (1.5e-7, "1.5e-07"),
        (1e-10, "1e-10"),
        (1e15, "1000000000000000.0"),
        (9_999_999_999_999_998.0, "9999999999999998.0"),
        (1e16, "1e+16"),
        (1.234_567_890_123_456_8e17, "1.2345678901234568e+17"),
        (1e22, "1e+22"),
        (5e-324, "5e-324"),
        (f64::MAX, "1.7976931348623157e+308"),
        (1_795_162_041.376_272, "1795162041.376272"),
        (f64::NAN, "NaN"),
        (f64::INFINITY, "Infinity"),
        (f64::NEG_INFINITY, "-Infinity"),
    ];
    for (x, expected) in cases {
        assert_eq!(float(x), expected);
    }
}

#[test]
fn strings_are_ascii() {
    let cases = [
        ("squid1.cern.example", r#""squid1.cern.example""#),
        ("", r#""""#),
        ("Zürich", r#""Z\u00fcrich""#),
        ("a\"b\\c/", r#""a\"b\\c/""#),
        ("\u{8}\t\n\u{b}\u{c}\r\u{0}\u{1f}\u{7f}", r#""\b\t\n\u000b\f\r\u0000\u001f\u007f""#),
        ("東京", r#""\u6771\u4eac""#),
        ("😀", r#""\ud83d\ude00""#),
    ];
    for (text, expected) in cases {
        assert_eq!(string(text), expected);
    }
}

#[test]
fn floats_and_strings_are_what_python_writes() {
    const SCRIPT: &str = "import json, struct, sys\n\
        data = sys.stdin.buffer.read()\n\
        n = struct.unpack('<I', data[:4])[0]\n\
        floats = struct.unpack('<%dd' % n, data[4:4 + 8 * n])\n\
        text = data[4 + 8 * n:].decode('utf-8')\n\
        print(json.dumps(list(floats)))\n\
        print(json.dumps(text))";
    let mut random = Stream::named(7, "python");
    // Any bits, and values of the sizes that costs, loads and times have.
    let mut floats: Vec<f64> = (0..3000).map(|_| f64::from_bits(random.next_u64())).collect();
    for _ in 0..3000 {
        let digits = random.next_u64() % 100_000_000;
        #[expect(clippy::cast_precision_loss, reason = "eight digits")]
        let digits = digits as f64;
        let power = i32::try_from(random.next_u64() % 40).unwrap() - 20;
        floats.push(digits * 10f64.powi(power));
    }
    let text: String = (1..0x3000u32).chain(0x1f600..0x1f640).filter_map(char::from_u32).collect();
    let mut input = u32::try_from(floats.len()).unwrap().to_le_bytes().to_vec();
    input.extend(floats.iter().flat_map(|x| x.to_le_bytes()));
    input.extend_from_slice(text.as_bytes());
    let name = "floats_and_strings_are_what_python_writes";
    let Some(printed) = python(name, SCRIPT, &input) else { return };
    let ours: Vec<String> = floats.iter().map(|x| float(*x)).collect();
    let (theirs, their_text) = printed.trim_end().split_once('\n').unwrap();
    let theirs: Vec<&str> = theirs.trim_matches(['[', ']']).split(", ").collect();
    assert_eq!(ours, theirs);
    assert_eq!(string(&text), their_text);
}

proptest! {
    #[test]
    fn a_float_means_itself(bits: u64) {
        let x = f64::from_bits(bits);
        prop_assume!(x.is_finite());
        prop_assert_eq!(float(x).parse::<f64>().unwrap().to_bits(), bits);
    }

    #[test]
    fn a_string_means_itself(text: String) {
        let written = string(&text);
        prop_assert!(written.is_ascii());
        prop_assert_eq!(serde_json::from_str::<String>(&written).unwrap(), text);
    }
}
