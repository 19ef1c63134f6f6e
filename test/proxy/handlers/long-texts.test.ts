/** Long texts are carried through a translation unread: each place in a body, at each provider. */
import t from "tap";
import { readJsonCall } from "../../../proxy/handlers/json-call.js";
import { type RequestSample, requestSamples } from "../../fuzz/samples/request-samples.js";
import { contextOf, mustBeTranslatedWhole, providers } from "../../fuzz/targets/try-body.js";
import { bytesOf } from "../fake-gateway.js";

const carrying: ReadonlySet<string> = new Set(["chat_completions", "messages"]);

/** What a text may begin and end with. */
const lengthened: readonly ((text: string) => string)[] = [
  (text) => text + ' and "so" on\n'.repeat(1800),
  (text) => `error: 日本${"x".repeat(22_000)}\ud83d  ${text}`,
];

/** The body once for each of its strings, with that one lengthened. */
function* bodiesOf(body: unknown, lengthen: (text: string) => string): Generator<string> {
  for (let at = 0; ; at++) {
    let strings = 0;
    const json = JSON.stringify(body, (_key, value: unknown) =>
      typeof value === "string" && strings++ === at ? lengthen(value) : value,
    );
    if (strings <= at) return;
    yield json;
  }
}

const call = { id: "call_1", type: "function" };
const written = { content: "of a file", text: "that is written" };

/** An agent writes a file: names of fields in the client's own data are no dialect's. */
const agents: readonly RequestSample[] = [
  {
    operation: "messages",
    body: {
      ...{ model: "smart", max_tokens: 5, system: [{ type: "text", text: "Be brief." }] },
      messages: [
        { role: "user", content: "Go on." },
        { role: "assistant", content: [{ type: "tool_use", id: "t", name: "f", input: written }] },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "t", content: "done" }] },
        { role: "assistant", content: "It is written " },
        { role: "user", content: [{ type: "text", text: "Thanks." }] },
      ],
    },
  },
  {
    operation: "chat_completions",
    body: {
      model: "smart",
      messages: [
        { role: "system", content: "Be brief." },
        {
          role: "assistant",
          tool_calls: [{ ...call, function: { name: "f", arguments: JSON.stringify(written) } }],
        },
        { role: "tool", tool_call_id: "call_1", content: [{ type: "text", text: "done" }] },
        { role: "user", content: "Thanks." },
        { role: "assistant", content: "It is " },
      ],
    },
  },
];

t.test("a long text makes no difference to a translation, wherever it is", async (t) => {
  let compared = 0;
  for (const { operation, body } of [...requestSamples, ...agents])
    for (const lengthen of carrying.has(operation) ? lengthened : [])
      for (const json of bodiesOf(body, lengthen)) {
        const bytes = Buffer.from(json);
        const read = await readJsonCall(operation, contextOf([bytes]));
        if (!read.ok) continue;
        for (const provider of providers)
          for (const model of ["claude-sonnet-4-5"]) {
            if (read.call.problemAt(provider, model) !== null) continue;
            const sent = await bytesOf(read.call.requestTo(provider, model).body!);
            const what = { provider, model, body: sent };
            if (mustBeTranslatedWhole(operation, bytes, what)) compared++;
          }
      }
  t.ok(compared > 1000, `${compared} translations`);
});
