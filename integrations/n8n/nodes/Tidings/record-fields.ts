import type { INodeProperties } from "n8n-workflow";

const displayOptions = { show: { resource: ["event"], operation: ["record"] } };

/** A date of the picker has no offset, and is one of the workflow's time zone. */
const isoOf =
  "={{ /^\\d+$/.test($value) ? Number($value) : $value ? DateTime.fromISO(String($value)).toISO() : undefined }}";

/** The fields of `POST /api/events`. */
export const recordFields: INodeProperties[] = [
  {
    displayName: "Channel",
    name: "channel",
    type: "string",
    required: true,
    displayOptions,
    default: "",
    placeholder: "e.g. payments",
    description: "Where the event goes. A channel that doesn't exist is created.",
    routing: { send: { type: "body", property: "channel" } },
  },
  {
    displayName: "Name",
    name: "name",
    type: "string",
    required: true,
    displayOptions,
    default: "",
    placeholder: "e.g. Payment received",
    description: "What happened",
    routing: { send: { type: "body", property: "name" } },
  },
  {
    displayName: "Tags",
    name: "tags",
    type: "fixedCollection",
    typeOptions: { multipleValues: true },
    displayOptions,
    placeholder: "Add Tag",
    default: {},
    description: "Events can be searched, filtered and counted by them",
    options: [
      {
        displayName: "Tag",
        name: "tag",
        values: [
          { displayName: "Key", name: "key", type: "string", default: "", placeholder: "e.g. plan" },
          { displayName: "Value", name: "value", type: "string", default: "", placeholder: "e.g. pro" },
        ],
      },
    ],
    routing: {
      send: {
        type: "body",
        property: "tags",
        value: "={{ Object.fromEntries(($value.tag ?? []).map(({ key, value }) => [key, String(value)])) }}",
      },
    },
  },
  {
    displayName: "Additional Fields",
    name: "additionalFields",
    type: "collection",
    displayOptions,
    placeholder: "Add Field",
    default: {},
    options: [
      {
        displayName: "Created At",
        name: "createdAt",
        type: "dateTime",
        default: "",
        description: "When it happened, if that wasn't now. Older events than an hour notify nobody.",
        routing: { send: { type: "body", property: "createdAt", value: isoOf } },
      },
      {
        displayName: "Description",
        name: "description",
        type: "string",
        typeOptions: { rows: 4 },
        default: "",
        description: "Markdown",
        routing: { send: { type: "body", property: "description" } },
      },
      {
        displayName: "Icon",
        name: "icon",
        type: "string",
        default: "",
        placeholder: "e.g. 💰",
        description: "An emoji",
        routing: { send: { type: "body", property: "icon" } },
      },
      {
        displayName: "Notify",
        name: "notify",
        type: "boolean",
        default: true,
        description: "Whether to notify the project's members",
        routing: { send: { type: "body", property: "notify" } },
      },
      {
        displayName: "User ID",
        name: "userId",
        type: "string",
        default: "",
        description: "The user of your application who did it",
        routing: { send: { type: "body", property: "userId", value: "={{ String($value) }}" } },
      },
    ],
  },
];
