//! What Shoal's own server answered: 48 requests from four addresses (`shoal-fixtures`, master
//! 7ca44b8), and the registry it answered from, as it was at each of them.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use plimsoll_shoal::Now;
use plimsoll_shoal::geo::{Place, Spot};
use plimsoll_shoal::registry::{Cache, State};
use plimsoll_testing::shared;
use serde_json::Value;

use super::beat::beat;

/// One request and its answer.
#[derive(Debug)]
pub(crate) struct Recorded {
    pub(crate) client: IpAddr,
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) status: u16,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: String,
    json: Value,
}

impl Recorded {
    fn entries(&self) -> impl Iterator<Item = &Value> {
        self.json.as_object().into_iter().flat_map(serde_json::Map::values)
    }
}

/// The folder of recordings; `None`, said by name, where it is not.
pub(crate) fn folder(test: &str) -> Option<PathBuf> {
    shared(test, "reference/shoal-fixtures")
}

fn read(folder: &Path, name: &str) -> Value {
    serde_json::from_slice(&std::fs::read(folder.join(name)).unwrap()).unwrap()
}

/// The 48 answers, in order of time.
pub(crate) fn answers(folder: &Path) -> Vec<Recorded> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let one = |answer: &Value| Recorded {
        client: text(&answer["client_ip"]).parse().unwrap(),
        method: text(&answer["method"]),
        path: text(&answer["path"]),
        status: text(&answer["status"]).split(' ').nth(1).unwrap().parse().unwrap(),
        headers: answer["headers"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(name, value)| (name.clone(), text(value)))
            .collect(),
        body: text(&answer["body_raw"]),
        json: answer["body_json"].clone(),
    };
    read(folder, "server_responses.json").as_array().unwrap().iter().map(one).collect()
}

/// What the server knew: caches, places, who shares a domain with whom.
pub(crate) struct World {
    /// The heartbeat of each listed host, and its `geo_data`.
    hosts: Vec<(Value, Place)>,
    /// By host: from which answer on it was last heard when.
    heard: BTreeMap<String, Vec<(usize, f64)>>,
    created: BTreeMap<String, f64>,
    same_domain: BTreeSet<(IpAddr, String)>,
    spots: BTreeMap<IpAddr, Spot>,
}

impl World {
    /// Puts the registry together from what agents sent; only times, places and domains are taken
    /// from the answers.
    pub(crate) fn new(folder: &Path, answers: &[Recorded]) -> Self {
        let mut world = Self {
            hosts: Vec::new(),
            heard: BTreeMap::new(),
            created: BTreeMap::new(),
            same_domain: BTreeSet::new(),
            spots: BTreeMap::new(),
        };
        let mut places: BTreeMap<String, Place> = BTreeMap::new();
        for (index, answer) in answers.iter().enumerate() {
            for entry in answer.entries() {
                let host = entry["hostname"].as_str().unwrap().to_owned();
                let place = place(&entry["geo_data"]);
                let heard = world.heard.entry(host.clone()).or_default();
                let last = entry["last_active"].as_f64().unwrap();
                if heard.last().is_none_or(|(_, before)| last > *before) {
                    heard.push((index, last));
                }
                if entry["local"] == true {
                    world.same_domain.insert((answer.client, host.clone()));
                    // What is local costs nothing but its load: it is where the client is.
                    world.spots.insert(answer.client, spot(place.latitude, place.longitude));
                }
                world.created.insert(host.clone(), entry["created"].as_f64().unwrap());
                places.insert(host, place);
            }
        }
        // The only point on a grid of 10⁻⁴ degrees that gives the recorded costs.
        world.spots.insert([8, 8, 8, 8].into(), spot(37.422, -122.085));
        for said in heartbeats(folder) {
            // What the server refused (too old, private only, without a load) is not listed.
            let host = said["hostname"].as_str().unwrap();
            if let Some(place) = places.get(host) {
                world.hosts.push((said.clone(), place.clone()));
            }
        }
        let created = &world.created;
        let when = |said: &Value| created[said["hostname"].as_str().unwrap()];
        world.hosts.sort_by(|a, b| when(&a.0).total_cmp(&when(&b.0)));
        world
    }

    /// Every cache, verified, as it stood when answer `index` was given.
    pub(crate) fn caches(&self, index: usize) -> Vec<Arc<Cache>> {
        let one = |(number, (said, place)): (usize, &(Value, Place))| {
            let mut beat = beat(said).expect("a heartbeat that was believed");
            let heard = &self.heard[&*beat.hostname];
            let upto = heard.partition_point(|(first, _)| *first <= index).max(1);
            beat.timestamp = heard[upto - 1].1;
            let number = number as u64;
            let now = Now { elapsed_ns: 0, unix_s: self.created[&*beat.hostname] };
            let cache = Cache::new(number, number, &beat, Some(Arc::new(place.clone())), now);
            cache.set_state(State::Verified);
            Arc::new(cache)
        };
        self.hosts.iter().enumerate().map(one).collect()
    }

    /// Where a client is.
    pub(crate) fn spot(&self, client: IpAddr) -> Option<Spot> {
        self.spots.get(&client).copied()
    }

    /// Whether a cache is at the client's own domain.
    pub(crate) fn local(&self, client: IpAddr, cache: &Cache) -> bool {
        self.same_domain.contains(&(client, cache.hostname().to_owned()))
    }
}

/// What was published: the cases, and the last heartbeat of the agent with a public address.
fn heartbeats(folder: &Path) -> Vec<Value> {
    let agents = read(folder, "agent_heartbeats_recorded.json");
    let public = |name: &str| name.contains("git master") && name.contains("public address");
    let (_, agent) = agents.as_object().unwrap().iter().find(|(name, _)| public(name)).unwrap();
    let sent = read(folder, "synthetic_heartbeats_sent.json");
    let bodies = sent.as_array().unwrap().iter().map(|case| case["body"].clone());
    bodies.chain(agent.as_array().unwrap().last().map(|last| last["body"].clone())).collect()
}

fn spot(latitude: f64, longitude: f64) -> Spot {
    Spot { latitude, longitude, country: None }
}

fn place(geo: &Value) -> Place {
    let text = |key: &str| geo[key].as_str().map(Into::into);
    Place {
        latitude: geo["latitude"].as_f64().unwrap(),
        longitude: geo["longitude"].as_f64().unwrap(),
        city: text("city"),
        region_code: text("region_code"),
        time_zone: text("time_zone"),
        metro_code: geo["metro_code"].as_u64().map(|code| u32::try_from(code).unwrap()),
        postal_code: text("postal_code"),
        country_code: text("country_code"),
        country_name: text("country_name"),
        continent: text("continent"),
        ..Place::default()
    }
}
