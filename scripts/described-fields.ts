/** Docstrings of the fields of `model/` as descriptions of their schemas, for the JSON Schema and the reference of stack files. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import * as z from "zod";
import { ROOT } from "../lib/system/package";
import * as backup from "../model/backup";
import * as deployment from "../model/deployment";
import * as pods from "../model/pods";
import * as settings from "../model/settings";

/** Limits of a group of fields that its own texts do not repeat. */
const LIMITS: Readonly<Record<string, string>> = {
  VALKEY_FIELDS: " Only for Valkey on the platforms `kubernetes` and `eks`.",
  RESTORE_POD_FIELDS: " Only on the platforms `kubernetes` and `eks`.",
};

/** A JSON Schema that was made before this has no descriptions. */
export function describeFields(): void {
  for (const [file, exported] of Object.entries({ backup, deployment, pods, settings })) {
    const texts = docstrings(join(ROOT, "model", `${file}.ts`));
    for (const [group, fields] of Object.entries<object>(exported))
      for (const [name, schema] of Object.entries(fields)) {
        const text = texts.get(`${group}.${name}`);
        if (text === undefined || !(schema instanceof z.ZodType)) continue;
        const { description, fallback } = text;
        schema.register(z.globalRegistry, {
          description: description + (LIMITS[group] ?? ""),
          // A default of the schema is shown as it is.
          ...(schema instanceof z.ZodDefault
            ? {}
            : { fallback: fallback?.replace(/^`[A-Z_]+_IMAGE`$/, "a pinned image") }),
        });
      }
  }
}

/** Docstrings of properties of constants, by `CONSTANT.property`. */
function docstrings(
  path: string,
): Map<string, { readonly description: string; readonly fallback: string | undefined }> {
  const file = ts.createSourceFile(path, readFileSync(path, "utf8"), ts.ScriptTarget.Latest, true);
  const constants = file.statements.flatMap((each) =>
    ts.isVariableStatement(each) ? [...each.declarationList.declarations] : [],
  );
  return new Map(
    constants.flatMap(({ name: constant, initializer }) =>
      initializer === undefined || !ts.isObjectLiteralExpression(initializer)
        ? []
        : initializer.properties.flatMap((property) => {
            const [docs] = ts.getJSDocCommentsAndTags(property).filter(ts.isJSDoc);
            if (docs === undefined || property.name === undefined) return [];
            const standard = ts.getJSDocTags(property).find(({ tagName }) => tagName.text === "default");
            const texts = { description: plain(docs.comment), fallback: standard && plain(standard.comment) };
            return [[`${constant.getText(file)}.${property.name.getText(file).replaceAll('"', "")}`, texts] as const];
          }),
    ),
  );
}

function plain(comment: string | ts.NodeArray<ts.JSDocComment> | undefined): string {
  return (ts.getTextOfJSDocComment(comment) ?? "").replace(/\s+/g, " ").trim();
}
