/** Serves the files of a folder on a port of 127.0.0.1: `bun serve-files.ts FOLDER PORT`. */
import { join, normalize } from "node:path";

const [folder, port] = process.argv.slice(2);
Bun.serve({
  hostname: "127.0.0.1",
  port: Number(port),
  async fetch(request) {
    const file = Bun.file(join(folder!, normalize(new URL(request.url).pathname)));
    return (await file.exists()) ? new Response(file) : new Response(null, { status: 404 });
  },
});
