//! Slurm: a batch script with an allocation for all, or an array of workers that wait at a broker.

use std::borrow::Cow;
use std::time::Duration;

use super::{Allotment, MIB};

/// A batch script.
#[derive(Debug, Clone, Copy)]
pub struct Slurm<'a> {
    /// What the workers are given.
    pub of: Allotment<'a>,
    /// The partitions that take it: `a,b`; those that the cluster chooses where none are named.
    pub partition: Option<&'a str>,
    /// Who pays for it.
    pub account: Option<&'a str>,
    /// The path of this program on the nodes.
    pub program: &'a str,
    /// What is done.
    pub work: Work<'a>,
}

/// What a batch script does.
#[derive(Debug, Clone, Copy)]
pub enum Work<'a> {
    /// The words of a command of this program, whose workers `srun` starts.
    Command(&'a [String]),
    /// Workers wait at a broker, each with a key of its own.
    Wait {
        /// The words of one, but for its key.
        words: &'a [String],
        /// The path of worker N's key, up to N.
        keys: &'a str,
    },
}

/// Whether Slurm's directives can have this value: letters, digits and `._,-`.
#[must_use]
pub fn is_value(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"._,-".contains(&byte);
    !text.is_empty() && text.bytes().all(is_part)
}

impl Slurm<'_> {
    /// The script. Texts with a byte of zero, which no shell can have, lose it.
    #[must_use]
    pub fn script(&self) -> String {
        let mut out = String::from("#!/bin/bash\n");
        let name = self.of.name;
        let (about, own, log): (_, Vec<String>, _) = match self.work {
            Work::Command(_) => (
                format!(
                    "# {} workers, and who tells them what to do beside the first: sbatch FILE\n\
                     # A minute before its time is over it is interrupted, and keeps what it has.\n\
                     # An experiment goes on from there when this is submitted once more.\n",
                    self.of.workers
                ),
                // A node that fails takes its worker with it, and not the others.
                ["--no-kill", "--signal=B:INT@60"]
                    .map(str::to_owned)
                    .into_iter()
                    .chain([format!("--ntasks={}", self.of.workers)])
                    .collect(),
                "%j",
            ),
            Work::Wait { .. } => (
                format!(
                    "# {} workers that wait at a broker: sbatch FILE\n\
                     # The broker's password is the value of PLIMSOLL_BUS_PASSWORD where this is \
                     submitted.\n",
                    self.of.workers
                ),
                vec![
                    format!("--array=0-{}", self.of.workers.saturating_sub(1)),
                    "--ntasks=1".to_owned(),
                    "--signal=B:TERM@30".to_owned(),
                ],
                "%A_%a",
            ),
        };
        out.push_str(&about);
        let mut directive = |text: &str| out.push_str(&format!("#SBATCH {text}\n"));
        directive(&format!("--job-name={name}"));
        own.iter().for_each(|text| directive(text));
        self.each().iter().for_each(|text| directive(text));
        directive(&format!("--time={}", time(self.of.time)));
        // What a worker was doing is given to others by whoever asked for it.
        directive("--no-requeue");
        directive(&format!("--output={name}-{log}.log"));
        self.partition.iter().for_each(|of| directive(&format!("--partition={of}")));
        self.account.iter().for_each(|of| directive(&format!("--account={of}")));
        out.push_str(&format!("\nexec {}\n", self.command()));
        out
    }

    /// What each worker is given. Memory is by processor, as some clusters want it, and both stand
    /// in the directives and in each step: steps do not inherit processors since Slurm 22.05, and
    /// none may take all memory.
    fn each(&self) -> [String; 2] {
        let processors = self.of.processors.max(1);
        let memory = self.of.memory_bytes.div_ceil(u64::from(processors)).div_ceil(MIB);
        [format!("--cpus-per-task={processors}"), format!("--mem-per-cpu={memory}M")]
    }

    fn command(&self) -> String {
        let quoted = |words: &[String]| {
            let words = words.iter().map(|word| quoted(word));
            [quoted(self.program)].into_iter().chain(words).collect::<Vec<_>>().join(" ")
        };
        match self.work {
            Work::Command(words) => {
                let step = ["srun", "--ntasks=1", "--nodes=1", "--exclusive"].map(str::to_owned);
                let step: Vec<String> = step.into_iter().chain(self.each()).collect();
                let start = format!("fleet.start={}", step.join(","));
                let workers = ["--workers".to_owned(), self.of.workers.to_string()];
                let set = ["--set".to_owned(), start];
                quoted(&words.iter().cloned().chain(workers).chain(set).collect::<Vec<_>>())
            }
            Work::Wait { words, keys } => {
                let key = self::quoted(keys);
                format!("{} --key {key}\"$SLURM_ARRAY_TASK_ID\".key", quoted(words))
            }
        }
    }
}

/// A word of a shell.
fn quoted(word: &str) -> String {
    let word: Cow<'_, str> = word.replace('\0', "").into();
    shlex::try_quote(&word).map_or_else(|_| String::new(), Cow::into_owned)
}

/// A duration as Slurm has it: days, hours, minutes, seconds.
fn time(of: Duration) -> String {
    let s = of.as_secs() + u64::from(of.subsec_nanos() > 0);
    let (days, hours, minutes) = (s / 86_400, s / 3600 % 24, s / 60 % 60);
    format!("{days}-{hours:02}:{minutes:02}:{:02}", s % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(work: Work<'_>) -> String {
        let of = Allotment {
            name: "plimsoll",
            workers: 8,
            processors: 3,
            memory_bytes: 2 << 30,
            time: Duration::from_secs(93_784),
        };
        let (partition, account) = (Some("short,long"), None);
        Slurm { of, partition, account, program: "/opt/a b/plimsoll", work }.script()
    }

    #[test]
    fn an_allocation_has_all_workers_and_each_step_one() {
        let words = ["run", "it's.toml", "--set", "repeat=$(touch x)"].map(str::to_owned);
        let script = script(Work::Command(&words));
        for line in [
            "#SBATCH --job-name=plimsoll",
            "#SBATCH --ntasks=8",
            "#SBATCH --cpus-per-task=3",
            "#SBATCH --mem-per-cpu=683M",
            "#SBATCH --time=1-02:03:04",
            "#SBATCH --no-requeue",
            "#SBATCH --no-kill",
            "#SBATCH --output=plimsoll-%j.log",
            "#SBATCH --partition=short,long",
        ] {
            assert!(script.lines().any(|of| of == line), "{line}: {script}");
        }
        let command = script.lines().last().unwrap();
        let given = shlex::split(command).unwrap();
        assert_eq!(
            given[..6],
            ["exec", "/opt/a b/plimsoll", "run", "it's.toml", "--set", &words[3]]
        );
        assert_eq!(given[6..9], ["--workers", "8", "--set"]);
        let start = "fleet.start=srun,--ntasks=1,--nodes=1,--exclusive,--cpus-per-task=3,\
                     --mem-per-cpu=683M";
        assert_eq!(given[9], start);
        assert!(!script.contains("--account"), "{script}");
        // Directives stand before the first command.
        assert!(script.find("\nexec").unwrap() > script.rfind("#SBATCH").unwrap());
    }

    #[test]
    fn a_job_of_an_array_has_the_key_of_its_number() {
        let words = ["worker", "--bus", "amqp://w@b/v"].map(str::to_owned);
        let script = script(Work::Wait { words: &words, keys: "my keys/w" });
        assert!(script.contains("#SBATCH --array=0-7\n"), "{script}");
        let last = script.lines().last().unwrap();
        assert!(last.ends_with("--key 'my keys/w'\"$SLURM_ARRAY_TASK_ID\".key"), "{last}");
    }

    #[test]
    fn values_of_directives_end_at_no_blank() {
        assert!(is_value("a,b-1.x_y") && !is_value("a b") && !is_value("") && !is_value("a\nb"));
    }
}
