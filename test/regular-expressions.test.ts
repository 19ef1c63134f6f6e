/**
 * Every regular expression of the programs that may meet text from outside takes linear time and
 * needs no stack, whatever the text: each is run on long texts made of what stands in it. A new one
 * is covered as soon as it is written.
 */
import t, { type Test } from "tap";
import { boundaryOf } from "../proxy/body/multipart.js";
import { leadOf, markdownLines } from "../proxy/body/rewriters/markdown-lines.js";
import { rewriteRequest } from "../proxy/body/rewriters/rewrite-request.js";
import { readCacheControl } from "../proxy/handlers/cache/cacheable.js";
import { forwardResponseHeaders } from "../proxy/http/copy-headers.js";
import { failoverReason } from "../proxy/upstream/errors/failover-reason.js";
import { mapUpstreamError } from "../proxy/upstream/errors/upstream-error.js";
import { restProblem } from "../proxy/upstream/passthrough-path.js";
import { createStreamTap } from "../proxy/usage/tap-stream.js";
import { cpuMsOf } from "./support/cpu-time.js";
import { readSources } from "./tidy/source-tree.js";

interface Expression {
  readonly place: string;
  readonly source: string;
  readonly flags: string;
}

/** Those that never meet a text from outside that is longer than what is named here. */
const bounded: Readonly<Record<string, string>> = {
  "0+$": "numbers of at most 400 digits, and amounts",
  "\\{([^}]*)\\}": "templates of the configuration",
};

function expressions(): readonly Expression[] {
  const found = new Map<string, Expression>();
  for (const { path, text, code } of readSources(["proxy", "shared", "limiterd"])) {
    // The operator's own text.
    if (path.startsWith("shared/config/")) continue;
    // Markup, in which a slash begins no expression; what pages decide is beside it.
    if (path.endsWith(".tsx")) continue;
    for (let at = 0; at < code.length; at++) {
      if (code[at] !== "0" || text[at] !== "/") continue;
      let end = at + 1;
      while (code[end] === " " && end < code.length && text[end] !== "\n") end++;
      const literal = text.slice(at, end);
      const close = literal.lastIndexOf("/");
      const flags = /^[a-z]*/.exec(text.slice(at + close + 1))![0];
      const source = literal.slice(1, close);
      if (!(source in bounded)) found.set(`${source}/${flags}`, { place: path, source, flags });
    }
  }
  return [...found.values()];
}

/** What a text against an expression is made of: its own characters and words, and usual ones. */
function atomsOf(source: string): readonly string[] {
  const plain = source
    .replace(/\(\?(?:[:=!]|<[=!])/g, "(")
    .replace(/\\[trns]/g, " \t")
    .replace(/\\[dw]/g, "1a")
    .replace(/\\([^a-zA-Z0-9])/g, "$1");
  return [
    ...new Set([
      ...plain,
      ...(plain.match(/[\w"/.:;=-]{2,}/g) ?? []),
      " ",
      "\t",
      "a",
      "1",
      "\n",
      '"',
    ]),
  ];
}

/** A quadratic expression takes some 50 ms for so many. */
const charsMax = 12_000;
/** What takes a noticeable time on a text as short as this isn't linear, and may be exponential. */
const shortChars = 1000;
/** From so few on: an exponential expression would never end on a text of `shortChars`. */
const charsMin = 12;

/** So much longer a text of twice the length may take; a quadratic one takes four times as long. */
const ratioMax = 3;
/** What is quicker is no attack. */
const noticeableMs = 5;

/** Runs ever longer texts up to where one takes a noticeable time; returns what isn't linear. */
function growthProblem(run: (chars: number) => () => void): string | null {
  // In small steps while the text is short: each character may double the time.
  const next = (chars: number) => Math.ceil(chars * (chars < 100 ? 1.25 : 2));
  for (let chars = charsMin; ; chars = Math.min(charsMax, next(chars))) {
    const once = cpuMsOf(run(chars));
    const problem = once < noticeableMs ? null : problemAt(chars, once, run);
    if (problem !== null) return problem;
    if (chars === charsMax) return null;
  }
}

function problemAt(chars: number, first: number, run: (chars: number) => () => void) {
  let once = first;
  let ratio = 0;
  // A collection of garbage may fall into one of the two: being linear once is enough.
  for (let tries = 0; tries < 5; tries++) {
    if (tries > 0) once = cpuMsOf(run(chars));
    if (once < noticeableMs) return null;
    if (chars <= shortChars && once < 20 * noticeableMs) continue;
    if (chars <= shortChars) break;
    ratio = cpuMsOf(run(2 * chars)) / once;
    if (ratio < ratioMax) return null;
  }
  return chars <= shortChars
    ? `${chars} characters take ${once.toFixed(0)} ms`
    : `twice the text takes ${ratio.toFixed(1)} times as long`;
}

function isLinear(t: Test, name: string, run: (chars: number) => () => void): void {
  const problem = growthProblem(run);
  if (problem !== null) t.fail(`${name}: ${problem}`);
}

function repeated(atom: string, chars: number): string {
  return atom.repeat(Math.ceil(chars / atom.length));
}

/** Why an expression isn't linear on one of the texts made for it. */
function problemsOf({ source, flags }: Pick<Expression, "source" | "flags">): readonly string[] {
  const expression = new RegExp(source, flags);
  return atomsOf(source).flatMap((atom) => {
    const problem = growthProblem((chars) => {
      const text = `${repeated(atom, chars)}\u0001`;
      return () => {
        expression.lastIndex = 0;
        text.replace(expression, "");
      };
    });
    return problem === null ? [] : [`on ${JSON.stringify(atom)}: ${problem}`];
  });
}

t.test("each takes time in proportion to the text", async (t) => {
  const all = expressions();
  t.ok(all.length > 100, `${all.length} expressions`);
  for (const each of all)
    t.same(problemsOf(each), [], `${each.place} /${each.source}/${each.flags}`);
});

t.test("an expression that takes longer is found", async (t) => {
  for (const source of [
    "^(a+)+$",
    "^(?:a|aa)+$",
    "^(\\w*)*,",
    "(?:\\s|\\s\\s)+x",
    "^\\s*([^:]+?)\\s*:\\s*(.*?)\\s*$",
    "([\\d.]+)(ms|[dhms])",
    "\\s+$",
    "a*b",
    "(?:ab)+c",
  ])
    t.not(problemsOf({ source, flags: "" }).length, 0, source);
  t.same(problemsOf({ source: "^(?:a|b)+$", flags: "" }), []);
});

t.test("none runs out of stack on a text of four million characters", async (t) => {
  for (const { place, source, flags } of expressions()) {
    // Only what repeats a group keeps a way back for each of its repetitions.
    if (!/\)(?:[*+]|\{\d*,)/.test(source)) continue;
    const expression = new RegExp(source, flags);
    for (const atom of atomsOf(source)) {
      const text = repeated(atom, 4_000_000);
      t.doesNotThrow(
        () => expression.test(text),
        `${place} /${source}/ on ${JSON.stringify(atom)}`,
      );
      expression.lastIndex = 0;
    }
  }
});

const chat = (text: string): Buffer =>
  Buffer.from(JSON.stringify({ model: "m", messages: [{ role: "user", content: text }] }));

/** What meets text from outside, whatever it is made of. */
const readers: Readonly<Record<string, (text: string) => unknown>> = {
  collapse_white_space: (text) =>
    rewriteRequest(chat(text), "chat_completions", ["collapse_white_space"]),
  minify_tool_json: (text) =>
    rewriteRequest(
      Buffer.from(JSON.stringify({ messages: [{ role: "tool", content: `[${text}` }] })),
      "chat_completions",
      ["minify_tool_json"],
    ),
  "the lines of a text": markdownLines,
  "the lead of a line": leadOf,
  "cache-control": readCacheControl,
  "content-type of a form": (text) => boundaryOf(`multipart/form-data;${text}`),
  "the names of headers": (text) => forwardResponseHeaders([text, "x", "connection", text]),
  "a path at /p": (text) => restProblem(`/${text}`),
  "a provider's error": (text) => {
    const body = Buffer.from(JSON.stringify({ error: { message: `the model ${text}` } }));
    return failoverReason(mapUpstreamError("p", 400, body));
  },
  "an event of a stream": (text) => {
    const tap = createStreamTap({ operation: "chat_completions", hideUsageChunk: false });
    return tap.push(
      Buffer.from(`data: {"choices":[{"delta":{"content":${JSON.stringify(text)}}}]}\n\n`),
    );
  },
  "what is no event": (text) => {
    const tap = createStreamTap({ operation: "messages", hideUsageChunk: true });
    return tap.push(Buffer.from(`data: ${text}\n\n`));
  },
};

const texts = [
  "-",
  "- ",
  "> ",
  "1. ",
  "123456789) ",
  "`",
  "``` ",
  "~~~\n",
  " ",
  "\t",
  " \n",
  "  \n",
  "\r\n",
  "a ",
  "=",
  " = ",
  ";",
  '"',
  "\\",
  '\\"',
  "%25",
  "/",
  "./",
  "model ",
  "is not ",
  "{",
  "[",
  '"content":',
  "\u00e9",
];

t.test("what reads text from outside takes time in proportion to it", async (t) => {
  for (const [name, read] of Object.entries(readers)) {
    for (const atom of texts)
      isLinear(t, `${name} on ${JSON.stringify(atom)}`, (chars) => {
        const text = `${repeated(atom, chars)}x`;
        return () => read(text);
      });
    for (const atom of ["-", "`", "a", '"'])
      t.doesNotThrow(
        () => read(repeated(atom, 3_000_000)),
        `${name}: 3 MB of ${JSON.stringify(atom)}`,
      );
  }
});
