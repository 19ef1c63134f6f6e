import t from "tap";
import { placeBreakpoints } from "../../../../proxy/dialects/fit/cache-breakpoints.js";
import { RequestCheck } from "../../../../proxy/dialects/shared/request-check.js";
import type { JsonObject } from "../../../../proxy/dialects/shared/translation.js";

const own = { cache_control: { type: "ephemeral", ttl: "1h" } };
const text = (name: string, more: object = {}): JsonObject => ({
  type: "text",
  text: name,
  ...more,
});
const result = (name: string, ...content: readonly JsonObject[]): JsonObject => ({
  type: "tool_result",
  tool_use_id: name,
  content,
});
const tool = (name: string, more: object = {}): JsonObject => ({
  name,
  input_schema: { type: "object" },
  ...more,
});
const user = (...content: readonly JsonObject[]): JsonObject => ({ role: "user", content });
const assistant = (...content: readonly JsonObject[]): JsonObject => ({
  role: "assistant",
  content,
});
const thinking = { type: "thinking", thinking: "a2", signature: "s" };
const calls = { type: "tool_use", id: "a", name: "f", input: {} };
const tools = [tool("t1"), tool("t2")];
const system = [text("s1"), text("s2")];

/** The marked blocks, by their name; with `!` those that the client marked. */
function marked(body: JsonObject): readonly string[] {
  const found: string[] = [];
  const visit = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    const { cache_control: mark, ...others } = value as JsonObject;
    Object.values(others).forEach(visit);
    if (mark === undefined) return;
    const name = others["text"] ?? others["name"] ?? others["tool_use_id"] ?? others["type"];
    found.push(`${String(name)}${(mark as JsonObject)["ttl"] === "1h" ? "!" : ""}`);
  };
  for (const field of ["tools", "system", "messages"]) visit(body[field]);
  return found;
}

interface Case {
  readonly name: string;
  readonly body: JsonObject;
  readonly marked: readonly string[];
  readonly mode?: "off";
  readonly dropped?: readonly string[];
}

const cases: readonly Case[] = [
  {
    name: "a first request with tools",
    body: { tools, system, messages: [user(text("u1"), text("u2"))] },
    marked: ["t2", "s2", "u2"],
  },
  { name: "a single question", body: { system, messages: [user(text("u1"))] }, marked: [] },
  {
    name: "earlier turns: also where the previous request ended",
    body: {
      tools,
      system,
      messages: [
        user(text("u1")),
        assistant(calls),
        user(result("a")),
        assistant(text("a2")),
      ].concat(user(text("u3"))),
    },
    marked: ["t2", "s2", "a", "u3"],
  },
  {
    name: "without tools and system",
    body: { messages: [user(text("u1")), assistant(text("a1")), user(text("u2"))] },
    marked: ["u1", "u2"],
  },
  {
    name: "a prefilled answer isn't marked, since the next request continues otherwise",
    body: {
      messages: [user(text("u1")), assistant(text("a1")), user(text("u2")), assistant(text("{"))],
    },
    marked: ["u1", "u2"],
  },
  {
    name: "nor is what follows one that the model can't continue",
    body: {
      messages: [user(text("u1")), assistant(text("a1")), { role: "user", content: "Continue." }],
    },
    marked: ["u1"],
  },
  {
    name: "thinking has none",
    body: {
      messages: [user(text("u1")), assistant(text("a1"), thinking), user(text("u2"), thinking)],
    },
    marked: ["u1", "u2"],
  },
  {
    name: "after the client's own",
    body: {
      tools,
      system: [text("s1", own), text("s2")],
      messages: [user(text("u1")), assistant(text("a1")), user(text("u2"))],
    },
    marked: ["s1!", "s2", "u1", "u2"],
  },
  {
    name: "not before the client's own, nor in its place",
    body: {
      tools,
      system,
      messages: [user(text("u1")), assistant(text("a1")), user(text("u2", own), text("u3", own))],
    },
    marked: ["u2!", "u3!"],
  },
  {
    name: "the client's own inside a tool's result count too",
    body: {
      tools: [tool("t1", own)],
      system: [text("s1", own)],
      messages: [
        user(text("u1")),
        assistant(calls),
        user(result("a", text("r1", own), text("r2")), text("u2")),
      ],
    },
    marked: ["t1!", "s1!", "r1!", "u2"],
  },
  {
    name: "of more than four of the client's the last four stay",
    body: {
      tools: [tool("t1", own)],
      system: [text("s1", own), text("s2", own)],
      messages: [user(text("u1", own)), assistant(text("a1", own)), user(text("u2", own))],
    },
    marked: ["s2!", "u1!", "a1!", "u2!"],
    dropped: ["cache_control"],
  },
  {
    name: "off: the client's alone",
    mode: "off",
    body: { tools: [tool("t1", own)], system, messages: [user(text("u1"))] },
    marked: ["t1!"],
  },
];

for (const { name, body, mode = "auto", ...right } of cases)
  t.test(name, async (t) => {
    const check = new RequestCheck(false);
    const given = structuredClone(body);
    placeBreakpoints(given, mode, check);
    t.same(marked(given), right.marked);
    const result = check.result(given);
    t.same(result.ok && result.dropped, right.dropped ?? []);
  });
