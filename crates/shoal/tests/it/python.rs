//! Numbers and strings are written as Python writes them, by Python's own word.
#![expect(clippy::cast_possible_truncation, reason = "small random numbers")]

use plimsoll_shoal::heartbeat::{Number, parse, python_float, python_string};
use plimsoll_workload::random::Stream;

/// What that program prints, a line for each line; `None` where there is no Python.
fn python(test: &str, program: &str, lines: &[String]) -> Option<Vec<String>> {
    let printed =
        crate::support::python::python(test, program, (lines.join("\n") + "\n").as_bytes())?;
    let answers: Vec<_> = printed.lines().map(str::to_owned).collect();
    assert_eq!(answers.len(), lines.len());
    Some(answers)
}

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

/// Floats of every kind: any bits, times, loads, short decimals, the edges between notations.
fn floats() -> Vec<f64> {
    let mut random = Stream::named(1, "floats");
    let mut floats = vec![0.0, -0.0, 1e16, 1e15, 9_999_999_999_999_998.0, 1e-4, 1e-5, 9.999e-5];
    floats.extend([5e-324, f64::MAX, f64::MIN_POSITIVE, f64::NAN, f64::INFINITY, -f64::INFINITY]);
    for power in -30..30 {
        let ten = 10_f64.powi(power);
        floats.extend([ten, ten.next_down(), ten.next_up(), 1.5 * ten, -ten]);
    }
    for _ in 0..2000 {
        floats.push(f64::from_bits(random.next_u64()));
        floats.push(1.7e9 + random.uniform() * 1e8);
        floats.push((random.uniform() * 1e6).floor() / 1024.0);
        floats.push(
            (random.uniform() * 1e9).floor()
                * 10_f64.powf((random.uniform() * 40.0).floor() - 20.0),
        );
    }
    floats
}

#[test]
fn floats_are_written_as_python_writes_them() {
    let floats = floats();
    let bits: Vec<_> = floats.iter().map(|x| format!("{:016x}", x.to_bits())).collect();
    let program = "import json, struct, sys
for line in sys.stdin: print(json.dumps(struct.unpack('>d', bytes.fromhex(line))[0]))";
    let Some(theirs) = python("floats_are_written_as_python_writes_them", program, &bits) else {
        return;
    };
    for (x, theirs) in floats.iter().zip(theirs) {
        assert_eq!(float(*x), theirs, "{x:e}");
    }
}

#[test]
fn floats_read_back_as_they_were() {
    for x in floats().into_iter().filter(|x| x.is_finite()) {
        assert_eq!(float(x).parse::<f64>().unwrap().to_bits(), x.to_bits());
    }
}

#[test]
fn floats_known() {
    for (x, text) in [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (7.0, "7.0"),
        (1795161784.3958414, "1795161784.3958414"),
        (0.20998845298870353, "0.20998845298870353"),
        (0.0001, "0.0001"),
        (0.00001, "1e-05"),
        (0.000012345, "1.2345e-05"),
        (-0.00001, "-1e-05"),
        (1e15, "1000000000000000.0"),
        (123456789012345680.0, "1.2345678901234568e+17"),
        (1e16, "1e+16"),
        (9007199254740993.0, "9007199254740992.0"),
        (1e100, "1e+100"),
        (5e-324, "5e-324"),
        (f64::MAX, "1.7976931348623157e+308"),
        (f64::NAN, "NaN"),
        (f64::INFINITY, "Infinity"),
        (f64::NEG_INFINITY, "-Infinity"),
    ] {
        assert_eq!(float(x), text);
        assert_eq!(Number::Float(x).to_string(), text);
    }
    assert_eq!(Number::Int(1_000_000_000).to_string(), "1000000000");
}

#[test]
fn strings_known() {
    for (text, json) in [
        ("", r#""""#),
        ("a.example-1", r#""a.example-1""#),
        ("Zürich", r#""Z\u00fcrich""#),
        ("\"\\/", r#""\"\\/""#),
        ("\n\r\t\u{8}\u{c}\u{0}\u{1f}\u{7f}", r#""\n\r\t\b\f\u0000\u001f\u007f""#),
        ("\u{ffff}\u{1f600}", r#""\uffff\ud83d\ude00""#),
        ("</script>", r#""</script>""#),
    ] {
        assert_eq!(string(text), json);
    }
}

#[test]
fn strings_are_written_as_python_writes_them() {
    let mut random = Stream::named(1, "strings");
    let texts: Vec<String> = (0..2000)
        .map(|_| {
            let limit = [0x80, 0x100, 0x3000, 0x11_0000][random.below(4) as usize];
            let length = random.below(20);
            (0..length).filter_map(|_| char::from_u32(random.below(limit) as u32)).collect()
        })
        .collect();
    let hex: Vec<String> =
        texts.iter().map(|text| text.bytes().map(|byte| format!("{byte:02x}")).collect()).collect();
    let program = "import json, sys
for line in sys.stdin: print(json.dumps(bytes.fromhex(line).decode('utf-8')))";
    let Some(theirs) = python("strings_are_written_as_python_writes_them", program, &hex) else {
        return;
    };
    for (text, theirs) in texts.iter().zip(theirs) {
        assert_eq!(string(text), theirs);
        assert_eq!(serde_json::from_str::<String>(&theirs).unwrap(), *text);
    }
}

/// What a heartbeat says as `max_load` and as `load` is answered as the original answers it.
#[test]
fn numbers_are_echoed_as_python_echoes_them() {
    let mut random = Stream::named(1, "echoes");
    let mut tokens: Vec<String> =
        ["0", "1E5", "1e+3", "0.00001", "12.50", "1e-7", "100000.000"].map(str::to_owned).into();
    for _ in 0..1000 {
        let value = random.uniform() * 10_f64.powf(random.uniform() * 14.0 - 6.0);
        let places = random.below(12) as usize;
        tokens.push(match random.below(3) {
            0 => format!("{value:.places$}"),
            1 => format!("{value:.places$e}"),
            _ => format!("{value:.0}"),
        });
        let last = tokens.last().unwrap().clone();
        tokens.push(format!("\"{last}\""));
    }
    let program = "import json, sys
for line in sys.stdin: print(json.dumps(json.loads(line)))";
    let Some(theirs) = python("numbers_are_echoed_as_python_echoes_them", program, &tokens) else {
        return;
    };
    for (token, theirs) in tokens.iter().zip(theirs) {
        let load = if token.starts_with('"') { "0" } else { token };
        let beat = parse(
            format!(
                r#"{{"uuid": "u", "hostname": "h", "cache_port": 1, "private_ip": "10.0.0.1",
                "timestamp": 1, "load": {load}, "max_load": {token}}}"#
            )
            .as_bytes(),
        )
        .unwrap();
        assert_eq!(*beat.max_load.unwrap().text, *theirs);
        if load == token {
            assert_eq!(beat.load.to_string(), theirs);
        }
    }
}
