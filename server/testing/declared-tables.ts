import { readFileSync } from "node:fs";
import { parseSync, type TSSignature, type TSType } from "oxc-parser";

/** A table by its name in the database, with lines such as `deleted_at: number, null`, sorted. */
export type TableColumns = Record<string, string[]>;

/** Reads the tables from the types that a file declares for Kysely. */
export function declaredTables(file: string): TableColumns {
  const { program, errors } = parseSync(file, readFileSync(file, "utf8"));
  if (errors.length > 0) throw new Error(`${file}: ${errors[0]!.message}`);
  const tables = program.body.flatMap((statement) =>
    statement.type === "ExportNamedDeclaration" && statement.declaration?.type === "TSTypeAliasDeclaration"
      ? membersOf(statement.declaration.typeAnnotation)
      : [],
  );
  return Object.fromEntries(tables.map(([name, type]) => [name, membersOf(type).map(lineOf).sort()]));
}

/** The members of an object type, or of the object types in an intersection, with names in snake case. */
function membersOf(type: TSType): [string, TSType][] {
  if (type.type === "TSIntersectionType") return type.types.flatMap(membersOf);
  return type.type === "TSTypeLiteral" ? type.members.map(memberOf) : [];
}

function memberOf(member: TSSignature): [string, TSType] {
  if (member.type !== "TSPropertySignature" || member.key.type !== "Identifier" || member.optional)
    throw new Error(`A table or column is declared in an unknown way: ${JSON.stringify(member)}`);
  const name = member.key.name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return [name, member.typeAnnotation!.typeAnnotation];
}

function lineOf([name, type]: [string, TSType]): string {
  if (type.type === "TSTypeReference" && "name" in type.typeName && type.typeName.name === "Generated")
    return `${lineOf([name, type.typeArguments!.params[0]!])}, generated`;
  if (type.type === "TSUnionType" && type.types.length === 2 && type.types[1]!.type === "TSNullKeyword")
    return `${lineOf([name, type.types[0]!])}, null`;
  // Other types are unions of texts.
  return `${name}: ${type.type === "TSNumberKeyword" ? "number" : "text"}`;
}
