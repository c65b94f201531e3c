# Drift in a container, from this tree:
#   docker build --target cpu -t drift .
#   docker build --target cuda -t drift-cuda .        # its machine needs the NVIDIA Container Toolkit: docker run --gpus all
#   docker run --rm --user "$(id -u)" -v "$PWD:/work" drift train /usr/share/drift/configs/quickstart.toml

# The package for Debian 12.
FROM debian:12 AS packages
WORKDIR /drift
COPY . .
RUN scripts/setup --without-tests \
 && scripts/make_deb --build build/release --output /packages

FROM debian:12 AS cpu
COPY --from=packages /packages/*.deb /tmp/
RUN apt-get update \
 && apt-get install -y --no-install-recommends /tmp/*.deb bubblewrap python3 openmpi-bin \
 && rm -rf /tmp/*.deb /var/lib/apt/lists/*
WORKDIR /work
ENTRYPOINT ["drift"]

# With nvcc the build has --device cuda. LibTorch and CUDA's libraries come with the package torch.
FROM nvidia/cuda:13.0.0-devel-ubuntu24.04 AS cuda-toolkit
FROM debian:12 AS cuda-packages
COPY --from=cuda-toolkit /usr/local/cuda-13.0 /usr/local/cuda-13.0
ENV CUDA_HOME=/usr/local/cuda-13.0 PATH=/usr/local/cuda-13.0/bin:$PATH
WORKDIR /drift
COPY . .
RUN scripts/setup --without-tests --with-cuda \
 && scripts/make_wheel --build build/release --output /packages

FROM debian:12 AS cuda
COPY --from=cuda-packages /packages/*.whl /tmp/
RUN apt-get update \
 && apt-get install -y --no-install-recommends python3-venv bubblewrap openmpi-bin \
 && python3 -m venv /opt/drift \
 && /opt/drift/bin/pip install --no-cache-dir /tmp/*.whl \
 && ln -s /opt/drift/bin/drift /usr/local/bin/drift \
 && rm -rf /tmp/*.whl /var/lib/apt/lists/*
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
WORKDIR /work
ENTRYPOINT ["drift"]
