/** Inputs of what EC2 makes. */
import { type Mapping, COMPONENT, ec2Tags, pairs, yes } from "./mapping";

export const EC2_INPUTS: Readonly<Record<string, Mapping>> = {
  "awsx:ec2:Vpc": {
    supplied: {
      "ec2.CreateSubnet.VpcId": "vpc-supplied",
      "ec2.CreateVpcEndpoint.VpcId": "vpc-supplied",
      "ec2.ModifyVpcAttribute.VpcId": "vpc-supplied",
    },
    inputs: {
      cidrBlock: "ec2.CreateVpc.CidrBlock",
      availabilityZoneNames: { provider: "one CreateSubnet for each zone and each of the subnets below" },
      subnetSpecs: {
        each: (index) => ({
          type: COMPONENT,
          name: { provider: "part of the tag Name" },
          cidrBlocks: { to: `ec2.CreateSubnet#${index}.CidrBlock`, as: (blocks) => (blocks as unknown[])[0] },
          tags: ec2Tags(`CreateSubnet#${index}`, "subnet"),
        }),
      },
      subnetStrategy: COMPONENT,
      natGateways: { inside: { strategy: COMPONENT } },
      enableDnsHostnames: { to: "ec2.ModifyVpcAttribute#hostnames.EnableDnsHostnames.Value" },
      enableDnsSupport: { to: "ec2.ModifyVpcAttribute#support.EnableDnsSupport.Value" },
      vpcEndpointStrategy: COMPONENT,
      vpcEndpointSpecs: {
        each: (index) => ({
          serviceName: `ec2.CreateVpcEndpoint#${index}.ServiceName`,
          vpcEndpointType: `ec2.CreateVpcEndpoint#${index}.VpcEndpointType`,
        }),
      },
      tags: ec2Tags("CreateVpc", "vpc"),
    },
  },
  "aws:ec2/vpcEndpoint:VpcEndpoint": {
    inputs: {
      vpcId: "ec2.CreateVpcEndpoint.VpcId",
      serviceName: "ec2.CreateVpcEndpoint.ServiceName",
      vpcEndpointType: "ec2.CreateVpcEndpoint.VpcEndpointType",
      privateDnsEnabled: "ec2.CreateVpcEndpoint.PrivateDnsEnabled",
      subnetIds: "ec2.CreateVpcEndpoint.SubnetIds",
      securityGroupIds: "ec2.CreateVpcEndpoint.SecurityGroupIds",
      tags: ec2Tags("CreateVpcEndpoint", "vpc-endpoint"),
    },
  },
  "aws:ec2/securityGroup:SecurityGroup": {
    // The provider makes up the name, of 26 digits at most.
    supplied: { "ec2.CreateSecurityGroup.GroupName": "terraform-20260101000000000000000001" },
    inputs: {
      vpcId: "ec2.CreateSecurityGroup.VpcId",
      description: "ec2.CreateSecurityGroup.Description",
      ingress: {
        to: "ec2.AuthorizeSecurityGroupIngress.IpPermissions",
        fields: {
          protocol: { to: "IpProtocol" },
          fromPort: { to: "FromPort" },
          toPort: { to: "ToPort" },
          cidrBlocks: { to: "IpRanges", as: (blocks) => (blocks as unknown[]).map((CidrIp) => ({ CidrIp })) },
        },
      },
      tags: ec2Tags("CreateSecurityGroup", "security-group"),
    },
  },
  "aws:ec2/subnetCidrReservation:SubnetCidrReservation": {
    inputs: {
      subnetId: "ec2.CreateSubnetCidrReservation.SubnetId",
      cidrBlock: "ec2.CreateSubnetCidrReservation.Cidr",
      reservationType: "ec2.CreateSubnetCidrReservation.ReservationType",
      description: "ec2.CreateSubnetCidrReservation.Description",
    },
  },
  "aws:ec2/tag:Tag": {
    inputs: {
      resourceId: "ec2.CreateTags.Resources.0",
      key: "ec2.CreateTags.Tags.0.Key",
      value: "ec2.CreateTags.Tags.0.Value",
    },
  },
  "aws:ec2/flowLog:FlowLog": {
    supplied: { "ec2.CreateFlowLogs.ResourceType": "VPC" },
    inputs: {
      vpcId: "ec2.CreateFlowLogs.ResourceIds.0",
      trafficType: "ec2.CreateFlowLogs.TrafficType",
      logDestinationType: "ec2.CreateFlowLogs.LogDestinationType",
      logDestination: "ec2.CreateFlowLogs.LogDestination",
      iamRoleArn: "ec2.CreateFlowLogs.DeliverLogsPermissionArn",
      tags: ec2Tags("CreateFlowLogs", "vpc-flow-log"),
    },
  },
  "aws:ec2/launchTemplate:LaunchTemplate": {
    inputs: {
      name: "ec2.CreateLaunchTemplate.LaunchTemplateName",
      updateDefaultVersion: { provider: "which version the provider makes the default" },
      metadataOptions: {
        to: "ec2.CreateLaunchTemplate.LaunchTemplateData.MetadataOptions",
        fields: {
          httpEndpoint: { to: "HttpEndpoint" },
          httpTokens: { to: "HttpTokens" },
          httpPutResponseHopLimit: { to: "HttpPutResponseHopLimit" },
        },
      },
      blockDeviceMappings: {
        to: "ec2.CreateLaunchTemplate.LaunchTemplateData.BlockDeviceMappings",
        fields: {
          deviceName: { to: "DeviceName" },
          ebs: {
            to: "Ebs",
            fields: {
              volumeType: { to: "VolumeType" },
              volumeSize: { to: "VolumeSize" },
              encrypted: { to: "Encrypted", as: yes },
              deleteOnTermination: { to: "DeleteOnTermination", as: yes },
            },
          },
        },
      },
      tagSpecifications: {
        to: "ec2.CreateLaunchTemplate.LaunchTemplateData.TagSpecifications",
        fields: { resourceType: { to: "ResourceType" }, tags: { to: "Tags", as: pairs } },
      },
    },
  },
};
