//! The provider `ssh`, against a real server of SSH on this host: a plan of two roles, what a kill
//! leaves, a host that goes away, what is secret, and what is refused.

mod generators;
mod pools;

use crate::place::{Place, cell, events, test_name};
use crate::program::{Done, Going, PLIMSOLL, wait_for};
use plimsoll_runs::{Run, SeriesRow};
use plimsoll_testing::{Weight, free_port, has_cgroups, skip};
use rustix::process::{Pid, Signal, kill_process};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::Duration;

const SSHD: &str = "/usr/sbin/sshd";

/// A server of SSH with keys, a configuration and a port of its own.
struct Server {
    going: Going,
    port: u16,
    /// Where servers listen: an address of loopback that no other test uses.
    serves: String,
}

/// A test's folder with the keys of a user, and the folder that hosts make theirs in.
fn place() -> Option<Place> {
    if !Path::new(SSHD).is_file() {
        skip(&test_name(), &format!("sshd: {SSHD} is not there (openssh-server)"));
        return None;
    }
    let place = Place::new();
    // Servers run as users without rights, and have to come to their own folders.
    std::fs::set_permissions(place.path("."), PermissionsExt::from_mode(0o711)).unwrap();
    std::fs::create_dir(place.path("hosts")).unwrap();
    std::fs::set_permissions(place.path("hosts"), PermissionsExt::from_mode(0o1777)).unwrap();
    for key in ["host_key", "user_key"] {
        let file = place.path(key).display().to_string();
        let made = place.command("ssh-keygen", &["-q", "-t", "ed25519", "-N", "", "-f", &file]);
        place.start(made).wait().ended_with(0);
    }
    // What `sshd` wants where it gives up its rights.
    let _ = std::fs::create_dir("/run/sshd");
    Some(place)
}

impl Server {
    fn start(place: &Place, name: &str) -> Self {
        static LAST: AtomicU8 = AtomicU8::new(0);
        let number = LAST.fetch_add(1, Ordering::Relaxed) + 1;
        let port = free_port();
        let path = |name: &str| place.path(name).display().to_string();
        let text = format!(
            "ListenAddress 127.0.0.1\nPort {port}\nHostKey {}\nAuthorizedKeysFile {}\n\
             PidFile none\nStrictModes no\nUsePAM no\nPasswordAuthentication no\n\
             PermitRootLogin yes\nSetEnv TMPDIR={}\n",
            path("host_key"),
            path("user_key.pub"),
            path("hosts")
        );
        let config = place.write(&format!("{name}.sshd"), text).display().to_string();
        let going = place.start(place.command(SSHD, &["-D", "-e", "-f", &config]));
        wait_for("sshd", || going.err().contains("listening on").then_some(()));
        Self { going, port, serves: format!("127.77.{}.{number}", std::process::id() % 250 + 1) }
    }

    /// All processes of it: its connections are such.
    fn processes(&self) -> Vec<i32> {
        let parent = |pid: i32| -> Option<i32> {
            let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
            text.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
        };
        let name = |pid: i32| std::fs::read_to_string(format!("/proc/{pid}/comm"));
        let of_all = std::fs::read_dir("/proc").unwrap().flatten();
        let all: Vec<i32> = of_all.filter_map(|of| of.file_name().to_str()?.parse().ok()).collect();
        let mut found = vec![self.going.id()];
        let mut at = 0;
        while let Some(one) = found.get(at).copied() {
            let of_it = |pid: &&i32| {
                parent(**pid) == Some(one) && name(**pid).is_ok_and(|name| name.starts_with("sshd"))
            };
            found.extend(all.iter().filter(of_it).copied());
            at += 1;
        }
        found
    }

    fn signal(&self, signal: Signal) {
        for pid in self.processes() {
            let _ = kill_process(Pid::from_raw(pid).unwrap(), signal);
        }
    }
}

impl Drop for Server {
    /// What is stopped would not end.
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}

/// Writes the configuration of `ssh`, which knows the second host by another name, and the plan.
fn write(place: &Place, servers: [&Server; 2], more: &str) {
    let path = |name: &str| place.path(name).display().to_string();
    let config = format!(
        "Host *\n  IdentityFile {}\n  IdentitiesOnly yes\n  UserKnownHostsFile {}\n  \
         StrictHostKeyChecking accept-new\nHost second.test\n  HostName 127.0.0.1\n  Port {}\n",
        path("user_key"),
        path("known_hosts"),
        servers[1].port
    );
    place.write("ssh_config", config);
    let plan = format!(
        "name = 'two roles'\n[testbed]\nprovider = 'ssh'\nssh_config = 'ssh_config'\n\
         host_folder = '{}'\n[testbed.hosts]\n\
         first = {{ address = '127.0.0.1', port = {}, serves = '{}', tags = ['fast'] }}\n\
         second = {{ address = 'second.test', serves = '{}', role = 'web' }}\n\
         [role.data]\nrecipe = 'target'\ntags = ['fast']\n\
         [role.web]\nrecipe = 'target'\nhosts = ['second', 'first']\nvars = {{ service = \
         'const:1ms' }}\n\
         [target]\nurl = 'http://{{{{role.web.address}}}}:{{{{role.web.port}}}}/'\n\
         [load]\nrate = '50/s'\nfor = '2s'\n{more}",
        path("hosts"),
        servers[0].port,
        servers[0].serves,
        servers[1].serves
    );
    place.write("plan.toml", plan);
}

/// What hosts still have of test-beds: folders, and processes that run in them.
fn left(place: &Place) -> Vec<String> {
    let folder = place.path("hosts");
    let all = std::fs::read_dir(&folder).unwrap().flatten();
    let mut left: Vec<String> = all.map(|of| of.path().display().to_string()).collect();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        if line.contains(&folder.display().to_string()) {
            left.push(line);
        }
    }
    left
}

fn nothing_is_left(place: &Place) {
    wait_for("nothing to be left", || left(place).is_empty().then_some(()));
    assert_eq!(beds(place), Vec::<String>::new());
}

/// The test-beds that ledgers have something of in this test's folder: other tests have theirs.
fn beds(place: &Place) -> Vec<String> {
    let all = place.plimsoll(&["testbed", "status", "--json"]).ended_with(0).json();
    let own = place.path("hosts").display().to_string();
    let all = all["testbeds"].as_array().unwrap().iter();
    let of_it = all.filter(|of| of["things"].to_string().contains(&own));
    of_it.map(|of| of["id"].as_str().unwrap().to_owned()).collect()
}

/// Takes down all test-beds of this test.
fn down(place: &Place) -> Vec<Done> {
    let beds = beds(place);
    assert!(!beds.is_empty(), "no test-bed is left");
    beds.iter().map(|bed| place.plimsoll(&["testbed", "down", bed])).collect()
}

/// Runs a command, and looks at every argument list of this host for a long word of hexadecimal
/// digits meanwhile, as a token is. The digest of the program is one too, and no secret: tests
/// beside this one copy it.
fn without_tokens(place: &Place, arguments: &[&str]) -> Done {
    let (is_over, mut found) = (AtomicBool::new(false), Vec::new());
    let digest = Command::new("sha256sum").arg(PLIMSOLL).output().unwrap().stdout;
    let is_token = |word: &str| {
        let is_long = word.len() == 64 && word.chars().all(|c| c.is_ascii_hexdigit());
        is_long && !digest.starts_with(word.as_bytes())
    };
    let done = std::thread::scope(|scope| {
        let looks = scope.spawn(|| {
            let mut found = Vec::new();
            while !is_over.load(Ordering::Relaxed) {
                for entry in std::fs::read_dir("/proc").unwrap().flatten() {
                    let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
                    let line = String::from_utf8_lossy(&line).replace('\0', " ");
                    let word = |c: char| !c.is_ascii_alphanumeric();
                    if line.contains("plimsoll") && line.split(word).any(is_token) {
                        found.push(line);
                    }
                }
                // tidy: allow(waits, a pause of a loop that looks at processes)
                std::thread::sleep(Duration::from_millis(5));
            }
            found
        });
        let done = place.start(place.command(PLIMSOLL, arguments)).wait();
        is_over.store(true, Ordering::Relaxed);
        found = looks.join().unwrap();
        done
    });
    assert_eq!(found, Vec::<String>::new(), "an argument list");
    done
}

#[test]
fn two_roles_on_two_hosts_serve_are_watched_and_leave_nothing() {
    let Some(place) = place() else { return };
    let servers = [Server::start(&place, "first"), Server::start(&place, "second")];
    write(&place, [&servers[0], &servers[1]], "[collect]\nfrom = ['host']\nevery = '200ms'\n");
    let check = place.plimsoll(&["check", "plan.toml"]).ended_with(0);
    check.prints(&["reach the host first", "on the host second", "copy this program"]);
    without_tokens(&place, &["run", "plan.toml", "--quiet"]).ran();
    nothing_is_left(&place);
    let run = place.run();
    let done = events(&run, "testbed");
    for part in ["reach the host first", "reach the host second", "data-1: start it", "web-2: wait"]
    {
        assert!(done.iter().any(|text| text.starts_with(part)), "{part}: {done:?}");
    }
    let samples = Run::open(&run).unwrap().series("node_load1").unwrap();
    for host in ["first", "second"] {
        let is_of_it = |of: &SeriesRow| of.labels.get("instance").is_some_and(|of| of == host);
        assert!(samples.iter().any(is_of_it), "{host} was not watched: {samples:?}");
    }
    // No file has the token that was made for the agents.
    let secret = std::fs::read_to_string(run.join("plan.toml")).unwrap();
    assert!(!secret.contains("token"), "{secret}");
}

/// Without `host`, the instances alone are watched.
#[test]
fn instances_on_hosts_are_watched_by_cgroups_there() {
    let Some(place) = place() else { return };
    if !has_cgroups("instances_on_hosts_are_watched_by_cgroups_there") {
        return;
    }
    let servers = [Server::start(&place, "first"), Server::start(&place, "second")];
    let more = "[collect]\nfrom = ['cgroup']\nevery = '200ms'\n";
    write(&place, [&servers[0], &servers[1]], more);
    place.plimsoll(&["run", "plan.toml", "--quiet"]).ran();
    nothing_is_left(&place);
    let run = Run::open(&place.run()).unwrap();
    let samples = run.series("container_cpu_usage_seconds_total").unwrap();
    for name in ["data-1", "web-1", "web-2"] {
        let is_of_it = |of: &&SeriesRow| of.labels.get("instance").is_some_and(|of| of == name);
        assert!(samples.iter().filter(is_of_it).count() > 3, "{name}: {samples:?}");
    }
    assert!(run.series("node_load1").unwrap().is_empty());
    // One that stands has no agent to tell them.
    let id = place.plimsoll(&["testbed", "up", "plan.toml", "--json"]).ended_with(0).json();
    let done = place.plimsoll(&["run", "plan.toml", "--new"]).ended_with(2);
    done.says(&["which has no agent", "leave `cgroup` out"]);
    place.plimsoll(&["testbed", "down", id["id"].as_str().unwrap()]).ended_with(0);
}

#[test]
fn what_a_kill_leaves_on_hosts_is_found_and_undone() {
    let Some(place) = place() else { return };
    let servers = [Server::start(&place, "first"), Server::start(&place, "second")];
    write(&place, [&servers[0], &servers[1]], "");
    let arguments = ["run", "plan.toml", "--quiet", "--set", "load.for=100s"];
    let parts = ["plimsoll-", "target --listen"];
    for part in parts {
        let going = place.start(place.command(PLIMSOLL, &arguments));
        // Killed as soon as a folder is on the first host, and while servers serve. Which host has
        // one sooner is chance.
        wait_for(part, || {
            let left = left(&place);
            let has = |part: &str| left.iter().any(|of| of.contains(part));
            (has(part) && has(".first")).then_some(())
        });
        going.signal(Signal::KILL);
        going.wait();
        let status = place.plimsoll(&["testbed", "status"]).ended_with(0);
        status.prints(&["left behind", "on first"]);
        down(&place).into_iter().for_each(|done| drop(done.ended_with(0)));
        nothing_is_left(&place);
    }
}

#[test]
fn a_host_that_goes_away_fails_its_cell_and_is_kept_in_the_ledger() {
    let Some(place) = place() else { return };
    let first = Server::start(&place, "first");
    // A host that is gone, and one that is silent.
    for (out, signal) in [("gone", Signal::KILL), ("silent", Signal::STOP)] {
        let second = Server::start(&place, "second");
        let more = "[experiment]\nreplications = 1\n[factor]\n\"load.users\" = [1, 2]\n";
        write(&place, [&first, &second], more);
        let plan = std::fs::read_to_string(place.path("plan.toml")).unwrap();
        place.write(
            "plan.toml",
            plan.replace("rate = '50/s'\nfor = '2s'", "users = 1\nfor = '20m'"),
        );
        let run = ["run", "plan.toml", "--out", out, "--fail-fast"];
        let going = place.start(place.command(PLIMSOLL, &run));
        let serves = || {
            let all = left(&place);
            let of_web = |of: &&String| of.contains("target --listen") && of.contains("web-1");
            all.iter().find(of_web).map(drop)
        };
        wait_for("the server on the second host", serves);
        let loads = || {
            let cells = std::fs::read_dir(experiment(&place.path(out))?.join("cells")).ok()?;
            let is_part =
                |of: std::fs::DirEntry| of.path().extension().is_some_and(|of| of == "part");
            cells.flatten().any(is_part).then_some(())
        };
        wait_for("its load", loads);
        second.signal(signal);
        // It is ended long before the load would be over, for which nobody here has the patience.
        let done = going.wait().ended_with(4);
        assert!(done.err.contains("second"), "{}", done.err);
        let experiment = experiment(&place.path(out)).unwrap();
        let failed = [1, 2].map(|number| cell(&experiment, number));
        let failed: Vec<String> = failed.iter().map(|of| format!("{of:?}")).collect();
        assert!(failed.iter().any(|of| of.contains("reach the host second")), "{failed:?}");
        // It cannot be undone while the host is away: that is said by name, and it is kept.
        for done in down(&place) {
            let done = done.ended_with(4);
            assert!(done.err.contains("reach the host second"), "{}", done.err);
        }
        place.plimsoll(&["testbed", "status"]).prints(&["on second"]);
        if signal == Signal::STOP {
            second.signal(Signal::CONT);
        }
        // The host is there again, at the port that its configuration leads to now.
        let again = Server::start(&place, "again");
        write(&place, [&first, &again], more);
        down(&place).into_iter().for_each(|done| drop(done.ended_with(0)));
        nothing_is_left(&place);
    }
}

/// The only experiment of a folder.
fn experiment(out: &Path) -> Option<PathBuf> {
    let mut all = std::fs::read_dir(out).ok()?.flatten().map(|of| of.path());
    all.find(|path| path.join("experiment.sqlite").exists())
}

#[test]
fn a_test_bed_on_hosts_stays_and_is_used_again() {
    let Some(place) = place() else { return };
    let servers = [Server::start(&place, "first"), Server::start(&place, "second")];
    write(&place, [&servers[0], &servers[1]], "");
    let up = place.plimsoll(&["testbed", "up", "plan.toml", "--json"]).ended_with(0).json();
    let id = up["id"].as_str().unwrap().to_owned();
    assert_eq!(up["instances"].as_array().unwrap().len(), 3);
    place.plimsoll(&["run", "plan.toml", "--quiet"]).ran();
    let done = events(&place.run(), "testbed");
    assert_eq!(done[0], format!("uses the test-bed {id}, which stands"));
    assert!(!left(&place).is_empty());
    place.plimsoll(&["testbed", "down", &id]).ended_with(0);
    nothing_is_left(&place);
}

/// Whoever could exchange what is copied to a host would have us run what he likes.
#[test]
fn nothing_is_made_on_a_host_where_others_could_exchange_it() {
    let Some(place) = place() else { return };
    let servers = [Server::start(&place, "first"), Server::start(&place, "second")];
    write(&place, [&servers[0], &servers[1]], "");
    let hosts = place.path("hosts");
    std::fs::set_permissions(&hosts, PermissionsExt::from_mode(0o777)).unwrap();
    let done = place.plimsoll(&["run", "plan.toml", "--new"]).ended_with(4);
    let folder = format!("make the folder {}", hosts.display());
    done.says(&[&folder, "others could exchange it: drwxrwxrwx"]);
    nothing_is_left(&place);
    // A folder that is not there: nothing was made, and nothing is to be undone.
    std::fs::remove_dir(&hosts).unwrap();
    place.plimsoll(&["run", "plan.toml", "--new"]).ended_with(4).says(&[&folder]);
    std::fs::create_dir(&hosts).unwrap();
    nothing_is_left(&place);
}

#[test]
fn what_is_not_plain_or_not_there_is_refused_at_its_place() {
    let place = Place::weighing(Weight::WAITS);
    let plan = |hosts: &str, role: &str| {
        format!(
            "[testbed]\nprovider = 'ssh'\n[testbed.hosts]\n{hosts}\n[role.web]\nrecipe = \
             'target'\n{role}\n[target]\nurl = 'http://{{{{role.web.address}}}}/'\n[load]\nrate = \
             '1/s'\nfor = '1s'\n"
        )
    };
    let long = format!("a = '{}'", "a".repeat(254));
    let good = "a = '10.0.0.5'";
    for (hosts, role, place_of, says) in [
        ("a = '-oProxyCommand=touch owned'", "", "plan.toml:4:5", "letters, digits"),
        ("a = '10.0.0.5; touch owned'", "", "plan.toml:4:5", "letters, digits"),
        ("\"a b\" = '10.0.0.5'", "", "plan.toml:4:1", "expected a name"),
        ("a = { address = '$(touch owned)' }", "", "plan.toml:4:17", "letters, digits"),
        ("a = { address = '10.0.0.5', tags = ['x', 'y z'] }", "", "plan.toml:4:42", "letters"),
        ("a = { address = '10.0.0.5', user = 'me you' }", "", "plan.toml:4:36", "a user"),
        ("a = { address = '10.0.0.5', serves = 'web' }", "", "plan.toml:4:38", "an address"),
        ("a = { tags = ['x'] }", "", "plan.toml:4:5", "`address`"),
        (&long, "", "plan.toml:4:5", "253"),
        (good, "hosts = ['b']", "plan.toml:7:9", "found `b`"),
        (good, "tags = ['fast']", "plan.toml:7:8", "no host"),
        ("", "", "plan.toml", "needs hosts"),
    ] {
        place.write("plan.toml", plan(hosts, role));
        let done = place.plimsoll(&["check", "plan.toml"]).ended_with(2);
        assert!(done.err.contains(place_of) && done.err.contains(says), "{hosts}: {}", done.err);
    }
    assert!(!place.path("owned").exists());
    place.write("plan.toml", plan(good, "cpu = '20%'"));
    let done = place.plimsoll(&["check", "plan.toml"]).ended_with(2);
    assert!(done.err.contains("role.web.cpu by the provider `ssh`"), "{}", done.err);
}

/// `ssh` is what asks, so that a host key that is not known is refused where the user says so.
#[test]
fn a_host_that_is_not_trusted_or_away_is_told_by_name() {
    let Some(place) = place() else { return };
    let servers = [Server::start(&place, "first"), Server::start(&place, "second")];
    write(&place, [&servers[0], &servers[1]], "");
    let config = std::fs::read_to_string(place.path("ssh_config")).unwrap();
    place.write("ssh_config", config.replace("accept-new", "yes"));
    let done = place.plimsoll(&["testbed", "up", "plan.toml"]).ended_with(4);
    assert!(done.err.contains("reach the host"), "{}", done.err);
    assert!(done.err.contains("Host key verification failed"), "{}", done.err);
    // Nothing was made, so nothing is kept.
    assert_eq!(beds(&place), Vec::<String>::new());
    place.write("ssh_config", config);
    servers[1].signal(Signal::KILL);
    let done = place.plimsoll(&["testbed", "up", "plan.toml"]).ended_with(4);
    assert!(done.err.contains("reach the host second"), "{}", done.err);
    assert!(done.err.contains("Connection refused"), "{}", done.err);
    // What was made on the other one is undone.
    nothing_is_left(&place);
}

/// Looking first starts nothing: a configuration of `ssh` may hold commands, and a plan may bring
/// one. Nor is a name looked up; the plan is shown as it is written.
#[test]
fn a_check_executes_nothing_of_a_configuration() {
    let place = Place::weighing(Weight::WAITS);
    let ran = place.path("ran");
    let exec = format!("touch {}", ran.display());
    let config = format!(
        "Match exec \"{exec}\"\n  User bench\nHost *\n  ProxyCommand sh -c '{exec}'\n  \
         KnownHostsCommand /bin/sh -c '{exec}'\n"
    );
    place.write("ssh_config", config);
    let pool = "[pool]\nrole = 'web'\nmax = 2\n[instance]\nservice = 'const:1ms'\n[policy.one]\n\
                kind = 'fixed'\ninstances = 1\n";
    for more in ["", pool] {
        let own = "count = 2\n[target]\nurl = 'http://{{role.web.address}}:{{role.web.port}}/'\n";
        let of_role = if more.is_empty() { own } else { "" };
        let plan = format!(
            "[testbed]\nprovider = 'ssh'\nssh_config = 'ssh_config'\n[testbed.hosts]\n\
             first = '127.0.0.9'\nsecond = 'bench.invalid'\n[role.web]\nrecipe = 'target'\n\
             {of_role}[load]\nrate = '10/s'\nfor = '5m'\n{more}"
        );
        place.write("plan.toml", plan);
        for arguments in [&["check", "plan.toml"][..], &["check", "plan.toml", "--json"]] {
            let done = place.plimsoll(arguments).ended_with(0);
            assert!(done.out.contains("127.0.0.9"), "{}", done.out);
        }
    }
    assert!(!ran.exists(), "it has executed a command of the configuration");
}
