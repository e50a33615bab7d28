/**
 * The upper bound that Tidings is compared with: the least that a JSON API on Bun can do. It parses the body and
 * returns it, without validating or storing anything.
 */
const server = Bun.serve({
  hostname: "127.0.0.1",
  port: Number(process.env.PORT ?? 0),
  routes: {
    "/api/events": { POST: async (request) => Response.json(await request.json(), { status: 201 }) },
  },
  fetch: () => new Response(null, { status: 404 }),
});
console.log(`The echo listens on ${server.url}`);
