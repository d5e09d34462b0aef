"""Runs a command to which the kernel denies system calls, as a container's seccomp filter does.

    denied.py kill,sched_getaffinity COMMAND [ARGUMENT ...]

Each call answers "Operation not permitted"; `threads` lets processes be made and no thread; `docker` denies what
Docker's profile does by default (moby, profiles/seccomp/default.json), as far as tare and its servers use it.
"""

import ctypes
import os
import platform
import struct
import sys

NAMES = "kill sched_getaffinity clone mbind get_mempolicy set_mempolicy move_pages unshare perf_event_open personality"
NUMBERS = {
    "x86_64": [62, 204, 56, 237, 239, 238, 279, 272, 298, 135],
    "aarch64": [129, 123, 220, 235, 236, 237, 239, 97, 241, 92],
}[platform.machine()]
NUMBERS = dict(zip(NAMES.split(), NUMBERS), pidfd_send_signal=424, clone3=435)
# The arguments of personality that Docker's profile allows.
PERSONALITIES = [0, 8, 0x20000, 0x20008, 0xFFFFFFFF]
DOCKER = ["mbind", "get_mempolicy", "set_mempolicy", "move_pages", "unshare", "perf_event_open"]
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
        elif name == "docker":
            filter += program(DOCKER)[1:-1]
            filter += [(EQUAL, 0, 1, NUMBERS["clone3"]), (RETURN, 0, 0, ERROR | ENOSYS)]
            filter += [(EQUAL, 0, 2 * len(PERSONALITIES) + 2, NUMBERS["personality"]), (LOAD, 0, 0, FIRST_ARGUMENT)]
            for allowed in PERSONALITIES:
                filter += [(EQUAL, 0, 1, allowed), (RETURN, 0, 0, ALLOW)]
            filter += [(RETURN, 0, 0, ERROR | EPERM)]
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
