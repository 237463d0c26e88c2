"""Run the test executables of the given build folders and the lint, and count.

Each executable is a cmocka runner; its own lines are shown only when it fails or skips. The groups
of packages beyond `core` have their own suites (scripts/test-GROUP), run when installed. Suites run
side by side, one per processor, at most four; JOBS=1 runs them one after the other.
"""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TIMEOUT = 3600  # seconds of a suite that hangs
JOBS = int(os.environ.get("JOBS", "0")) or max(1, min(4, os.cpu_count() or 1))

passed = failed = skipped = 0
printing = threading.Lock()


def say(text):
    with printing:
        print(text, flush=True)


def run(label, command, environment=None, folder=None):
    """Run one suite, add its counts, show what matters of its output."""
    global passed, failed, skipped
    start = time.time()
    say(f"   {label} ...")
    try:
        result = subprocess.run(command, capture_output=True, text=True, errors="replace",
                                timeout=TIMEOUT, cwd=folder, env={**os.environ, **(environment or {})})
        output, code = result.stdout + result.stderr, result.returncode
    except subprocess.TimeoutExpired as expired:
        output = (expired.stdout or b"").decode(errors="replace") + "\ntimed out"
        code = -1
    ok = sum(int(n) for n in re.findall(r"\[  PASSED  \] (\d+) test", output))
    bad = sum(int(n) for n in re.findall(r"\[  FAILED  \] (\d+) test", output))
    skip = sum(int(n) for n in re.findall(r"\[  SKIPPED \] (\d+) test", output))
    if ok + bad + skip == 0:  # a suite that counts as one
        ok, bad = (1, 0) if code == 0 else (0, 1)
    elif code != 0 and bad == 0:  # crashed after its last summary
        bad = 1
    lines = [f"{label}: {'ok' if bad == 0 else 'FAILED'}: {ok} passed, {bad} failed, {skip} skipped"
             f" ({time.time() - start:.1f} s)"]
    if bad:
        lines.append(output[-6000:])
    else:
        lines += ["     " + line for line in output.splitlines() if line.startswith("SKIP")]
    with printing:
        passed, failed, skipped = passed + ok, failed + bad, skipped + skip
        print("\n".join(lines), flush=True)


def suites_of(folder):
    """The suites of one build folder, the longest first."""
    build = (ROOT / folder).resolve()
    environment = {
        "SINEW_COMMAND": str(build / "sinew"),
        "SINEW_SOURCE": str(ROOT),
        "SINEW_BUILD": str(build),
        "SINEW_CACHE": str(build / "test-cache"),
        "OPENBLAS_CORETYPE": "Haswell",
        "CMOCKA_MESSAGE_OUTPUT": "STDOUT",
        "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
        # Without the second option, LeakSanitizer of clang 14 can crash in the storage of threads.
        "ASAN_OPTIONS": "detect_leaks=1:intercept_tls_get_addr=0",
        "LSAN_OPTIONS": f"suppressions={ROOT}/tests/leaks.supp:print_suppressions=0",
    }
    rooms = [e for e in build.glob("tests/test-*") if os.access(e, os.X_OK) and not e.is_dir()]
    for executable in sorted(rooms, key=lambda e: (e.name != "test-cli", e.name)):
        room = executable.name.removeprefix("test-")
        yield f"{folder} {room}", [str(executable)], environment
    yield (f"{folder} hostile", [str(ROOT / "tests" / "hostile" / "run"), str(build / "sinew")],
           environment)
    yield (f"{folder} command lines", [str(ROOT / "scripts" / "fuzz-command"), str(build / "sinew"),
                                       "--calls", "120", "7"], environment)
    for executable in sorted((build / "examples").glob("*")):
        if executable.is_file() and os.access(executable, os.X_OK):
            yield (f"{folder} example {executable.name}", [str(executable)], environment,
                   build / "examples")


def suites_of_groups():
    for packages in sorted((ROOT / "scripts" / "packages").glob("*.txt")):
        group = packages.stem
        suite = ROOT / "scripts" / f"test-{group}"
        if group == "core" or not suite.exists():
            continue
        check = subprocess.run([str(ROOT / "scripts" / "install-packages"), "--check", group])
        if check.returncode == 0:
            yield group, [str(suite)]
        else:
            say(f"SKIP {group}: packages not installed (scripts/install-packages {group})")


def main():
    folders = sys.argv[1:]
    # No suite depends on what earlier runs have left in the cache of the user.
    os.environ["SINEW_CACHE"] = str(ROOT / (folders or ["build"])[0] / "test-cache")
    suites = [suite for folder in reversed(folders) for suite in suites_of(folder)]
    suites += suites_of_groups()
    suites.append(("lint", [str(ROOT / "scripts" / "lint")]))
    if folders:
        command = str(ROOT / folders[0] / "sinew")
        suites += [
            ("docs and install", [str(ROOT / "scripts" / "check-docs"), folders[0]]),
            ("binary interface", [str(ROOT / "scripts" / "abi"), folders[0]]),
            ("golden", [str(ROOT / "tests" / "golden" / "run"), command, "--invariants"]),
            ("kernels", [str(ROOT / "scripts" / "check-kernels"), folders[0]]),
        ]
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        for done in [pool.submit(run, *suite) for suite in suites]:
            done.result()
    tail = f", {skipped} skipped" if skipped else ""
    print(f"{passed} passed, {failed} failed{tail}")
    return failed != 0


sys.exit(main())
