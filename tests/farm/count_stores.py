"""Starts N copies of a command together and prints how often each entry of the cache was stored.

    count_stores.py N COMMAND...       SINEW_CACHE is the folder

The kernel reports every name that appears in the folder (inotify), so that a second store of the
same entry is seen even though it replaces the first.
"""
import collections
import ctypes
import os
import struct
import subprocess
import sys

IN_CREATE, IN_MOVED_TO, IN_NONBLOCK = 0x100, 0x80, 0o4000
count, command = int(sys.argv[1]), sys.argv[2:]
folder = os.environ["SINEW_CACHE"]
os.makedirs(folder, exist_ok=True)
libc = ctypes.CDLL(None, use_errno=True)
watch = libc.inotify_init1(IN_NONBLOCK)
if libc.inotify_add_watch(watch, folder.encode(), IN_CREATE | IN_MOVED_TO) < 0:
    sys.exit("count_stores: the folder cannot be watched")
children = [subprocess.Popen([word.replace("%", str(i)) for word in command])
            for i in range(count)]
codes = [child.wait() for child in children]
stores = collections.Counter()
while True:
    try:
        events = os.read(watch, 1 << 16)
    except BlockingIOError:
        break
    while events:
        size = struct.unpack("iIII", events[:16])[3]
        name = events[16:16 + size].split(b"\0")[0].decode()
        events = events[16 + size:]
        if name.endswith(".entry"):
            stores[name] += 1
print("codes", *codes)
print("entries", len(stores), "stores", sum(stores.values()))
