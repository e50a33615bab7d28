/** JSON schemas of the hand-written servers' requests and responses. */
const text = (maxLength, minLength = 0) => ({ type: "string", minLength, maxLength });
export const body = {
  type: "object",
  additionalProperties: false,
  required: ["channel", "name"],
  properties: {
    channel: text(64, 1),
    name: text(200, 1),
    userId: text(200),
    description: text(10_000),
    icon: text(64),
    notify: { type: "boolean" },
    tags: { type: "object", maxProperties: 50, additionalProperties: text(1_000) },
  },
};
const event = {
  type: "object",
  properties: {
    id: { type: "string" },
    name: { type: "string" },
    channelId: { type: "string" },
    userId: { type: "string" },
    description: { type: "string" },
    icon: { type: "string" },
    notify: { type: "boolean" },
    tags: { type: "object", additionalProperties: { type: "string" } },
    createdAt: { type: "string" },
  },
};
export const response = { type: "object", properties: { ok: { type: "boolean" }, event } };
