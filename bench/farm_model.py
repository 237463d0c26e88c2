#!/usr/bin/env python3
"""A discrete-event model of sinew farm: where the time of a season goes, and what limits it.

    bench/farm_model.py               the table of docs/farm.md: 10,000 shots x 240 frames x 3
    bench/farm_model.py KEY=VALUE...  another farm; the keys are the fields of Farm

A scene is one character of a shot. Its first task computes until `chunk_seconds` are used up, or
half as long again when that is everything, and merges then; otherwise the rest is cut into chunks
(in parallel, or one after another for models with a past). The task of the last chunk merges; where
several were the last ones together, another task does. A task waits for a slot, is started by the
scheduler, sets up, computes, writes its part, and reads and writes again when it merges. A task that
computes the whole scene writes the outputs alone.

Four things can be the bottleneck:
  slots       tasks that run at a time: nodes x slots of a node; `cores` when several nodes are
              really one machine, as in the test
  disk        the shared folder: all flows share its bandwidth, and one process gets at most
              `stream` of it
  scheduler   starts one task after another, `dispatch` seconds each, and `latency` seconds later the
              task runs
  farm        the coordinating process: `handle` seconds for every task that ends, and it looks
              every `poll` seconds
"""
import collections
import dataclasses
import heapq
import math
import sys


@dataclasses.dataclass
class Farm:
    scenes: int = 30000        # shots x characters
    frames: int = 240
    frame: float = 0.0018      # seconds of computing
    setup: float = 0.09        # seconds before the first frame
    past: bool = False         # frames depend on earlier ones
    vertices: int = 11863
    merge_frame: float = 0.0001  # seconds of a frame when merging, beside reading and writing
    sheet: float = 0.0         # seconds of a contact sheet
    chunk_seconds: float = 10.0
    shortest: float = 5.0      # seconds of a chunk after the first, at least
    nodes: int = 10
    slots: int = 8             # tasks of a node at a time
    jobs: int = 256            # tasks in the queue of the scheduler, which runs them in order
    cores: float = math.inf    # really there, for all nodes together
    disk: float = 1000e6       # bytes a second, of the shared folder
    stream: float = 500e6      # bytes a second, of one process
    dispatch: float = 0.005    # seconds of the scheduler for a task; 0: processes of this machine
    latency: float = 0.5       # seconds from its start by the scheduler to the process
    handle: float = 0.0026     # seconds of the farm for a task
    poll: float = 0.25         # seconds between two looks

    @property
    def part_bytes(self):      # of a frame: floats
        return 12 * self.vertices

    @property
    def output_bytes(self):    # of a frame: floats
        return 12 * self.vertices


class Shared:
    """Work that is served at the same rate for all, at most `one` each and `capacity` together.

    Virtual time advances at the rate of one customer, so that each finishes at a fixed virtual time
    and arrivals change nothing but the speed of the clock.
    """

    def __init__(self, capacity, one=1.0):
        self.capacity, self.one = capacity, one
        self.virtual = self.time = self.busy = 0.0
        self.waiting = []

    def rate(self):
        return min(self.one, self.capacity / len(self.waiting)) if self.waiting else 0.0

    def advance(self, now):
        self.virtual += (now - self.time) * self.rate()
        self.busy += (now - self.time) * min(1.0, self.rate() * len(self.waiting) / self.capacity)
        self.time = now

    def add(self, now, work, task):
        self.advance(now)
        heapq.heappush(self.waiting, (self.virtual + work, task.number, task))

    def next(self):
        if not self.waiting:
            return math.inf
        return self.time + max(0.0, self.waiting[0][0] - self.virtual) / self.rate()

    def pop(self, now):
        self.advance(now)
        return heapq.heappop(self.waiting)[2]


class Server:
    """One after another, in the order of arrival."""

    def __init__(self):
        self.free = self.busy = 0.0

    def serve(self, now, seconds):
        self.free = max(self.free, now) + seconds
        self.busy += seconds
        return self.free


class Task:
    def __init__(self, number, scene, kind, frames):
        self.number, self.scene, self.kind, self.frames = number, scene, kind, frames
        self.phases = []


class Run:
    """One run of a farm: events in the order of time."""

    def __init__(self, farm):
        self.farm, self.now, self.tasks = farm, 0.0, 0
        self.cores = Shared(min(farm.cores, farm.nodes * farm.slots))
        self.disk = Shared(farm.disk, farm.stream)
        self.scheduler, self.coordinator = Server(), Server()
        self.free = farm.nodes * farm.slots
        self.queue, self.events, self.slot_seconds = collections.deque(), [], 0.0
        # Frames that are left, and chunks at work, of the scenes that have begun.
        self.left, self.open = {}, {}
        self.begun = self.finished = self.bytes = 0
        self.budget = min(max(farm.chunk_seconds, 40 * farm.setup), 6 * farm.chunk_seconds)
        self.fits = max(1, math.ceil(self.budget / farm.frame))
        if farm.frames <= 1.5 * self.fits:
            self.fits = farm.frames
        self.later = max(self.fits, math.ceil(farm.shortest / farm.frame))

    def submit(self, scene, kind, frames):
        self.tasks += 1
        self.queue.append(Task(self.tasks, scene, kind, frames))

    def fill(self):
        """Starts tasks while slots are free."""
        f = self.farm
        while self.begun < f.scenes and len(self.queue) < f.jobs:
            self.left[self.begun], self.open[self.begun] = f.frames, 1
            self.submit(self.begun, "start", min(f.frames, self.fits))
            self.begun += 1
        while self.free and self.queue:
            task = self.queue.popleft()
            self.free -= 1
            task.phases = self.phases(task)
            start = self.scheduler.serve(self.now, f.dispatch) if f.dispatch else self.now
            self.at(start + (f.latency if f.dispatch else 0), task)

    def phases(self, task):
        """(resource, amount) in order."""
        f, last = self.farm, task.kind == "last" or task.frames == self.farm.frames
        list_ = [(self.cores, f.setup)]
        if task.kind != "merge":
            list_.append((self.cores, task.frames * f.frame))
        if task.kind != "merge" and task.frames < f.frames:
            list_.append((self.disk, task.frames * f.part_bytes))
        if task.kind == "merge":
            list_.append((self.disk, f.frames * f.part_bytes))
        # A process that has just written its parts reads them from memory.
        if task.kind == "last":
            list_.append((self.disk, (f.frames - task.frames) * f.part_bytes))
        if task.kind == "merge" or last:
            list_ += [(self.cores, f.frames * f.merge_frame + f.sheet),
                      (self.disk, f.frames * f.output_bytes)]
        self.bytes += sum(amount for resource, amount in list_ if resource is self.disk)
        return list_

    def at(self, time, task):
        heapq.heappush(self.events, (time, task.number, task))

    def step(self, task):
        """The next phase of the task, or its end."""
        if task.phases:
            resource, amount = task.phases.pop(0)
            resource.add(self.now, amount, task)
            return
        # Its slot is free at once; the farm hears of it later.
        self.free += 1
        look = math.ceil(self.now / self.farm.poll) * self.farm.poll if self.farm.poll else self.now
        task.phases = None
        self.at(self.coordinator.serve(look, self.farm.handle), task)

    def ended(self, task):
        """What the farm does when it hears of an end."""
        f, scene = self.farm, task.scene
        if task.kind in ("merge", "last") or task.frames == f.frames:
            self.finished += 1
            return
        self.open[scene] -= 1
        self.left[scene] -= task.frames
        if task.kind == "start" and not f.past:
            count = math.ceil(self.left[scene] / self.later)
            for i in range(count):
                share = self.left[scene] * (i + 1) // count - self.left[scene] * i // count
                self.submit(scene, "last" if count == 1 else "chunk", share)
            self.open[scene] = count
        elif self.left[scene] and f.past:
            last = self.left[scene] <= self.fits
            self.submit(scene, "last" if last else "chunk", min(self.left[scene], self.fits))
            self.open[scene] = 1
        if self.left[scene] == 0 and self.open[scene] == 0:
            self.submit(scene, "merge", 0)

    def run(self):
        self.fill()
        while self.finished < self.farm.scenes:
            choices = ((self.events[0][0] if self.events else math.inf, None),
                       (self.cores.next(), self.cores), (self.disk.next(), self.disk))
            time, resource = min(choices, key=lambda choice: choice[0])
            self.slot_seconds += (time - self.now) * (self.farm.nodes * self.farm.slots - self.free)
            self.now = time
            if resource:
                self.step(resource.pop(time))
            else:
                task = heapq.heappop(self.events)[2]
                if task.phases is None:
                    self.ended(task)
                else:
                    self.step(task)
            self.fill()
        return self

    def loads(self):
        """Share of the time that each part is busy."""
        total = self.farm.nodes * self.farm.slots
        return {"slots": self.slot_seconds / (total * self.now), "disk": self.disk.busy / self.now,
                "scheduler": self.scheduler.busy / self.now,
                "farm": self.coordinator.busy / self.now}


def simulate(farm):
    return Run(farm).run()


def describe(name, run):
    loads = run.loads()
    frames = run.farm.scenes * run.farm.frames
    limit = max(loads, key=loads.get)
    if limit == "slots" and max(loads["disk"], loads["scheduler"], loads["farm"]) > 0.9:
        limit = max(("disk", "scheduler", "farm"), key=loads.get)
    print(f"| {name} | {run.farm.nodes} x {run.farm.slots} | {run.now / 3600:.2f} |"
          f" {1e3 * run.now / frames:.3f} | {run.bytes / run.now / 1e6:.0f} |"
          f" {100 * loads['slots']:.0f} | {100 * loads['disk']:.0f} |"
          f" {100 * loads['scheduler']:.0f} | {100 * loads['farm']:.0f} | {limit} |")


# Measured on the sample face of 11,863 vertices with one thread: seconds a frame, seconds to set
# up. docs/farm.md says how.
MODELS = {"rotation": dict(frame=0.0018, setup=0.09), "modal": dict(frame=0.0055, setup=0.51),
          "force": dict(frame=0.0031, setup=0.17, past=True),
          "spring": dict(frame=0.0218, setup=0.14)}


def season():
    print("| model | nodes x slots | hours | ms a frame | MB/s | slots % | disk % | scheduler % |"
          " farm % | limit |\n|---|---|---|---|---|---|---|---|---|---|")
    for name, costs in MODELS.items():
        for nodes in (1, 10, 40):
            describe(name, simulate(Farm(nodes=nodes, **costs)))
    for nodes, disk in ((10, 10), (40, 10), (40, 100), (100, 100)):
        describe(f"rotation, {disk} GB/s", simulate(Farm(nodes=nodes, disk=disk * 1e9,
                                                         jobs=8 * nodes, **MODELS["rotation"])))


def main():
    if len(sys.argv) == 1:
        season()
        return
    fields = {field.name: field.type for field in dataclasses.fields(Farm)}
    values = {}
    for word in sys.argv[1:]:
        key, _, value = word.partition("=")
        if key not in fields:
            sys.exit(f"farm_model: no field '{key}'; there are {', '.join(fields)}")
        values[key] = {"True": True, "False": False}.get(value, fields[key](value))
    print("| farm | nodes x slots | hours | ms a frame | MB/s | slots % | disk % | scheduler % |"
          " farm % | limit |\n|---|---|---|---|---|---|---|---|---|---|")
    describe("given", simulate(Farm(**values)))


if __name__ == "__main__":
    main()
