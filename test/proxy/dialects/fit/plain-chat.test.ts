import t from "tap";
import { plainChat } from "../../../../proxy/dialects/fit/plain-chat.js";
import type { JsonObject } from "../../../../proxy/dialects/shared/translation.js";

const user = { role: "user", content: "x" };
const call = { id: "a", type: "function", function: { name: "f", arguments: "{}" } };

t.test("a chat request is the same object", async (t) => {
  const bodies: readonly JsonObject[] = [
    { model: "m", messages: [user] },
    {
      model: "m",
      messages: [
        { role: "system", content: [{ type: "text", text: "s" }] },
        { role: "user", content: [{ type: "image_url", image_url: { url: "u" } }, 7, null] },
        { role: "assistant", content: null, tool_calls: [call] },
        { role: "tool", tool_call_id: "a", content: [{ type: "text", text: "t" }] },
        7,
        null,
      ],
      tools: [{ type: "function", function: { name: "f" } }, null, { type: "web_search" }],
      tool_choice: { type: "function", function: { name: "f" } },
    },
    { messages: "x", tools: 7, tool_choice: 7, system: "", stop_sequences: 7, stop: ["a"] },
  ];
  for (const body of bodies) t.equal(plainChat(body), body, JSON.stringify(body));
});

t.test("pieces of other dialects become those of chat completions", async (t) => {
  const cases: readonly (readonly [name: string, given: JsonObject, plain: JsonObject])[] = [
    [
      "choices",
      { tool_choice: { type: "tool", name: "f", disable_parallel_tool_use: true } },
      { tool_choice: { type: "function", function: { name: "f" } }, parallel_tool_calls: false },
    ],
    [
      "a choice of the Responses API",
      { tool_choice: { type: "custom", name: "f" } },
      { tool_choice: { type: "custom", custom: { name: "f" } } },
    ],
    ["a simple choice", { tool_choice: { type: "none" } }, { tool_choice: "none" }],
    [
      "a system prompt",
      { system: "s", stop_sequences: ["a"], messages: [user] },
      { messages: [{ role: "system", content: "s" }, user], stop: ["a"] },
    ],
    [
      "marks of a part",
      {
        messages: [
          {
            role: "user",
            content: [
              { type: "input_text", text: "t", cache_control: { type: "ephemeral" } },
              { type: "input_image", image_url: { url: "u" } },
            ],
          },
        ],
      },
      {
        messages: [
          {
            role: "user",
            content: [
              { type: "text", text: "t", cache_control: { type: "ephemeral" } },
              { type: "image_url", image_url: { url: "u" } },
            ],
          },
        ],
      },
    ],
    [
      "documents",
      {
        messages: [
          {
            role: "user",
            content: [
              { type: "document", source: { type: "url", url: "https://a.example" } },
              { type: "document", title: "t", source: { type: "text", data: "a" } },
              { type: "document", source: { type: "file", file_id: "f" } },
            ],
          },
        ],
      },
      {
        messages: [
          {
            role: "user",
            content: [
              { type: "file", file: { file_url: "https://a.example" } },
              { type: "file", file: { filename: "t", file_data: "data:text/plain;base64,YQ==" } },
              { type: "document", source: { type: "file", file_id: "f" } },
            ],
          },
        ],
      },
    ],
    [
      "calls beside the same calls",
      {
        messages: [
          {
            role: "assistant",
            content: [
              { type: "tool_use", id: "a", name: "f", input: {} },
              { type: "tool_use", id: "b", name: "g", input: { n: 1 } },
              { type: "thinking", thinking: "why", signature: "" },
            ],
            tool_calls: [call],
          },
        ],
      },
      {
        messages: [
          {
            role: "assistant",
            content: null,
            tool_calls: [
              call,
              { id: "b", type: "function", function: { name: "g", arguments: '{"n":1}' } },
            ],
            reasoning_content: "why",
          },
        ],
      },
    ],
    [
      "results",
      {
        messages: [
          {
            role: "user",
            content: [
              { type: "text", text: "t" },
              { type: "tool_result", tool_use_id: "a" },
              { type: "tool_result", tool_use_id: "b", content: "no", is_error: true },
            ],
          },
        ],
      },
      {
        messages: [
          { role: "tool", tool_call_id: "a", content: "" },
          { role: "tool", tool_call_id: "b", content: "Error: no" },
          { role: "user", content: [{ type: "text", text: "t" }] },
        ],
      },
    ],
  ];
  for (const [name, given, plain] of cases) t.strictSame(plainChat(given), plain, name);
});

t.test("names from the request change no object of the program", async (t) => {
  const evil = JSON.parse(
    '{"__proto__":{"a":1},"system":"s","tools":[{"name":"f","input_schema":{"__proto__":{"a":1}}}],"messages":[{"role":"tool","content":{"__proto__":{"a":1}}},{"__proto__":{"a":1},"role":"user","content":[{"type":"input_file","__proto__":{"a":1}}]}]}',
  ) as JsonObject;
  const plain = plainChat(evil);
  t.equal(({} as JsonObject)["a"], undefined);
  t.equal(Object.getPrototypeOf(plain), Object.prototype);
  const [system, result, prompt] = plain["messages"] as readonly JsonObject[];
  t.match(system, { role: "system", content: "s" });
  t.match(result, { content: '{"__proto__":{"a":1}}' });
  t.match(prompt, { role: "user" });
});

t.test("a list of Mistral's thinking stays for hosts of chat completions alone", async (t) => {
  const text = { type: "text", text: "4" };
  const thinking = { type: "thinking", thinking: [{ type: "text", text: "2+2" }], closed: true };
  const messages = [user, { role: "assistant", content: [thinking, text] }];
  const body = { model: "m", messages };
  t.strictSame(plainChat(body, true), body);
  t.strictSame(plainChat(body), {
    model: "m",
    messages: [user, { role: "assistant", content: [text], reasoning_content: "2+2" }],
  });
  const block = { type: "thinking", thinking: "3+3", signature: "" };
  const both = [{ role: "assistant", content: [thinking, block, text] }];
  t.strictSame(plainChat({ messages: both }, true), {
    messages: [{ role: "assistant", content: [thinking, text], reasoning_content: "3+3" }],
  });
});
