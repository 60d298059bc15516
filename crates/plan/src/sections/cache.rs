//! `[cache]`: caches that are compared on one trace, every policy at every size.

use crate::describe::Meant;
use crate::flag::Group;
use crate::takes::{Known, List, Switch};

section! {
    /// Caches that are compared on one trace, every policy at every size.
    ["cache"; read, write, default]
    pub struct Cache {
        /// The eviction policies, with their settings.
        policy: Vec<String> { List(Known("policy", Some(Meant::Eviction)), "list of policies"),
            or vec!["lru".to_owned()], r#"["lru", "slru:segments=2"]"# }
            flag [Group::Cache.flag("policy", "POLICY,…").says("Eviction policies: lru, sieve, \
                gdsf, … with their settings, such as slru:segments=2 [default: lru]")]
        /// The sizes: bytes, objects, or a share of what the trace asks for.
        size: Vec<String> { List(Known("size", None), "list of sizes"),
            or ["0.1%", "1%", "10%"].map(str::to_owned).to_vec(), r#"["10MB", "962obj", "10%"]"# }
            flag [Group::Cache.flag("size", "SIZE,…").says("Cache sizes: 10MB, 962obj, 10% of \
                the footprint, 10%obj of the objects [default: 0.1%,1%,10%]")]
        /// Which missed objects come in: max:SIZE, second or random:SHARE; all without it.
        admit: Option<String> { Known("filter", None), "max:1MB" }
            flag [Group::Cache.flag("admit", "FILTER").says("Which missed objects come in: \
                max:SIZE, second (asked for before), random:SHARE")]
        /// What follows so many requests, or such a share of them, is counted apart as well.
        skip: Option<String> { Known("count or share", None), "10%" }
            flag [Group::Cache.flag("skip", "N|SHARE")
                .says("Count what follows so many requests, or such a share of them, apart \
                    as well")]
        /// Tells for each size what no policy undercuts.
        bound: bool { Switch, or false, "true" }
            flag [Group::Cache.switch("bound").says("Tell for each size what no policy \
                undercuts: exactly where objects have one size")]
        /// Tells misses by the size of objects too, in powers of ten.
        by_size: bool { Switch, or false, "true" }
            flag [Group::Cache.switch("by-size")
                .says("Tell misses by the size of objects too, in powers of ten")]
    }
}
