"""Runs every script of docs/python.md; with a folder as argument, also writes their pictures there.

    PYTHONPATH=python python3 python/tests/test_gallery.py [FOLDER]
"""
import os
import re
import sys
import tempfile
import unittest

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
SCRIPT = re.compile(r"(?:!\[[^\]]+\]\(pictures/(python-\w+)\.webp\)\n)?```python\n(.*?)```", re.S)
FOLDER = sys.argv.pop() if len(sys.argv) > 1 and os.path.isdir(sys.argv[-1]) else None


def scripts():
    with open(os.path.join(ROOT, "docs", "python.md"), encoding="utf-8") as file:
        return SCRIPT.findall(file.read())


class Gallery(unittest.TestCase):
    def test_there_are_ten_scripts_with_pictures(self):
        self.assertEqual(len([name for name, _ in scripts() if name]), 10)
        for name, text in scripts():
            if name and FOLDER is None:
                self.assertTrue(os.path.exists(
                    os.path.join(ROOT, "docs", "pictures", name + ".webp")), name)
                self.assertLessEqual(len(text.splitlines()), 20, name)

    def test_every_script_runs(self):
        import sinew
        for name, text in scripts():
            with self.subTest(name or text.splitlines()[-1]), tempfile.TemporaryDirectory() as work:
                before = os.getcwd()
                os.chdir(work)
                try:
                    found = {}
                    exec(compile(text, name or "python.md", "exec"), found)
                finally:
                    os.chdir(before)
                if name:
                    self.assertGreater(found["picture"].std(), 5)
                    if FOLDER:
                        sinew.save(os.path.join(FOLDER, name + ".png"), found["picture"])


if __name__ == "__main__":
    unittest.main()
