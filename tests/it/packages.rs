//! `packaging/build.sh`: what its packages hold, and that what they hold runs.

use std::process::Command;

use crate::place::Place;
use crate::program::{Done, PLIMSOLL};
use plimsoll_testing::{Weight, installed};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging");

fn run(place: &Place, program: &str, arguments: &[&str]) -> Done {
    place.start(place.command(program, arguments)).wait()
}

/// What a script of the folder packs of the program under test, in the folder `dist`.
fn packed(place: &Place, script: &str) -> Done {
    let mut command = Command::new("bash");
    command.arg(format!("{FOLDER}/{script}")).arg(place.path("dist"));
    let licences = place.write("third-party", "Licences of others.\n");
    command.env("PLIMSOLL", PLIMSOLL).env("COMPRESS", "-Znone").env("THIRD_PARTY", licences);
    place.start(command).wait().ended_with(0)
}

/// Whether all of these are there; what is not is said to be lacking.
fn has(test: &str, programs: &[&str]) -> bool {
    programs.iter().all(|program| installed(test, program).is_some())
}

/// The commands of a job of docs/ci.md: those behind `run:`, or the items of lists of scripts.
fn steps_of(heading: &str) -> String {
    let page = include_str!("../../docs/ci.md");
    let job = page.split(&format!("\n## {heading}\n")).nth(1).unwrap();
    let job = job.split("```yaml\n").nth(1).unwrap().split("```").next().unwrap();
    let (mut steps, mut within) = (String::new(), None::<usize>);
    for line in job.lines() {
        let (text, depth) = (line.trim_start(), line.len() - line.trim_start().len());
        if within.is_some_and(|outer| depth <= outer) {
            within = None;
        }
        match within {
            Some(_) => steps.push_str(&format!("{}\n", text.strip_prefix("- ").unwrap_or(text))),
            None if ["run: |", "before_script:", "script:"].contains(&text) => within = Some(depth),
            None => {}
        }
    }
    steps
}

#[test]
fn pipelines_of_the_manual_run_with_the_archive() {
    let test = "pipelines_of_the_manual_run_with_the_archive";
    if !has(test, &["strip", "python3", "tar", "curl"]) {
        return;
    }
    let place = Place::weighing(Weight::COMPUTES);
    let archive = packed(&place, "archive.sh").out.trim().to_owned();
    let listed = run(&place, "tar", &["tzf", &archive]).ended_with(0).out;
    for file in ["plimsoll", "THIRD-PARTY", "LICENSE-MIT", "completions/plimsoll.fish"] {
        assert!(listed.lines().any(|line| line.ends_with(&format!("/{file}"))), "{file}: {listed}");
    }
    for page in ["plimsoll", "plimsoll-load", "plimsoll-shoal-server"] {
        assert!(listed.contains(&format!("/man/man1/{page}.1")), "{page}: {listed}");
    }
    // What stands at the team's own address comes from here, and nothing else is installed.
    let bin = place.path("bin");
    std::fs::create_dir_all(&bin).unwrap();
    let write = |name: &str, text: String| {
        let path = bin.join(name);
        std::fs::write(&path, text).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&path, mode).unwrap();
    };
    write("curl", format!("#!/bin/sh\nexec cat '{archive}'\n"));
    write("apt-get", "#!/bin/sh\n".to_owned());
    for (heading, port) in [("GitHub Actions", "18211"), ("GitLab", "18212")] {
        let free = plimsoll_testing::free_address().port().to_string();
        let steps = steps_of(heading).replace(port, &free);
        let steps = steps.replace("/usr/local/bin/", &format!("{}/", bin.display()));
        assert!(steps.contains("plimsoll load") && steps.contains("curl"), "{steps}");
        let script = place.write("job.sh", format!("{steps}\nkill %1\n"));
        let mut job = place.command("bash", &["-e", script.to_str().unwrap()]);
        let path = std::env::var("PATH").unwrap_or_default();
        job.env("PATH", format!("{}:{path}", bin.display()));
        job.env("GITHUB_STEP_SUMMARY", place.path("summary.md"));
        place.start(job).wait().ran();
        let told = std::fs::read_to_string(place.path("plimsoll.xml")).unwrap();
        assert!(told.contains("classname=\"Load on http://127.0.0.1"), "{told}");
    }
    assert!(std::fs::read_to_string(place.path("summary.md")).unwrap().contains("p99"));
}

#[test]
fn packages_for_enterprise_linux_hold_what_those_of_debian_hold() {
    let test = "packages_for_enterprise_linux_hold_what_those_of_debian_hold";
    if !has(test, &["rpmbuild", "strip", "python3"]) {
        return;
    }
    let place = Place::weighing(Weight::COMPUTES);
    let built = packed(&place, "rpm.sh").out;
    let packages: Vec<&str> = built.lines().collect();
    assert_eq!(packages.len(), 5, "{built}");
    let mut files = String::new();
    for package in &packages {
        files.push_str(&run(&place, "rpm", &["-qlp", package]).ended_with(0).out);
        let script = format!("rpm2archive - < '{package}' | tar xz");
        run(&place, "bash", &["-c", &script]).ended_with(0);
    }
    for file in [
        "/usr/bin/plimsoll",
        "/usr/lib/systemd/system/plimsoll-shoal-server.service",
        "/usr/lib/systemd/system/plimsoll-shoal-client.timer",
        "/etc/plimsoll/shoal-agent",
        "/usr/lib/sysusers.d/plimsoll-agent.conf",
        "/usr/share/man/man1/plimsoll-load.1",
        "/usr/share/licenses/plimsoll/THIRD-PARTY",
    ] {
        assert!(files.lines().any(|line| line == file), "{file}: {files}");
        assert!(place.path(&file[1..]).metadata().unwrap().len() > 0, "{file}");
    }
    let program = place.path("usr/bin/plimsoll");
    let said = run(&place, program.to_str().unwrap(), &["--version"]).ended_with(0).out;
    assert!(said.starts_with("plimsoll "), "{said}");
}

#[test]
fn the_wheel_and_the_image_hold_the_program() {
    let test = "the_wheel_and_the_image_hold_the_program";
    if !has(test, &["python3", "skopeo", "tar"]) {
        return;
    }
    let place = Place::weighing(Weight::COMPUTES);
    let (here, version) = (place.path(""), env!("CARGO_PKG_VERSION"));
    let here = here.to_str().unwrap();
    let wheel = format!("{FOLDER}/wheel.py");
    let made = run(&place, "python3", &[&wheel, PLIMSOLL, version, here]).ended_with(0).out;
    run(&place, "python3", &["-m", "venv", "venv"]).ended_with(0);
    let install = ["install", "--quiet", "--no-index", "--disable-pip-version-check", made.trim()];
    let own = |program: &str| place.path(&format!("venv/bin/{program}")).display().to_string();
    run(&place, &own("pip"), &install).ended_with(0);
    run(&place, &own("plimsoll"), &["--version"]).ended_with(0).prints(&["plimsoll "]);
    let authorities = place.write("authorities.pem", "none\n");
    let (image, authorities) = (format!("{FOLDER}/image.py"), authorities.to_str().unwrap());
    let arguments = [image.as_str(), PLIMSOLL, version, authorities, here];
    let made = run(&place, "python3", &arguments).ended_with(0).out;
    let archive = format!("oci-archive:{}", made.trim());
    let about = run(&place, "skopeo", &["inspect", "--config", &archive]).ended_with(0).json();
    assert_eq!(about["config"]["User"], "65532", "{about:#}");
    assert_eq!(about["config"]["Entrypoint"][0], "/usr/bin/plimsoll", "{about:#}");
    run(&place, "skopeo", &["copy", "--quiet", &archive, "dir:layout"]).ended_with(0);
    let manifest = std::fs::read(place.path("layout/manifest.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_slice(&manifest).unwrap();
    let digest = manifest["layers"][0]["digest"].as_str().unwrap();
    let layer = format!("layout/{}", digest.trim_start_matches("sha256:"));
    let listed = run(&place, "tar", &["tzvf", &layer, "--numeric-owner"]).ended_with(0).out;
    for (mode, owner, name) in [
        ("-rwxr-xr-x", "0/0", "usr/bin/plimsoll"),
        ("-rw-r--r--", "0/0", "etc/ssl/certs/ca-certificates.crt"),
        ("drwxrwxrwt", "0/0", "tmp/"),
        ("drwxr-xr-x", "65532/65532", "runs/"),
    ] {
        let is = |line: &str| {
            line.starts_with(&format!("{mode} {owner} ")) && line.ends_with(&format!(" {name}"))
        };
        assert!(listed.lines().any(is), "{name}: {listed}");
    }
}

#[test]
fn packages_hold_the_program_its_units_and_their_configuration() {
    let test = "packages_hold_the_program_its_units_and_their_configuration";
    if installed(test, "dpkg-deb").is_none() || installed(test, "strip").is_none() {
        return;
    }
    let place = Place::weighing(Weight::COMPUTES);
    let built = packed(&place, "build.sh");
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
    let built = packed(&place, "build.sh");
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
    let built = packed(&place, "build.sh");
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
    let built = packed(&place, "build.sh");
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
