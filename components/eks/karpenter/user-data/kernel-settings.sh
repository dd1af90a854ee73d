#!/bin/bash
# Runs once on a new machine, before the kubelet starts. The files keep the settings over a restart.
set -euo pipefail
cat >/etc/sysctl.d/90-valkey.conf <<'END'
vm.overcommit_memory = 1
net.core.somaxconn = 65535
END
sysctl --quiet --load=/etc/sysctl.d/90-valkey.conf
cat >/etc/tmpfiles.d/90-valkey.conf <<'END'
w /sys/kernel/mm/transparent_hugepage/enabled - - - - never
w /sys/kernel/mm/transparent_hugepage/defrag - - - - never
END
systemd-tmpfiles --create /etc/tmpfiles.d/90-valkey.conf
