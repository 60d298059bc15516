//! MediaWiki from Debian's packages on the test-bed: its data, its recipe, and what is watched.

use crate::place::{Place, SOAK, events, test_name};
use plimsoll_runs::Run;
use plimsoll_testing::{Weight, installed, skip};
use std::path::{Path, PathBuf};

/// Files of the packages of PHP and MediaWiki without which nothing of this runs.
const NEEDED: [&str; 2] = ["/usr/share/mediawiki/index.php", "/usr/bin/php"];

/// Whether MediaWiki is installed here, and the programs beside it; reported where one is not.
fn is_installed() -> bool {
    let test = test_name();
    let mut folder = std::fs::read_dir("/usr/sbin").into_iter().flatten().flatten();
    let has_fpm = folder.any(|file| file.file_name().to_string_lossy().starts_with("php-fpm"));
    let absent = NEEDED.into_iter().find(|path| !Path::new(path).exists());
    let absent = absent.or((!has_fpm).then_some("/usr/sbin/php-fpm*"));
    if let Some(absent) = absent {
        skip(&test, &format!("php: there is no {absent}; `make mediawiki` installs it"));
        return false;
    }
    ["mariadbd", "memcached", "nginx"].iter().all(|program| installed(&test, program).is_some())
}

fn example(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/mediawiki").join(name);
    path.display().to_string()
}

/// The wikitext of each page of a dump, by its title.
fn texts(dump: &str) -> Vec<(String, String)> {
    let between = |text: &str, begin: &str, end: &str| {
        let from = text.split_once(begin).unwrap().1;
        from.split_once(end).unwrap().0.to_owned()
    };
    let page = |page: &str| {
        let text = between(page, "<text xml:space=\"preserve\">", "</text>");
        (between(page, "<title>", "</title>"), text.replace("&amp;", "&").replace("&lt;", "<"))
    };
    dump.split("<page>").skip(1).map(page).collect()
}

#[test]
fn made_up_pages_have_the_sizes_of_a_wiki() {
    if !is_installed() {
        return;
    }
    let place = Place::weighing(Weight::COMPUTES);
    let make = |name: &str, seed: &str| {
        std::fs::create_dir(place.path(name)).unwrap();
        let arguments = [&example("pages.php"), "make", name, "1000", seed];
        place.start(place.command("php", &arguments)).wait().ended_with(0);
        std::fs::read_to_string(place.path(name).join("pages.xml")).unwrap()
    };
    let dump = make("one", "1");
    assert!(dump == make("again", "1"), "the same seed makes the same pages");
    assert!(dump != make("other", "2"), "another seed makes others");
    let pages: Vec<(String, String)> =
        texts(&dump).into_iter().filter(|(title, _)| !title.starts_with("Template:")).collect();
    let mut sizes: Vec<usize> = pages.iter().map(|(_, text)| text.len()).collect();
    sizes.sort_unstable();
    assert_eq!(sizes.len(), 1000);
    // Within a sentence of what was asked for.
    assert!((4000..4700).contains(&sizes[500]), "median {}", sizes[500]);
    assert!((39_000..44_000).contains(&sizes[950]), "p95 {}", sizes[950]);
    let all = |part: &str| pages.iter().filter(|(_, text)| text.contains(part)).count();
    assert_eq!((all("{{Infobox|"), all("[[Category:")), (1000, 1000));
    assert!(all("{| class=\"wikitable\"") > 300 && all("{{Cite|") > 500 && all("[[") == 1000);
    let list = |name: &str| {
        let text = std::fs::read_to_string(place.path("one").join(name)).unwrap();
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(list("pages.txt").len(), 1000);
    let below = sizes.iter().filter(|size| **size < 4096).count();
    assert_eq!(list("small.txt").len(), below);
    assert_eq!(list("large.txt").len(), sizes.iter().filter(|size| **size >= 24_576).count());
    assert!(list("pages.txt").iter().all(|path| path.starts_with("/wiki/") && !path.contains(' ')));
}

/// A wiki of few pages, as `make mediawiki` makes it; `None` where it is not installed.
fn wiki(place: &Place) -> Option<PathBuf> {
    if !is_installed() {
        return None;
    }
    let data = place.path("data");
    let mut command = place.command("bash", &[&example("prepare.sh")]);
    command.env("DATA", &data).env("PAGES", "30").env_remove("DUMP").env_remove("SEED");
    let said = place.start(command).wait().ended_with(0).out;
    assert!(said.contains("ready in") && said.contains("30 pages"), "{said}");
    let mut again = place.command("bash", &[&example("prepare.sh")]);
    again.env("DATA", &data).env("PAGES", "30").env_remove("DUMP").env_remove("SEED");
    place.start(again).wait().ended_with(0).prints(&["was made before"]);
    Some(data)
}

const PLAN: &str = "\
name = 'a wiki'
[testbed]
provider = 'process'
[role.db]
recipe = 'mariadb'
vars = { data = 'data/wiki.tar.gz', database = 'wiki', user = 'wiki', buffer_pool = '64M' }
[role.cache]
recipe = 'memcached'
[role.web]
recipe = 'mediawiki'
[role.web.vars]
db = '{{role.db.address}}:{{role.db.port}}'
cache = '{{role.cache.address}}:{{role.cache.port}}'
messages = 'data/en.l10n.php'
fill = 'data/pages.txt'
workers = 3
password = { env = 'WIKI_PASSWORD' }
[target]
url = 'http://{{role.web.address}}:{{role.web.port}}/'
urls = 'data/pages.txt'
order = 'round-robin'
[load]
users = 1
for = '3s'
[collect]
from = ['memcached', 'mariadb', 'phpfpm', 'nginx']
[measure]
slo = 'p50<5s, errors<1%'
";

#[test]
fn a_wiki_is_made_stands_warm_and_is_watched() {
    let place = Place::weighing(Weight::DATABASE);
    let Some(_) = wiki(&place) else { return };
    let plan = PLAN.replace("buffer_pool", "password = { env = 'WIKI_PASSWORD' }, buffer_pool");
    place.write("plan.toml", plan);
    let mut command = place.command(crate::program::PLIMSOLL, &["run", "plan.toml", "--json"]);
    command.env("WIKI_PASSWORD", "a word that nobody guesses");
    let done = place.start(command).wait().ran();
    let cell = &done.json()["cells"][0];
    assert_eq!(cell["state"], "done", "{cell}");
    let figure = |name: &str| cell["figures"][name].as_f64().unwrap_or(f64::NAN);
    assert!(figure("mariadb.queries") > 0.0 && figure("phpfpm.requests") > 0.0, "{cell}");
    assert!(figure("memcached.hit_ratio") > 0.5, "{cell}");
    let folder = place.run();
    let run = folder.join(cell["run"].as_str().unwrap());
    // Filled twice, then asked until its answers were steady; all of that before it stood.
    let told = events(&run, "testbed");
    let warm = told.iter().find(|text| text.starts_with("web-1: warm it")).unwrap();
    assert!(warm.contains("30 pages, twice") && warm.contains("ready after"), "{warm}");
    let summary = Run::open(&run).unwrap();
    let pages = summary.series("phpfpm_accepted_connections").unwrap();
    assert!(!pages.is_empty(), "no series of php-fpm");
    // The password stands nowhere in the run.
    let found = place.command("grep", &["-rl", "nobody guesses", "runs"]);
    place.start(found).wait().ended_with(1);
}

/// A wiki that stands, with the test-bed's id, its URL, and the password of its user Admin.
fn standing(place: &Place) -> (String, String, &'static str) {
    place.write("plan.toml", PLAN.replace("password = { env = 'WIKI_PASSWORD' }\n", ""));
    let up = place.plimsoll(&["testbed", "up", "plan.toml", "--json"]).ended_with(0).json();
    let web = up["instances"].as_array().unwrap().iter().find(|of| of["role"] == "web").unwrap();
    let password = "quince and medlar";
    let change = "/usr/share/mediawiki/maintenance/changePassword.php";
    let words = [change, "--user", "Admin", "--password", password];
    let mut command = place.command("php", &words);
    command.env("MW_CONFIG_FILE", format!("{}/LocalSettings.php", web["folder"].as_str().unwrap()));
    place.start(command).wait().ended_with(0);
    let url = format!("http://{}:{}/", web["address"].as_str().unwrap(), web["port"]);
    (up["id"].as_str().unwrap().to_owned(), url, password)
}

/// Users log in and edit as the scenarios say that come with the project, and as Chromium did it.
#[test]
fn users_log_in_and_edit() {
    let place = Place::weighing(Weight::DATABASE);
    let Some(_) = wiki(&place) else { return };
    let (id, url, password) = standing(&place);
    let tried = |scenario: &str| {
        let words = ["scenario", "try", scenario, &url];
        let mut command = place.command(crate::program::PLIMSOLL, &words);
        command.env("PASSWORD", password).env("WPPASSWORD", password);
        let done = place.start(command).wait().ended_with(0);
        assert!(!done.out.contains(password), "{}", done.out);
        done.out
    };
    let shipped = tried(&example("../scenarios/login-and-edit.toml"));
    assert!(shipped.contains("save"), "{shipped}");
    let text = std::fs::read_to_string(example("users-who-edit.toml")).unwrap();
    // Half of the pages, so that there are more than MediaWiki would let one address edit.
    let half =
        text.replace("= 95,", "= 50,").replace("= 5,", "= 50,").replace("exp:1s", "exp:10ms");
    place.write("users-who-edit.toml", half);
    let words = ["--scenario", "users-who-edit.toml", "--users", "4", "-n", "6", "--for", SOAK];
    let load = [&["load", &url][..], &words, &["--json"]].concat();
    let summary = place.plimsoll(&load).ended_with(0).json();
    let names = summary["by_name"].as_array().unwrap();
    for name in ["read", "form to edit", "save"] {
        let of = names.iter().find(|of| of["name"] == name).unwrap();
        let (count, succeeded) = (of["count"].as_u64().unwrap(), of["succeeded"].as_u64().unwrap());
        assert!(count >= 10 && count == succeeded, "{of}");
        // Who has saved is led on.
        assert!(name != "save" || of["redirects"] == count, "{of}");
    }
    if crate::scenarios::has_browser("users_log_in_and_edit") {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/node/record_har.js");
        let browser = [script, "chromium", &url, "profile", "1500", "walk.har", "wiki"];
        let mut command = place.command("node", &browser);
        command.env("HOME", place.path(""));
        place.start(command).wait().ended_with(0);
        let made = ["scenario", "from-har", "walk.har", "-o", "walk.toml", "--json"];
        let made = place.plimsoll(&made).ended_with(0).json();
        assert_eq!(made["secrets"], serde_json::json!(["WPPASSWORD"]), "{made}");
        assert!(made["tokens"].to_string().contains("wpEditToken"), "{made}");
        let recorded = std::fs::read_to_string(place.path("walk.toml")).unwrap();
        assert!(!recorded.contains(password) && recorded.contains("static files"), "{recorded}");
        // Who has logged in, and has saved, is led on.
        let walked = tried("walk.toml");
        assert_eq!(walked.matches(", redirected").count(), 2, "{walked}");
    }
    place.plimsoll(&["testbed", "down", &id]).ended_with(0);
}
