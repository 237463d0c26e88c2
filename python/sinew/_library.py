"""The shared library: how it is found, its function types, and how errors become exceptions.

The library is called through ctypes, which releases the interpreter lock during every call.
"""
from __future__ import annotations

import ctypes
import ctypes.util
import os
import signal
import sys
import threading
from contextlib import nullcontext
from ctypes import (CFUNCTYPE, POINTER, Structure, byref, c_bool, c_char, c_char_p, c_double,
                    c_float, c_int, c_size_t, c_uint32, c_uint64, c_void_p)

OLDEST_VERSION = 200  # 0.2.0

OK, NOT_CONVERGED, CANCELLED, BAD_INPUT, IO, NO_MEMORY, UNAVAILABLE, MISUSE = range(8)


class Error(Exception):
    """A call failed. ``status`` is the library's name for the kind of failure."""

    def __init__(self, message: str, status: str = ""):
        super().__init__(message)
        self.status = status


class BadInput(Error, ValueError):
    """A file or an argument cannot be used; the message names the file and the element."""


class Cancelled(Error):
    """The call was cancelled. The object it was called on can still be used."""


# Structures of the headers, by `_name_`; python/tests/test_layout.py compares them. A newer library
# may have more fields at the end of those that it initializes: there is room for them.
_ROOM = ("_room", c_char * 128)


class _Error(Structure):
    _name_ = "sinew_error"
    _fields_ = [("status", c_int), ("message", c_char * 512)]


PROGRESS = CFUNCTYPE(None, c_double, c_char_p, c_void_p)
CANCEL = CFUNCTYPE(c_bool, c_void_p)
LOG = CFUNCTYPE(None, c_int, c_char_p, c_void_p)


class _Monitor(Structure):
    _name_ = "sinew_monitor"
    _fields_ = [("progress", PROGRESS), ("cancelled", CANCEL), ("log", LOG), ("user", c_void_p),
                ("strict", ctypes.c_bool)]


class SessionOptions(Structure):
    _name_ = "sinew_session_options"
    _fields_ = [("size", c_uint32), ("loader", c_void_p), ("rig", c_void_p), ("cache", c_void_p)]


class Change(Structure):
    _name_ = "sinew_session_change"
    _fields_ = [("size", c_uint32), ("revision", c_uint64), ("cost", c_int), ("operations", c_int)]


class Input(Structure):
    _name_ = "sinew_input"
    _fields_ = [("size", c_uint32), ("frame", c_int), ("time", c_double),
                ("weights", c_void_p), ("markers", c_void_p), ("head", c_void_p),
                ("newest_only", c_bool), _ROOM]


class Result(Structure):
    _name_ = "sinew_result"
    _fields_ = [("size", c_uint32), ("positions", c_void_p), ("positions_float", c_void_p),
                ("normals", c_void_p), ("figures", c_void_p), ("contacts", c_void_p),
                ("contact_capacity", c_int), ("status", c_int), ("frame", c_int),
                ("time", c_double), ("revision", c_uint64), ("iterations", c_int),
                ("residual", c_double), ("energy", c_double), ("seconds", c_double),
                ("build_seconds", c_double), ("inverted", c_int), ("contact_count", c_int),
                ("contacts_returned", c_int), ("time_limited", c_bool), _ROOM]


class ClipInfo(Structure):
    _name_ = "sinew_clip_info"
    _fields_ = [("size", c_uint32), ("frame_count", c_int), ("rate", c_double),
                ("start", c_double), ("end", c_double), ("has_weights", c_bool)]


class Drag(Structure):
    _name_ = "sinew_drag"
    _fields_ = [("vertex", c_int), ("axes", ctypes.c_uint), ("target", c_double * 3),
                ("weight", c_double)]


class ManipulateInfo(Structure):
    _name_ = "sinew_manipulate_info"
    _fields_ = [("size", c_uint32), ("distance", c_double), ("left", c_double),
                ("locked_motion", c_double), ("iterations", c_int), ("residual", c_double)]


class CaptureOptions(Structure):
    _name_ = "sinew_capture_options"
    _fields_ = [("size", c_uint32), ("map", c_void_p), ("anatomy", c_void_p),
                ("neutral_sample", c_int), ("stable", c_char_p), ("cutoff", c_double),
                ("retarget", c_bool), ("rig_unit", c_double), _ROOM]


class CaptureInfo(Structure):
    _name_ = "sinew_capture_info"
    _fields_ = [("size", c_uint32), ("samples", c_int), ("rate", c_double), ("markers", c_int),
                ("used", c_int), ("neutral_sample", c_int), ("map_source", c_int),
                ("doubtful", c_int), ("left_out", c_int), ("head_moves", c_bool),
                ("filled", c_int), ("noise", c_double), ("cutoff", c_double),
                ("scale", c_double), ("relabeled", c_int)]


class FitInfo(Structure):
    _name_ = "sinew_fit_info"
    _fields_ = [("size", c_uint32), ("seen", c_int), ("outliers", c_int), ("iterations", c_int),
                ("marker_error", c_double)]


class Rigid(Structure):
    _name_ = "sinew_rigid"
    _fields_ = [("rotation", c_double * 9), ("translation", c_double * 3)]


class InterferencePair(Structure):
    _name_ = "sinew_interference_pair"
    _fields_ = [("disturbed", c_int), ("disturber", c_int), ("disturbance", c_double),
                ("reverse", c_double), ("cosine", c_double), ("vertex", c_int), ("region", c_int),
                ("rank", c_double)]


class InterferenceAdvice(Structure):
    _name_ = "sinew_interference_advice"
    _fields_ = [("size", c_uint32), ("vertex_count", c_int), ("reduction", c_double),
                ("kept", c_double), ("helps", c_bool)]


class Closest(Structure):
    _name_ = "sinew_closest"
    _fields_ = [("triangle", c_int), ("barycentric", c_double * 3), ("point", c_double * 3),
                ("distance", c_double)]


class SampleOptions(Structure):
    _name_ = "sinew_sample_options"
    _fields_ = [("size", c_uint32), ("vertices", c_int), _ROOM]


class SampleMarkerOptions(Structure):
    _name_ = "sinew_sample_marker_options"
    _fields_ = [("size", c_uint32), ("noise", c_double), ("gaps", c_double),
                ("seed", ctypes.c_uint), ("lips", c_bool), _ROOM]


class Image(Structure):
    _name_ = "sinew_image"
    _fields_ = [("width", c_int), ("height", c_int), ("pixels", POINTER(ctypes.c_ubyte))]


class Panel(Structure):
    _name_ = "sinew_panel"
    _fields_ = [("mesh", c_void_p), ("positions", c_void_p), ("heat", c_void_p),
                ("colors", c_void_p), ("label", c_char_p), ("extras", c_void_p),
                ("extra_count", c_int), ("turn", c_double)]


class RenderOptions(Structure):
    _name_ = "sinew_render_options"
    _fields_ = [("size", c_uint32), ("width", c_int), ("height", c_int), ("columns", c_int),
                ("azimuth", c_double), ("elevation", c_double), ("zoom", c_double),
                ("field_of_view", c_double), ("up", c_char), ("wireframe", c_bool),
                ("ground", c_bool), ("title", c_char_p), ("heat_low", c_double),
                ("heat_high", c_double), ("heat_unit", c_char_p), ("center", c_double * 3),
                ("radius", c_double), ("monitor", c_void_p), _ROOM]


class BakeOptions(Structure):
    _name_ = "sinew_bake_options"
    _fields_ = [("size", c_uint32), ("max_targets", c_int), ("tolerance", c_double),
                ("max_samples", c_int), ("row_count", c_int), ("rows", c_void_p),
                ("style", c_int), ("self_contact", c_bool), _ROOM]


class BakeInfo(Structure):
    _name_ = "sinew_bake_info"
    _fields_ = [("size", c_uint32), ("samples", c_int), ("inbetweens", c_int),
                ("combinations", c_int), ("linear_error", c_double), ("fitted_error", c_double),
                ("fitted_worst", c_double), ("seconds", c_double)]


BAKE_MODEL = CFUNCTYPE(c_int, POINTER(c_double), POINTER(c_double), c_void_p, POINTER(_Monitor),
                       POINTER(_Error))

_HERE = os.path.dirname(os.path.abspath(__file__))


def _candidates():
    given = os.environ.get("SINEW_LIBRARY")
    if given:
        yield given
        return
    for name in ("libsinew.so.0", "libsinew.so"):
        yield os.path.join(_HERE, name)  # beside the module, as in the Blender add-on
    try:
        from ._source import BUILD  # written by pip
    except ImportError:
        BUILD = os.path.normpath(os.path.join(_HERE, "..", "..", "build"))
    if os.path.isdir(BUILD):
        yield os.path.join(BUILD, "libsinew.so")
    found = ctypes.util.find_library("sinew")
    if found:
        yield found
    for folder in ("/usr/local/lib", "/usr/local/lib/x86_64-linux-gnu"):
        yield os.path.join(folder, "libsinew.so")


# Runtimes that the other modules of a process use, too: the system's are taken where it has them,
# which are newer than ours if those modules are.
_RUNTIMES = ("libgomp", "libgfortran", "libquadmath", "libtbb")


def _loaded(name, mode):
    try:
        return bool(ctypes.CDLL(name, mode=mode))
    except OSError:
        return False


def _load_others(folder):
    """Loads the libraries of other projects that are bundled with libsinew, as in the Blender add-on,
    so that the loader has them when libsinew asks for them by name.

    A host may be linked to other versions of them, whose functions have the same names. With
    RTLD_DEEPBIND they call each other instead."""
    listing = os.path.join(folder, "libraries", "order.txt")
    if not os.path.isfile(listing):
        return
    with open(listing, encoding="utf-8") as file:
        names = file.read().split()
    # OpenBLAS starts threads when it is loaded: signals are for those of the host.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        for name in names:
            if not (_loaded(name, os.RTLD_NOW | os.RTLD_NOLOAD)
                    or name.startswith(_RUNTIMES) and _loaded(name, os.RTLD_NOW)):
                ctypes.CDLL(os.path.join(folder, "libraries", name),
                            mode=os.RTLD_NOW | os.RTLD_DEEPBIND)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _load():
    tried = []
    for path in _candidates():
        if os.path.isabs(path) and not os.path.exists(path):
            tried.append(path)
            continue
        try:
            _load_others(os.path.dirname(path))
            return ctypes.CDLL(path), path
        except OSError as error:
            tried.append(f"{path} ({error})")
    raise ImportError("the Sinew library was not found; build it with 'make', install it with "
                      "'make install', or set SINEW_LIBRARY to libsinew.so. Tried: "
                      + ", ".join(tried))


_lib, path = _load()


def _sibling(stem):
    """One of the libraries beside libsinew, or libsinew itself if it contains everything."""
    folder, name = os.path.split(path)
    other = os.path.join(folder, name.replace("libsinew", f"libsinew-{stem}", 1))
    return ctypes.CDLL(other) if os.path.exists(other) else _lib


def _find(name, stem=None):
    try:
        return getattr(_sibling(stem) if stem else _lib, name)
    except AttributeError:
        raise ImportError(f"{path} has no function {name}: it is older than this module, or built "
                          "without it") from None


_pointers = {"p": c_void_p, "s": c_char_p, "i": c_int, "d": c_double, "f": c_float, "z": c_size_t,
             "u": c_uint64, "v": None, "P": POINTER(c_void_p), "B": c_bool}


def function(name: str, result: str, arguments: str, stem: str | None = None):
    """A function of the library, or of the one beside it that ends in a stem; one letter per type,
    see ``_pointers``."""
    found = _find(name, stem)
    found.restype = _pointers[result]
    found.argtypes = [_pointers[letter] for letter in arguments]
    return found


def getter(name: str, result: str, arguments: str):
    """Like `function`, for functions that return at once and take no lock of the library. They keep
    the interpreter lock: a thread that gave it up for them would wait for all others each time."""
    prototype = ctypes.PYFUNCTYPE(_pointers[result], *[_pointers[a] for a in arguments])
    return prototype(ctypes.cast(_find(name), c_void_p).value)


def _check_version():
    number = getter("sinew_version_number", "i", "")()
    if number < OLDEST_VERSION:
        raise ImportError(f"{path} is version {number}; this module needs {OLDEST_VERSION} or newer")


_status_name = getter("sinew_status_name", "s", "i")
free = function("sinew_free", "v", "p")
_check_version()


class Handle:
    """An object of the library, destroyed by ``_release`` unless another object owns it."""

    _handle = None
    _owner = None
    _release = None  # of the class

    @classmethod
    def _of(cls, handle, owner=None):
        made = cls.__new__(cls)
        made._handle, made._owner = handle, owner
        return made

    def __del__(self):
        if self._handle and self._owner is None:
            self._release(self._handle)
        self._handle = None


class Monitor:
    """Passes progress on, and turns Ctrl-C into a cancelled call.

    Python handles signals between instructions of the main thread; the library calls
    ``cancelled`` once per iteration, which gives Python the opportunity.
    """

    def __init__(self, progress=None, cancelled=None, log=None):
        self.interrupted = False
        self.failure = None

        def on_progress(fraction, stage, _user):
            try:
                progress(fraction, stage.decode("utf-8", "replace"))
            except BaseException as error:  # noqa: B902: carried over the C frames
                self.failure = error

        def on_cancelled(_user):
            try:
                return (self.interrupted or self.failure is not None
                        or bool(cancelled and cancelled()))
            except KeyboardInterrupt:
                self.interrupted = True
                return True
            except BaseException as error:  # noqa: B902
                self.failure = error
                return True

        def on_log(level, line, _user):
            try:
                log(("debug", "info", "warning", "fallback")[level], line.decode("utf-8", "replace"))
            except BaseException as error:  # noqa: B902
                self.failure = error

        self._callbacks = (PROGRESS(on_progress) if progress else PROGRESS(),
                           CANCEL(on_cancelled), LOG(on_log) if log else LOG())
        self._struct = _Monitor(*self._callbacks, None)
        self.pointer = ctypes.cast(byref(self._struct), c_void_p)


    def __enter__(self):
        """Catches a Ctrl-C that arrives between two instructions of a callback, where Python can
        only report it as ignored."""
        self._hook = sys.unraisablehook
        if threading.current_thread() is threading.main_thread():
            sys.unraisablehook = self._unraisable
        return self

    def __exit__(self, *_):
        if sys.unraisablehook == self._unraisable:
            sys.unraisablehook = self._hook

    def _unraisable(self, report):
        if issubclass(report.exc_type, KeyboardInterrupt):
            self.interrupted = True
        else:
            self._hook(report)


def call(function_, *arguments, monitor: Monitor | None = None, quiet=(OK,)):
    """Calls a function whose last parameter is a ``sinew_error``; raises what it reports.

    ``quiet`` lists outcomes that are returned instead of raised."""
    error = _Error()
    with monitor or nullcontext():
        status = function_(*arguments, byref(error))
    if monitor is not None:
        if monitor.interrupted:
            raise KeyboardInterrupt
        if monitor.failure is not None:
            raise monitor.failure
    if status not in quiet:
        raise_error(status, error)
    return status


def raise_error(status: int, error: _Error):
    """Raises what a call reported."""
    message = error.message.decode("utf-8", "replace")
    name = _status_name(status).decode()
    if status == CANCELLED:
        raise Cancelled(message or "cancelled", name)
    if status == NO_MEMORY:
        raise MemoryError(message or "not enough memory")
    if status == IO:
        raise OSError(message)
    if status == BAD_INPUT:
        raise BadInput(message, name)
    raise Error(message or name, name)


def take_text(pointer: c_void_p) -> str | None:
    """Return the text that a call allocated, and release it."""
    if not pointer.value:
        return None
    text = ctypes.string_at(pointer.value).decode("utf-8")
    free(pointer)
    return text
