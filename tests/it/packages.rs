//! `packaging/build.sh`: what its packages hold, and that what they hold runs.

use std::process::Command;

use crate::place::Place;
use crate::program::{Done, PLIMSOLL};
use crate::stores::installed;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging");

fn run(place: &Place, program: &str, arguments: &[&str]) -> Done {
    place.start(place.command(program, arguments)).wait()
}

#[test]
fn packages_hold_the_program_its_units_and_their_configuration() {
    let test = "packages_hold_the_program_its_units_and_their_configuration";
    if installed(test, "dpkg-deb").is_none() || installed(test, "strip").is_none() {
        return;
    }
    let place = Place::new();
    let mut command = Command::new("bash");
    command.arg(format!("{FOLDER}/build.sh")).arg(place.path("dist"));
    command.env("PLIMSOLL", PLIMSOLL).env("COMPRESS", "-Znone");
    let built = place.start(command).wait().ended_with(0);
    let packages: Vec<&str> = built.out.lines().filter(|line| line.ends_with(".deb")).collect();
    assert_eq!(packages.len(), 3, "{}", built.out);
    let root = place.path("root");
    let root = root.to_str().unwrap();
    for package in &packages {
        run(&place, "dpkg-deb", &["--info", package]).ended_with(0);
        run(&place, "dpkg-deb", &["--extract", package, root]).ended_with(0);
        let fields = run(&place, "dpkg-deb", &["--field", package]).ended_with(0);
        assert!(fields.out.contains("\nVersion: ") || fields.out.starts_with("Package: "));
    }
    // The programs in them run, with the options that stand in their configuration.
    let program = format!("{root}/usr/bin/plimsoll");
    run(&place, &program, &["--version"]).ended_with(0);
    for command in ["server", "agent"] {
        let name = format!("{root}/etc/plimsoll/shoal-{command}");
        let text = std::fs::read_to_string(&name).unwrap();
        let options = text.lines().find_map(|line| line.strip_prefix("OPTIONS=\"")).unwrap();
        let words: Vec<&str> = options.trim_end_matches('"').split_whitespace().collect();
        let asked = [&["shoal", command], &words[..], &["--help"]].concat();
        run(&place, &program, &asked).ended_with(0);
        let unit = format!("{root}/lib/systemd/system/plimsoll-shoal-{command}.service");
        let unit = std::fs::read_to_string(unit).unwrap();
        for wanted in ["DynamicUser=yes", "ProtectSystem=strict", "NoNewPrivileges=yes"] {
            assert!(unit.lines().any(|line| line == wanted), "{wanted}: {unit}");
        }
        if installed(test, "systemd-analyze").is_some() {
            // Verified where the program is.
            let name = format!("plimsoll-shoal-{command}.service");
            let here = place.write(&name, unit.replace("/usr/bin/plimsoll", &program));
            let said = run(&place, "systemd-analyze", &["verify", here.to_str().unwrap()]);
            let said = said.ended_with(0);
            assert!(!said.err.contains(&name), "{}", said.err);
        }
    }
}
