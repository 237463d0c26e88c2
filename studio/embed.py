#!/usr/bin/env python3
"""Build the page with Vite and turn it into a C array.

usage: embed.py WEB_FOLDER WORK_FOLDER OUT.c NPM|-

Works on a copy in WORK_FOLDER, so that the source tree stays clean. Without npm, or when the
packages cannot be fetched, the array is empty, and `sinew studio` says so.
"""
import gzip
import hashlib
import pathlib
import shutil
import subprocess
import sys

TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8",
         ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}


def run(command, folder):
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if result.returncode != 0:
        print("studio: " + " ".join(command) + " failed; the studio is built without its page",
              file=sys.stderr)
        print((result.stdout + result.stderr)[-3000:], file=sys.stderr)
    return result.returncode == 0


def build(web, work, npm):
    """The folder of the built page, or None."""
    if npm == "-":
        print("studio: npm not found; the studio is built without its page", file=sys.stderr)
        return None
    work.mkdir(parents=True, exist_ok=True)
    for name in ("src", "dist"):
        shutil.rmtree(work / name, ignore_errors=True)
    for source in web.iterdir():
        if source.name in ("node_modules", "dist"):
            continue
        if source.is_dir():
            shutil.copytree(source, work / source.name, dirs_exist_ok=True)
        else:
            shutil.copy2(source, work / source.name)
    lock = hashlib.sha256((web / "package-lock.json").read_bytes()).hexdigest()
    stamp = work / "node_modules" / ".sinew-lock"
    if not stamp.exists() or stamp.read_text() != lock:
        if not run([npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts"], work):
            return None
        stamp.write_text(lock)
    return work / "dist" if run([npm, "run", "build", "--silent"], work) else None


def main():
    web, work, out, npm = map(pathlib.Path, sys.argv[1:5])
    dist = build(web, work, str(npm))
    lines = ["/* Made by studio/embed.py. */", '#include "page.h"', ""]
    entries = []
    files = sorted(dist.rglob("*")) if dist else []
    for number, path in enumerate(f for f in files if f.is_file()):
        name = "/" + path.relative_to(dist).as_posix()
        data = gzip.compress(path.read_bytes(), 9, mtime=0)
        lines.append(f"static const unsigned char file_{number}[] = {{")
        for start in range(0, len(data), 64):
            lines.append(",".join(map(str, data[start:start + 64])) + ",")
        lines.append("};")
        entries.append(f'    {{"{"/" if name == "/index.html" else name}", '
                       f'"{TYPES.get(path.suffix, "application/octet-stream")}", true, '
                       f"file_{number}, sizeof file_{number}}},")
    lines += ["const page_file page_files[] = {", *entries, "    {0},", "};", ""]
    out.write_text("\n".join(lines))


main()
