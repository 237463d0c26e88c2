"""A build backend with no requirements: the package is plain Python, a wheel is a zip of it.

`pip install ./python` therefore works without a network, in a fresh virtual environment.
"""
import base64
import hashlib
import os
import re
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))


def _version():
    with open(os.path.join(HERE, "pyproject.toml"), encoding="utf-8") as file:
        return re.search(r'^version = "(.*)"$', file.read(), re.M).group(1)


def _metadata():
    return ("Metadata-Version: 2.1\nName: sinew\n"
            f"Version: {_version()}\n"
            "Summary: Physical blendshapes: spring, modal and force models for facial rigs\n"
            "License: Apache-2.0\nRequires-Python: >=3.9\n")


_WHEEL = "Wheel-Version: 1.0\nGenerator: sinew\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def _write(wheel_directory, files):
    info = f"sinew-{_version()}.dist-info"
    name = f"sinew-{_version()}-py3-none-any.whl"
    files = dict(files)
    files[f"{info}/METADATA"] = _metadata().encode()
    files[f"{info}/WHEEL"] = _WHEEL.encode()
    records = []
    with zipfile.ZipFile(os.path.join(wheel_directory, name), "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, content in sorted(files.items()):
            wheel.writestr(path, content)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=")
            records.append(f"{path},sha256={digest.decode()},{len(content)}")
        records.append(f"{info}/RECORD,,")
        wheel.writestr(f"{info}/RECORD", "\n".join(records) + "\n")
    return name


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    files = {}
    folder = os.path.join(HERE, "sinew")
    for name in os.listdir(folder):
        if name.endswith((".py", ".typed")):
            with open(os.path.join(folder, name), "rb") as file:
                files[f"sinew/{name}"] = file.read()
    build = os.path.normpath(os.path.join(HERE, "..", "build"))
    files["sinew/_source.py"] = ('"""Where this copy was installed from."""\n'
                                 f"BUILD = {build!r}\n").encode()
    return _write(wheel_directory, files)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    return _write(wheel_directory, {"sinew.pth": (HERE + "\n").encode()})


def build_sdist(sdist_directory, config_settings=None):
    raise NotImplementedError("install from the source tree: pip install ./python")
