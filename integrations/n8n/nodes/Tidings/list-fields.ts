import type { IDataObject, INodeProperties } from "n8n-workflow";

const displayOptions = { show: { resource: ["event"], operation: ["getAll"] } };

/** The largest page of the API. */
const pageEvents = 1_000;

const isoOf = "={{ $value ? DateTime.fromISO(String($value)).toISO() : undefined }}";

/** The query of the next page. It replaces that of the request, so it is an expression of the whole. */
const nextPage =
  "={{ Object.assign({}, $request.qs, { cursor: $response.body?.nextCursor }) }}" as unknown as IDataObject;

/** The filters of `GET /api/events`. */
export const listFields: INodeProperties[] = [
  {
    displayName: "Return All",
    name: "returnAll",
    type: "boolean",
    displayOptions,
    default: false,
    description: "Whether to return all results or only up to a given limit",
    routing: {
      send: {
        paginate: "={{ $value }}",
        type: "query",
        property: "limit",
        value: `={{ $value ? ${pageEvents} : undefined }}`,
      },
      operations: {
        pagination: {
          type: "generic",
          properties: {
            continue: "={{ Boolean($response.body.nextCursor) }}",
            request: { qs: nextPage },
          },
        },
      },
    },
  },
  {
    displayName: "Limit",
    name: "limit",
    type: "number",
    typeOptions: { minValue: 1, maxValue: pageEvents },
    displayOptions: { show: { ...displayOptions.show, returnAll: [false] } },
    default: 50,
    description: "Max number of results to return",
    routing: { send: { type: "query", property: "limit" } },
  },
  {
    displayName: "Filters",
    name: "filters",
    type: "collection",
    displayOptions,
    placeholder: "Add Filter",
    default: {},
    options: [
      {
        displayName: "Channel",
        name: "channel",
        type: "string",
        default: "",
        routing: { send: { type: "query", property: "channel" } },
      },
      {
        displayName: "From",
        name: "from",
        type: "dateTime",
        default: "",
        description: "Only events that happened then or later",
        routing: { send: { type: "query", property: "from", value: isoOf } },
      },
      {
        displayName: "Name",
        name: "name",
        type: "string",
        default: "",
        routing: { send: { type: "query", property: "name" } },
      },
      {
        displayName: "Order",
        name: "order",
        type: "options",
        options: [
          { name: "Newest First", value: "desc" },
          { name: "Oldest First", value: "asc" },
        ],
        default: "desc",
        routing: { send: { type: "query", property: "order" } },
      },
      {
        displayName: "Search",
        name: "q",
        type: "string",
        default: "",
        placeholder: "e.g. pay* plan=pro -channel:tests",
        description: "A search as in the dashboard: words, fields and tags",
        routing: { send: { type: "query", property: "q" } },
      },
      {
        displayName: "To",
        name: "to",
        type: "dateTime",
        default: "",
        description: "Only events that happened before",
        routing: { send: { type: "query", property: "to", value: isoOf } },
      },
      {
        displayName: "User ID",
        name: "userId",
        type: "string",
        default: "",
        routing: { send: { type: "query", property: "userId" } },
      },
    ],
  },
];
