/** A response that is continued by its id goes to the provider that has it, in an open gateway. */
import OpenAI from "openai";
import t from "tap";
import { makeSite } from "../../support/processes/processes.js";
import {
  type ScriptedUpstream,
  startScriptedUpstream,
} from "../../support/providers/scripted-upstream.js";

/** It knows the responses that it has made, and no others. */
async function startResponses(name: string): Promise<ScriptedUpstream> {
  const provider = await startScriptedUpstream();
  const made = new Set<string>();
  provider.answer = ({ body, response }) => {
    const { previous_response_id: previous } = JSON.parse(body) as Record<string, string>;
    response.setHeader("content-type", "application/json");
    if (previous !== undefined && !made.has(previous))
      return void response
        .writeHead(404)
        .end('{"error":{"message":"no such response","code":"previous_response_not_found"}}');
    const id = `resp_${name}_${made.size}`;
    made.add(id);
    response.end(
      JSON.stringify({
        id,
        object: "response",
        status: "completed",
        output: [
          {
            type: "message",
            id: `msg_${id}`,
            role: "assistant",
            status: "completed",
            content: [{ type: "output_text", text: "hi", annotations: [] }],
          },
        ],
      }),
    );
  };
  return provider;
}

const providers = await Promise.all([startResponses("one"), startResponses("two")]);
t.teardown(() => Promise.all(providers.map((provider) => provider.close())));
const [one, two] = providers;
const site = makeSite(
  t,
  `
providers:
  one: { type: openai, base_url: "${one!.baseUrl}", api_key: none, models: [m] }
  two: { type: openai, base_url: "${two!.baseUrl}", api_key: none, models: [m] }
virtual_models:
  smart: { targets: [{ model: one/m }, { model: two/m }] }
`,
);
await site.startDaemon();
const { ready: url } = await site.startProxy();
const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "none", maxRetries: 0 });

t.test("the second turn finds the first, however the targets take turns", async (t) => {
  const say = (previous?: string): Promise<OpenAI.Responses.Response> =>
    client.responses.create({
      model: "smart",
      input: "hi",
      ...(previous === undefined ? {} : { previous_response_id: previous }),
    });
  const first = [await say(), await say(), await say()].map(({ id }) => id);
  t.ok(first.some((id) => id.startsWith("resp_one")));
  t.ok(first.some((id) => id.startsWith("resp_two")));
  for (const id of [...first, ...first, ...first])
    t.equal((await say(id)).id.split("_")[1], id.split("_")[1]);
});
