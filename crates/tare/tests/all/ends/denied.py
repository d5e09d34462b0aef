"""Runs a command to which the kernel denies system calls, as a container's seccomp filter does.

    denied.py kill,sched_getaffinity COMMAND [ARGUMENT ...]

Each call answers "Operation not permitted"; `threads` lets processes be made and no thread.
"""

import ctypes
import os
import platform
import struct
import sys

NUMBERS = {
    "x86_64": {"kill": 62, "pidfd_send_signal": 424, "sched_getaffinity": 204, "clone": 56, "clone3": 435},
    "aarch64": {"kill": 129, "pidfd_send_signal": 424, "sched_getaffinity": 123, "clone": 220, "clone3": 435},
}[platform.machine()]
LOAD, EQUAL, ANY_BIT, RETURN = 0x20, 0x15, 0x45, 0x06
NUMBER, FIRST_ARGUMENT = 0, 16
ALLOW, ERROR = 0x7FFF0000, 0x00050000
EPERM, EAGAIN, ENOSYS = 1, 11, 38
CLONE_THREAD = 0x10000


def program(names):
    """The filter: for each name a comparison and what it answers."""
    filter = [(LOAD, 0, 0, NUMBER)]
    for name in names:
        if name == "threads":
            # Flags of clone3 lie in memory, where no filter sees them: without it the C library uses clone.
            filter += [(EQUAL, 0, 1, NUMBERS["clone3"]), (RETURN, 0, 0, ERROR | ENOSYS)]
            filter += [(EQUAL, 0, 4, NUMBERS["clone"]), (LOAD, 0, 0, FIRST_ARGUMENT)]
            filter += [(ANY_BIT, 0, 1, CLONE_THREAD), (RETURN, 0, 0, ERROR | EAGAIN), (RETURN, 0, 0, ALLOW)]
        else:
            filter += [(EQUAL, 0, 1, NUMBERS[name]), (RETURN, 0, 0, ERROR | EPERM)]
    return filter + [(RETURN, 0, 0, ALLOW)]


def deny(names):
    """Installs the filter for this process and all that it becomes and starts."""
    packed = b"".join(struct.pack("HBBI", *instruction) for instruction in program(names))
    held = ctypes.create_string_buffer(packed)
    described = struct.pack("HxxxxxxP", len(packed) // 8, ctypes.addressof(held))
    libc = ctypes.CDLL(None, use_errno=True)
    no_new_privileges, seccomp, by_filter = 38, 22, 2
    if libc.prctl(no_new_privileges, 1, 0, 0, 0) or libc.prctl(seccomp, by_filter, described, 0, 0):
        sys.exit(f"no filter of system calls here: {os.strerror(ctypes.get_errno())}")


deny(sys.argv[1].split(","))
os.execvp(sys.argv[2], sys.argv[2:])
