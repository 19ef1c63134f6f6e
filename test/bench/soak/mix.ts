/**
 * What each request of the soak is. All of it follows from the request's number, so that clients,
 * provider and the comparison at the end agree without a word. Pure.
 */

/** The API that a client speaks. */
export type Dialect = "chat" | "messages" | "responses" | "embeddings";

interface Kind {
  /** Of how many requests in a thousand. */
  readonly share: number;
  readonly dialect: Dialect;
  readonly stream?: boolean;
  /** As the client names it. */
  readonly model: string;
  /**
   * Its user path, by the master key; `child`: one of many below a template; `key`: that of one of
   * the tenants' managed keys; `wrong key`: a key that there isn't.
   */
  readonly as: `/${string}` | "child" | "key" | "wrong key";
  /** What the provider does; `at once`, if nothing is said. */
  readonly provider?: ProviderAct;
  /** Whether the client goes away: when the first piece of the answer is there, or at any time. */
  readonly leaves?: "amid" | "any time";
}

/** `slowly`: a stream of many seconds; `late`: half a second later. */
export type ProviderAct = "at once" | "slowly" | "late" | "fails" | "limits" | "breaks" | "hangs";

const chat = { dialect: "chat", model: "main/chat" } as const;
const translated = { dialect: "chat", model: "claude/chat" } as const;

export const kinds = {
  chat: { ...chat, share: 330, as: "key" },
  stream: { ...chat, share: 130, as: "key", stream: true },
  "slow stream": { ...chat, share: 8, as: "key", stream: true, provider: "slowly" },
  child: { ...chat, share: 110, as: "child" },
  "to Anthropic": { ...translated, share: 60, as: "key" },
  "to Anthropic, streamed": { ...translated, share: 40, as: "key", stream: true },
  "from Anthropic": { share: 40, dialect: "messages", model: "main/chat", as: "key" },
  "from Anthropic, streamed": {
    share: 30,
    dialect: "messages",
    model: "main/chat",
    as: "key",
    stream: true,
  },
  responses: { share: 30, dialect: "responses", model: "main/chat", as: "key" },
  embeddings: { share: 40, dialect: "embeddings", model: "main/embed", as: "key" },
  "failed over": { share: 30, dialect: "chat", model: "smart", as: "key" },
  "asked again": { ...chat, share: 20, as: "/again" },
  tight: { ...chat, share: 30, as: "/tight" },
  capped: { ...chat, share: 10, as: "/capped" },
  narrow: { ...chat, share: 15, as: "/narrow", provider: "late" },
  poor: { ...chat, share: 15, as: "/poor" },
  "wrong key": { ...chat, share: 10, as: "wrong key" },
  "no such model": { share: 10, dialect: "chat", model: "nobody/knows", as: "key" },
  "left amid": { ...chat, share: 12, as: "key", stream: true, leaves: "amid" },
  left: { ...chat, share: 12, as: "key", provider: "late", leaves: "any time" },
  "broken off": { ...chat, share: 6, as: "key", stream: true, provider: "breaks" },
  failed: { dialect: "chat", model: "main/odd", share: 6, as: "key", provider: "fails" },
  limited: { dialect: "chat", model: "main/odd", share: 5, as: "key", provider: "limits" },
  hung: { dialect: "chat", model: "main/odd", share: 1, as: "key", provider: "hangs" },
} as const satisfies Readonly<Record<string, Kind>>;

export type KindName = keyof typeof kinds;

const kindNames = Object.keys(kinds) as readonly KindName[];
const table: readonly KindName[] = kindNames.flatMap((name) =>
  new Array<KindName>(kinds[name].share).fill(name),
);

/** Spreads numbers that follow each other, a 32-bit hash. */
export function scattered(n: number): number {
  let h = Math.imul(n ^ 0x9e3779b9, 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

export function kindNameOf(n: number): KindName {
  return table[scattered(n) % table.length]!;
}

export function kindOf(n: number): Kind {
  return kinds[kindNameOf(n)];
}

export const tenants = 8;

export function tenantOf(n: number): number {
  return scattered(n + 77) % tenants;
}

/**
 * Children of `/each` that there are. The first ten minutes meet all of them: the daemon keeps the
 * sums of usage of each in memory, up to a bound, and would seem to leak until it has met the last.
 */
const children = 3_000;

/** The user path that a request counts for; of a wrong key none. */
export function userPathOf(n: number): string {
  const { as } = kindOf(n);
  if (as === "key") return `/tenants/t${tenantOf(n)}`;
  if (as === "child") return `/each/c${scattered(n + 7) % children}`;
  return as === "wrong key" ? "/" : as;
}

/** How many different requests are asked again and again, for the cache. */
const repeated = 40;

/** What the prompt says: the provider finds the number in it, in every dialect. */
export function promptOf(n: number): string {
  return kindNameOf(n) === "asked again"
    ? `soak again ${scattered(n + 3) % repeated}.`
    : `soak ${n}.`;
}

/** The number in a prompt; null: one of those that come again, which have none. */
export function numberIn(body: string): number | null {
  const found = /soak (\d+)\./.exec(body);
  return found === null ? null : Number(found[1]);
}

/** What the provider reports: sums over requests with differing counts show each one missing. */
export function tokensOf(n: number | null): { readonly input: number; readonly output: number } {
  if (n === null) return { input: 11, output: 7 };
  const output = kindOf(n).dialect === "embeddings" ? 0 : 1 + (n % 311);
  return { input: 20 + (n % 977), output };
}

/** What the answer says: nobody may get another's. */
export function answerOf(n: number | null): string {
  return `answer ${n ?? "again"}.`;
}

/**
 * All providers' prices are one dollar per million input tokens and two per million output tokens,
 * so that a cost is whole micro-dollars.
 */
export const pricesYaml = ["main/*", "claude/*", "ill/*"]
  .map((models) => `  "${models}": { input: 1, output: 2 }`)
  .join("\n");

export function costMicroUsd(input: number, output: number): number {
  return input + 2 * output;
}

/** `/v1/…`, and what is posted there. */
export function requestOf(n: number): { readonly endpoint: string; readonly body: string } {
  const { dialect, model, stream = false } = kindOf(n);
  const prompt = promptOf(n);
  const messages = [{ role: "user", content: prompt }];
  switch (dialect) {
    case "chat":
      return post("/v1/chat/completions", { model, messages, ...(stream ? { stream } : {}) });
    case "messages":
      return post("/v1/messages", { model, max_tokens: 1000, messages, stream });
    case "responses":
      return post("/v1/responses", { model, input: prompt });
    case "embeddings":
      return post("/v1/embeddings", { model, input: prompt });
  }
}

function post(endpoint: string, body: object): { endpoint: string; body: string } {
  return { endpoint, body: JSON.stringify(body) };
}

/** What the last piece of a whole stream holds. */
export const streamEnds: Readonly<Record<Dialect, string>> = {
  chat: "data: [DONE]",
  messages: '"message_stop"',
  responses: '"response.completed"',
  embeddings: "",
};
