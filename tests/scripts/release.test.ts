import { describe, expect, it } from "vitest";
import { VERSION } from "../../lib/system/package";
import { changelogSection, releaseFiles } from "../../scripts/release";

const RELEASE = { tag: `v${VERSION}`, repository: "https://host.invalid/shop/valkey" };
const CHANGELOG = `# Changelog\n\n## Unreleased\n- next\n\n## ${VERSION}\n### New\n- this\n\n## 0.0.1\n- old\n`;

describe("a release", () => {
  it("has the changelog's section of its version as notes", () => {
    expect(changelogSection(CHANGELOG, VERSION)).toBe("### New\n- this");
    expect(changelogSection(CHANGELOG, "0.0.1")).toBe("- old");
    expect(changelogSection(CHANGELOG, "0.0")).toBeUndefined();
    expect(changelogSection("## 1.0.0\n\n## 0.9.0\n- old\n", "1.0.0")).toBeUndefined();
    const linked = CHANGELOG.replace("- this", "- [this](docs/this.md#a), [that](https://host.invalid/)");
    expect(releaseFiles(RELEASE, linked, {})["notes.md"]).toBe(
      `### New\n- [this](${RELEASE.repository}/blob/v${VERSION}/docs/this.md#a), [that](https://host.invalid/)\n`,
    );
  });

  it("has the components' schema with its version, its repository and an icon", () => {
    const schema: unknown = JSON.parse(releaseFiles(RELEASE, CHANGELOG, { name: "valkey" })["schema.json"] ?? "");
    expect(schema).toEqual({
      name: "valkey",
      version: VERSION,
      publisher: "shop",
      repository: RELEASE.repository,
      homepage: RELEASE.repository,
      logoUrl: `${RELEASE.repository}/raw/v${VERSION}/docs/icon.svg`,
      meta: { supportPack: true },
    });
  });

  it("is refused with everything that is wrong", () => {
    const wrong = { tag: "0.0.2", repository: "shop/valkey" };
    expect(() => releaseFiles(wrong, "## Unreleased\n- next\n", {})).toThrow(
      [
        "release:",
        `  - the tag is 0.0.2; expected v${VERSION}, the version of package.json`,
        '  - the repository is "shop/valkey"; expected https://HOST/OWNER/NAME',
        `  - CHANGELOG.md has no section "## ${VERSION}" with text`,
      ].join("\n"),
    );
  });
});
