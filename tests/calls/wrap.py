"""wrap.py HEADER...: C source of calls that are misused, made from the public headers.

For every public function that returns a status it defines one of the same name, which the test
executable calls instead. It passes its arguments on, or NULL in place of pointer number
`wrapped.argument` when `wrapped.name` names it. `wrapped_calls` lists them all.

`wrapped_questions` asks every accessor (a function of one object, and perhaps a name or a number)
about no object at all, and about elements that the objects of the stage do not have.
"""
import pathlib
import re
import sys


OBJECTS = {"sinew_rig": "s->rig", "sinew_mesh": "s->mesh", "sinew_tets": "s->tets",
           "sinew_markers": "s->take", "sinew_marker_map": "s->map", "sinew_curves": "s->curves",
           "sinew_slider_space": "s->space"}


def declarations(path):
    """(type, name, parameters)"""
    text = re.sub(r"/\*.*?\*/", " ", pathlib.Path(path).read_text(), flags=re.S)
    text = re.sub(r"^\s*#.*?(?<!\\)$", "", text, flags=re.M)
    for match in re.finditer(r"SINEW_API\s+([^;(]*?)(sinew_\w+)\s*\(([^;]*)\)\s*;", text):
        parameters = [" ".join(p.split()) for p in match.group(3).split(",")]
        if "(" not in match.group(3) and "..." not in parameters:
            yield match.group(1).strip(), match.group(2), parameters


def write(name, parameters):
    names = [re.search(r"(\w+)\s*(?:\[\w*\])*$", p).group(1) for p in parameters]
    pointers = [n for n, p in zip(names, parameters) if "*" in p or "[" in p]
    print(f"sinew_status {name}({', '.join(parameters)}) {{")
    print(f'    static __typeof__({name}) *real;')
    print(f'    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "{name}");')
    print(f'    if (wrapped.name && !strcmp(wrapped.name, "{name}")) {{')
    print("        wrapped.met = true;")
    for i, pointer in enumerate(pointers):
        print(f"        if (wrapped.argument == {i}) {pointer} = NULL;")
    print("    }")
    print(f"    return real({', '.join(names)});")
    print("}")
    return name, pointers


def ask(kind, name, parameters):
    """The calls of an accessor, or of a function that releases an object."""
    first = re.fullmatch(r"(const )?(sinew_\w+) \*\w+", parameters[0])
    rest = [re.sub(r" ?\w+$", "", p) for p in parameters[1:]]
    if not first or kind == "sinew_status" or rest not in ([], ["int"], ["const char *"]):
        return
    if kind == "void" and not re.search(r"_(destroy|close|abandon|leave)$", name):
        return
    if (not first.group(1) and kind != "void") or name == "sinew_hash_key":
        return
    none = {"": "NULL", "int": "NULL, 0", "const char *": 'NULL, "none"'}["".join(rest)]
    print(f'    note("{name}", "no object");')
    print(f"    wrong += {name}({none}) != NULL;" if kind.endswith("*")
          else f"    (void){name}({none});")
    if rest == ["int"] and first.group(2) in OBJECTS:
        for index in ("-1", "1000000"):
            print(f'    note("{name}", "element {index}");')
            print(f"    (void){name}({OBJECTS[first.group(2)]}, {index});")


def main():
    print('#include <dlfcn.h>\n#include <string.h>\n\n#include "calls/stage.h"\n#include "calls/wrapped.h"\n')
    print("struct wrapped wrapped;")
    found = [d for header in sys.argv[1:] for d in declarations(header)]
    calls = [write(name, parameters) for kind, name, parameters in found if kind == "sinew_status"]
    print("int wrapped_questions(const struct stage *s, void (*note)(const char *, const char *)) {")
    print("    int wrong = 0;")
    for declaration in found:
        ask(*declaration)
    print("    return wrong;\n}")
    print("const wrapped_call wrapped_calls[] = {")
    for name, pointers in calls:
        listed = ", ".join(f'"{p}"' for p in pointers)
        print(f'    {{"{name}", {len(pointers)}, {{{listed or "NULL"}}}}},')
    print("    {NULL, 0, {NULL}},\n};")


main()
