"""Tests of the Python module: run by `make test`, or by hand with PYTHONPATH=python."""
import ctypes
import doctest
import gc
import importlib
import importlib.util
import json
import locale
import os
import platform
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import unittest
from unittest import mock

import numpy as np

import sinew
from sinew._library import Monitor

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))


def load_tests(_loader, tests, _ignore):
    for name in ("sinew", "sinew.bake", "sinew.fit", "sinew.interference", "sinew.markers",
                 "sinew.mesh", "sinew.picture", "sinew.query", "sinew.rig", "sinew.session",
                 "sinew.tracks"):
        tests.addTests(doctest.DocTestSuite(importlib.import_module(name)))
    return tests


class Rigs(unittest.TestCase):
    def test_arrays_are_views_and_outlive_their_objects(self):
        rig = sinew.sample("bar", vertices=1000)
        positions = rig.neutral.positions
        kept = positions.copy()
        self.assertFalse(positions.flags.writeable)
        del rig
        gc.collect()
        self.assertTrue(np.array_equal(positions, kept))

    def test_a_rig_comes_back_from_a_file(self):
        rig = sinew.sample("bar", vertices=1000)
        with tempfile.TemporaryDirectory() as folder:
            for name in ("bar.glb", "bar.fbx", "folder"):
                path = os.path.join(folder, name)
                rig.write(path)
                back = sinew.Rig.read(path)
                self.assertEqual(back.sliders, rig.sliders)
                self.assertTrue(np.allclose(back.shape("bend120"), rig.shape("bend120"), atol=1e-6))

    def test_bad_input_names_the_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "bad.obj")
            with open(path, "w") as file:
                file.write("v 0 0 0\nf 1 2 3\n")
            with self.assertRaises(sinew.BadInput) as caught:
                sinew.Mesh.read(path)
            self.assertIn("bad.obj", str(caught.exception))
            with self.assertRaises(OSError):
                sinew.Mesh.read(os.path.join(folder, "none.obj"))

    def test_wrong_shapes_are_refused_before_the_call(self):
        rig = sinew.sample("bar", vertices=1000)
        with self.assertRaises(ValueError):
            rig.add_pose("short", np.zeros((3, 3)))
        with self.assertRaises(KeyError):
            rig.weights({"nose": 1})
        session = sinew.Session(rig=rig, model="linear")
        with self.assertRaises(ValueError):
            session.solve([0, 0])
        with self.assertRaises(ValueError):
            session.solve(out=np.zeros(5))


class Capturing(unittest.TestCase):
    def setUp(self):
        self.face = sinew.sample("face", vertices=1500)
        self.take, self.where = sinew.sample_markers("face", vertices=1500)

    def test_a_take_comes_back_from_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("take.csv", "take.trc"):
                path = os.path.join(folder, name)
                self.take.write(path)
                back = sinew.Markers.read(path)
                self.assertEqual(len(back.names), 60)
                self.assertLess(np.nanmax(np.abs(back.positions[100] - self.take.positions[100])),
                                1e-5)
            self.where.write(os.path.join(folder, "map.csv"))
            again = sinew.MarkerMap.read(os.path.join(folder, "map.csv"), self.face.neutral)
            self.assertEqual(again.names, self.where.names)

    def test_a_capture_removes_the_motion_of_the_head(self):
        angle = np.linspace(0, 0.5, len(self.take.times))
        turned = np.array(self.take.positions)
        for k, a in enumerate(angle):
            turn = np.array([[np.cos(a), 0, np.sin(a)], [0, 1, 0], [-np.sin(a), 0, np.cos(a)]])
            turned[k] = turned[k] @ turn.T
        capture = sinew.Capture(self.face, sinew.Markers(self.take.names, self.take.times, turned),
                                self.where, cutoff=0)
        self.assertTrue(capture.head_moves)
        time = float(self.take.times[300])
        rotation, _ = capture.head(time)
        wanted = np.degrees(angle[300])
        found = np.degrees(np.arccos((np.trace(rotation) - 1) / 2))
        self.assertLess(abs(found - wanted), 1.5)

    def test_a_fit_finds_the_weights_of_a_pose(self):
        goal = sinew.Session(rig=self.face, model="linear").solve(
            {"jawOpen": 0.6, "mouthSmileLeft": 0.4}).positions
        weights = sinew.Fit(self.face, self.where).frame(
            self.where.points(self.face.neutral, goal))
        self.assertLess(abs(weights[self.face.index("jawOpen")] - 0.6), 0.1)
        self.assertLess(abs(weights[self.face.index("mouthSmileLeft")] - 0.4), 0.1)

    def test_a_session_follows_markers_that_are_given_frame_by_frame(self):
        with tempfile.TemporaryDirectory() as folder:
            take, where = os.path.join(folder, "take.csv"), os.path.join(folder, "map.csv")
            self.take.write(take)
            self.where.write(where)
            for model in ("fit", "force"):
                session = sinew.Session({"markers": {"file": take, "map": where}}, rig=self.face,
                                        model=model)
                self.assertEqual(sorted(session.marker_names()), sorted(self.where.names))
                goal = self.face.shape("jawOpen")
                order = [self.where.names.index(n) for n in session.marker_names()]
                points = self.where.points(self.face.neutral, goal)[order]
                for _ in range(12):
                    found = session.solve(markers=points).positions
                self.assertLess(np.abs(found - goal).max(), 5e-3, model)
                with self.assertRaises(ValueError):
                    session.solve(markers=points[:5])


class Painted(unittest.TestCase):
    """Maps of mass: a factor everywhere is the same as another parameter."""

    def setUp(self):
        self.rig = sinew.sample("bar", vertices=1000)
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def map(self, factors):
        path = os.path.join(self.folder.name, "map.csv")
        with open(path, "w") as file:
            file.write("vertex,value\n")
            file.writelines(f"{v},{f!r}\n" for v, f in enumerate(map(float, factors)))
        return path

    def jiggle(self, **parameters):
        clip = {"curves": {"times": [0, 0.1, 0.4], "values": {"bend120": [0, 1, 1]}},
                "time": {"fps": 30, "from": 0, "to": 0.4}, "parameters": parameters}
        session = sinew.Session(clip, rig=self.rig, model="force")
        return np.array([session.solve(frame=k).positions for k in range(8)])

    def test_four_times_the_mass_follows_half_as_fast(self):
        heavy = self.jiggle(mass_map=self.map(np.full(self.rig.vertex_count, 4.0)))
        slow = self.jiggle(mass_time=0.06)
        self.assertLess(np.abs(heavy - slow).max(), 1e-9)
        self.assertGreater(np.abs(heavy - self.jiggle()).max(), 1e-2)

    def test_only_the_heavy_end_lags_more(self):
        x = self.rig.neutral.positions[:, 0]
        right = x > np.median(x)
        plain = self.jiggle()
        heavy = self.jiggle(mass_map=self.map(np.where(right, 9.0, 1.0)))
        late = np.abs(heavy - plain).max(axis=(0, 2))
        self.assertGreater(late[right].mean(), 2 * late[~right].mean())

    def test_gravity_acts_on_the_mass_of_springs(self):
        scene = {"pins": [{"select": "v:0-60"}]}
        def hang(**parameters):
            return sinew.Session({**scene, "parameters": parameters}, rig=self.rig,
                                 model="spring").solve({}).positions
        twice = hang(gravity=[0, -0.02, 0],
                     mass_map=self.map(np.full(self.rig.vertex_count, 2.0)))
        self.assertLess(np.abs(twice - hang(gravity=[0, -0.04, 0])).max(), 1e-6)
        self.assertGreater(np.abs(twice - hang(gravity=[0, -0.02, 0])).max(), 1e-3)

    def test_a_mass_that_is_not_positive_is_refused(self):
        with self.assertRaises(sinew.BadInput):
            self.jiggle(mass_map=self.map(np.zeros(self.rig.vertex_count)))


def host_settings():
    """Locale, error modes, numbers of threads, and control words of the floating-point units."""
    found = [locale.setlocale(locale.LC_ALL), np.geterr(), threading.active_count()]
    environment = ctypes.create_string_buffer(64)
    ctypes.CDLL("libm.so.6").fegetenv(environment)
    if platform.machine() == "x86_64":  # the words without the flags of what happened
        control, = struct.unpack_from("<H", environment.raw, 0)
        vectors, = struct.unpack_from("<I", environment.raw, 28)
        found += [control, vectors & 0xFFC0]
    for library, name in (("libopenblas.so.0", "openblas_get_num_threads"),
                          ("libgomp.so.1", "omp_get_max_threads")):
        try:
            found.append(getattr(ctypes.CDLL(library), name)())
        except OSError:
            found.append(None)
    return found


class Sessions(unittest.TestCase):
    def setUp(self):
        self.rig = sinew.sample("bar", vertices=1000)

    def test_linear_is_the_sum_of_its_targets(self):
        session = sinew.Session(rig=self.rig, model="linear")
        neutral = self.rig.neutral.positions
        expected = neutral + 0.25 * (self.rig.shape("bend120") - neutral)
        self.assertTrue(np.allclose(session.solve({"bend120": 0.25}).positions, expected, atol=1e-7))
        self.assertTrue(np.allclose(session.linear({"bend120": 0.25}), expected, atol=1e-7))

    def test_every_slider_model_meets_its_poses(self):
        for model in ("linear", "rotation", "spring"):
            session = sinew.Session(rig=self.rig, model=model)
            result = session.solve({"bend120": 1})
            self.assertTrue(result.converged)
            self.assertLess(np.abs(result.positions - self.rig.shape("bend120")).max(), 1e-5, model)

    def test_output_arrays_are_used_without_a_copy(self):
        session = sinew.Session(rig=self.rig, model="rotation")
        double, single = np.empty((self.rig.vertex_count, 3)), np.empty((self.rig.vertex_count, 3),
                                                                      np.float32)
        self.assertIs(session.solve({"bend120": 0.5}, out=double).positions, double)
        session.solve({"bend120": 0.5}, out=single)
        self.assertTrue(np.allclose(double, single, atol=1e-6))

    def test_undo_gives_the_same_bytes_back(self):
        session = sinew.Session({"weights": {"bend120": 0.5}}, rig=self.rig, model="spring")
        before = session.text()
        undo = [session.set("/parameters/tolerance", 1e-4),
                session.patch([{"op": "remove", "path": "/weights/bend120"}])]
        self.assertNotEqual(session.text(), before)
        for patch in reversed(undo):
            session.patch(patch)
        self.assertEqual(session.text(), before)

    def test_answers_are_those_of_the_newest_revision(self):
        session = sinew.Session({"locks": [{"name": "a", "select": "v:0-200"}],
                                 "attenuation": {"strength": 0, "trade": True}},
                                rig=self.rig, model="linear")
        asked = self.rig.weights({"bend120": 1})
        self.assertTrue(np.allclose(session.weights(asked), asked))
        session.set("/attenuation/strength", 5)
        self.assertFalse(np.allclose(session.weights(asked), asked, atol=1e-2))
        held = session.solve(asked).positions
        self.assertTrue(np.allclose(session.linear(asked), held, atol=1e-6))

    def test_two_threads_solve_two_states_of_one_structure(self):
        session = sinew.Session(rig=self.rig, model="spring")
        expected = [session.solve({"bend120": w}).positions for w in (0.3, 0.7)]
        found = [None, None]

        def work(i):
            solver = session.solver()
            found[i] = [solver.solve({"bend120": (0.3, 0.7)[i]}).positions for _ in range(3)][-1]
            solver.close()

        threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for i in range(2):
            self.assertLess(np.abs(found[i] - expected[i]).max(), 1e-5)

    def test_two_threads_are_inside_the_library_at_once(self):
        session = sinew.Session(rig=self.rig, model="spring")
        solvers = [session.solver(), session.solver()]
        barrier, met = threading.Barrier(2), []

        def meet():  # asked in the middle of a solve: waits until the other one is there too
            if threading.get_ident() not in met:
                barrier.wait(300)
                met.append(threading.get_ident())
            return False

        with mock.patch("sinew.session._monitor", lambda *_: Monitor(cancelled=meet)):
            threads = [threading.Thread(target=solver.solve, args=({"bend120": weight},))
                       for solver, weight in zip(solvers, (0.3, 0.7))]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual(len(set(met)), 2)

    def test_a_clip_plays(self):
        curves = sinew.sample_curves("bar")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "clip.csv")
            curves.write(path)
            session = sinew.Session({"curves": {"file": path}}, rig=self.rig, model="linear")
            count = session.clip()["frames"]
            self.assertGreater(count, 10)
            frames = [session.solve(frame=k).positions for k in range(0, count, 10)]
            sinew.Frames.write(os.path.join(folder, "clip.pc2"), self.rig.neutral, frames)
            back = sinew.Frames.read(os.path.join(folder, "clip.pc2"))
            self.assertEqual(len(back), len(frames))
            self.assertTrue(np.allclose(back[-1], frames[-1], atol=1e-6))

    def test_control_c_cancels_and_the_session_lives_on(self):
        session = sinew.Session(rig=self.rig, model="spring")
        expected = session.solve({"bend120": 0.7}).positions
        polls = []

        def interrupt():  # asked in the middle of a solve
            polls.append(1)
            signal.raise_signal(signal.SIGINT)
            return False

        fresh = sinew.Session(rig=self.rig, model="spring")
        fresh.prepare()
        previous = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            with mock.patch("sinew.session._monitor", lambda *_: Monitor(cancelled=interrupt)):
                with self.assertRaises(KeyboardInterrupt):
                    fresh.solve({"bend120": 0.7})
        finally:
            signal.signal(signal.SIGINT, previous)
        self.assertEqual(len(polls), 1)  # the solve ended there
        self.assertLess(np.abs(fresh.solve({"bend120": 0.7}).positions - expected).max(), 1e-5)

    def test_the_interpreter_lock_is_released_during_a_solve(self):
        """A solve that waits, in C, for a semaphore that only another Python thread posts."""
        script = """if True:
            import ctypes, sys, threading
            from unittest import mock
            import sinew
            from sinew._library import CANCEL, Monitor, _Monitor
            libc = ctypes.PyDLL(None)
            semaphore = ctypes.create_string_buffer(64)
            assert libc.sem_init(semaphore, 0, 0) == 0
            waits = CANCEL(ctypes.cast(libc.sem_wait, ctypes.c_void_p).value)
            class Waiting(Monitor):
                def __init__(self, *_):
                    super().__init__()
                    self._struct = _Monitor(self._callbacks[0], waits, self._callbacks[2],
                                            ctypes.addressof(semaphore))
                    self.pointer = ctypes.cast(ctypes.byref(self._struct), ctypes.c_void_p)
            session = sinew.Session(rig=sinew.sample("bar", vertices=1000), model="spring")
            session.prepare()
            begun = threading.Event()
            def solve():
                begun.set()  # keeps the lock until the call, as the interval is long
                session.solve({"bend120": 0.5})
            with mock.patch("sinew.session._monitor", Waiting):
                sys.setswitchinterval(1000)
                thread = threading.Thread(target=solve, daemon=True)
                thread.start()
                begun.wait()
                while thread.is_alive():
                    libc.sem_post(semaphore)
                    thread.join(0.0005)
            print("ended")"""
        result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True,
                                timeout=200)
        self.assertEqual(result.stdout, "ended\n", result.stderr)

    def test_many_sessions_leave_memory_flat(self):
        def cycle(count):
            for _ in range(count):
                with sinew.Session(rig=self.rig, model="linear") as session:
                    session.solve({"bend120": 0.5})
            gc.collect()
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

        first = cycle(100)
        self.assertLess(cycle(900) - first, 4000)  # kilobytes

    def test_the_host_keeps_its_settings(self):
        keys = [{"time": 0, "weights": {}}, {"time": 0.5, "weights": {"bend120": 1}}]
        clip = {"keys": keys, "time": {"fps": 10, "from": 0, "to": 0.5}}
        before = host_settings()
        for model in ("linear", "rotation", "spring"):
            sinew.Session(rig=self.rig, model=model).solve({"bend120": 0.5})
        sinew.Session(clip, rig=self.rig, model="modal").solve(frame=2)
        clip = {"curves": {"times": [0, 0.5], "values": {"bend120": [0, 1]}}, "time": clip["time"]}
        sinew.Session(clip, rig=self.rig, model="force").solve(frame=2)
        self.assertEqual(before, host_settings())
        self.assertNotEqual(np.float64(5e-324), 0)  # denormals are not flushed


class Tools(unittest.TestCase):
    def test_pictures_come_as_arrays(self):
        rig = sinew.sample("bar", vertices=1000)
        picture = sinew.render(rig.neutral, width=160, height=90)
        self.assertEqual(picture.shape, (90, 160, 3))
        self.assertGreater(picture.std(), 5)

    def test_bake_gets_closer_to_the_model(self):
        session = sinew.Session(rig=sinew.sample("hand", vertices=1000), model="rotation")
        baked, report = sinew.bake(session, max_targets=8, samples=300)
        self.assertLess(report.fitted_error, 0.8 * report.linear_error)
        linear = sinew.Session(rig=baked, model="linear")
        before = after = 0.0
        for slider in session.rig.sliders:
            physical = session.solve({slider: 0.5}).positions
            before += np.abs(session.linear({slider: 0.5}) - physical).mean()
            after += np.abs(linear.solve({slider: 0.5}).positions - physical).mean()
        self.assertLess(after, 0.5 * before)

    def test_the_driver_table_gives_the_library_s_weights(self):
        spec = importlib.util.spec_from_file_location(
            "drivers", os.path.join(ROOT, "examples", "drivers.py"))
        drivers = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(drivers)
        rigs = [sinew.sample("face", vertices=1500)]
        session = sinew.Session(rig=sinew.sample("hand", vertices=1000), model="rotation")
        rigs.append(sinew.bake(session, max_targets=12, samples=120)[0])
        random = np.random.default_rng(3)
        for rig in rigs:
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "drivers.json")
                rig.write_drivers(path)
                with open(path, encoding="utf-8") as file:
                    table = json.load(file)
            linear = sinew.Session(rig=rig, model="linear")
            neutral = rig.neutral.positions
            for _ in range(5):
                weights = dict(zip(rig.sliders, random.uniform(-0.2, 1.3, len(rig.sliders))))
                found = neutral.copy()
                for name, weight in drivers.evaluate(table, weights).items():
                    found += weight * (rig.shape(name) - neutral)
                self.assertLess(np.abs(found - linear.solve(weights).positions).max(), 1e-5)

    def test_every_evaluator_knows_hinges(self):
        flat = sinew.Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
        rig = sinew.Rig(flat)
        for name in ("close", "squint", "touch"):
            rig.add_pose(name, [[0, 0, 1], [1, 0, 0], [0, 1, 0]])
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "rig")
            rig.write(path)
            with open(os.path.join(path, "rig.json"), encoding="utf-8") as file:
                stored = json.load(file)
            stored["sliders"] = [s for s in stored["sliders"] if s["name"] != "touch"]
            stored["targets"][2] = {"name": "touch", "kind": "combination", "combine": "hinge",
                                    "drivers": ["close", "squint"],
                                    "terms": [[0.9, [0, 1]], [0.7, [1, 2]]]}
            with open(os.path.join(path, "rig.json"), "w", encoding="utf-8") as file:
                json.dump(stored, file)
            rig = sinew.Rig.read(path)
            self.assertEqual(rig.target_drivers("touch"), {
                "kind": "combination", "rule": "hinge", "drivers": ["close", "squint"],
                "terms": [(0.9, [(0, 1)]), (0.7, [(1, 2)])]})
            table_path = os.path.join(folder, "drivers.json")
            rig.write_drivers(table_path)
            with open(table_path, encoding="utf-8") as file:
                table = json.load(file)
            rows = [{"close": c, "squint": s} for c in (0, 0.5, 1, 1.4) for s in (-1, 0.4, 1)]
            linear = sinew.Session(rig=rig, model="linear")
            wanted = [float(linear.solve(w).positions[0, 2]) - w["close"] - w["squint"]
                      for w in rows]
            self.assertEqual(min(abs(w) for w in wanted), 0)
            self.assertAlmostEqual(max(wanted), 0.6, places=12)
            spec = importlib.util.spec_from_file_location(
                "drivers", os.path.join(ROOT, "examples", "drivers.py"))
            drivers = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(drivers)
            found = [drivers.evaluate(table, w)["touch"] for w in rows]
            np.testing.assert_allclose(found, wanted, atol=1e-12)
            if not shutil.which("node"):
                return
            module = os.path.join(folder, "drivers.mjs")
            shutil.copy(os.path.join(ROOT, "examples", "drivers.js"), module)
            script = (f"import {{ evaluate }} from {json.dumps('file://' + module)}\n"
                      f"const table = {json.dumps(table)}, rows = {json.dumps(rows)}\n"
                      "console.log(JSON.stringify(rows.map((w) => evaluate(table, w).touch)))")
            answer = subprocess.run(["node", "--input-type=module", "-e", script], check=True,
                                    capture_output=True, text=True)
            np.testing.assert_allclose(json.loads(answer.stdout), wanted, atol=1e-12)

    def test_every_module_has_examples(self):
        for name in sorted(os.listdir(os.path.join(ROOT, "python", "sinew"))):
            if name.endswith(".py") and not name.startswith("_"):
                module = importlib.import_module("sinew." + name[:-3])
                found = [t for t in doctest.DocTestFinder().find(module) if t.examples]
                self.assertTrue(found, f"{name} has no example in its docstrings")

    def test_a_host_with_another_embree_is_not_called(self):
        """As Blender is since 4.0: functions of the same names, other parameters."""
        compiler = shutil.which("cc")
        if compiler is None:
            self.skipTest("there is no C compiler")
        names = ("NewDevice", "NewScene", "NewGeometry", "CommitScene", "Intersect1", "PointQuery")
        with tempfile.TemporaryDirectory() as folder:
            source, other = (os.path.join(folder, name) for name in ("other.c", "other.so"))
            with open(source, "w") as file:
                file.writelines(f"void rtc{name}(void) {{ __builtin_trap(); }}\n" for name in names)
            subprocess.run([compiler, "-shared", "-fPIC", "-o", other, source], check=True)
            result = subprocess.run(
                [sys.executable, "-c", "import sinew; bar = sinew.sample('bar', vertices=1000)\n"
                 "query = sinew.Query(bar.neutral.positions, bar.neutral.triangles)\n"
                 "assert query.ray([0.5, 5, 0], [0, -1, 0]) is not None"],
                env={**os.environ, "LD_PRELOAD": other}, capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_pip_installs_it_offline(self):
        with tempfile.TemporaryDirectory() as folder:
            made = subprocess.run([sys.executable, "-m", "venv", "--system-site-packages", folder],
                                  capture_output=True)
            if made.returncode != 0:
                self.skipTest("this Python has no venv")
            python = os.path.join(folder, "bin", "python")
            subprocess.run([python, "-m", "pip", "install", "--no-index", "--quiet",
                            os.path.join(ROOT, "python")], check=True, capture_output=True)
            environment = {k: v for k, v in os.environ.items()
                           if k not in ("PYTHONPATH", "SINEW_LIBRARY")}
            shown = subprocess.run(
                [python, "-c", "import sinew; print(sinew.__file__, sinew._library.path)"],
                env=environment, cwd=folder, check=True, capture_output=True, text=True).stdout
            module, library = shown.split()
            self.assertEqual(os.path.realpath(os.path.commonpath([module, folder])),
                             os.path.realpath(folder))
            self.assertEqual(library, os.path.join(ROOT, "build", "libsinew.so"))

    def test_a_missing_numpy_says_what_to_do(self):
        result = subprocess.run([sys.executable, "-c", "import sys; sys.modules['numpy'] = None\n"
                                 "import sinew"], capture_output=True, text=True)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("pip install numpy", result.stderr)

    def test_a_missing_library_says_what_to_do(self):
        result = subprocess.run([sys.executable, "-c", "import sinew"], capture_output=True,
                                text=True, env={**os.environ, "SINEW_LIBRARY": "/nowhere/libsinew.so"})
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("make install", result.stderr)


if __name__ == "__main__":
    unittest.main()
