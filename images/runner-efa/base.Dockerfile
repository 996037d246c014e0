# Base for images/runner-efa: the CUDA runtime and the EFA installer's libfabric. Use it if you have no image in which your
# applications already run over EFA. Build it from the repository root:
#
#   docker build --file images/runner-efa/base.Dockerfile --tag fabricbench-efa-base:dev images/runner-efa
#
# CUDA must not be newer than the driver of the nodes supports.
ARG CUDA=nvidia/cuda:12.8.1-runtime-ubuntu22.04
FROM ${CUDA}
ARG EFA_INSTALLER=1.51.0
# AWS publishes the fingerprint of its key in the EC2 documentation of the EFA installer.
ARG EFA_KEY=4E9091BCBB97A96B26B15E59A05480B1DD2D3CCC
# --skip-kmod: the driver is part of the node. --no-verify: a build has no EFA device on which to run a test.
RUN apt-get update \
 && apt-get install --yes --no-install-recommends ca-certificates curl gnupg \
 && cd /tmp \
 && for file in aws-efa-installer.key "aws-efa-installer-${EFA_INSTALLER}.tar.gz" "aws-efa-installer-${EFA_INSTALLER}.tar.gz.sig"; do \
        curl --fail --silent --show-error --location --remote-name "https://efa-installer.amazonaws.com/$file" || exit 1; \
    done \
 && gpg --batch --import aws-efa-installer.key \
 && gpg --batch --status-fd 1 --verify "aws-efa-installer-${EFA_INSTALLER}.tar.gz.sig" "aws-efa-installer-${EFA_INSTALLER}.tar.gz" \
    | grep --quiet "^\[GNUPG:\] VALIDSIG .*${EFA_KEY}" \
 && tar --extract --file "aws-efa-installer-${EFA_INSTALLER}.tar.gz" \
 && cd aws-efa-installer \
 && ./efa_installer.sh --yes --skip-kmod --skip-limit-conf --no-verify \
 && ldconfig \
 && rm -rf /tmp/aws-efa-installer* /root/.gnupg /var/lib/apt/lists/*
