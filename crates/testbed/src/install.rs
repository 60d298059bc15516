//! Packages of the distribution, installed where the user asks for it, and no service of theirs
//! started.
//!
//! Debian's maintainer scripts ask `/usr/sbin/policy-rc.d` before they start anything
//! (invoke-rc.d(8)): for as long as packages are installed it is a file of ours that says no. One
//! that was there lies beside it, and comes back however it ends: the ledger knows of it.

use std::path::Path;
use std::time::Duration;

use crate::command::{Deadline, Words, run};
use crate::error::TestbedError;
use crate::ledger::Ledger;
use crate::policy::{POLICY, forbid, put_back};
use crate::thing::Thing;
use crate::users::is_root;

/// How long an installation may take.
const LIMIT: Duration = Duration::from_secs(1800);

/// The command that installs packages, below the root of the file system.
#[must_use]
pub fn command(root: &Path, packages: &[String]) -> Words {
    let program = root.join("usr/bin/apt-get").display().to_string();
    let words = ["env", "DEBIAN_FRONTEND=noninteractive", &program, "install", "--yes"];
    Words::of(&words).and(&["--no-install-recommends".to_owned(), "--".to_owned()]).and(packages)
}

/// Installs packages. Returns what was said.
///
/// # Errors
/// Not root; an installation that fails. The file that forbids services is put back in any case.
pub fn install(packages: &[String], root: &Path, ledger: &Ledger) -> Result<String, TestbedError> {
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "+-.".contains(c);
    if let Some(wrong) = packages.iter().find(|name| !name.chars().all(is_name)) {
        let text = format!("install `{wrong}`: expected the name of a package");
        return Err(TestbedError::Wrong(text));
    }
    if !is_root() {
        let text = "install packages as a user without rights; run it as root";
        return Err(TestbedError::Wrong(text.to_owned()));
    }
    let path = root.join(POLICY);
    let id = ledger.will_make(&Thing::Policy { path: path.clone() })?;
    let done = forbid(&path)
        .and_then(|()| run(&command(root, packages), Path::new("/"), &Deadline::within(LIMIT)));
    put_back(&path)?;
    ledger.is_gone(id)?;
    done
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::down::Means;
    use crate::policy::{FORBIDS, kept};
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    /// A root whose `apt-get` writes down what it was asked and what the policy said, and ends with
    /// this code.
    fn root(code: u8) -> tempfile::TempDir {
        let place = tempfile::tempdir().unwrap();
        for folder in ["usr/bin", "usr/sbin"] {
            fs::create_dir_all(place.path().join(folder)).unwrap();
        }
        let root = place.path().display();
        let script = format!(
            "#!/bin/sh\necho \"$@\" > {root}/asked\n{root}/{POLICY} x start\n\
             echo $? >> {root}/asked\nexit {code}\n"
        );
        let apt = place.path().join("usr/bin/apt-get");
        fs::write(&apt, script).unwrap();
        fs::set_permissions(&apt, PermissionsExt::from_mode(0o755)).unwrap();
        place
    }

    #[test]
    fn no_service_is_started_and_what_was_there_comes_back() {
        if !is_root() {
            return;
        }
        for (code, before) in
            [(0, None), (0, Some("exit 0\n")), (100, Some("exit 0\n")), (100, None)]
        {
            let place = root(code);
            let policy = place.path().join(POLICY);
            before.iter().for_each(|text| fs::write(&policy, text).unwrap());
            let ledger = Ledger::create(&place.path().join("run"), "e1").unwrap();
            let done = install(&["nginx-light".to_owned()], place.path(), &ledger);
            assert_eq!(done.is_ok(), code == 0, "{done:?}");
            let asked = fs::read_to_string(place.path().join("asked")).unwrap();
            assert_eq!(asked, "install --yes --no-install-recommends -- nginx-light\n101\n");
            let after = fs::read_to_string(&policy).ok();
            assert_eq!(after.as_deref(), before, "code {code}");
            assert!(Ledger::all(&place.path().join("run")).unwrap()[0].things.is_empty());
        }
    }

    /// Killed at any point between, it is put back by whoever takes the bed down.
    #[test]
    fn what_a_kill_leaves_is_put_back() {
        for steps in 0..3 {
            let place = root(0);
            let policy = place.path().join(POLICY);
            fs::write(&policy, "exit 0\n").unwrap();
            let ledger = Ledger::create(&place.path().join("run"), "e1").unwrap();
            ledger.will_make(&Thing::Policy { path: policy.clone() }).unwrap();
            if steps > 0 {
                fs::rename(&policy, kept(&policy)).unwrap();
            }
            if steps > 1 {
                fs::write(&policy, &FORBIDS[..20]).unwrap();
            }
            drop(ledger);
            Ledger::take_down(&place.path().join("run"), "e1", false, &Means::default()).unwrap();
            assert_eq!(fs::read_to_string(&policy).unwrap(), "exit 0\n", "{steps}");
        }
    }

    #[test]
    fn what_is_no_package_is_refused() {
        let place = root(0);
        let ledger = Ledger::create(&place.path().join("run"), "e1").unwrap();
        let refused = install(&["a b".to_owned()], place.path(), &ledger).unwrap_err();
        assert!(refused.to_string().contains("name of a package"), "{refused}");
    }
}
