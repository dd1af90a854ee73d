/** Inputs of what EKS makes. */
import { type Inputs, type Mapping, type Rule, COMPONENT } from "./mapping";

const CLUSTER = "supplied";
const ROLE = "arn:aws:iam::123456789012:role/supplied";

/** An add-on that the cluster component makes. */
const componentAddon = (name: string): Inputs => ({
  enabled: COMPONENT,
  resolveConflictsOnCreate: `eks.CreateAddon#${name}.resolveConflicts`,
  resolveConflictsOnUpdate: `eks.UpdateAddon#${name}.resolveConflicts`,
  configurationValues: { to: `eks.CreateAddon#${name}.configurationValues`, as: (values) => JSON.stringify(values) },
});

/** Becomes an environment variable of the CNI's pods. */
const ENVIRONMENT: Rule = { provider: "the component writes it into the add-on's configuration" };

export const EKS_INPUTS: Readonly<Record<string, Mapping>> = {
  "eks:index:Cluster": {
    supplied: {
      "eks.CreateCluster.roleArn": ROLE,
      "eks.TagResource.resourceArn": "supplied",
      "eks.CreateAddon.clusterName": CLUSTER,
      "eks.CreateAddon.addonName": "supplied",
      "eks.UpdateAddon.clusterName": CLUSTER,
      "eks.UpdateAddon.addonName": "supplied",
      "eks.CreateAccessEntry.clusterName": CLUSTER,
      "eks.AssociateAccessPolicy.clusterName": CLUSTER,
      "eks.AssociateAccessPolicy.principalArn": ROLE,
    },
    inputs: {
      name: "eks.CreateCluster.name",
      version: "eks.CreateCluster.version",
      vpcId: { provider: "the component's security groups are in it" },
      privateSubnetIds: "eks.CreateCluster.resourcesVpcConfig.subnetIds",
      endpointPrivateAccess: "eks.CreateCluster.resourcesVpcConfig.endpointPrivateAccess",
      endpointPublicAccess: "eks.CreateCluster.resourcesVpcConfig.endpointPublicAccess",
      publicAccessCidrs: "eks.CreateCluster.resourcesVpcConfig.publicAccessCidrs",
      authenticationMode: "eks.CreateCluster.accessConfig.authenticationMode",
      bootstrapSelfManagedAddons: "eks.CreateCluster.bootstrapSelfManagedAddons",
      deletionProtection: "eks.CreateCluster.deletionProtection",
      upgradePolicy: { to: "eks.CreateCluster.upgradePolicy", fields: { supportType: { to: "supportType" } } },
      enabledClusterLogTypes: {
        to: "eks.CreateCluster.logging.clusterLogging",
        as: (types) => [{ enabled: true, types: types as string[] }],
      },
      encryptionConfigKeyArn: {
        to: "eks.CreateCluster.encryptionConfig",
        as: (keyArn) => [{ resources: ["secrets"], provider: { keyArn } }],
      },
      tags: "eks.CreateCluster.tags",
      clusterTags: "eks.TagResource#cluster.tags",
      accessEntries: {
        each: (who) => ({
          principalArn: `eks.CreateAccessEntry#${who}.principalArn`,
          type: `eks.CreateAccessEntry#${who}.type`,
          kubernetesGroups: `eks.CreateAccessEntry#${who}.kubernetesGroups`,
          accessPolicies: {
            each: (policy) => ({
              policyArn: `eks.AssociateAccessPolicy#${who}-${policy}.policyArn`,
              accessScope: {
                to: `eks.AssociateAccessPolicy#${who}-${policy}.accessScope`,
                fields: { type: { to: "type" }, namespaces: { to: "namespaces" } },
              },
            }),
          },
        }),
      },
      vpcCniOptions: {
        inside: {
          ...componentAddon("vpc-cni"),
          addonVersion: "eks.CreateAddon#vpc-cni.addonVersion",
          enablePrefixDelegation: ENVIRONMENT,
          warmIpTarget: ENVIRONMENT,
          enableNetworkPolicy: ENVIRONMENT,
          logLevel: ENVIRONMENT,
        },
      },
      kubeProxyAddonOptions: {
        inside: { ...componentAddon("kube-proxy"), version: "eks.CreateAddon#kube-proxy.addonVersion" },
      },
      corednsAddonOptions: {
        inside: { ...componentAddon("coredns"), version: "eks.CreateAddon#coredns.addonVersion" },
      },
      createOidcProvider: COMPONENT,
      skipDefaultNodeGroup: COMPONENT,
      skipDefaultSecurityGroups: COMPONENT,
    },
  },
  "aws:eks/nodeGroup:NodeGroup": {
    inputs: {
      clusterName: "eks.CreateNodegroup.clusterName",
      nodeGroupName: "eks.CreateNodegroup.nodegroupName",
      nodeRoleArn: "eks.CreateNodegroup.nodeRole",
      subnetIds: "eks.CreateNodegroup.subnets",
      amiType: "eks.CreateNodegroup.amiType",
      version: "eks.CreateNodegroup.version",
      releaseVersion: "eks.CreateNodegroup.releaseVersion",
      capacityType: "eks.CreateNodegroup.capacityType",
      instanceTypes: "eks.CreateNodegroup.instanceTypes",
      scalingConfig: {
        to: "eks.CreateNodegroup.scalingConfig",
        fields: { minSize: { to: "minSize" }, desiredSize: { to: "desiredSize" }, maxSize: { to: "maxSize" } },
      },
      updateConfig: { to: "eks.CreateNodegroup.updateConfig", fields: { maxUnavailable: { to: "maxUnavailable" } } },
      launchTemplate: {
        to: "eks.CreateNodegroup.launchTemplate",
        fields: { id: { to: "id" }, version: { to: "version" } },
      },
      taints: {
        to: "eks.CreateNodegroup.taints",
        fields: { key: { to: "key" }, value: { to: "value" }, effect: { to: "effect" } },
      },
      labels: "eks.CreateNodegroup.labels",
      tags: "eks.CreateNodegroup.tags",
    },
  },
  "aws:eks/addon:Addon": {
    supplied: { "eks.UpdateAddon.addonName": "supplied", "eks.UpdateAddon.clusterName": CLUSTER },
    inputs: {
      clusterName: "eks.CreateAddon.clusterName",
      addonName: "eks.CreateAddon.addonName",
      addonVersion: "eks.CreateAddon.addonVersion",
      configurationValues: "eks.CreateAddon.configurationValues",
      resolveConflictsOnCreate: "eks.CreateAddon.resolveConflicts",
      resolveConflictsOnUpdate: "eks.UpdateAddon.resolveConflicts",
      podIdentityAssociations: {
        to: "eks.CreateAddon.podIdentityAssociations",
        fields: { serviceAccount: { to: "serviceAccount" }, roleArn: { to: "roleArn" } },
      },
    },
  },
  "aws:eks/accessEntry:AccessEntry": {
    inputs: {
      clusterName: "eks.CreateAccessEntry.clusterName",
      principalArn: "eks.CreateAccessEntry.principalArn",
      type: "eks.CreateAccessEntry.type",
      kubernetesGroups: "eks.CreateAccessEntry.kubernetesGroups",
    },
  },
  "aws:eks/podIdentityAssociation:PodIdentityAssociation": {
    inputs: {
      clusterName: "eks.CreatePodIdentityAssociation.clusterName",
      namespace: "eks.CreatePodIdentityAssociation.namespace",
      serviceAccount: "eks.CreatePodIdentityAssociation.serviceAccount",
      roleArn: "eks.CreatePodIdentityAssociation.roleArn",
    },
  },
};
