#!/usr/bin/env python3
"""Build the page with Vite and turn it into a C array.

usage: embed.py WEB_FOLDER WORK_FOLDER OUT.c NPM|-
       embed.py --packages WEB_FOLDER          fetches the packages, prints their folder

Works on a copy in WORK_FOLDER, so that the source tree stays clean. Packages and built pages are
kept under the user's cache folder, so that several build folders share them. Without npm, or when
the packages cannot be fetched, the array is empty, and `sinew studio` says so.
"""
import gzip
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8",
         ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml", ".woff2": "font/woff2"}
LEFT_OUT = {"node_modules", "dist", "tests"}


def run(command, folder):
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if result.returncode != 0:
        print("studio: " + " ".join(map(str, command)) + " failed; the studio is built without "
              "its page", file=sys.stderr)
        print((result.stdout + result.stderr)[-3000:], file=sys.stderr)
    return result.returncode == 0


def digest(paths):
    total = hashlib.sha256()
    for path in paths:
        total.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return total.hexdigest()[:24]


def packages(web, npm, cache):
    """The folder of the locked packages, fetched when it is not there; or None."""
    folder = cache / ("packages-" + digest([web / "package-lock.json", web / "package.json"]))
    if (folder / "done").exists():
        return folder / "node_modules"
    # Builds that run at the same time fetch into folders of their own; the first one to finish wins.
    cache.mkdir(parents=True, exist_ok=True)
    partial = pathlib.Path(tempfile.mkdtemp(prefix="packages-", dir=cache))
    try:
        for name in ("package.json", "package-lock.json", ".npmrc"):
            shutil.copy2(web / name, partial / name)
        if not run([npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts"], partial):
            return None
        (partial / "done").touch()
        if not (folder / "done").exists():
            shutil.rmtree(folder, ignore_errors=True)
        try:
            partial.rename(folder)
        except OSError:
            pass  # another build has put its folder there
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return folder / "node_modules" if (folder / "done").exists() else None


def build(web, work, npm, cache):
    """The folder of the built page, or None."""
    modules = packages(web, npm, cache)
    if not modules:
        return None
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(web, work, ignore=lambda _, names: LEFT_OUT & set(names))
    (work / "node_modules").symlink_to(modules)
    command = ["node", modules / "vite" / "bin" / "vite.js", "build", "--logLevel", "error"]
    return work / "dist" if run(command, work) else None


def write(dist, out):
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


def main():
    home = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    cache = pathlib.Path(home) / "sinew" / "studio"
    if sys.argv[1] == "--packages":
        modules = packages(pathlib.Path(sys.argv[2]), "npm", cache)
        print(modules or "")
        sys.exit(not modules)
    web, work, out = map(pathlib.Path, sys.argv[1:4])
    npm = sys.argv[4]
    if npm == "-":
        print("studio: node or npm not found; the studio is built without its page",
              file=sys.stderr)
        return write(None, out)
    sources = sorted(p for p in web.rglob("*")
                     if p.is_file() and not LEFT_OUT & set(p.relative_to(web).parts))
    kept = cache / f"page-{digest([pathlib.Path(__file__), *sources])}.c"
    if kept.exists():
        shutil.copy(kept, out)
        return None
    dist = build(web, work, npm, cache)
    write(dist, out)
    if dist:
        for old in sorted(cache.glob("page-*.c"), key=os.path.getmtime)[:-4]:
            old.unlink()
        partial = kept.with_suffix(f".{os.getpid()}")
        shutil.copy(out, partial)
        partial.rename(kept)
    return None


main()
