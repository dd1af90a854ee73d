/** Arguments of components in tests: the fewest possible. */
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
