"""A real Slurm on one machine: munge, a controller and nodes on loopback ports.

It needs no systemd and no particular host name, lives in a folder of its own, and takes every
process that it started with it when it ends, however that happens.
"""
import ctypes
import getpass
import os
import pathlib
import signal
import socket
import subprocess
import time

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
ARRAY = 5  # elements of a job array: so few that the farm has to split them
libc = ctypes.CDLL(None)


class Unavailable(Exception):
    """The daemons cannot run here."""


def die_with_parent():
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    os.setsid()


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


def processes():
    """pid -> (parent, state, command line) of all processes."""
    table = {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
        table[int(entry.name)] = (int(fields[1]), fields[0], words)
    return table


def descendants():
    """Living processes below this one: with the subreaper set, daemons too."""
    table, found = processes(), set()
    queue = [os.getpid()]
    while queue:
        parent = queue.pop()
        for pid, (above, state, _) in table.items():
            if above == parent and pid not in found:
                found.add(pid)
                queue.append(pid)
    return {pid for pid in found if table[pid][1] != "Z"}


def kill(pid, number=signal.SIGKILL):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


class Cluster:
    def __init__(self, folder, nodes=3, cpus=1, prefix=(), array=ARRAY, jobs=10000,
                 age=300):
        """prefix: words before the command of each daemon, such as nice; array, jobs, age:
        MaxArraySize, MaxJobCount and MinJobAge of the cluster."""
        self.folder = pathlib.Path(folder)
        self.names = [f"n{i + 1}" for i in range(nodes)]
        self.daemons = {}
        self.prefix = list(prefix)
        self.environment = {**os.environ, "SLURM_CONF": str(self.folder / "slurm.conf")}
        libc.prctl(PR_SET_CHILD_SUBREAPER, 1)
        self.configure(cpus, array, jobs, age)

    def configure(self, cpus, array, jobs, age):
        folder, user = self.folder, getpass.getuser()
        host = socket.gethostname().split(".")[0]
        control, *ports = free_ports(1 + len(self.names))
        munge = folder / "munge"
        for name in ("munge", "state"):
            (folder / name).mkdir(mode=0o700, parents=True)
        (munge / "key").write_bytes(os.urandom(1024))
        (munge / "key").chmod(0o400)
        lines = f"""ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={control}
AuthType=auth/munge
AuthInfo=socket={munge}/socket
SlurmUser={user}
SlurmdUser={user}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdTimeout=300
MessageTimeout=20
KillWait=2
ReturnToService=2
MpiDefault=none
GresTypes=gpu
MaxArraySize={array}
MaxJobCount={jobs}
MinJobAge={age}
SchedulerParameters=sched_interval=1,batch_sched_delay=0,sched_min_interval=0
PartitionName=main Nodes=ALL Default=YES State=UP
""".splitlines()
        for name, port in zip(self.names, ports):
            lines.append(f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port}"
                         f" CPUs={cpus} RealMemory=4000 Gres=gpu:1")
        (folder / "gres.conf").write_text("Name=gpu File=/dev/null\n")  # one on each node, in name
        (folder / "slurm.conf").write_text("\n".join(lines) + "\n")

    def launch(self, name, *command):
        log = open(self.folder / f"{name}.out", "ab")
        try:
            self.daemons[name] = subprocess.Popen(
                [*self.prefix, *command], env=self.environment, stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, preexec_fn=die_with_parent)
        except OSError as failure:
            raise Unavailable(f"{command[0]}: {failure}") from failure

    def start_node(self, name):
        self.launch(name, "/usr/sbin/slurmd", "-D", "-N", name, "-f",
                    self.environment["SLURM_CONF"])

    def start_controller(self):
        self.launch("slurmctld", "/usr/sbin/slurmctld", "-D", "-f", self.environment["SLURM_CONF"])

    def start(self):
        munge = self.folder / "munge"
        self.launch("munged", "/usr/sbin/munged", "--foreground", "--force",
                    f"--key-file={munge}/key", f"--socket={munge}/socket",
                    f"--pid-file={munge}/pid", f"--log-file={munge}/log",
                    f"--seed-file={munge}/seed")
        self.wait(lambda: (munge / "socket").exists(), 300, "munged did not start")
        self.start_controller()
        for name in self.names:
            self.start_node(name)
        self.wait(lambda: self.idle() == len(self.names), 300, "the nodes did not start")
        return self

    def ask(self, *words):
        """What a program of Slurm prints."""
        return subprocess.run(words, env=self.environment, capture_output=True, text=True,
                              timeout=300, check=False).stdout

    def give_up(self, name):
        """What Slurm does with a node that has not answered for SlurmdTimeout. The timeout itself
        is so long that a busy machine does not lose nodes."""
        self.ask("scontrol", "update", f"nodename={name}", "state=down", "reason=silent")

    def take_back(self, name):
        """A node that was given up and answers again."""
        self.ask("scontrol", "update", f"nodename={name}", "state=resume")

    def idle(self):
        """Nodes that are ready."""
        return self.ask("sinfo", "-h", "-N", "-o", "%T").split().count("idle")

    def wait(self, condition, seconds, message):
        end = time.monotonic() + seconds
        while not condition():
            dead = [name for name, daemon in self.daemons.items() if daemon.poll() is not None]
            if dead or time.monotonic() > end:
                name = dead[0] if dead else "slurmctld"
                log = (self.folder / f"{name}.out").read_text(errors="replace")[-400:]
                raise Unavailable(f"{message}: {name}: {log.strip()}")
            time.sleep(0.1)

    def tasks(self, node=None):
        """Commands `sinew run` and `sinew merge` at work on a node: pid -> words."""
        found = {}
        for pid, (_, state, words) in processes().items():
            if state == "Z" or len(words) < 2 or words[0] != "sinew":
                continue
            try:
                variables = pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            except OSError:
                continue
            if f"SLURM_CONF={self.environment['SLURM_CONF']}".encode() not in variables:
                continue
            if node is None or f"SLURMD_NODENAME={node}".encode() in variables:
                found[pid] = words
        return found

    def node_processes(self, node):
        """The daemon of a node, the managers of its jobs, and their tasks."""
        table = processes()
        found = {self.daemons[node].pid}
        for pid in self.tasks(node):
            for _ in range(3):  # sinew run, sinew farm task, slurmstepd
                if pid not in table or pid == os.getpid():
                    break
                found.add(pid)
                pid = table[pid][0]
        found.discard(os.getpid())
        return found

    def stop(self):
        for name in ("slurmctld", *self.names, "munged"):
            if name in self.daemons:
                kill(self.daemons[name].pid)
        end = time.monotonic() + 20
        while time.monotonic() < end:
            left = descendants()
            for pid in left:
                kill(pid)
            try:
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            except ChildProcessError:
                break
            if not left:
                break
            time.sleep(0.05)

    def __enter__(self):
        try:
            return self.start()
        except BaseException:
            self.stop()
            raise

    def __exit__(self, *_):
        self.stop()
