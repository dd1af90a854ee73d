/** Reads types of arguments and outputs with TypeScript's compiler. */
import ts from "typescript";
import { type Forms, type NamedType, type Property, type Shape, type Value, camelCase } from "./model";

/** Instead of a type such as `Partial<T>`, the reader describes `T`. */
const UTILITIES: readonly string[] = ["Partial", "Required", "Readonly", "Omit", "Pick", "NonNullable"];
const WRAPPERS: readonly string[] = ["Input", "Output", ...UTILITIES];

export class TypeReader {
  readonly types = new Map<string, NamedType>();
  /** Types that languages other than TypeScript cannot express. Each begins with the path of the type. */
  readonly problems: string[] = [];
  readonly #objects = new Map<ts.Type, string>();

  constructor(
    private readonly checker: ts.TypeChecker,
    private readonly constant: (name: string) => string | undefined,
  ) {}

  /** @param owner prefix for the names of types that have no name of their own */
  properties(type: ts.Type, owner: string): Property[] {
    return type.getProperties().map((symbol) => this.property(symbol, owner));
  }

  property(symbol: ts.Symbol, owner: string): Property {
    const { name } = symbol;
    const path = `${owner}.${name}`;
    const type = this.checker.getTypeOfSymbol(symbol);
    const description = this.description(symbol);
    const standard = symbol.getJsDocTags(this.checker).find((tag) => tag.name === "default");
    const value = this.#value(type, path, this.#declaredName(symbol) ?? `${owner}${capitalised(camelCase(name))}`);
    this.#sortEnumeration(value, symbol);
    return {
      name,
      description,
      standard: standard === undefined ? undefined : this.#resolved(text(standard.text)).replace(/\.$/, ""),
      isRequired:
        (symbol.flags & ts.SymbolFlags.Optional) === 0 &&
        !mayBe(innerType(type, this.checker), ts.TypeFlags.Null | ts.TypeFlags.Undefined),
      isSecret: /(^|\s)Secret\.(\s|$)/.test(description),
      ...value,
    };
  }

  /** Values as the property's declaration lists them: the compiler has them in the order of their first use anywhere. */
  #sortEnumeration({ shape }: Value, { declarations: [declaration] = [] }: ts.Symbol): void {
    const type = shape.kind === "named" ? this.types.get(shape.name) : undefined;
    if (shape.kind !== "named" || type?.kind !== "enum" || declaration === undefined) return;
    const source = declaration.getText();
    const place = (value: string): number => source.indexOf(JSON.stringify(value));
    this.types.set(shape.name, { ...type, values: type.values.toSorted((a, b) => place(a) - place(b)) });
  }

  description(symbol: ts.Symbol | undefined): string {
    return symbol === undefined ? "" : text(symbol.getDocumentationComment(this.checker));
  }

  /** If the text is the name of a constant, returns the value of this constant. */
  #resolved(standard: string): string {
    return standard.replace(/^`?([A-Z][A-Z0-9_]+)`?$/, (whole, name: string) => this.constant(name) ?? whole);
  }

  #value(type: ts.Type, path: string, name: string): Value {
    const inner = innerType(type, this.checker);
    return { shape: this.#shape(inner, path, name), isPlain: inner === type };
  }

  #shape(wholeType: ts.Type, path: string, name: string): Shape {
    const { checker } = this;
    const type = checker.getNonNullableType(wholeType);
    if (mayBe(type, ts.TypeFlags.Any | ts.TypeFlags.Unknown | ts.TypeFlags.NonPrimitive)) return { kind: "any" };
    if (this.#isOpaque(type)) return { kind: "any" };
    if (isOnly(type, ts.TypeFlags.BooleanLike)) return { kind: "boolean" };
    if (isOnly(type, ts.TypeFlags.NumberLike)) return { kind: "number" };
    if (isOnly(type, ts.TypeFlags.StringLiteral) && type.isUnion()) return this.#enumeration(type, name);
    if (isOnly(type, ts.TypeFlags.StringLike)) return { kind: "string" };
    if (type.isUnion()) return this.#union(type, path, name);
    if (checker.isArrayType(type) || checker.isTupleType(type)) {
      const [item] = checker.getTypeArguments(type as ts.TypeReference);
      if (item !== undefined) return { kind: "list", of: this.#value(item, `${path}[]`, singular(name)) };
    }
    const values = checker.getIndexTypeOfType(type, ts.IndexKind.String);
    // A type with known names that also allows any other name is a map here. The names are checked when the component
    // is constructed.
    if (values !== undefined) return { kind: "map", of: this.#value(values, `${path}.NAME`, singular(name)) };
    if (type.getProperties().length === 0 && type.getCallSignatures().length === 0) return { kind: "any" };
    if (type.getCallSignatures().length === 0 && (type.flags & ts.TypeFlags.Object) !== 0)
      return this.#object(type, name);
    this.problems.push(`${path}: other languages have no type for ${checker.typeToString(type)}`);
    return { kind: "any" };
  }

  /** For types with the tag `@opaque`, whose values programs only pass from an output to an argument. */
  #isOpaque(type: ts.Type): boolean {
    return (type.isUnion() ? type.types : [type]).every((each) =>
      this.#declaration(each)
        ?.getJsDocTags(this.checker)
        .some(({ name }) => name === "opaque"),
    );
  }

  #union(type: ts.UnionType, path: string, name: string): Shape {
    const isObject = (each: ts.Type): boolean => (each.flags & ts.TypeFlags.Object) !== 0;
    if (type.types.every(isObject)) return this.#formsOf(type, path, name);
    if (type.types.filter(isObject).length > 1) {
      this.problems.push(
        `${path}: the union has plain values, such as strings, and also several object types; use one object type with an optional property for each alternative`,
      );
      return { kind: "any" };
    }
    // Duplicates are removed, because `true | false` becomes the same type twice.
    const shapes = type.types.map((each) => JSON.stringify(this.#shape(each, path, name)));
    return { kind: "union", of: [...new Set(shapes)].map((each) => JSON.parse(each) as Shape) };
  }

  #enumeration(type: ts.UnionType, name: string): Shape {
    const values = type.types.map((each) => (each as ts.StringLiteralType).value);
    return this.#named(type.aliasSymbol?.name ?? name, () => ({
      kind: "enum",
      description: this.description(type.aliasSymbol),
      values,
    }));
  }

  /** If a different type has the name of its declaration already, the type is named after its property. */
  #object(type: ts.Type, place: string): Shape {
    const known = this.#objects.get(type);
    if (known !== undefined) return { kind: "named", name: known };
    const declaration = this.#declaration(type);
    // Libraries for other languages add `Args` to names themselves.
    const wanted = (declaration?.name ?? place).replace(/Args$/, "");
    this.#objects.set(type, wanted);
    const read = (name: string): NamedType => ({
      kind: "object",
      description: this.description(declaration),
      properties: this.properties(type, name),
    });
    const namesake = this.types.get(wanted);
    const name = namesake === undefined || isSameType(namesake, read(wanted)) ? wanted : place;
    this.#objects.set(type, name);
    return this.#named(name, () => read(name));
  }

  /** As one object type with the properties of all, one of which says by its value which of the types it is. */
  #formsOf(type: ts.UnionType, path: string, ownName: string): Shape {
    const by = this.#discriminator(type.types);
    if (by === undefined) {
      this.problems.push(
        `${path}: the object types of the union have no property that tells them apart; give each of them a property with a different fixed value`,
      );
      return { kind: "any" };
    }
    const name = type.aliasSymbol?.name ?? ownName;
    return this.#named(name, () => {
      const forms = type.types.map((each) => ({
        form: this.#literal(each, by) ?? "",
        properties: this.properties(each, name),
      }));
      const merged = new Map<string, Property>();
      for (const property of forms.flatMap(({ properties }) => properties)) {
        const first = merged.get(property.name);
        if (first !== undefined && property.name !== by && !isSame(first, property))
          this.problems.push(
            `${path}.${property.name}: has different types in the alternatives of the union ${name}; use the same type in all of them`,
          );
        const isRequired = forms.every(({ properties }) =>
          properties.some((each) => each.name === property.name && each.isRequired),
        );
        merged.set(property.name, { ...(first ?? property), isRequired });
      }
      const values = forms.map(({ form }) => form);
      const kind = this.#named(`${name}${capitalised(camelCase(by))}`, () => ({
        kind: "enum",
        description: "",
        values,
      }));
      const others = ({ properties }: (typeof forms)[number], isRequired: boolean): string[] =>
        properties.flatMap((each) => (each.name !== by && each.isRequired === isRequired ? [each.name] : []));
      return {
        kind: "object",
        description: this.description(type.aliasSymbol),
        properties: [...merged.values()].map((each) => (each.name === by ? { ...each, shape: kind } : each)),
        forms: {
          by,
          of: Object.fromEntries(
            forms.map((each) => [each.form, { required: others(each, true), optional: others(each, false) }]),
          ),
        } satisfies Forms,
      };
    });
  }

  #discriminator([first, ...others]: readonly ts.Type[]): string | undefined {
    return first
      ?.getProperties()
      .find(({ name }) => [first, ...others].every((each) => this.#literal(each, name) !== undefined))?.name;
  }

  #literal(type: ts.Type, property: string): string | undefined {
    const symbol = type.getProperty(property);
    if (symbol === undefined) return undefined;
    const literal = this.checker.getNonNullableType(this.checker.getTypeOfSymbol(symbol));
    return literal.isStringLiteral() ? literal.value : undefined;
  }

  /** Its name is registered before its properties are read, because a type may contain itself. */
  #named(name: string, read: () => NamedType): Shape {
    if (!this.types.has(name)) {
      this.types.set(name, { kind: "object", description: "", properties: [] });
      this.types.set(name, read());
    }
    return { kind: "named", name };
  }

  #declaration(type: ts.Type): ts.Symbol | undefined {
    const { aliasSymbol, aliasTypeArguments = [] } = type;
    if (aliasSymbol !== undefined) {
      const [first] = aliasTypeArguments;
      if (UTILITIES.includes(aliasSymbol.name)) return first === undefined ? undefined : this.#declaration(first);
      return first === undefined ? aliasSymbol : undefined;
    }
    const symbol = type.getSymbol();
    const isNamed = symbol !== undefined && (symbol.flags & (ts.SymbolFlags.Interface | ts.SymbolFlags.Class)) !== 0;
    return isNamed ? symbol : undefined;
  }

  /** As the source text has it, such as `Name` in `?: Name | undefined`: the compiler's type may have lost it. */
  #declaredName({ valueDeclaration }: ts.Symbol): string | undefined {
    if (valueDeclaration === undefined) return undefined;
    if (!ts.isPropertySignature(valueDeclaration) && !ts.isPropertyDeclaration(valueDeclaration)) return undefined;
    return valueDeclaration.type === undefined ? undefined : nameIn(valueDeclaration.type);
  }
}

function nameIn(node: ts.TypeNode): string | undefined {
  if (ts.isUnionTypeNode(node)) {
    const [only, ...others] = node.types.filter((each) => each.kind !== ts.SyntaxKind.UndefinedKeyword);
    return only === undefined || others.length > 0 ? undefined : nameIn(only);
  }
  if (!ts.isTypeReferenceNode(node)) return undefined;
  const name = ts.isQualifiedName(node.typeName) ? node.typeName.right.text : node.typeName.text;
  const [inner] = node.typeArguments ?? [];
  if (inner === undefined) return name;
  return WRAPPERS.includes(name) ? nameIn(inner) : undefined;
}

export function innerType(type: ts.Type, checker: ts.TypeChecker): ts.Type {
  const parts = type.isUnionOrIntersection() ? type.types : [type];
  for (const part of parts) {
    if (part.getSymbol()?.name === "OutputInstance") {
      const [inner] = checker.getTypeArguments(part as ts.TypeReference);
      if (inner !== undefined) return inner;
    }
    const inner = part.isIntersection() ? innerType(part, checker) : part;
    if (inner !== part) return inner;
  }
  return type;
}

function text(parts: readonly ts.SymbolDisplayPart[] | undefined): string {
  return ts
    .displayPartsToString(parts === undefined ? [] : [...parts])
    .split(/\n\s*\n/)
    .map((paragraph) => paragraph.replace(/\s+/g, " ").trim())
    .join("\n");
}

function mayBe(type: ts.Type, flags: ts.TypeFlags): boolean {
  return (type.flags & flags) !== 0 || (type.isUnion() && type.types.some((each) => (each.flags & flags) !== 0));
}

function isOnly(type: ts.Type, flags: ts.TypeFlags): boolean {
  return (type.isUnion() ? type.types : [type]).every((each) => (each.flags & flags) !== 0);
}

function isSameType(one: NamedType, other: NamedType): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function isSame(one: Property, other: Property): boolean {
  const essence = ({ shape, isPlain }: Property): string => JSON.stringify({ shape, isPlain });
  return essence(one) === essence(other);
}

function capitalised(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}

function singular(name: string): string {
  return name.replace(/ies$/, "y").replace(/s$/, "");
}
