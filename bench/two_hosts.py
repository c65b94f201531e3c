#!/usr/bin/env python3
"""A run of four ranks on two "hosts": network namespaces of this machine. The link between them is this program, which
delays packets, loses some, or all. Needs root, iproute2, Open MPI and a build; docs/distributed.md has the results.

    bench/two_hosts.py CONFIG.toml FOLDER STEPS [OPTION...]     options of `drift train`
"""

import ctypes
import fcntl
import heapq
import os
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import threading
import time

HOSTS = {"drift-a": "10.77.0.1", "drift-b": "10.77.0.2"}
PROGRAM = pathlib.Path(__file__).resolve().parent.parent / "build/release/bin/drift"


def command(*words):
    subprocess.run(words, check=True)


def open_link(host, address):
    """A network device in the host's namespace; what the host sends is read from the descriptor."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open("/proc/self/ns/net") as own, open(f"/run/netns/{host}") as other:
        libc.setns(other.fileno(), 0)
        descriptor = os.open("/dev/net/tun", os.O_RDWR)
        fcntl.ioctl(descriptor, 0x400454CA, struct.pack("16sH", b"wire", 0x0001 | 0x1000))  # TUNSETIFF: TUN, NO_PI
        libc.setns(own.fileno(), 0)
    command("ip", "-n", host, "addr", "add", address + "/24", "dev", "wire")
    command("ip", "-n", host, "link", "set", "wire", "mtu", "9000", "up")
    command("ip", "-n", host, "link", "set", "lo", "up")
    # Without it mpirun waits for a host that cannot be reached until TCP gives up: 15 minutes.
    command("ip", "netns", "exec", host, "sh", "-c", "echo 5 > /proc/sys/net/ipv4/tcp_retries2")
    return descriptor


class Link:
    """Carries packets between the two hosts, each after `delay` seconds, a share of `loss` not at all."""

    def __init__(self, ends):
        self.delay, self.loss = 0, 0
        self.random = random.Random(1)
        for source, target in (ends, reversed(ends)):
            waiting, changed = [], threading.Condition()
            threading.Thread(target=self.take, args=(source, waiting, changed), daemon=True).start()
            threading.Thread(target=self.give, args=(target, waiting, changed), daemon=True).start()

    def take(self, source, waiting, changed):
        number = 0
        while True:
            packet = os.read(source, 65536)
            if self.random.random() < self.loss:
                continue
            with changed:
                number += 1
                heapq.heappush(waiting, (time.monotonic() + self.delay, number, packet))
                changed.notify()

    def give(self, target, waiting, changed):
        while True:
            with changed:
                while not waiting or waiting[0][0] > time.monotonic():
                    changed.wait(waiting[0][0] - time.monotonic() if waiting else None)
                packet = heapq.heappop(waiting)[2]
            os.write(target, packet)


def processes():
    pids = " ".join(subprocess.run(["ip", "netns", "pids", host], capture_output=True, text=True).stdout for host in HOSTS)
    return [int(pid) for pid in pids.split()]


def train(link, name, config, folder, options, during=None):
    mpirun = (f"mpirun --oversubscribe --bind-to none --mca plm_rsh_agent {folder}/agent "
              "--mca oob_tcp_if_include 10.77.0.0/24 --mca btl self,vader,tcp --mca btl_tcp_if_include 10.77.0.0/24 "
              "-n 4 --host drift-a:2,drift-b:2")
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1",
                                "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    begin = disturbed = time.monotonic()
    with open(folder / f"{name}.error", "w") as error, open(folder / f"{name}.output", "w") as output:
        run = subprocess.Popen([folder / "agent", "drift-a", f"cd {folder} && exec {mpirun} {PROGRAM} train {config} "
                                f"--out {name} --overwrite {' '.join(options)}"],
                               stdout=output, stderr=error, env=environment)
        if during:
            while run.poll() is None and not (folder / name / "checkpoints/last").exists():
                time.sleep(0.1)
            disturbed = time.monotonic()
            during()
        try:
            status = run.wait(600)
        except subprocess.TimeoutExpired:
            status = "none after 600 s"
    end = time.monotonic()
    print(f"{name}: status {status}, {end - begin:.1f} s" +
          (f", {end - disturbed:.1f} s after the disturbance" if during else ""), flush=True)
    for line in (folder / f"{name}.error").read_text().splitlines():
        if "error: " in line or "no longer" in line or line.startswith("  = "):
            print("   ", line)
    last = time.monotonic() + 60
    while processes() and time.monotonic() < last:
        time.sleep(0.5)
    print(f"    no process is left {time.monotonic() - end:.1f} s later" if not processes() else
          f"    processes are left: {processes()}", flush=True)
    for pid in processes():
        os.kill(pid, 9)


def main(config, folder, steps, *options):
    all_steps = ["--steps", steps, "--set", "train.checkpoint_every=1", *options]
    folder = pathlib.Path(folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    for tool in ("ip", "mpirun", "unshare"):
        if not shutil.which(tool):
            return print(f"SKIPPED: there is no {tool}")
    try:
        for host in HOSTS:
            command("ip", "netns", "add", host)
            hosts = pathlib.Path("/etc/netns") / host  # what `ip netns exec` shows as /etc/hosts
            hosts.mkdir(parents=True, exist_ok=True)
            (hosts / "hosts").write_text("127.0.0.1 localhost\n" + "".join(f"{a} {h}\n" for h, a in HOSTS.items()))
        link = Link([open_link(host, address) for host, address in HOSTS.items()])
        agent = folder / "agent"  # in place of ssh
        agent.write_text('#!/bin/bash\nhost=$1; shift\n'
                         'exec ip netns exec "$host" unshare --uts sh -c "hostname $host; $*"\n')
        agent.chmod(0o755)
        config = pathlib.Path(config).resolve()
        train(link, "plain", config, folder, all_steps)
        link.delay = 0.1
        train(link, "delay-100-ms", config, folder, all_steps)
        link.delay, link.loss = 0, 0.01
        train(link, "loss-1-percent", config, folder, all_steps)
        link.loss = 0
        train(link, "link-down", config, folder, ["--steps", "100000", *all_steps[2:]], lambda: setattr(link, "loss", 1))
        weights = [(folder / name / "checkpoints/last/model.safetensors").read_bytes()
                   for name in ("plain", "delay-100-ms", "loss-1-percent")]
        print("the weights of the first three:", "the same" if weights.count(weights[0]) == 3 else "different")
    except (OSError, subprocess.CalledProcessError) as problem:
        print(f"SKIPPED: no two hosts can be made here, which takes root and /dev/net/tun: {problem}")
    finally:
        for host in HOSTS:
            subprocess.run(["ip", "netns", "del", host], stderr=subprocess.DEVNULL)
            shutil.rmtree(pathlib.Path("/etc/netns") / host, ignore_errors=True)


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
