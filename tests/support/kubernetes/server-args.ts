/** Arguments of components in tests: the fewest possible, and those of "Valkey on EKS". */
import * as pulumi from "@pulumi/pulumi";
import { DEFAULT_IMAGE } from "../../../platforms/kubernetes/default-images";
import type { ServerArgs } from "../../../components/kubernetes/arguments";

export const IMAGE = DEFAULT_IMAGE;

export const plainServers: ServerArgs = {
  namespace: "valkey",
  image: IMAGE,
  password: pulumi.secret("a secret"),
  settings: {},
  resources: { requests: { cpu: "100m", memory: "64Mi" }, limits: { cpu: "500m", memory: "128Mi" } },
  storage: { size: "1Gi", onDestroy: "delete" },
  placement: { zones: ["a", "b", "c"], hostAntiAffinity: "preferred" },
};

/** The pods, volumes and durability of "Valkey on EKS". */
export const studyServers: ServerArgs = {
  ...plainServers,
  settings: { appendonly: true, appendfsync: "everysec", save: "900 1 300 100 60 10000", maxmemory: 10 * 2 ** 30 },
  resources: { requests: { cpu: "1", memory: "12Gi" }, limits: { cpu: "2", memory: "16Gi" } },
  storage: { className: "gp3", size: "50Gi", onDestroy: "keep" },
  placement: { zones: ["us-west-2a", "us-west-2b", "us-west-2c"], hostAntiAffinity: "preferred" },
};
