import pg from "pg";
import type { TestStorage } from "./engine.ts";

/** Returns where storage contains a text: the files, or the database's tables; "" if nowhere. */
export function tracesOf({ dataDirectory, databaseUrl }: TestStorage, text: string): Promise<string> {
  return databaseUrl === null ? filesWith(dataDirectory, text) : tablesWith(databaseUrl, text);
}

/** In another process, because closing SQLite's files in this one would drop its locks. */
async function filesWith(directory: string, text: string): Promise<string> {
  const grep = Bun.spawn(["grep", "-rlaF", text, directory], { env: { ...process.env, LC_ALL: "C" } });
  return new Response(grep.stdout).text();
}

async function tablesWith(url: string, text: string): Promise<string> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows: tables } = await client.query<{ name: string }>(
      "SELECT quote_ident(tablename) AS name FROM pg_tables WHERE schemaname = current_schema() ORDER BY 1",
    );
    const found: string[] = [];
    for (const { name } of tables) {
      const query = `SELECT FROM ${name} AS r WHERE strpos(r::text, $1) > 0 OR strpos(r::text, $2) > 0 LIMIT 1`;
      // Byte columns are shown in hexadecimal.
      const { rowCount } = await client.query(query, [text, Buffer.from(text).toString("hex")]);
      if (rowCount) found.push(name);
    }
    return found.join("\n");
  } finally {
    await client.end();
  }
}
