//! `packaging/build.sh`: what its packages hold, and that what they hold runs.

use std::process::Command;

use crate::place::Place;
use crate::program::{Done, PLIMSOLL};
use plimsoll_testing::{Weight, installed};

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
    let place = Place::weighing(Weight::COMPUTES);
    let mut command = Command::new("bash");
    command.arg(format!("{FOLDER}/build.sh")).arg(place.path("dist"));
    command.env("PLIMSOLL", PLIMSOLL).env("COMPRESS", "-Znone");
    let built = place.start(command).wait().ended_with(0);
    let packages: Vec<&str> = built.out.lines().filter(|line| line.ends_with(".deb")).collect();
    assert_eq!(packages.len(), 5, "{}", built.out);
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
    let secrets = "LoadCredential=shoal:/etc/plimsoll/credentials";
    let shoal = ["DynamicUser=yes", secrets];
    let services = [
        ("shoal-server", &["shoal", "server"][..], &shoal[..]),
        ("shoal-agent", &["shoal", "agent"], &shoal),
        (
            "shoal-client",
            &["shoal", "client", "--apply"],
            &["Type=oneshot", "ReadWritePaths=/etc/cvmfs"],
        ),
        ("agent", &["agent"], &["User=plimsoll-agent"]),
    ];
    for (command, words, own) in services {
        let name = format!("{root}/etc/plimsoll/{command}");
        let text = std::fs::read_to_string(&name).unwrap();
        let options = text.lines().find_map(|line| line.strip_prefix("OPTIONS=\"")).unwrap();
        let options: Vec<&str> = options.trim_end_matches('"').split_whitespace().collect();
        let asked = [words, &options[..], &["--help"]].concat();
        run(&place, &program, &asked).ended_with(0);
        let unit = format!("{root}/lib/systemd/system/plimsoll-{command}.service");
        let unit = std::fs::read_to_string(unit).unwrap();
        for wanted in own.iter().chain(&["ProtectSystem=strict", "NoNewPrivileges=yes"]) {
            assert!(unit.lines().any(|line| line == *wanted), "{wanted}: {unit}");
        }
        if installed(test, "systemd-analyze").is_some() {
            // Verified where the program is.
            let name = format!("plimsoll-{command}.service");
            let here = place.write(&name, unit.replace("/usr/bin/plimsoll", &program));
            let said = run(&place, "systemd-analyze", &["verify", here.to_str().unwrap()]);
            let said = said.ended_with(0);
            assert!(!said.err.contains(&name), "{}", said.err);
        }
    }
}

#[test]
fn the_client_is_started_by_a_timer_that_is_switched_on_and_off_in_its_place() {
    let test = "the_client_is_started_by_a_timer_that_is_switched_on_and_off_in_its_place";
    if installed(test, "dpkg-deb").is_none() || installed(test, "strip").is_none() {
        return;
    }
    let place = Place::weighing(Weight::COMPUTES);
    let mut command = Command::new("bash");
    command.arg(format!("{FOLDER}/build.sh")).arg(place.path("dist"));
    command.env("PLIMSOLL", PLIMSOLL).env("COMPRESS", "-Znone");
    let built = place.start(command).wait().ended_with(0);
    let package = built.out.lines().find(|line| line.contains("/plimsoll-shoal-client_")).unwrap();
    let root = place.path("root");
    let shown = root.to_str().unwrap();
    run(&place, "dpkg-deb", &["--extract", package, shown]).ended_with(0);
    run(&place, "dpkg-deb", &["--control", package, &format!("{shown}/control")]).ended_with(0);
    let units = root.join("lib/systemd/system");
    let timer = units.join("plimsoll-shoal-client.timer");
    let text = std::fs::read_to_string(&timer).unwrap();
    assert!(
        text.contains("OnUnitInactiveSec=5m") && text.contains("RandomizedDelaySec="),
        "{text}"
    );
    let read = |name: &str| std::fs::read_to_string(root.join("control").join(name)).unwrap();
    let (after, before) = (read("postinst"), read("prerm"));
    assert!(after.contains("try-restart plimsoll-shoal-client.timer"), "{after}");
    assert!(before.contains("disable --now plimsoll-shoal-client.timer"), "{before}");
    if installed(test, "systemd-analyze").is_some() {
        // Verified where the program and the service are.
        let unit = std::fs::read_to_string(units.join("plimsoll-shoal-client.service")).unwrap();
        let program = format!("{shown}/usr/bin/plimsoll");
        let main = built.out.lines().find(|line| line.contains("/plimsoll_")).unwrap();
        run(&place, "dpkg-deb", &["--extract", main, shown]).ended_with(0);
        let unit = unit.replace("/usr/bin/plimsoll", &program);
        place.write("plimsoll-shoal-client.service", unit);
        let here = place.write("plimsoll-shoal-client.timer", text);
        let said = run(&place, "systemd-analyze", &["verify", here.to_str().unwrap()]);
        let said = said.ended_with(0);
        assert!(!said.err.contains("plimsoll-shoal-client"), "{}", said.err);
    }
}

#[test]
fn the_agent_has_a_user_without_privileges() {
    let test = "the_agent_has_a_user_without_privileges";
    let wanted = ["dpkg-deb", "strip", "systemd-sysusers"];
    if wanted.iter().any(|program| installed(test, program).is_none()) {
        return;
    }
    let place = Place::weighing(Weight::COMPUTES);
    let mut command = Command::new("bash");
    command.arg(format!("{FOLDER}/build.sh")).arg(place.path("dist"));
    command.env("PLIMSOLL", PLIMSOLL).env("COMPRESS", "-Znone");
    let built = place.start(command).wait().ended_with(0);
    let package = built.out.lines().find(|line| line.contains("/plimsoll-agent_")).unwrap();
    let root = place.path("root");
    let shown = root.to_str().unwrap();
    run(&place, "dpkg-deb", &["--extract", package, shown]).ended_with(0);
    run(&place, "dpkg-deb", &["--control", package, &format!("{shown}/control")]).ended_with(0);
    let to = format!("--root={shown}");
    run(&place, "systemd-sysusers", &[&to, "plimsoll-agent.conf"]).ended_with(0);
    let users = std::fs::read_to_string(root.join("etc/passwd")).unwrap();
    let user = users.lines().find(|line| line.starts_with("plimsoll-agent:")).unwrap();
    let fields: Vec<&str> = user.split(':').collect();
    assert!(fields[2].parse::<u32>().unwrap() < 1000, "{user}");
    assert!(fields[6].ends_with("/nologin"), "{user}");
    // What the package does when it is configured is what was done here by hand.
    let script = std::fs::read_to_string(root.join("control/postinst")).unwrap();
    assert!(script.contains("systemd-sysusers plimsoll-agent.conf"), "{script}");
    // It looks at its own configuration only, and keeps no folder for secrets of others.
    assert!(!root.join("etc/plimsoll/credentials").exists());
}

#[test]
fn logs_are_rotated_and_a_purge_leaves_no_secret() {
    let test = "logs_are_rotated_and_a_purge_leaves_no_secret";
    if installed(test, "dpkg-deb").is_none() || installed(test, "strip").is_none() {
        return;
    }
    let place = Place::weighing(Weight::COMPUTES);
    let mut command = Command::new("bash");
    command.arg(format!("{FOLDER}/build.sh")).arg(place.path("dist"));
    command.env("PLIMSOLL", PLIMSOLL).env("COMPRESS", "-Znone");
    let built = place.start(command).wait().ended_with(0);
    let root = place.path("root");
    let shown = root.to_str().unwrap();
    let services = ["server", "agent"];
    for command in services {
        let name = format!("plimsoll-shoal-{command}_");
        let package = built.out.lines().find(|line| line.contains(&name)).unwrap();
        run(&place, "dpkg-deb", &["--extract", package, shown]).ended_with(0);
        let control = format!("{shown}/{command}");
        run(&place, "dpkg-deb", &["--control", package, &control]).ended_with(0);
    }
    let folder = std::fs::metadata(root.join("etc/plimsoll/credentials")).unwrap();
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&folder.permissions()) & 0o777, 0o700);
    let unit = root.join("lib/systemd/system/plimsoll-shoal-server.service");
    let unit = std::fs::read_to_string(unit).unwrap();
    assert!(unit.lines().any(|line| line == "ExecReload=/bin/kill -HUP $MAINPID"), "{unit}");
    let rotation = root.join("etc/logrotate.d/plimsoll-shoal-server");
    assert!(std::fs::read_to_string(&rotation).unwrap().contains("--signal=HUP"));
    if installed(test, "logrotate").is_some() {
        let state = place.path("state");
        let told = ["--debug", "--state", state.to_str().unwrap(), rotation.to_str().unwrap()];
        run(&place, "logrotate", &told).ended_with(0);
    }
    // Secrets stay as long as one of the services may need them, and go with the last.
    let secrets = ["etc/plimsoll/shoal-secret", "etc/plimsoll/credentials/keys"];
    for name in secrets {
        std::fs::write(root.join(name), "secret").unwrap();
    }
    for (command, left) in services.into_iter().zip([2, 0]) {
        // The package manager takes the configuration itself away first.
        std::fs::remove_file(root.join(format!("etc/plimsoll/shoal-{command}"))).unwrap();
        let script = std::fs::read_to_string(root.join(command).join("postrm")).unwrap();
        let script = ["/etc/", "/var/"].iter().fold(script, |script, folder| {
            script.replace(&format!(" {folder}"), &format!(" {shown}{folder}"))
        });
        let script = script.replace("/run/systemd/system", &format!("{shown}/nowhere"));
        let script = place.write("postrm", script);
        run(&place, "sh", &[script.to_str().unwrap(), "purge"]).ended_with(0);
        let there = secrets.iter().filter(|name| root.join(name).exists()).count();
        assert_eq!(there, left, "{command}");
    }
    assert!(!root.join("etc/plimsoll").exists());
}
