#!/bin/bash
# Runs once on a new machine, before the kubelet starts. The files keep the settings after a restart.
# A machine joins the cluster even if this script fails. So a failure is reported to people, on the console and in
# cloud-init's status, and to verification, by a label of the Node. nodeadm adds this label to the kubelet's flags.
set -Eeuo pipefail
where=
trap 'where="line $LINENO: $BASH_COMMAND"' ERR
report() {
  code=$?
  [ "$code" = 0 ] && return
  echo "valkey-measured: the boot script failed with status $code${where:+ in $where}" | tee /dev/console >&2 || true
  mkdir -p /etc/eks/nodeadm.d
  cat >/etc/eks/nodeadm.d/90-valkey-boot.yaml <<'END'
apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  kubelet:
    flags:
      - --node-labels=valkey-measured/boot=failed
END
}
trap report EXIT
cat >/etc/sysctl.d/90-valkey.conf <<'END'
vm.overcommit_memory = 1
END
sysctl --quiet --load=/etc/sysctl.d/90-valkey.conf
cat >/etc/tmpfiles.d/90-valkey.conf <<'END'
w /sys/kernel/mm/transparent_hugepage/enabled - - - - never
w /sys/kernel/mm/transparent_hugepage/defrag - - - - never
END
systemd-tmpfiles --create /etc/tmpfiles.d/90-valkey.conf
grep -q '\[never\]' /sys/kernel/mm/transparent_hugepage/enabled
[ "$(cat /proc/sys/vm/overcommit_memory)" = 1 ]
