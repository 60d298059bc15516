//! What is done for one instance: to make it, and later, while it stands, to make it cold, to have
//! it take its files anew, and to start it anew in its place.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::error::TestbedError;
use crate::flow::Class;
use crate::folder::is_within;
use crate::launch::{Launcher, Order};
use crate::ledger::Made;
use crate::op::Op;
use crate::outline::Outline;
use crate::output;
use crate::provider::Provider;
use crate::recipe::{Commands, Content, Recipe, Reload, Stands, Steady, Warm};
use crate::rents::RENT;
use crate::role::{CopiedFile, Instance, Role};
use crate::texts::{Filled, Texts};
use crate::thing::MARK;
use crate::users::is_root;
use plimsoll_units::hash::hex;

/// The name of this program's copy in the folder of an instance.
pub(crate) const OWN_PROGRAM: &str = "plimsoll";

/// The bed that an instance is of.
#[derive(Clone, Copy)]
pub(crate) struct BedContext<'a> {
    /// The bed's id, which stands in all names.
    pub(crate) id: &'a str,
    /// What gives instances their places.
    pub(crate) provider: &'a dyn Provider,
    /// How processes are started.
    pub(crate) launcher: &'a Launcher,
}

/// What is done for one instance.
pub(crate) struct Making<'a> {
    of: BedContext<'a>,
    role: &'a Role,
    instance: &'a Instance,
    texts: Texts<'a>,
}

impl<'a> Making<'a> {
    /// An instance of a role; `stand` has the roles before it.
    ///
    /// # Errors
    /// A parameter that the recipe does not have, or that cannot be filled in.
    pub(crate) fn new(
        of: BedContext<'a>,
        role: &'a Role,
        instance: &'a Instance,
        stand: &'a BTreeMap<String, Stands>,
    ) -> Result<Self, TestbedError> {
        let texts = Texts::of(role, instance, &program(of.launcher, instance), stand)?;
        Ok(Self { of, role, instance, texts })
    }

    fn recipe(&self) -> &'a Recipe {
        &self.role.recipe.recipe
    }

    /// What collectors ask the instance.
    pub(crate) fn asks(&self) -> Result<BTreeMap<String, String>, TestbedError> {
        let asks = self.recipe().collect.iter().map(|(collector, asks)| {
            let what = format!("`collect.{collector}` of the role `{}`", self.role.name);
            Ok((collector.clone(), self.texts.fill(&what, asks)?.text))
        });
        asks.collect()
    }

    /// What an instance that stands is compared by: its command and its files. Of what is secret
    /// there are names alone.
    pub(crate) fn made(&self) -> Result<Made, TestbedError> {
        let (mut files, mut paths) = (Sha256::new(), Vec::new());
        for file in &self.recipe().write {
            let what = format!("{} of the role `{}`", file.path, self.role.name);
            let filled = self.texts.content(&what, &file.path, &file.text)?;
            let known = match (&file.text, filled.is_secret) {
                (_, false) => filled.text,
                (Content::Template(text), true) => text.clone(),
                (Content::Secret(from), true) => from.source().to_string(),
            };
            files.update(format!("write {}\0{known}\0", file.path));
            paths.push(file.path.clone());
        }
        for CopiedFile { path, from, is_secret } in &self.role.files {
            files.update(format!("copy {path}\0"));
            if *is_secret {
                files.update(from.display().to_string());
            } else {
                digest(from, &mut files).map_err(TestbedError::file("read", from))?;
            }
            paths.push(path.clone());
        }
        let words = self.order("start", &self.recipe().start)?.words;
        let start = hex(&Sha256::digest(words.join("\0")));
        Ok(Made { start, files: hex(&files.finalize()), paths })
    }

    /// The steps of a new instance. Returns the place of the one after which it is ready.
    pub(crate) fn steps(
        &self,
        before: &[usize],
        outline: &mut Outline,
    ) -> Result<usize, TestbedError> {
        let mut place = self.of.provider.place(self.of.id, self.role, self.instance);
        if !self.of.provider.is_reached(&self.role.name) {
            let at = self.add("rent it", Class::Infrastructure, before, place, outline);
            outline.steps[at].limit = RENT;
            let at = self.ready(at, outline)?;
            return self.warm(at, outline);
        }
        place.extend(self.restored());
        place.extend(self.files()?);
        let made = self.add("make its place", Class::Infrastructure, before, place, outline);
        self.serve(made, outline)
    }

    /// The steps by which an instance takes its files anew while it runs. `stale` are the paths of
    /// files that it has no more.
    pub(crate) fn reload(
        &self,
        reload: &Reload,
        stale: &[String],
        before: &[usize],
        outline: &mut Outline,
    ) -> Result<usize, TestbedError> {
        let written = self.add(
            "write its files anew",
            Class::Infrastructure,
            before,
            self.written(stale)?,
            outline,
        );
        let mut ops = self.commands("reload", &reload.run)?;
        if let Some(signal) = &reload.signal {
            let Instance { name, folder, .. } = self.instance;
            ops.push(Op::Signal {
                instance: name.clone(),
                folder: folder.clone(),
                signal: signal.clone(),
                replaces_workers: reload.replaces_workers,
            });
        }
        let at = self.add("reload it", Class::Service, &[written], ops, outline);
        outline.steps[at].limit = Duration::from_secs(reload.within_s);
        self.ready(at, outline)
    }

    /// The steps by which an instance is made anew in its place: nothing stays but that.
    pub(crate) fn remake(
        &self,
        before: &[usize],
        outline: &mut Outline,
    ) -> Result<usize, TestbedError> {
        let (instance, folder) = (self.instance.name.clone(), self.instance.folder.clone());
        let end = vec![Op::End { instance, stop: self.recipe().stop.clone() }];
        let ended = self.add("end it", Class::Service, before, end, outline);
        let mut ops = vec![Op::Clear { folder }];
        ops.extend(self.restored());
        ops.extend(self.files()?);
        let made = self.add("make its folder anew", Class::Infrastructure, &[ended], ops, outline);
        self.serve(made, outline)
    }

    /// The steps that make an instance cold that has served: it is emptied, and then warmed as it
    /// was when it was new. None where its recipe does not say how it is emptied.
    pub(crate) fn chill(
        &self,
        before: &[usize],
        outline: &mut Outline,
    ) -> Result<Option<usize>, TestbedError> {
        let Commands { run, within_s } = &self.recipe().cold;
        if run.is_empty() {
            return Ok(None);
        }
        let ops = self.commands("cold", run)?;
        let at = self.add("make it cold", Class::Service, before, ops, outline);
        outline.steps[at].limit = Duration::from_secs(*within_s);
        self.warm(at, outline).map(Some)
    }

    fn add(
        &self,
        name: &str,
        class: Class,
        after: &[usize],
        ops: Vec<Op>,
        outline: &mut Outline,
    ) -> usize {
        let at = outline.add(name, &self.instance.name, class, after, ops);
        outline.steps[at].host = self.instance.host.as_ref().map(|host| host.name.clone());
        at
    }

    /// The steps of an instance whose place is made: its start, and all until it is ready.
    fn serve(&self, made: usize, outline: &mut Outline) -> Result<usize, TestbedError> {
        let start = Op::Start {
            instance: self.instance.name.clone(),
            folder: self.instance.folder.clone(),
            order: self.order("start", &self.recipe().start)?,
            stop: self.recipe().stop.clone(),
        };
        let started = self.add("start it", Class::Service, &[made], vec![start], outline);
        let at = self.ready(started, outline)?;
        self.warm(at, outline)
    }

    fn ready(&self, after: usize, outline: &mut Outline) -> Result<usize, TestbedError> {
        let (Instance { name, folder, .. }, address) = (self.instance, self.address()?);
        let check = self.recipe().check.clone();
        let limit = Duration::from_secs(check.within_s);
        let ready = Op::Ready { instance: name.clone(), folder: folder.clone(), address, check };
        let at = self.add("wait for it", Class::Service, &[after], vec![ready], outline);
        outline.steps[at].limit = limit;
        Ok(at)
    }

    /// Where it listens.
    fn address(&self) -> Result<SocketAddr, TestbedError> {
        let Instance { name, address, port, .. } = self.instance;
        let text = format!("{address}:{port}");
        text.parse().map_err(|_| {
            TestbedError::Wrong(format!("place {name} at {text}, which is no address"))
        })
    }

    fn warm(&self, after: usize, outline: &mut Outline) -> Result<usize, TestbedError> {
        let Warm { run, steady, within_s } = &self.recipe().warm;
        // What warms an instance from nothing, its image has behind it.
        let run: &[_] = if self.role.image.is_some() { &[] } else { run };
        if run.is_empty() && steady.is_none() {
            return Ok(after);
        }
        let mut ops = self.commands("warm", run)?;
        if let Some(steady) = steady {
            let Instance { name, folder, .. } = self.instance;
            let what = format!("`warm.steady` of the role `{}`", self.role.name);
            let http = steady.http.iter().map(|path| self.texts.word(&what, path));
            let when = Steady { http: http.collect::<Result<_, _>>()?, ..steady.clone() };
            let (instance, folder, address) = (name.clone(), folder.clone(), self.address()?);
            ops.push(Op::Steady { instance, folder, address, when });
        }
        let at = self.add("warm it", Class::Service, &[after], ops, outline);
        outline.steps[at].limit = Duration::from_secs(*within_s);
        Ok(at)
    }

    /// The files of the image that it starts from.
    fn restored(&self) -> Option<Op> {
        let image = self.role.image.clone()?;
        let user = is_root().then(|| self.role.user().to_owned());
        Some(Op::Restore { folder: self.instance.folder.clone(), image, user })
    }

    /// The paths in its folder that no image has: what is written anew for each instance, and what
    /// it and its commands said.
    pub(crate) fn left_out(&self) -> Vec<String> {
        let recipe = self.recipe();
        let written = recipe.write.iter().map(|of| of.path.clone());
        let copied = self.role.files.iter().map(|of| of.path.clone());
        let own = [OWN_PROGRAM, MARK, output::FILE].map(str::to_owned);
        let log = |key: &'static str| move |at| format!("{key}-{}.log", at + 1);
        let warm = (0..recipe.warm.run.len()).map(log("warm"));
        let cold = (0..recipe.cold.run.len()).map(log("cold"));
        written.chain(copied).chain(own).chain(warm).chain(cold).collect()
    }

    /// The files of its folder.
    fn files(&self) -> Result<Vec<Op>, TestbedError> {
        let (role, instance) = (self.role, self.instance);
        // Whether it is root's on another host is known there.
        let gives = instance.host.is_some() || is_root();
        let user = gives.then(|| role.user().to_owned());
        let mut ops = Vec::new();
        for file in &self.recipe().write {
            let what = format!("{} of the role `{}`", file.path, role.name);
            let Filled { text, is_secret } = self.texts.content(&what, &file.path, &file.text)?;
            let (folder, path) = (instance.folder.clone(), file.path.clone());
            ops.push(Op::Write { folder, path, text, is_secret, user: user.clone() });
        }
        ops.extend(self.own_program());
        for CopiedFile { path, from, is_secret } in &role.files {
            if !is_within(path) {
                let text = format!(
                    "copy {} for the role `{}`: `{path}` leads out of the instance's folder",
                    from.display(),
                    role.name
                );
                return Err(TestbedError::Wrong(text));
            }
            let (folder, path, from) = (instance.folder.clone(), path.clone(), from.clone());
            ops.push(Op::Copy { folder, path, from, is_secret: *is_secret, user: user.clone() });
        }
        Ok(ops)
    }

    /// The files of its folder, after those are removed that it has no more.
    fn written(&self, stale: &[String]) -> Result<Vec<Op>, TestbedError> {
        let folder = || self.instance.folder.clone();
        let removed = stale.iter().map(|path| Op::Remove { folder: folder(), path: path.clone() });
        Ok(removed.chain(self.files()?).collect())
    }

    /// The copy of this program for an instance that may need one.
    fn own_program(&self) -> Option<Op> {
        let own = program(self.of.launcher, self.instance);
        let is_needed = own != self.of.launcher.program && self.role.names_own_program();
        is_needed.then(|| Op::Program { folder: self.instance.folder.clone() })
    }

    /// A command in the place of the instance, as its user. `key` says where in the recipe it is.
    pub(crate) fn order(&self, key: &str, words: &[String]) -> Result<Order, TestbedError> {
        let mut order = self.of.provider.start(self.of.id, self.role, self.instance)?;
        let what = format!("`{key}` of the role `{}`", self.role.name);
        let own = words.iter().map(|word| self.texts.word(&what, word));
        order.words.extend(own.collect::<Result<Vec<_>, _>>()?);
        order.environment = self.role.environment.clone().into_iter().collect();
        Ok(order)
    }

    fn commands(&self, key: &str, commands: &[Vec<String>]) -> Result<Vec<Op>, TestbedError> {
        let command = |(at, words): (usize, &Vec<String>)| {
            Ok(Op::Run {
                name: format!("{} {key}-{}", self.instance.name, at + 1),
                folder: self.instance.folder.clone(),
                log: format!("{key}-{}.log", at + 1),
                order: self.order(key, words)?,
            })
        };
        commands.iter().enumerate().map(command).collect()
    }
}

/// What the instances of a role are made by, wherever they stand: the digest of its recipe, its
/// parameters, and the files beside the plan. Of what is secret there are names alone.
///
/// # Errors
/// A file that cannot be read.
pub fn recipe_of(role: &Role) -> Result<String, TestbedError> {
    let mut all = Sha256::new();
    all.update(format!("{}\0", role.recipe.text));
    for (name, value) in &role.vars {
        all.update(format!("{name}={value:?}\0"));
    }
    all.update(format!("{:?}\0{}\0", role.secrets, role.user()));
    for CopiedFile { path, from, is_secret } in &role.files {
        all.update(format!("copy {path}\0"));
        if !is_secret {
            digest(from, &mut all).map_err(TestbedError::file("read", from))?;
        }
    }
    Ok(hex(&all.finalize()))
}

/// Adds what a file holds.
pub(crate) fn digest(from: &Path, to: &mut Sha256) -> std::io::Result<()> {
    let (mut file, mut block) = (File::open(from)?, vec![0; 1 << 16]);
    loop {
        match file.read(&mut block)? {
            0 => return Ok(()),
            read => to.update(&block[..read]),
        }
    }
}

/// Where an instance finds this program: a copy in its folder, where the instance runs as a user
/// who may not go to the program itself, or on another host.
pub(crate) fn program(launcher: &Launcher, instance: &Instance) -> PathBuf {
    if instance.host.is_some() || is_root() && !launcher.is_open_to_all() {
        return instance.folder.join(OWN_PROGRAM);
    }
    launcher.program.clone()
}
