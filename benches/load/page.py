"""RESULTS.md: the contract's table, then what stands behind each line."""

import os
import re
import statistics
import time

import host

HERE = os.path.dirname(os.path.abspath(__file__))
DEFAULT = os.path.join(HERE, "RESULTS.md")

HEAD = """\
# The load engine against its peers

{date}, `make bench-load`{options}. {took:.0f} s in all.

Server on one core, generator on another, 64 keep-alive connections over loopback; tools take
turns, figures are medians of {rounds}, with the least and the greatest behind them. CPU time is
the kernel's account of the finished generator. *Foreign* is the share of both cores that neither
server nor generator used, but somebody else did: the higher it is, the less a batch says.
{isolation}
"""

ISOLATION = {
    "priority": "Measured processes ran at the highest weight of the kernel's autogroups.",
    "realtime": "Measured processes ran in the kernel's real-time classes, servers as FIFO, "
                "generators as round-robin.",
    "none": "Measured processes ran at normal priority.",
}


def verdict(row):
    """The word for a row's outcome."""
    if row.met is None:
        return "–" if row.goal_met is None else ("goal met" if row.goal_met else "–")
    if not row.met:
        return "**missed**"
    return "goal met" if row.goal_met else "met"


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def spread(values, form="{:.1f}"):
    """The median, and the range behind it."""
    text = form.format(statistics.median(values))
    if len(values) > 1:
        text += f" [{form.format(min(values))}–{form.format(max(values))}]"
    return text


def loads(by_tool, reference=None):
    """A table of loads, a tool a line: rate, CPU, server, memory."""
    rows = []
    medians = {name: statistics.median(one.rate for one in many) for name, many in by_tool.items()}
    cpu = {name: statistics.median(one.cpu_us for one in many) for name, many in by_tool.items()}
    for name, many in by_tool.items():
        ratio = ""
        if reference in by_tool:
            ratio = f"{medians[name] / medians[reference]:.2f}"
            ratio += f"; {cpu[name] / cpu[reference]:.2f}"
        rows.append([
            name,
            spread([one.rate / 1000 for one in many]),
            spread([one.cpu_us for one in many], "{:.2f}"),
            ratio,
            spread([100 * one.used.server_share for one in many], "{:.0f}"),
            spread([100 * one.used.foreign_share for one in many], "{:.0f}"),
            f"{max(one.used.max_rss_kib for one in many) / 1024:.0f}",
        ])
    head = [
        "", "1000/s", "CPU µs/request", f"ratios to {reference}: rate; CPU", "server core busy %",
        "foreign %", "peak memory MiB",
    ]
    if reference not in by_tool:
        head[3] = ""
    return table(head, rows)


def plain_command(command, place):
    """A command as a reader may type it."""
    words = []
    for word in command:
        word = word.replace(os.environ["PLIMSOLL"], "plimsoll").replace(place, "/tmp/bench")
        if os.environ.get("SERVERS"):
            word = word.replace(os.environ["SERVERS"] + "/", "")
        word = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:8080", word)
        if word.startswith("/") and os.access(word, os.X_OK) and not os.path.isdir(word):
            word = os.path.basename(word)
        special = set(" *;'\"$&|()<>")
        words.append(f"'{word}'" if special & set(word) else word)
    return " ".join(words)


def write(bench, began, options):
    """The whole page."""
    flags = "".join(
        f" --{name}" for name in ("quick", "long") if getattr(options, name)
    )
    if options.only:
        flags += f" --only {options.only}"
    text = HEAD.format(
        date=time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(began)),
        options=f" with `{flags.strip()}`" if flags else "",
        took=time.time() - began,
        rounds=bench.rounds,
        isolation=ISOLATION[bench.host.isolation],
    )
    facts = host.facts() + sorted(bench.versions.items())
    text += "\n" + table(["fact", "value"], facts)
    rows = [
        [row.name, row.must, row.goal, row.measured, verdict(row)] for row in bench.rows
    ]
    text += "\n## The contract\n\n"
    text += table(["", "must", "goal", "measured", ""], rows)
    text += (
        "\nwrk2 and h1load, the other two strong peers, are in no package manager and are not "
        "measured here.\n"
    )
    for title, body in bench.sections:
        text += f"\n## {title}\n\n{body.rstrip()}\n"
    text += "\n## Commands\n\nEach behind `taskset -c 1` (servers: `taskset -c 0`).\n\n"
    text += table(
        ["what", "command"], [[what, f"`{said}`"] for what, said in bench.commands.items()]
    ).replace("||", "\\|\\|")
    return text
