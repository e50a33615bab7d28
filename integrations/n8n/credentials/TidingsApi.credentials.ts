import type {
  IAuthenticateGeneric,
  ICredentialTestRequest,
  ICredentialType,
  INodeProperties,
} from "n8n-workflow";

/** The address of a Tidings, and an API key of one of its projects. */
export class TidingsApi implements ICredentialType {
  name = "tidingsApi";
  displayName = "Tidings API";
  icon = "file:../nodes/Tidings/tidings.svg" as const;
  properties: INodeProperties[] = [
    {
      displayName: "URL",
      name: "url",
      type: "string",
      required: true,
      default: "",
      placeholder: "https://tidings.example.com",
      description: "The address of Tidings, which n8n must reach",
    },
    {
      displayName: "API Key",
      name: "apiKey",
      type: "string",
      typeOptions: { password: true },
      required: true,
      default: "",
      placeholder: "tdg_sk_…",
      description:
        "A secret key of the project. To record, it needs the scope <code>ingest</code>, to list <code>read</code>, and for the trigger <code>read</code> and <code>manage</code>.",
    },
  ];
  authenticate: IAuthenticateGeneric = {
    type: "generic",
    properties: { headers: { "x-api-key": "={{ $credentials.apiKey }}" } },
  };
  test: ICredentialTestRequest = {
    request: {
      baseURL: '={{ $credentials.url.replace(/\\/+$/, "") }}',
      url: "/api/events",
      qs: { limit: 1 },
      // A key that may only record is refused with 403, but known.
      ignoreHttpStatusErrors: { ignore: true, except: [400, 401, 404, 405, 429, 500, 502, 503, 504] },
    },
    rules: [
      {
        type: "responseSuccessBody",
        properties: { key: "ok", value: undefined, message: "There is no Tidings at this URL" },
      },
    ],
  };
}
