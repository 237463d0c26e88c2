"""Run the test executables of the given build folders and the lint, and count.

Each executable is a cmocka runner; its own lines are shown only when it fails or skips. The groups
of packages beyond `core` have their own suites (scripts/test-GROUP), run when installed.
"""
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TIMEOUT = 1500

passed = failed = skipped = 0


def run(label, command, environment=None, folder=None):
    """Run one suite, add its counts, show what matters of its output."""
    global passed, failed, skipped
    start = time.time()
    print(f"{label} ...", end=" ", flush=True)
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
    passed, failed, skipped = passed + ok, failed + bad, skipped + skip
    print(f"{'ok' if bad == 0 else 'FAILED'}: {ok} passed, {bad} failed, {skip} skipped"
          f" ({time.time() - start:.1f} s)", flush=True)
    if bad:
        print(output[-6000:], flush=True)
    else:
        for line in output.splitlines():
            if line.startswith("SKIP"):
                print("     " + line, flush=True)


def main():
    for folder in sys.argv[1:]:
        build = (ROOT / folder).resolve()
        environment = {
            "SINEW_COMMAND": str(build / "sinew"),
            "SINEW_SOURCE": str(ROOT),
            "SINEW_BUILD": str(build),
            "SINEW_CACHE": str(build / "test-cache"),
            "OPENBLAS_CORETYPE": "Haswell",
            "CMOCKA_MESSAGE_OUTPUT": "STDOUT",
            "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
            "ASAN_OPTIONS": "detect_leaks=1",
            "LSAN_OPTIONS": f"suppressions={ROOT}/tests/leaks.supp:print_suppressions=0",
        }
        for executable in sorted(build.glob("tests/test-*")):
            if not os.access(executable, os.X_OK) or executable.is_dir():
                continue
            room = executable.name.removeprefix("test-")
            run(f"{folder} {room}", [str(executable)], environment)
        run(f"{folder} hostile", [str(ROOT / "tests" / "hostile" / "run"), str(build / "sinew")],
            environment)
        run(f"{folder} command lines", [str(ROOT / "scripts" / "fuzz-command"),
                                        str(build / "sinew"), "8", "7"], environment)
        for executable in sorted((build / "examples").glob("*")):
            if executable.is_file() and os.access(executable, os.X_OK):
                run(f"{folder} example {executable.name}", [str(executable)], environment,
                    build / "examples")
    run("lint", [str(ROOT / "scripts" / "lint")])
    if sys.argv[1:]:
        run("docs and install", [str(ROOT / "scripts" / "check-docs"), sys.argv[1]])
        run("binary interface", [str(ROOT / "scripts" / "abi"), sys.argv[1]])
        run("golden", [str(ROOT / "tests" / "golden" / "run"), str(ROOT / sys.argv[1] / "sinew"),
                       "--invariants"])
        run("kernels", [str(ROOT / "scripts" / "check-kernels"), sys.argv[1]])
    for packages in sorted((ROOT / "scripts" / "packages").glob("*.txt")):
        group = packages.stem
        suite = ROOT / "scripts" / f"test-{group}"
        if group == "core" or not suite.exists():
            continue
        check = subprocess.run([str(ROOT / "scripts" / "install-packages"), "--check", group])
        if check.returncode == 0:
            run(group, [str(suite)])
        else:
            print(f"SKIP {group}: packages not installed (scripts/install-packages {group})")
    tail = f", {skipped} skipped" if skipped else ""
    print(f"{passed} passed, {failed} failed{tail}")
    return failed != 0


sys.exit(main())
