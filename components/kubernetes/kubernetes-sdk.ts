/** Imported one by one, because the index files of the SDK and of its `helm` folder load every API group. */
export * as apiextensions from "@pulumi/kubernetes/apiextensions";
export * as apps from "@pulumi/kubernetes/apps";
export * as batch from "@pulumi/kubernetes/batch/v1";
export * as core from "@pulumi/kubernetes/core";
export * as helmV4 from "@pulumi/kubernetes/helm/v4";
export * as networking from "@pulumi/kubernetes/networking";
export * as policy from "@pulumi/kubernetes/policy";
export { Provider } from "@pulumi/kubernetes/provider";
export * as rbac from "@pulumi/kubernetes/rbac/v1";
export * as storage from "@pulumi/kubernetes/storage";
export type * as types from "@pulumi/kubernetes/types";
