"""Processes of a measurement: where they run, what they used, and what disturbed them.

The server runs on one core and the generator on another. CPU time of a generator is the kernel's
own account of the finished child (wait4(2)), of a server the difference of its CPU clock. Time
that neither of them used, but somebody else did, the hypervisor included, is reported as foreign:
on a quiet machine it is near zero, and where it is not, figures of that batch are worth less.
"""

import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass, field

TICKS = os.sysconf("SC_CLK_TCK")
LOOK_S = 0.02


class Absent(Exception):
    """Something that a measurement needs is not there."""


@dataclass
class Used:
    """A finished generator: what it said and what it cost."""

    command: list
    out: str
    err: str
    code: int
    wall_s: float
    cpu_s: float
    max_rss_kib: int
    server_share: float
    foreign_share: float
    watched: list = field(default_factory=list)


class Host:
    """Two cores, and the right to be scheduled before others where it is granted."""

    def __init__(self, isolation):
        allowed = sorted(os.sched_getaffinity(0))
        if len(allowed) < 2:
            raise Absent("two cores are needed, one for the server and one for the generator")
        self.server_core, self.generator_core = allowed[0], allowed[1]
        self.isolation = isolation if self._permitted(isolation) else "none"

    @staticmethod
    def _permitted(isolation):
        if isolation == "none":
            return True
        probe = subprocess.Popen(["sleep", "5"], preexec_fn=lambda: _isolate(isolation, True))
        try:
            if isolation == "priority":
                with open(f"/proc/{probe.pid}/autogroup") as text:
                    return "nice -20" in text.read()
            return os.sched_getscheduler(probe.pid) == os.SCHED_FIFO
        except OSError:
            return False
        finally:
            probe.kill()
            probe.wait()

    @staticmethod
    def peer(program):
        """The path of an installed program."""
        path = shutil.which(program)
        if not path:
            raise Absent(f"{program} is not installed")
        return path

    def server(self, command, **options):
        """Starts a server on its core."""
        return subprocess.Popen(
            command, preexec_fn=lambda: self._place(self.server_core, True), **options
        )

    def run(self, command, server=None, timeout_s=60, watch=None, cgroup=None, core=None):
        """Runs a generator on its core to its end; `watch(pid)` is called each second."""
        core = self.generator_core if core is None else core
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            server_before, busy_before = _cpu_s(server), self._busy_s()
            began = time.monotonic()
            child = subprocess.Popen(
                command, stdout=out, stderr=err, stdin=subprocess.DEVNULL,
                preexec_fn=lambda: self._place(core, False, cgroup),
            )
            watched, peak = [], [0]
            stop = threading.Event()
            looker = threading.Thread(
                target=_look, args=(child.pid, began, timeout_s, watch, watched, peak, stop)
            )
            looker.start()
            try:
                _, status, usage = os.wait4(child.pid, 0)
            except BaseException:
                stop.set()
                child.kill()
                child.wait()
                raise
            wall = time.monotonic() - began
            server_s, busy_s = _cpu_s(server) - server_before, self._busy_s() - busy_before
            stop.set()
            looker.join()
            child.returncode = os.waitstatus_to_exitcode(status)
            texts = []
            for file in (out, err):
                file.seek(0)
                texts.append(file.read().decode("utf-8", "replace"))
        cpu = usage.ru_utime + usage.ru_stime
        return Used(
            command, *texts, child.returncode, wall, cpu, peak[0],
            server_s / wall, max(0.0, busy_s - server_s - cpu) / (2 * wall), watched,
        )

    def _place(self, core, server, cgroup=None):
        os.sched_setaffinity(0, {core})
        if cgroup:
            with open(os.path.join(cgroup, "cgroup.procs"), "w") as procs:
                procs.write(str(os.getpid()))
        else:
            _isolate(self.isolation, server)

    def _busy_s(self):
        """Seconds that both cores were not idle, stolen time included."""
        ticks = 0
        names = {f"cpu{core}" for core in (self.server_core, self.generator_core)}
        with open("/proc/stat") as text:
            for line in text:
                name, *fields = line.split()
                if name in names:
                    user, nice, system, _, _, irq, softirq, steal = map(int, fields[:8])
                    ticks += user + nice + system + irq + softirq + steal
        return ticks / TICKS


def _isolate(isolation, server):
    """Schedules the calling process before others, where that is permitted.

    `priority` puts it into a scheduling group of its own at the highest weight. `realtime` is
    SCHED_FIFO for servers, which sleep, and SCHED_RR for generators, so that one that spins does
    not keep its own other threads from running.
    """
    try:
        if isolation == "priority":
            os.setsid()
            with open("/proc/self/autogroup", "w") as text:
                text.write("-20")
        elif isolation == "realtime":
            policy = os.SCHED_FIFO if server else os.SCHED_RR
            os.sched_setscheduler(0, policy, os.sched_param(10))
    except OSError:
        pass


def _cpu_s(process):
    """CPU time of a process in seconds: its CPU clock (clock_getcpuclockid(3))."""
    return time.clock_gettime((~process.pid << 3) | 2) if process else 0.0


def _look(pid, began, timeout_s, watch, watched, peak, stop):
    """Watches a child each second and its memory more often; ends one that takes too long.

    The kernel's account of a finished child (ru_maxrss) begins with what its parent had when it
    forked, some 15 MiB of this script's: hence the looking.
    """
    tick, second = began, 1
    while True:
        peak[0] = max(peak[0], memory(pid)[1] or 0)
        if time.monotonic() >= began + second:
            if watch:
                watched.append(watch(pid))
            if second >= timeout_s:
                os.kill(pid, signal.SIGKILL)
                return
            second += 1
        tick += LOOK_S
        if stop.wait(max(0.0, tick - time.monotonic())):
            return


def memory(pid):
    """Resident memory of a process now and at most, in KiB."""
    found = {}
    try:
        with open(f"/proc/{pid}/status") as text:
            for line in text:
                if line.startswith(("VmHWM:", "VmRSS:")):
                    found[line[:5]] = int(line.split()[1])
    except OSError:
        pass
    return found.get("VmRSS"), found.get("VmHWM")


class Quota:
    """A control group whose processes get a share of one core; version 1 or 2, whichever works."""

    def __init__(self, share):
        self.path = None
        period = 100_000
        quota = int(share * period)
        name = f"plimsoll-bench-{os.getpid()}"
        tries = [
            ("/sys/fs/cgroup/cpu", [("cpu.cfs_period_us", period), ("cpu.cfs_quota_us", quota)]),
            ("/sys/fs/cgroup", [("cpu.max", f"{quota} {period}")]),
        ]
        for root, settings in tries:
            path = os.path.join(root, name)
            try:
                os.mkdir(path)
            except OSError:
                continue
            try:
                for file, value in settings:
                    if not os.path.exists(os.path.join(path, file)):
                        raise OSError(file)
                    with open(os.path.join(path, file), "w") as text:
                        text.write(str(value))
                self.path = path
                return
            except OSError:
                os.rmdir(path)

    def close(self):
        if self.path:
            os.rmdir(self.path)


def facts():
    """What the figures depend on, as pairs of name and value."""
    model = "unknown"
    with open("/proc/cpuinfo") as text:
        for line in text:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    with open("/proc/meminfo") as text:
        mib = int(text.readline().split()[1]) // 1024
    system = os.uname()
    virtual = False
    with open("/proc/cpuinfo") as text:
        virtual = "hypervisor" in text.read()
    return [
        ("processor", f"{model}, {os.cpu_count()} cores{', a virtual machine' if virtual else ''}"),
        ("memory", f"{mib} MiB"),
        ("kernel", f"{system.sysname} {system.release} {system.machine}"),
        ("load average before", " ".join(f"{one:.2f}" for one in os.getloadavg())),
    ]
