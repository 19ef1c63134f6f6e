/** Bodies of many values in few bytes, at each kind of endpoint that reads a body as a whole. */
import { AsyncLocalStorage } from "node:async_hooks";
import t from "tap";
import type { Caller } from "../../proxy/auth/caller.js";
import { authenticatedCaller } from "../../proxy/auth/caller.js";
import { unauthenticatedValuesMax, valuesMax } from "../../proxy/body/count-values.js";
import { countTokens } from "../../proxy/handlers/count-tokens.js";
import { modelRequest } from "../../proxy/handlers/model-request.js";
import { providerObjectRequest } from "../../proxy/handlers/objects/provider-objects.js";
import { submitBatch } from "../../proxy/handlers/objects/submit-batch.js";
import type { RequestContext } from "../../proxy/request-context.js";
import { fakeGateway, type Served, served } from "./fake-gateway.js";

const yaml = `
providers:
  one: { type: openai, base_url: "http://127.0.0.1:1/v1", models: ["*"] }
  claude: { type: anthropic, base_url: "http://127.0.0.1:1", models: ["*"] }
`;

interface Endpoint {
  readonly path: string;
  readonly run: (context: RequestContext) => Promise<void>;
  /** A body with many values in it. */
  readonly body: (values: string) => string;
  /** It is fitted to its provider, and so written again. */
  readonly isFitted?: true;
}

const chat = (values: string, provider = "one"): string =>
  `{"model":"${provider}/m","messages":[{"role":"user","content":"hi"}],"x":${values}}`;
const endpoints: readonly Endpoint[] = [
  {
    path: "/v1/chat/completions",
    run: (context) => modelRequest(context, "chat_completions"),
    body: (values) => chat(values),
  },
  {
    path: "/v1/messages",
    run: (context) => modelRequest(context, "messages"),
    body: (values) => chat(values, "claude"),
    isFitted: true,
  },
  {
    path: "/v1/responses",
    run: (context) => modelRequest(context, "responses"),
    body: (values) => `{"model":"one/m","previous_response_id":"resp_1","input":${values}}`,
  },
  {
    path: "/v1/embeddings",
    run: (context) => modelRequest(context, "embeddings"),
    body: (values) => `{"model":"one/m","input":${values}}`,
  },
  {
    path: "/v1/messages/count_tokens",
    run: (context) => countTokens(context, "count_tokens"),
    body: (values) => chat(values, "claude"),
    isFitted: true,
  },
  {
    path: "/v1/batches",
    run: (context) => submitBatch(context, "batches"),
    body: (values) =>
      `{"input_file_id":"file-1","endpoint":"/v1/embeddings","completion_window":"24h","x":${values}}`,
  },
  {
    path: "/v1/messages/batches",
    run: (context) => submitBatch(context, "message_batches"),
    body: (values) => `{"requests":[{"params":${values}}]}`,
  },
  {
    path: "/v1/conversations",
    run: (context) => providerObjectRequest(context, "conversations"),
    body: (values) => `{"file_id":"file-1","items":${values}}`,
  },
];

const shapes: readonly ((count: number) => string)[] = [
  (count) => `[${"{},".repeat(count)}0]`,
  (count) => `[${"[],".repeat(count)}0]`,
  (count) => "[".repeat(count) + "]".repeat(count),
  (count) => `[${'"",'.repeat(count)}0]`,
  (count) => `[${"0.5,".repeat(count)}0]`,
  (count) => `[${'{"a":0},'.repeat(count / 2)}0]`,
  (count) => `{${Array.from({ length: count / 2 }, (_, i) => `"${i.toString(36)}":""`).join()}}`,
];

/** Meanwhile the modules of the next tests are loaded, some of which parse long files. */
const parsedFor = new AsyncLocalStorage<"request">();

/** What is answered, and how many long texts were parsed for it. */
async function parsing(
  { path, run }: Endpoint,
  body: string,
  caller?: Caller,
): Promise<Served & { readonly parsed: number }> {
  const fake = fakeGateway(yaml);
  const authorize = () => Promise.resolve({ kind: "denied", ended: null });
  Object.assign(fake.gateway.limiter, { authorize });
  const { parse } = JSON;
  let parsed = 0;
  JSON.parse = (text: string, ...rest) => {
    if (parsedFor.getStore() === "request" && text.length > body.length / 2) parsed++;
    return parse(text, ...rest);
  };
  try {
    const sample = { method: "POST", path, body };
    const asked = caller === undefined ? sample : { ...sample, caller };
    const one = await parsedFor.run("request", () => served(fake, run, asked));
    return { ...one, parsed };
  } finally {
    JSON.parse = parse;
  }
}

t.test("a body of too many values is refused before it is parsed, at each endpoint", async (t) => {
  const dense = shapes.map((shape) => shape(valuesMax + 2));
  // Each shape at one endpoint, and each endpoint with one shape.
  for (const [at, endpoint] of endpoints.entries())
    for (const values of at === 0 ? dense : dense.slice(at % dense.length).slice(0, 1)) {
      const body = endpoint.body(values);
      const { status, body: answer, parsed } = await parsing(endpoint, body);
      const what = `${endpoint.path} ${body.slice(0, 120)}`;
      t.equal(status, 400, what);
      t.match(JSON.stringify(answer), /(?:the body|requests\[0\]) must hold at most 250000 values/);
      t.equal(parsed, 0, what);
    }
});

t.test("a body that holds many values, and names objects, is parsed once", async (t) => {
  for (const [at, endpoint] of endpoints.entries()) {
    const body = endpoint.body(shapes[at % shapes.length]!(10_000));
    const { parsed } = await parsing(endpoint, body);
    t.equal(parsed, endpoint.isFitted === true ? 2 : 1, endpoint.path);
  }
});

t.test("a body of many values is parsed for callers alone whose key was checked", async (t) => {
  const unknownCaller: Caller = { ...authenticatedCaller("/"), credential: "of nobody's key" };
  for (const endpoint of endpoints) {
    const body = endpoint.body(shapes[0]!(unauthenticatedValuesMax + 2));
    const { status, parsed } = await parsing(endpoint, body, unknownCaller);
    t.equal(status, 401, endpoint.path);
    t.equal(parsed, 0, endpoint.path);
  }
});

t.test(
  "a request for embeddings may have millions of tokens, and a picture any size",
  async (t) => {
    const row = `[${"12345,".repeat(8191)}12345]`;
    const tokens = `[${`${row},`.repeat(63)}${row}]`;
    const embeddings = endpoints.find(({ path }) => path === "/v1/embeddings")!;
    t.equal((await parsing(embeddings, embeddings.body(tokens))).status, 200);
    const picture = `"data:image/png;base64,${"A".repeat(10 * 1024 * 1024)}"`;
    t.equal((await parsing(endpoints[0]!, endpoints[0]!.body(picture))).status, 200);
  },
);
