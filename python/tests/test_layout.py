"""The structures of the module have the layout that the C headers declare."""
import ctypes
import os
import shutil
import subprocess
import tempfile
import unittest

from sinew import _library

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
STRUCTURES = [value for value in vars(_library).values()
              if isinstance(value, type) and issubclass(value, ctypes.Structure)
              and value is not ctypes.Structure]


def fields(structure):
    return [field[0] for field in structure._fields_ if field[0] != "_room"]


class Layout(unittest.TestCase):
    def test_structures_are_those_of_the_headers(self):
        compiler = shutil.which("cc")
        if compiler is None:
            self.skipTest("there is no C compiler")
        headers = sorted(os.listdir(os.path.join(ROOT, "include", "sinew")))
        lines = [f'#include "sinew/{name}"' for name in headers if name.endswith(".h")]
        lines += ["#include <stddef.h>", "#include <stdio.h>", "int main(void) {"]
        for structure in STRUCTURES:
            name = structure._name_
            lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
            lines += [f'printf("{name}.{field} %zu %zu\\n", offsetof({name}, {field}), '
                      f"sizeof((({name} *)0)->{field}));" for field in fields(structure)]
        with tempfile.TemporaryDirectory() as folder:
            source, program = os.path.join(folder, "layout.c"), os.path.join(folder, "layout")
            with open(source, "w", encoding="utf-8") as file:
                file.write("\n".join(lines + ["}"]))
            subprocess.run([compiler, "-std=c17", "-I", os.path.join(ROOT, "include"), "-o",
                            program, source], check=True)
            printed = subprocess.run([program], check=True, capture_output=True, text=True).stdout
        found = {line.split()[0]: [int(n) for n in line.split()[1:]]
                 for line in printed.splitlines()}
        self.assertGreater(len(STRUCTURES), 20)
        for structure in STRUCTURES:
            name = structure._name_
            for field in fields(structure):
                here = getattr(structure, field)
                self.assertEqual(found[f"{name}.{field}"], [here.offset, here.size],
                                 f"{name}.{field}")
            if "_room" in dict(structure._fields_):  # the library fills it
                self.assertLessEqual(found[name][0], ctypes.sizeof(structure), name)
            elif "size" not in dict(structure._fields_):  # has no size to limit the library
                self.assertEqual(found[name][0], ctypes.sizeof(structure), name)


if __name__ == "__main__":
    unittest.main()
