/** What a request of `npm run overshoot` is, what it costs, and what a cap of it is. Pure. */

/** Of one model; the prices are made up, and every gateway is configured with them. */
export const priced = {
  model: "gpt-overshoot",
  inputUsdPerMillion: 10,
  outputUsdPerMillion: 100,
};

/** As the provider counts and reports them. */
export const promptTokens = 40;
/** What clients send as `max_tokens`. */
export const maxTokens = 100;
const meanAnswerTokens = 60;

export const units = ["requests", "tokens", "dollars", "slots"] as const;
export type Unit = (typeof units)[number];

export interface Cap {
  readonly unit: Unit;
  readonly amount: number;
}

/** What the provider has served, since it counts. */
export interface Served {
  readonly requests: number;
  readonly promptTokens: number;
  /** Those that it has generated: when a gateway hangs up, it generates no more. */
  readonly outputTokens: number;
  /** Of the answers that it has sent to their end, and of their prompts. */
  readonly endedTokens: number;
  readonly running: number;
  /** The most that ran at the same moment. */
  readonly peak: number;
  /** The sum of all running times. */
  readonly busyMs: number;
}

export const noneServed: Served = {
  requests: 0,
  promptTokens: 0,
  outputTokens: 0,
  endedTokens: 0,
  running: 0,
  peak: 0,
  busyMs: 0,
};

const usdOf = (input: number, output: number): number =>
  (input * priced.inputUsdPerMillion + output * priced.outputUsdPerMillion) / 1e6;

/** A cap that so many requests fill; of slots, a tenth of them. */
export function capFor(unit: Unit, requests: number): Cap {
  switch (unit) {
    case "requests":
      return { unit, amount: requests };
    case "tokens":
      return { unit, amount: requests * (promptTokens + meanAnswerTokens) };
    case "dollars":
      return { unit, amount: usdOf(requests * promptTokens, requests * meanAnswerTokens) };
    case "slots":
      return { unit, amount: Math.max(1, Math.round(requests / 10)) };
  }
}

/** In the cap's unit. */
export function servedIn(unit: Unit, served: Served): number {
  switch (unit) {
    case "requests":
      return served.requests;
    case "tokens":
      return served.promptTokens + served.outputTokens;
    case "dollars":
      return usdOf(served.promptTokens, served.outputTokens);
    case "slots":
      return served.peak;
  }
}

export function bodyOf(n: number, model: string): string {
  const words = `${"word ".repeat(promptTokens - 2)}${n}`;
  return JSON.stringify({
    model,
    messages: [{ role: "user", content: words }],
    max_tokens: maxTokens,
    stream: true,
    stream_options: { include_usage: true },
  });
}

/** How long the answer to a request is: 20 to 100 tokens, by its number alone. */
export function answerTokens(body: string): number {
  const n = Number(/word (\d+)/.exec(body)?.[1] ?? 0);
  return 20 + 5 * ((Math.imul(n + 1, 0x9e3779b1) >>> 8) % 17);
}

/** A run against one cap, until it refused everything. */
export interface Outcome {
  readonly cap: Cap;
  readonly served: Served;
  /** Of slots: the share of them that was busy while more clients waited. */
  readonly busyShare: number | null;
  /** The gateway was killed amid the run. */
  readonly killed: boolean;
}

export interface Figures {
  /** What was served beyond the cap, as a share of it. */
  readonly overshoot: number;
  /** How much of the cap could be used. */
  readonly utilisation: number;
  /** After a kill, as shares of the cap: served and not counted; counted and not served. */
  readonly lost: number | null;
  readonly doubled: number | null;
}

export function figuresOf({ cap, served, busyShare, killed }: Outcome): Figures {
  const share = servedIn(cap.unit, served) / cap.amount;
  const overshoot = Math.max(0, share - 1);
  const utilisation = Math.min(1, busyShare ?? share);
  return {
    overshoot,
    utilisation,
    lost: killed ? overshoot : null,
    doubled: killed ? 1 - utilisation : null,
  };
}
