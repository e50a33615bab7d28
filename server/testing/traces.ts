import pg from "pg";
import type { TestStorage } from "./engine.ts";

/** Returns where storage contains a text: the files, or the database's tables; "" if nowhere. */
export async function tracesOf(
  { dataDirectory, databaseUrl, clickhouseUrl }: TestStorage,
  text: string,
): Promise<string> {
  if (databaseUrl === null) return filesWith(dataDirectory, text);
  const tables = await tablesWith(databaseUrl, text);
  return clickhouseUrl && (await isInClickHouse(clickhouseUrl, text)) ? `${tables}\nClickHouse` : tables;
}

async function isInClickHouse(address: string, text: string): Promise<boolean> {
  const { origin, pathname } = new URL(address);
  const query = new URLSearchParams({ database: pathname.slice(1), param_text: text });
  const response = await fetch(`${origin}?${query}`, {
    method: "POST",
    body: "SELECT count() FROM events WHERE position(concat(toString(tuple(*)), toString(tokens)), {text:String}) > 0",
  });
  const answer = await response.text();
  if (!response.ok) throw new Error(answer);
  return Number(answer) > 0;
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
