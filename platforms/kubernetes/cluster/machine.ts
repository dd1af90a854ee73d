import { z } from "zod";

export const machineSchema = z.strictObject({
  name: z.string(),
  zone: z.string().nullable(),
  instanceType: z.string().nullable(),
  cores: z.number().min(0),
  memoryBytes: z.number().min(0),
  /** Operating system and architecture, such as `linux/arm64`. */
  platform: z.string(),
  kernel: z.string(),
  system: z.string(),
  kubelet: z.string(),
});

export type Machine = z.infer<typeof machineSchema>;
