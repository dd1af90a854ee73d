/** Access entries of EKS, and RBAC rules for rights that the policies of EKS do not include. */
import * as k8s from "../kubernetes/kubernetes-sdk";
import * as pulumi from "@pulumi/pulumi";

/** An IAM user or role with rights on the whole cluster. */
interface AccessEntryArgs {
  readonly principalArn: pulumi.Input<string>;
  /** Rights of the principal: `admin` may do everything; `view` may read everything except Secrets. */
  readonly rights: "admin" | "view";
}

/** Access entries by name. You can choose any names. */
export type AccessEntries = Readonly<Record<string, AccessEntryArgs>>;

/** Kubernetes group of all principals with the rights `view`, with its ClusterRole and binding. */
const VIEWERS = "valkey-measured:viewers";

/**
 * EKS has no policy that allows reading everything except Secrets: AmazonEKSAdminViewPolicy includes Secrets, and
 * AmazonEKSViewPolicy covers only objects in namespaces. So viewers get the missing rights by RBAC.
 */
const RIGHTS: Readonly<
  Record<AccessEntryArgs["rights"], { readonly policy: string; readonly groups: readonly string[] }>
> = {
  admin: { policy: "AmazonEKSClusterAdminPolicy", groups: [] },
  view: { policy: "AmazonEKSViewPolicy", groups: [VIEWERS] },
};

/** Whether any principal has the rights `view`, so that `ViewerRole` is needed. */
export function hasViewers(access: AccessEntries): boolean {
  return Object.values(access).some(({ rights }) => RIGHTS[rights].groups.includes(VIEWERS));
}

interface ClusterAccessEntry {
  readonly principalArn: pulumi.Input<string>;
  readonly kubernetesGroups?: string[];
  readonly accessPolicies: Readonly<
    Record<string, { readonly policyArn: string; readonly accessScope: { readonly type: "cluster" } }>
  >;
}

export function accessEntries(access: AccessEntries): Record<string, ClusterAccessEntry> {
  return Object.fromEntries(
    Object.entries(access).map(([who, { principalArn, rights }]) => {
      const { policy, groups } = RIGHTS[rights];
      const policyArn = `arn:aws:eks::aws:cluster-access-policy/${policy}`;
      return [
        who,
        {
          principalArn,
          ...(groups.length > 0 && { kubernetesGroups: [...groups] }),
          accessPolicies: { [rights]: { policyArn, accessScope: { type: "cluster" } } },
        },
      ];
    }),
  );
}

interface Rule {
  readonly apiGroups: string[];
  readonly resources: string[];
  readonly verbs: string[];
}

const read = (group: string, ...resources: string[]): Rule => ({
  apiGroups: [group],
  resources,
  verbs: ["get", "list", "watch"],
});

/** Rights that AmazonEKSViewPolicy lacks. No Secrets, and no `nodes/proxy`, which allows running commands in pods. */
const VIEWER_RULES: readonly Rule[] = [
  read("", "nodes", "persistentvolumes"),
  read("storage.k8s.io", "storageclasses", "volumeattachments", "csinodes", "csidrivers"),
  read("karpenter.sh", "nodepools", "nodeclaims"),
  read("karpenter.k8s.aws", "ec2nodeclasses"),
  read("apiextensions.k8s.io", "customresourcedefinitions"),
  read("events.k8s.io", "events"),
  read("metrics.k8s.io", "nodes", "pods"),
  read("monitoring.coreos.com", "servicemonitors"),
  read("networking.k8s.aws", "policyendpoints"),
  read("rbac.authorization.k8s.io", "roles", "rolebindings", "clusterroles", "clusterrolebindings"),
];

export class ViewerRole extends pulumi.ComponentResource {
  /** @param opts `provider` of the cluster */
  constructor(name: string, opts: pulumi.ComponentResourceOptions) {
    super("valkey:eks:ViewerRole", name, {}, opts);
    const role = new k8s.rbac.ClusterRole(
      `${name}-viewers`,
      { metadata: { name: VIEWERS }, rules: VIEWER_RULES.map((rule) => ({ ...rule })) },
      { parent: this },
    );
    new k8s.rbac.ClusterRoleBinding(
      `${name}-viewers`,
      {
        metadata: { name: VIEWERS },
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: role.metadata.name },
        subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "Group", name: VIEWERS }],
      },
      { parent: this },
    );
    this.registerOutputs({});
  }
}
