/** What a test says to a proxy over HTTP, in few words. */

export interface RuleItem {
  readonly subject: string;
  readonly period_seconds: number;
  readonly requests_used: number;
  readonly tokens_used: number;
  readonly in_flight: number;
  readonly [field: string]: unknown;
}

export interface AdminAnswer {
  readonly status: number;
  readonly body: { readonly rate_limits: readonly RuleItem[]; readonly [field: string]: unknown };
}

export function chat(
  url: string,
  {
    path = "/",
    model = "test/model",
    ...body
  }: { path?: string; model?: string; [field: string]: unknown } = {},
  signal?: AbortSignal,
): Promise<Response> {
  return fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-sluice-user-path": path },
    body: JSON.stringify({ model, messages: [{ role: "user", content: "hi" }], ...body }),
    ...(signal === undefined ? {} : { signal }),
  });
}

/** Calls an admin operation, such as `PUT /rate-limits`. A body that is a text is sent as it is. */
export async function admin(
  url: string,
  operation: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<AdminAnswer> {
  const [method, path] = operation.split(" ") as [string, string];
  const response = await fetch(`${url}/admin${path}`, {
    method,
    headers,
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as AdminAnswer["body"] };
}

/** A rule as listed, by its subject and period. */
export async function ruleNow(
  url: string,
  subject: string,
  periodSeconds: number,
  headers: Record<string, string> = {},
): Promise<RuleItem> {
  const list = () => admin(url, "GET /rate-limits", undefined, headers);
  // On a busy machine the daemon may answer later than the proxy waits.
  const { status, body } = await until(list, ({ status }) => status !== 503);
  if (status !== 200) throw new Error(`the rules aren't listed: ${status} ${JSON.stringify(body)}`);
  const found = body.rate_limits.find(
    (rule) => rule.subject === subject && rule.period_seconds === periodSeconds,
  );
  if (found === undefined) throw new Error(`no rule on ${subject} ${periodSeconds}`);
  return found;
}

/** Each question is work for two processes, which have something else to do meanwhile. */
const askAgainMs = 10;

/** Asks again until the answer satisfies; the test's own timeout is the bound. */
export async function until<T>(
  ask: () => Promise<T>,
  satisfies: (answer: T) => boolean,
  againMs = askAgainMs,
): Promise<T> {
  for (;;) {
    const answer = await ask();
    if (satisfies(answer)) return answer;
    await new Promise((resolve) => setTimeout(resolve, againMs));
  }
}
