//! What a page shows as commands: its ```` ```sh ```` blocks, divided into commands, and its
//! ```` ```python ```` blocks, each of which is one, with the cells before it.

use std::collections::BTreeSet;

/// One block of commands.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Block {
    /// The line of its opening fence, from 1.
    pub(super) line: usize,
    pub(super) runs: bool,
    /// Whether it takes long: run by `make test-long`, and where its page has changed.
    pub(super) is_long: bool,
    /// Programs it cannot run without.
    pub(super) needs: Vec<String>,
    pub(super) commands: Vec<ShownCommand>,
}

/// One command as it stands in the page.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ShownCommand {
    pub(super) line: usize,
    pub(super) script: String,
    /// Whether it ends in `&`.
    pub(super) in_background: bool,
    /// The codes with which it may end.
    pub(super) exit_codes: Vec<i32>,
}

impl ShownCommand {
    /// The address after `--listen`, which a server in the background answers on; or the port after
    /// `--port`, `--tls-port` (Redis) or `-p` (memcached); `--port 0` is none.
    pub(super) fn listens_on(&self) -> Option<&str> {
        let words: Vec<&str> = self.script.split_ascii_whitespace().collect();
        let flags = ["--listen", "--port", "--tls-port", "-p"];
        let mut all = words.windows(2).filter(|pair| flags.contains(&pair[0])).map(|pair| pair[1]);
        all.find(|address| *address != "0")
    }

    /// Whether it may end with that code.
    pub(super) fn may_end(&self, code: Option<i32>) -> bool {
        code.is_some_and(|code| self.exit_codes.contains(&code))
    }

    /// Whether it measures a capacity or a load, and so wants the machine calm.
    pub(super) fn measures(&self) -> bool {
        let is_search = ["plimsoll capacity", "plimsoll infer"]
            .iter()
            .any(|command| self.script.contains(command));
        is_search && !["--simulated", "--help"].iter().any(|flag| self.script.contains(flag))
    }
}

/// What two pages that are in one network cannot have at once: the test-beds of the machine, and
/// the ports that their commands name, as servers of their own or as somebody's address.
pub(super) fn claims_of(blocks: &[Block]) -> BTreeSet<String> {
    let commands = blocks.iter().filter(|block| block.runs).flat_map(|block| &block.commands);
    let mut claims = BTreeSet::new();
    for command in commands {
        claims.extend(ports_in(&command.script).map(|port| port.to_string()));
        if command.script.contains("testbed") {
            claims.insert("test-beds".to_owned());
        }
    }
    claims
}

/// The numbers after a colon, or after a word that says that a port follows.
fn ports_in(script: &str) -> impl Iterator<Item = u16> {
    const BEFORE: [&str; 6] = [":", "port = ", "port ", "listen ", "web ", "-p "];
    BEFORE.into_iter().flat_map(|before| script.match_indices(before)).filter_map(|(at, before)| {
        let rest = &script[at + before.len()..];
        let end = rest.find(|next: char| !next.is_ascii_digit()).unwrap_or(rest.len());
        let is_port = |port: &u16| *port > 0 && !rest[end..].starts_with('.');
        rest[..end].parse().ok().filter(is_port)
    })
}

/// The program that runs cells: Python with what they import (`.ci/notebook`).
const NOTEBOOK: &str = "notebook-python";

/// Every `sh` and `python` block of a page, in order.
pub(super) fn blocks_of(page: &str) -> Vec<Block> {
    let (mut blocks, mut cells) = (Vec::new(), String::new());
    let mut lines = page.lines().enumerate();
    while let Some((index, line)) = lines.next() {
        let Some(info) = line.trim_start().strip_prefix("```") else { continue };
        let body: Vec<(usize, &str)> = lines
            .by_ref()
            .take_while(|(_, line)| line.trim() != "```")
            .map(|(index, line)| (index + 1, line))
            .collect();
        let before_comment = info.split('#').next().unwrap_or(info);
        let words: Vec<&str> = before_comment.split_ascii_whitespace().collect();
        let (runs, is_long) = (!words.contains(&"no-run"), words.contains(&"long"));
        let (needs, commands) = match words.first() {
            Some(&"sh") => (needs_of(info), divide(&body)),
            Some(&"python") if runs => {
                body.iter().for_each(|(_, line)| cells += &format!("{line}\n"));
                (vec![NOTEBOOK.to_owned()], vec![cell(index + 1, &cells)])
            }
            _ => continue,
        };
        blocks.push(Block { line: index + 1, runs, is_long, needs, commands });
    }
    blocks
}

/// A cell of a notebook, with those before it.
fn cell(line: usize, cells: &str) -> ShownCommand {
    let script = format!("{NOTEBOOK} - <<'END_OF_CELLS'\n{cells}END_OF_CELLS");
    ShownCommand { line, script, in_background: false, exit_codes: vec![0] }
}

fn needs_of(info: &str) -> Vec<String> {
    let (_, list) = info.split_once("# needs:").unwrap_or_default();
    list.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
}

/// One command a line; a trailing `\` and a here-document continue it.
fn divide(body: &[(usize, &str)]) -> Vec<ShownCommand> {
    let mut commands = Vec::new();
    let mut rest = body.iter();
    while let Some((line, first)) = rest.next() {
        if first.trim().is_empty() || first.trim_start().starts_with('#') {
            continue;
        }
        let mut last = *first;
        let mut script = String::from(*first);
        while last.ends_with('\\') {
            let Some((_, next)) = rest.next() else { break };
            last = next;
            script.push('\n');
            script.push_str(next);
        }
        let head = script.clone();
        if let Some(end) = end_of_here_document(&head) {
            for (_, next) in rest.by_ref() {
                script.push('\n');
                script.push_str(next);
                if next.trim() == end {
                    break;
                }
            }
        }
        commands.push(ShownCommand {
            line: *line,
            in_background: head.split(" #").next().unwrap_or("").trim_end().ends_with('&'),
            exit_codes: exit_codes_of(&head),
            script,
        });
    }
    commands
}

/// The word that ends the here-document a command opens: `<<'EOF'`, `<<EOF`.
fn end_of_here_document(command: &str) -> Option<&str> {
    let (_, after) = command.split_once("<<")?;
    let word = after.trim_start_matches('-').trim_start().split_ascii_whitespace().next()?;
    let word = word.trim_matches(['\'', '"']);
    // `<<<` is a string, not a document.
    (!word.starts_with('<')).then_some(word)
}

/// The codes after a trailing `# exits N` or `# exits N or M`; 0 without one.
fn exit_codes_of(command: &str) -> Vec<i32> {
    let (_, comment) = command.rsplit_once("# exits ").unwrap_or_default();
    let mut words = comment.split_ascii_whitespace().map(|word| word.trim_end_matches(','));
    let mut codes: Vec<i32> = words.next().and_then(|code| code.parse().ok()).into_iter().collect();
    while words.next() == Some("or") {
        codes.extend(words.next().and_then(|code| code.parse::<i32>().ok()));
    }
    if codes.is_empty() { vec![0] } else { codes }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commands(body: &str) -> Vec<ShownCommand> {
        let page = format!("```sh\n{body}\n```\n");
        let mut blocks = blocks_of(&page);
        assert_eq!(blocks.len(), 1);
        blocks.remove(0).commands
    }

    #[test]
    fn blocks_say_how_they_run() {
        let page = "text\n```sh\na\n```\n```toml\nb = 1\n```\n```sh no-run\nc\n```\n\
                    ```sh # needs: nginx, curl\nd\n```\n```shell\ne\n```\n";
        let shown: Vec<(usize, bool, Vec<String>)> = blocks_of(page)
            .into_iter()
            .map(|block| (block.line, block.runs, block.needs))
            .collect();
        let needs = vec!["nginx".to_owned(), "curl".to_owned()];
        assert_eq!(shown, [(2, true, vec![]), (8, false, vec![]), (11, true, needs)]);
    }

    #[test]
    fn a_cell_is_run_with_those_before_it() {
        let page = "```python long\na = 1\n```\n```python no-run\nb\n```\n```python\na & 2\n```\n";
        let blocks = blocks_of(page);
        let shown: Vec<(usize, bool, &str)> = blocks
            .iter()
            .map(|block| (block.line, block.is_long, block.commands[0].script.as_str()))
            .collect();
        let of = |cells: &str| format!("notebook-python - <<'END_OF_CELLS'\n{cells}END_OF_CELLS");
        let (first, second) = (of("a = 1\n"), of("a = 1\na & 2\n"));
        assert_eq!(shown, [(1, true, &*first), (7, false, &*second)]);
        assert!(blocks.iter().all(|block| block.needs == ["notebook-python"]));
    }

    #[test]
    fn one_line_is_one_command() {
        let found = commands("one --a\n\n# a comment\ntwo \\\n  --b\nthree");
        let shown: Vec<(usize, &str)> =
            found.iter().map(|command| (command.line, command.script.as_str())).collect();
        assert_eq!(shown, [(2, "one --a"), (5, "two \\\n  --b"), (7, "three")]);
    }

    #[test]
    fn a_here_document_belongs_to_its_command() {
        let found =
            commands("cat > plan.toml <<'EOF'\n# a plan\na = 1\nEOF\nrun plan.toml\nx <<< y");
        let shown: Vec<&str> = found.iter().map(|command| command.script.as_str()).collect();
        assert_eq!(
            shown,
            ["cat > plan.toml <<'EOF'\n# a plan\na = 1\nEOF", "run plan.toml", "x <<< y"]
        );
    }

    #[test]
    fn exit_codes_are_stated_by_a_comment() {
        let found = commands(
            "a  # exits 3\nb\nc # the SLO does not hold: # exits 2 here\n\
             d # exits 3 or 0, on a noisy host",
        );
        let codes: Vec<Vec<i32>> = found.into_iter().map(|command| command.exit_codes).collect();
        assert_eq!(codes, [vec![3], vec![0], vec![2], vec![3, 0]]);
    }

    #[test]
    fn long_blocks_and_commands_that_measure_are_told() {
        let page = "```sh long # needs: nginx\na\n```\n```sh # no long\nb\n```\n";
        let long: Vec<bool> = blocks_of(page).iter().map(|block| block.is_long).collect();
        assert_eq!(long, [true, false]);
        let found = commands(
            "plimsoll capacity URL\nplimsoll capacity --help\nplimsoll load URL\n\
             plimsoll infer URL \\\n  --simulated",
        );
        let measure: Vec<bool> = found.iter().map(ShownCommand::measures).collect();
        assert_eq!(measure, [true, false, false, false]);
    }

    #[test]
    fn pages_claim_the_ports_that_they_name() {
        let page = "```sh no-run\na :1\n```\n```sh\nserve --listen 127.0.0.1:8080 --web 9 &\n\
                    curl localhost:8081/x10\nb --port 82 -p 0\nc\n```\n";
        let claims: Vec<String> = claims_of(&blocks_of(page)).into_iter().collect();
        assert_eq!(claims, ["8080", "8081", "82", "9"]);
        let page = "```sh\nplimsoll testbed status\nplimsoll capacity URL\nplimsoll infer\n```\n";
        let claims: Vec<String> = claims_of(&blocks_of(page)).into_iter().collect();
        assert_eq!(claims, ["test-beds"]);
    }

    #[test]
    fn servers_run_in_the_background() {
        let found = commands(
            "serve --listen 127.0.0.1:1 &\nserve & # until the end\na && b\nc # d &\ne -p 7 &",
        );
        let shown: Vec<(bool, Option<&str>)> =
            found.iter().map(|command| (command.in_background, command.listens_on())).collect();
        assert_eq!(
            shown,
            [
                (true, Some("127.0.0.1:1")),
                (true, None),
                (false, None),
                (false, None),
                (true, Some("7"))
            ]
        );
    }
}
