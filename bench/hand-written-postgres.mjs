/**
 * A typical hand-written server for this job on PostgreSQL: Fastify and `pg` on Node, a connection pool, an API key
 * checked by its hash, a JSON schema for the body, two B-tree indexes, and a commit per request. Nothing in it is slow
 * on purpose: the statement that stores the event also checks the key and is prepared once per connection; logging is
 * off.
 */
import { createHash, randomUUID } from "node:crypto";
import fastify from "fastify";
import pg from "pg";
import { body, response } from "./hand-written-schema.mjs";

const { PORT, DATABASE_URL, API_KEY } = process.env;

const pool = new pg.Pool({ connectionString: DATABASE_URL, max: 20 });
const sha256 = (text) => createHash("sha256").update(text).digest();

await pool.query(`
  CREATE TABLE api_keys (hash bytea PRIMARY KEY, project integer NOT NULL);
  CREATE TABLE events (
    id uuid PRIMARY KEY,
    project integer NOT NULL,
    channel text NOT NULL,
    name text NOT NULL,
    user_id text NOT NULL,
    description text,
    icon text,
    notify boolean NOT NULL,
    tags jsonb NOT NULL,
    created_at timestamptz NOT NULL
  );
  CREATE INDEX events_by_channel ON events (project, channel, created_at);
  CREATE INDEX events_by_user ON events (project, user_id, created_at);
`);
await pool.query("INSERT INTO api_keys (hash, project) VALUES ($1, 1)", [sha256(API_KEY)]);

const insertEvent = {
  name: "insert-event",
  text: `INSERT INTO events (id, project, channel, name, user_id, description, icon, notify, tags, created_at)
         SELECT $2, project, $3, $4, $5, $6, $7, $8, $9, $10 FROM api_keys WHERE hash = $1`,
};

const app = fastify({ logger: false });

app.post("/api/events", { schema: { body, response: { 201: response } } }, async (request, reply) => {
  const { channel, name, userId = "", description, icon, notify = false, tags = {} } = request.body;
  const id = randomUUID();
  const createdAt = new Date().toISOString();
  const hash = sha256(request.headers["x-api-key"] ?? "");
  const optional = [description ?? null, icon ?? null];
  const values = [hash, id, channel, name, userId, ...optional, notify, JSON.stringify(tags), createdAt];
  const { rowCount } = await pool.query({ ...insertEvent, values });
  if (rowCount === 0) return reply.code(401).send({ ok: false });
  reply.code(201);
  return {
    ok: true,
    event: { id, name, channelId: channel, userId, description, icon, notify, tags, createdAt },
  };
});

process.on("SIGTERM", async () => {
  await app.close();
  await pool.end();
});

await app.listen({ host: "127.0.0.1", port: Number(PORT) });
