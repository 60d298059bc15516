//! One load from hosts that are reached by `ssh`: the same as from here, named who is lost, and
//! nothing left there.

use super::{Server, place};
use crate::fleet::{due, signal};
use crate::place::{Place, Target};
use crate::program::wait_for;
use plimsoll_runs::{Phase, Run};
use rustix::process::Signal;

/// A configuration of `ssh` that lets the test's key in.
fn configure(place: &Place) {
    let path = |name: &str| place.path(name).display().to_string();
    place.write(
        "ssh_config",
        format!(
            "Host *\n  IdentityFile {}\n  IdentitiesOnly yes\n  UserKnownHostsFile {}\n  \
             StrictHostKeyChecking accept-new\n",
            path("user_key"),
            path("known_hosts")
        ),
    );
}

/// A plan of a load on a target, from hosts at these ports.
fn write(place: &Place, target: &Target, ports: &[u16], more: &str) {
    let host = |(number, port): (usize, &u16)| {
        format!("gen{} = {{ address = '127.0.0.1', port = {port} }}\n", number + 1)
    };
    let hosts: String = ports.iter().enumerate().map(host).collect();
    let text = format!(
        "seed = 3\n[target]\nurl = '{}'\n{more}\n[fleet]\nssh_config = 'ssh_config'\n\
         lost_after = '3s'\n[fleet.hosts]\n{hosts}",
        target.url()
    );
    place.write("plan.toml", text);
}

/// The processes of workers that are guests of the test's hosts.
fn guests(place: &Place) -> Vec<i32> {
    let own = place.path("hosts").display().to_string();
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = all.filter_map(|of| of.file_name().to_str()?.parse::<i32>().ok());
    let text = |pid: i32, name: &str| {
        let bytes = std::fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let is_guest = |pid: &i32| {
        text(*pid, "cmdline").ends_with("worker\0--stdio\0")
            && text(*pid, "cmdline").starts_with("/proc/self/fd/")
            && text(*pid, "environ").contains(&format!("TMPDIR={own}/"))
    };
    pids.filter(is_guest).collect()
}

/// Fails where guests or their files are still there after a while.
fn nothing_is_left(place: &Place) {
    wait_for("the end of all guests", || guests(place).is_empty().then_some(()));
    wait_for("an empty folder", || {
        let left = std::fs::read_dir(place.path("hosts")).unwrap().count();
        (left == 0).then_some(())
    });
}

#[test]
fn a_load_from_a_host_is_that_from_here_with_the_files_that_it_reads() {
    let Some(place) = place() else { return };
    configure(&place);
    let host = Server::start(&place, "gen1");
    let target = place.target(&["--service-time", "const:1ms", "--workers", "100"]);
    place.write("rows.csv", "row\n".to_owned() + &"x\n".repeat(300));
    let scenario = "[data.rows]\nfile = 'rows.csv'\norder = 'once'\n\
                    [[step]]\nname = 'ask'\nget = '/{{rows.row}}'\n";
    place.write("users.toml", scenario);
    let load = "scenario = 'users.toml'\n[load]\nrate = '101/s'\nfor = '2s'\narrivals = \
                'poisson'\n[measure]\nsamples = true\n";
    write(&place, &target, &[host.port], load);
    place.load(&["plan.toml", "--out", "there"]).ran();
    nothing_is_left(&place);
    let whole = std::fs::read_to_string(place.path("plan.toml")).unwrap();
    let (alone, _) = whole.split_once("[fleet]").unwrap();
    place.write("alone.toml", alone);
    place.load(&["alone.toml", "--out", "here"]).ran();
    let [there, here] =
        ["there", "here"].map(|out| Run::open(place.runs(out).last().unwrap()).unwrap());
    // Which seat a user has depends on when others left.
    assert_eq!(due(&there).0, due(&here).0);
    let succeeded = |run: &Run| run.total(Phase::Measured).unwrap().succeeded;
    assert_eq!(succeeded(&there), succeeded(&here));
    // The run kept its inputs, and says nothing of keys.
    assert!(!std::fs::read_to_string(there.path().join("plan.toml")).unwrap().contains("user_key"));
    // A name of the command line is a host, too: this one has no server of SSH that lets us in.
    let done = place.load(&[&target.url(), "--rate", "10/s", "--on", "127.0.0.1:1", "-n", "3"]);
    done.ended_with(4).says(&["begin with 127.0.0.1:1", "refused"]);
}

#[test]
fn two_names_of_one_host_are_refused_and_one_that_is_away_is_named() {
    let Some(place) = place() else { return };
    configure(&place);
    let hosts = [Server::start(&place, "gen1"), Server::start(&place, "gen2")];
    let target = place.target(&["--service-time", "const:1ms", "--workers", "100"]);
    let load = "[load]\nrate = '100/s'\nfor = '2s'\n";
    write(&place, &target, &[hosts[0].port, hosts[1].port], load);
    let done = place.load(&["plan.toml"]).ended_with(2);
    done.says(&["the hosts gen1 and gen2 are one", "leave gen2 out"]);
    nothing_is_left(&place);
    write(&place, &target, &[hosts[0].port, 1], load);
    let done = place.load(&["plan.toml"]).ended_with(4);
    done.says(&["begin with gen2: the connection ended", "port 1: Connection refused"]);
    nothing_is_left(&place);
    assert!(place.runs("runs").is_empty(), "nothing was sent");
    let check = place.plimsoll(&["check", "plan.toml"]).ended_with(0);
    check.prints(&["gen1: ssh ", "gen2: ssh ", "127.0.0.1"]);
}

#[test]
fn who_is_lost_on_a_host_is_named_and_nobody_there_outlives_the_controller() {
    let Some(place) = place() else { return };
    configure(&place);
    let target = place.target(&["--service-time", "const:1ms", "--workers", "100"]);
    let load = "[load]\nrate = '300/s'\n[measure]\nsamples = true\n";
    for (what, sent) in [("worker", Signal::KILL), ("sshd", Signal::KILL), ("sshd", Signal::STOP)] {
        let host = Server::start(&place, "gen1");
        write(&place, &target, &[host.port], load);
        let going = place.soak(&["plan.toml", "--quiet"]);
        let guest = guests(&place);
        assert_eq!(guest.len(), 1, "{what}");
        let cause = match (what, sent) {
            ("worker", _) => {
                signal(guest[0], sent);
                "gen1, which was lost after"
            }
            (_, Signal::KILL) => {
                host.signal(sent);
                "gen1, which was lost after"
            }
            _ => {
                host.signal(sent);
                "silent for"
            }
        };
        let done = going.wait().ended_with(4);
        done.says(&["without gen1", cause]);
        if what == "worker" {
            done.says(&["signal 9 ended it"]);
        }
        // Behind a connection that is silent, it ends by itself.
        wait_for("the end of the guest", || guests(&place).is_empty().then_some(()));
        host.signal(Signal::CONT);
        nothing_is_left(&place);
    }
    // Nobody on a host outlives a controller that is killed, or stands still.
    for sent in [Signal::KILL, Signal::STOP] {
        let host = Server::start(&place, "gen1");
        write(&place, &target, &[host.port], load);
        let going = place.soak(&["plan.toml", "--quiet"]);
        assert_eq!(guests(&place).len(), 1);
        going.signal(sent);
        nothing_is_left(&place);
        let before = crate::fleet::asked(&place, &target);
        assert_eq!(crate::fleet::asked(&place, &target), before, "nobody asks any more");
        if sent == Signal::STOP {
            going.signal(Signal::CONT);
            going.wait().ended_with(4).says(&["without gen1"]);
        }
    }
}
