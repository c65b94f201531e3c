"""Writes a wheel: FOLDER/stage becomes its packages, FOLDER/licences its licences (scripts/make_wheel).

usage: wheel.py FOLDER VERSION OUTPUT

https://packaging.python.org/en/latest/specifications/binary-distribution-format/
"""

import base64
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import zipfile

TORCH = "2.11.0"
# The first glibc whose distributions have a libstdc++ with these symbols (PEP 600 names platforms by glibc alone).
GLIBC_OF_LIBSTDCXX = {29: 34, 30: 35, 31: 38, 32: 39, 33: 40}


def glibc_floor(files):
    """The least glibc, 2.N, with which all files can be loaded."""
    floor = 28  # of torch's own wheel
    for file in files:
        versions = subprocess.run(["readelf", "--version-info", "--wide", file], capture_output=True, text=True).stdout
        needed = versions.split("Version needs section", 1)[-1] if "Version needs section" in versions else ""
        floor = max([floor, *(int(n) for n in re.findall(r"Name: GLIBC_2\.(\d+)", needed))])
        for symbols in map(int, re.findall(r"Name: GLIBCXX_3\.4\.(\d+)", needed)):
            floor = max(floor, next((glibc for s, glibc in sorted(GLIBC_OF_LIBSTDCXX.items()) if s >= symbols), 40) if symbols >= 29 else 0)
    return floor


def metadata(version, readme):
    return f"""Metadata-Version: 2.1
Name: drift-rl
Version: {version}
Summary: Reinforcement learning for masked diffusion language models
License: Apache-2.0
Requires-Python: >=3.10
Requires-Dist: torch=={TORCH}
Requires-Dist: numpy
Requires-Dist: tomli; python_version < "3.11"
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: C++
Classifier: Topic :: Scientific/Engineering :: Artificial Intelligence
Description-Content-Type: text/markdown

{readme}"""


class Wheel:
    """The file while it is written: every entry is also in its RECORD."""

    def __init__(self, path, info):
        self.zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=6)
        self.info, self.record = info, []

    def add(self, name, content, executable=False):
        entry = zipfile.ZipInfo(name, date_time=(2026, 1, 1, 0, 0, 0))  # equal files, equal wheel
        entry.external_attr = (0o100755 if executable else 0o100644) << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        self.zip.writestr(entry, content)
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        self.record.append(f"{name},sha256={digest},{len(content)}")

    def close(self):
        name = f"{self.info}/RECORD"
        self.add(name, "\n".join([*self.record, f"{name},,", ""]).encode())
        self.zip.close()


def files_below(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


def main(folder, version, output):
    stage = folder / "stage"
    libraries = [path for path in files_below(stage) if path.read_bytes()[:4] == b"\x7fELF"]
    tag = f"py3-none-manylinux_2_{glibc_floor(libraries)}_x86_64"
    info = f"drift_rl-{version}.dist-info"
    output.mkdir(parents=True, exist_ok=True)
    path = output / f"drift_rl-{version}-{tag}.whl"
    partial = path.with_suffix(".partial")
    wheel = Wheel(partial, info)
    for file in files_below(stage):
        name = str(file.relative_to(stage))
        # The completion belongs where the shell of an environment looks.
        shared = re.match(r"drift_rl/(share/bash-completion/.*)", name)
        if shared:
            name = f"drift_rl-{version}.data/data/{shared.group(1)}"
        wheel.add(name, file.read_bytes(), executable=os.access(file, os.X_OK))
    for file in files_below(folder / "licences"):
        wheel.add(f"{info}/licenses/{file.relative_to(folder / 'licences')}", file.read_bytes())
    wheel.add(f"{info}/METADATA", metadata(version, pathlib.Path("README.md").read_text()).encode())
    wheel.add(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: scripts/make_wheel\nRoot-Is-Purelib: false\nTag: {tag}\n".encode())
    wheel.add(f"{info}/entry_points.txt", b"[console_scripts]\ndrift = drift_rl._place:main\n")
    wheel.close()
    partial.rename(path)
    print(f"{path} ({path.stat().st_size / 1e6:.0f} MB)")


main(pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3]))
