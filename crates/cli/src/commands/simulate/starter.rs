//! `plimsoll simulate access.log …`: a plan is made of the logs, kept, and simulated.

use super::plans::policy_settings;
use crate::files::is_plan;
use crate::flags::PoolFlags;
use crate::simulate_args::Simulate;
use crate::terminal::error::{Result, UsageError, read};
use crate::terminal::say;
use plimsoll_experiment::starter::{Starter, is_made, keep};
use plimsoll_plan::Setting;
use plimsoll_workload::access_log::LogFormat;
use std::path::{Path, PathBuf};

/// Flags that say how much load: a log says it itself.
const HOW_MUCH: [&str; 7] =
    ["schedule", "rate", "for", "trace", "profile", "counts-per", "columns"];

/// The settings of `--service` and `--price`.
pub(super) fn settings(args: &Simulate) -> Vec<Setting> {
    let said = [
        ("instance.service", &args.service, "--service"),
        ("billing.price", &args.price, "--price"),
    ];
    let said = said.into_iter();
    said.filter_map(|(key, value, flag)| Some(Setting::new(key, value.as_ref()?, flag))).collect()
}

/// The text of the plan that logs make, with what was assumed; `None` where a plan is simulated.
pub(super) fn of(args: &Simulate) -> Result<Option<(String, Option<String>)>> {
    // A pattern that means the logs may mean the plan that was made of them, too.
    let is_made_of_others = |input: &&String| args.inputs.len() > 1 && is_made(Path::new(input));
    let inputs: Vec<String> =
        args.inputs.iter().filter(|input| !is_made_of_others(input)).cloned().collect();
    let logs: Vec<PathBuf> = inputs.iter().map(PathBuf::from).collect();
    let is_of_logs = match &inputs[..] {
        [] => false,
        [only] => is_plan(only) && is_log(args, only)?,
        several => {
            check_several(args, several)?;
            true
        }
    };
    if !is_of_logs {
        inputs.iter().try_for_each(|input| check_no_trace(input))?;
        return Ok(None);
    }
    if let Some(flag) = HOW_MUCH.iter().find(|flag| args.flags.has(flag)) {
        let text = format!("simulate an access log with --{flag}: the log says how much load");
        return Err(UsageError(text).into());
    }
    let (mut before, mut format) = (settings(args), None);
    for setting in args.flags.settings() {
        if setting.key == "load.trace.format" {
            format = Some(read("--log-format", &setting.value, LogFormat::parse)?);
        } else {
            before.push(setting);
        }
    }
    let replications = args.replications.as_ref();
    before.extend(replications.map(|n| Setting::new("repeat", n, "--replications")));
    for pair in &args.set {
        let setting = Setting::from_pair(pair);
        before.push(
            setting
                .map_err(|error| crate::terminal::error::FlagError::new("--set", pair, error))?,
        );
    }
    for policy in &args.policy {
        before.extend(policy_settings(policy)?);
    }
    check(&before)?;
    let left_out: Vec<&String> = args.inputs.iter().filter(is_made_of_others).collect();
    if !args.quiet {
        for plan in &left_out {
            say(&format!("note: {plan} is left out: it is a plan that was made of a log"));
        }
    }
    let command = typed(&left_out);
    let starter = Starter { logs: &logs, format, settings: before, command };
    Ok(Some(starter.text()?))
}

/// Whether an input is an access log: it is said how it is written, or its first lines tell.
fn is_log(args: &Simulate, input: &str) -> Result<bool> {
    let path = Path::new(input);
    if input == "-" || path.extension().is_some_and(|end| end == "toml") {
        return Ok(false);
    }
    Ok(args.flags.has("log-format") || LogFormat::of_file(path)?.is_some())
}

/// Refuses a trace in the place of a plan or a log: it says how much load, and of nothing what it
/// is put on.
fn check_no_trace(input: &str) -> Result<(), UsageError> {
    let is_named = |end: &str| input.strip_suffix(".gz").unwrap_or(input).ends_with(end);
    if !is_named(".csv") && !is_named(".tsv") {
        return Ok(());
    }
    let text = format!(
        "simulate {input}: it is a trace, which says how much load there is, not what it is put \
         on; a trace goes with --trace: plimsoll simulate PLAN --trace {input}"
    );
    Err(UsageError(text))
}

/// Several inputs are access logs, all of them.
fn check_several(args: &Simulate, inputs: &[String]) -> Result<()> {
    for input in inputs {
        if !is_log(args, input)? {
            let text = format!(
                "simulate {input} beside others: give one plan, or access logs, of which a plan is \
                 made; it is no log in a known format (--log-format says another)"
            );
            return Err(UsageError(text).into());
        }
    }
    Ok(())
}

/// What a plan needs that no log says.
fn check(settings: &[Setting]) -> Result<()> {
    let has =
        |keys: &[&str]| settings.iter().any(|of| keys.iter().any(|key| of.key.starts_with(key)));
    if !has(&["instance.service", "instance.model"]) {
        let text = "simulate an access log: say how long a request takes at a server, such as \
                    --service exp:70ms";
        return Err(UsageError(text.to_owned()).into());
    }
    if !has(&["policy."]) {
        let text = "simulate an access log: say by which policy, such as --policy hpa; see \
                    --list-policies";
        return Err(UsageError(text.to_owned()).into());
    }
    Ok(())
}

/// Keeps the plan in the working folder: its path, and whether it was there already.
pub(super) fn kept(args: &Simulate, text: &str) -> Result<(String, bool)> {
    let (path, was_there) = keep(Path::new(""), Path::new(args.plan()), text)?;
    Ok((path.display().to_string(), was_there))
}

/// The same command for the plan: what stands in it is not said again.
pub(super) fn of_plan(args: &Simulate, plan: String) -> Simulate {
    Simulate {
        inputs: vec![plan],
        policy: Vec::new(),
        replications: None,
        flags: PoolFlags::default(),
        set: Vec::new(),
        service: None,
        price: None,
        only: args.only.clone(),
        list_policies: args.list_policies,
        threads: args.threads.clone(),
        decisions: args.decisions,
        out: args.out.clone(),
        tags: args.tags.clone(),
        keep_cells: args.keep_cells,
        report: args.report.clone(),
        print_plan: args.print_plan,
        json: args.json,
        quiet: args.quiet,
    }
}

/// The command as it was typed, on one line, without the inputs that are left out.
fn typed(left_out: &[&String]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,=@%+".contains(c);
    let words = std::env::args().skip(1).filter(|word| !left_out.contains(&word));
    let words = words.map(|word| {
        let word: String = word.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        if !word.is_empty() && word.chars().all(plain) {
            word
        } else {
            format!("'{}'", word.replace('\'', r"'\''"))
        }
    });
    // How the result is shown says nothing of the plan.
    let shown = ["--json", "--quiet", "-q", "--decisions"];
    let words: Vec<String> = words.filter(|word| !shown.contains(&word.as_str())).collect();
    format!("plimsoll {}", words.join(" "))
}
