import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { generatedFiles } from "../../scripts/docs";
import { sectionSchemas } from "../../scripts/stack-file-schema";
import { ROOT } from "../../lib/system/package";
import { type SchemaNode, alternatives, isMap, propertiesOf } from "../../lib/schema/json-schema";
import { STACKS_DIRECTORY } from "../../stacks/config/sections/paths";
import { EDITOR_LINE, stackNames } from "../../stacks/config/sections/stack-file";

/** Every key below a node, with its schema. */
function keysBelow(node: SchemaNode, path: string): [string, SchemaNode][] {
  const { items, additionalProperties } = node;
  const inner = [items, additionalProperties].filter(isMap) as SchemaNode[];
  return [
    ...Object.entries(propertiesOf(node)).flatMap(([key, child]): [string, SchemaNode][] => {
      const name = `${path}.${key}`;
      return [[name, child], ...keysBelow(child, name)];
    }),
    ...[...alternatives(node), ...inner].flatMap((each) => keysBelow(each, path)),
  ];
}

describe("generated files", () => {
  it.each(Object.entries(generatedFiles()))("%s is what `npm run docs` writes", (path, text) => {
    expect(readFileSync(join(ROOT, path), "utf8")).toBe(text);
  });
});

describe("the configuration's schema", () => {
  it("describes every section and every key", () => {
    const undescribed = Object.entries(sectionSchemas()).flatMap(([section, node]) => {
      const keys: [string, SchemaNode][] = [[section, node], ...keysBelow(node, section)];
      return keys.filter(([, { description = "" }]) => description.trim() === "").map(([path]) => path);
    });
    expect(undescribed).toEqual([]);
  });

  it("has a default, a fallback or a requirement for every key but the factors of a study", () => {
    const open = Object.entries(sectionSchemas()).flatMap(([section, node]) => withoutDefault(node, section));
    expect(open.filter((path) => !path.startsWith("study.vary."))).toEqual([]);
  });

  it("is named by the first line of every stack file", () => {
    for (const name of stackNames(STACKS_DIRECTORY)) {
      const text = readFileSync(join(STACKS_DIRECTORY, `Pulumi.${name}.yaml`), "utf8");
      expect(text.split("\n")[0], name).toBe(EDITOR_LINE);
    }
  });
});

/** Optional keys without a default in the schema or in words. */
function withoutDefault(node: SchemaNode, path: string): string[] {
  const { items, additionalProperties, required = [] } = node;
  const inner = [items, additionalProperties].filter(isMap) as SchemaNode[];
  return [
    ...Object.entries(propertiesOf(node)).flatMap(([key, child]) => {
      const isOpen = !required.includes(key) && child.default === undefined && child["fallback"] === undefined;
      const name = `${path}.${key}`;
      return [...(isOpen ? [name] : []), ...withoutDefault(child, name)];
    }),
    ...[...alternatives(node), ...inner].flatMap((each) => withoutDefault(each, path)),
  ];
}
