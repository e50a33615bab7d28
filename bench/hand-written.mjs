/**
 * A typical hand-written server for this job: Fastify and better-sqlite3 on Node, an API key checked by its hash, a
 * JSON schema for the body, two B-tree indexes, and a commit per request. Nothing in it is slow on purpose: statements
 * are prepared once, schemas are compiled, logging is off.
 */
import { createHash, randomUUID } from "node:crypto";
import Database from "better-sqlite3";
import fastify from "fastify";
import { body, response } from "./hand-written-schema.mjs";

const { PORT, DATABASE, API_KEY } = process.env;

const database = new Database(DATABASE);
database.pragma("journal_mode = WAL");
// Durable, like Tidings: the commit returns after the fsync.
database.pragma("synchronous = FULL");
database.exec(`
  CREATE TABLE api_keys (hash BLOB PRIMARY KEY, project INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE events (
    id TEXT PRIMARY KEY,
    project INTEGER NOT NULL,
    channel TEXT NOT NULL,
    name TEXT NOT NULL,
    user_id TEXT NOT NULL,
    description TEXT,
    icon TEXT,
    notify INTEGER NOT NULL,
    tags TEXT NOT NULL,
    created_at INTEGER NOT NULL
  );
  CREATE INDEX events_by_channel ON events (project, channel, created_at);
  CREATE INDEX events_by_user ON events (project, user_id, created_at);
`);

const sha256 = (text) => createHash("sha256").update(text).digest();
database.prepare("INSERT INTO api_keys (hash, project) VALUES (?, 1)").run(sha256(API_KEY));

const findKey = database.prepare("SELECT project FROM api_keys WHERE hash = ?");
const insertEvent = database.prepare("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");

const app = fastify({ logger: false });

app.decorateRequest("project", 0);
app.addHook("onRequest", async (request, reply) => {
  const found = findKey.get(sha256(request.headers["x-api-key"] ?? ""));
  if (!found) return reply.code(401).send({ ok: false });
  request.project = found.project;
});

app.post("/api/events", { schema: { body, response: { 201: response } } }, async (request, reply) => {
  const { channel, name, userId = "", description, icon, notify = false, tags = {} } = request.body;
  const id = randomUUID();
  const now = Date.now();
  insertEvent.run(
    id,
    request.project,
    channel,
    name,
    userId,
    description ?? null,
    icon ?? null,
    notify ? 1 : 0,
    JSON.stringify(tags),
    now,
  );
  reply.code(201);
  const createdAt = new Date(now).toISOString();
  return {
    ok: true,
    event: { id, name, channelId: channel, userId, description, icon, notify, tags, createdAt },
  };
});

process.on("SIGTERM", async () => {
  await app.close();
  database.close();
});

await app.listen({ host: "127.0.0.1", port: Number(PORT) });
