import t from "tap";
import { responsesToChat } from "../../../../proxy/dialects/choose-dialect.js";
import { exactly } from "../../../support/patterns/exactly.js";
import { options } from "../request-options.js";
import { refusal, refusalWith, translated } from "./translate-responses-request.js";

const image = { type: "input_image", image_url: "https://x/y.png" };

t.test("one turn of the assistant becomes one message", async (t) => {
  const call = (id: string) => ({
    type: "function_call",
    call_id: id,
    name: "clock",
    arguments: "{}",
  });
  const chatCall = (id: string) => ({
    id,
    type: "function",
    function: { name: "clock", arguments: "{}" },
  });
  const output = (id: string) => ({ type: "function_call_output", call_id: id, output: "noon" });
  const chatOutput = (id: string) => ({ role: "tool", content: "noon", tool_call_id: id });
  const says = (content: unknown) => ({ role: "assistant", content });
  const cases: readonly (readonly [string, readonly object[], readonly object[]])[] = [
    [
      "calls in parallel",
      [call("a"), call("b"), output("a"), output("b")],
      [
        { role: "assistant", content: null, tool_calls: [chatCall("a"), chatCall("b")] },
        chatOutput("a"),
        chatOutput("b"),
      ],
    ],
    [
      "calls one after the other",
      [call("a"), output("a"), call("b"), output("b")],
      [
        { role: "assistant", content: null, tool_calls: [chatCall("a")] },
        chatOutput("a"),
        { role: "assistant", content: null, tool_calls: [chatCall("b")] },
        chatOutput("b"),
      ],
    ],
    [
      "a call that Gemini has signed",
      [call("a__signed__YSsvPT0"), output("a__signed__YSsvPT0")],
      [
        {
          role: "assistant",
          content: null,
          tool_calls: [
            { ...chatCall("a"), extra_content: { google: { thought_signature: "a+/==" } } },
          ],
        },
        chatOutput("a"),
      ],
    ],
    [
      "pictures and files that tools gave, behind all outputs of the turn",
      [
        call("a"),
        call("b"),
        { ...output("a"), output: [image] },
        {
          ...output("b"),
          output: [
            { type: "input_text", text: "noon" },
            { type: "input_file", file_id: "f" },
          ],
        },
        says("fine"),
      ],
      [
        { role: "assistant", content: null, tool_calls: [chatCall("a"), chatCall("b")] },
        {
          role: "tool",
          content: "The result is in the next message of the user.",
          tool_call_id: "a",
        },
        chatOutput("b"),
        {
          role: "user",
          content: [
            { type: "text", text: "Part of the result of the tool call a:" },
            { type: "image_url", image_url: { url: "https://x/y.png" } },
            { type: "text", text: "Part of the result of the tool call b:" },
            { type: "file", file: { file_id: "f" } },
          ],
        },
        says("fine"),
      ],
    ],
    [
      "text before a call",
      [says("one"), says("two"), call("a"), output("a")],
      [
        says("one"),
        { role: "assistant", content: "two", tool_calls: [chatCall("a")] },
        chatOutput("a"),
      ],
    ],
    [
      "text behind a call",
      [call("a"), says("one"), output("a")],
      [{ role: "assistant", content: "one", tool_calls: [chatCall("a")] }, chatOutput("a")],
    ],
    [
      "text on both sides",
      [says("one"), call("a"), says([{ type: "refusal", refusal: "no" }]), output("a")],
      [
        {
          role: "assistant",
          content: [
            { type: "text", text: "one" },
            { type: "refusal", refusal: "no" },
          ],
          tool_calls: [chatCall("a")],
        },
        chatOutput("a"),
      ],
    ],
    ["no text at all", [says([])], [says("")]],
  ];
  for (const [name, input, messages] of cases)
    t.strictSame(translated({ model: "m", input })["messages"], messages, name);
});

t.test(
  "a reference to an item in the input is left out, one to reasoning with a word",
  async (t) => {
    const said = { type: "message", role: "user", id: "msg_1", content: "hi" };
    const result = responsesToChat.request(
      {
        model: "m",
        input: [
          { type: "item_reference", id: "rs_1" },
          { type: "item_reference", id: "msg_1" },
          { id: "rs_2" },
          said,
        ],
      },
      options,
    );
    t.match(
      result,
      exactly({
        body: { messages: [{ role: "user", content: "hi" }] },
        dropped: ["input[] (reference to reasoning)"],
      }),
    );
  },
);

t.test("a type or a role that is null is one that isn't there", async (t) => {
  t.match(
    translated({ model: "m", input: [{ type: null, role: "user", content: "hi" }] }),
    exactly({
      messages: [{ role: "user", content: "hi" }],
    }),
  );
  t.match(
    refusalWith({ input: [{ type: null, role: null, id: "msg_1" }] }),
    /^input\[0\] refers to a stored item/,
  );
});

const user = (...content: unknown[]) => ({ input: [{ role: "user", content }] });

t.test("unsupported and invalid items and parts are a 400 that names the field", async (t) => {
  const cases: readonly (readonly [object, string])[] = [
    [{ input: undefined }, "input is required"],
    [{ input: null }, "input is required"],
    [{ input: [] }, "input must not be empty"],
    [
      { instructions: "Say something.", input: [{ type: "reasoning", id: "rs_1", summary: [] }] },
      "input must not be empty",
    ],
    [{ input: 7 }, "input must be a string or an array, not 7"],
    [{ input: ["hi"] }, "input[0] must be an object, not a string"],
    [{ instructions: ["be nice"] }, "instructions must be a string, not an array"],
    [
      { input: [{ type: "item_reference", id: "msg_1" }] },
      "input[0] refers to a stored item, and no items are stored: send the item itself, as SDKs do with store: false",
    ],
    [
      { input: [{ id: "msg_1" }] },
      "input[0] refers to a stored item, and no items are stored: send the item itself, as SDKs do with store: false",
    ],
    [
      { input: [{ role: "tool", content: "x" }] },
      'input[0].role must be one of system, developer, user, assistant, not "tool"',
    ],
    [
      { input: [{ type: "message", content: "x" }] },
      "input[0].role must be one of system, developer, user, assistant, not nothing",
    ],
    [{ input: [{ role: "user", content: "x", name: "Al" }] }, "input[0].name is not known"],
    [{ input: [{ role: "user" }] }, "input[0].content is required"],
    [
      { input: [{ role: "user", content: 1 }] },
      "input[0].content must be a string or an array, not 1",
    ],
    [user("x"), "input[0].content[0] must be an object, not a string"],
    [user({ text: "x" }), "input[0].content[0].type is required"],
    [
      user({ type: "tool_use", text: "x" }),
      'input[0].content[0].type must be one of input_text, output_text, text, image_url, refusal, input_image, input_file, input_audio, not "tool_use"',
    ],
    [user({ type: "input_text" }), "input[0].content[0].text is required"],
    [user({ type: "input_text", text: "x", lang: "fr" }), "input[0].content[0].lang is not known"],
    [
      user({ type: "refusal", refusal: "no" }),
      `input[0].content[0] can't be passed on: this provider only has chat completions, where a message of the role user can't hold "refusal"`,
    ],
    [
      user({ type: "input_image", file_id: "file_1" }),
      "input[0].content[0].file_id can't be passed on: chat completions take an image by image_url only",
    ],
    [user({ type: "input_image" }), "input[0].content[0].image_url is required"],
    [
      user({ ...image, detail: "huge" }),
      'input[0].content[0].detail must be auto, low, high, original, not "huge"',
    ],
    [
      user({ type: "input_file", file_url: "https://x/y.pdf" }),
      "input[0].content[0].file_url can't be passed on: chat completions take a file by file_data or file_id only",
    ],
    [
      user({ type: "input_file", file_data: "x", detail: "high" }),
      "input[0].content[0].detail can't be passed on: chat completions have no such field for files",
    ],
    [
      user({ type: "input_file", filename: "x" }),
      "input[0].content[0].file_data or file_id is required",
    ],
    [
      { input: [{ role: "developer", content: [image] }] },
      `input[0].content[0] can't be passed on: this provider only has chat completions, where a message of the role system can't hold "input_image"`,
    ],
    [
      { input: [{ role: "assistant", content: [image] }] },
      `input[0].content[0] can't be passed on: this provider only has chat completions, where a message of the role assistant can't hold "input_image"`,
    ],
    [
      {
        input: [
          {
            type: "function_call_output",
            call_id: "c",
            output: [{ type: "input_audio", input_audio: {} }],
          },
        ],
      },
      `input[0].output[0] can't be passed on: this provider only has chat completions, where a tool output can't hold "input_audio"`,
    ],
    [{ input: [{ type: "function_call_output", output: "x" }] }, "input[0].call_id is required"],
    [
      { input: [{ type: "function_call", call_id: "c", name: "f", arguments: {} }] },
      "input[0].arguments must be a string, not an object",
    ],
    [
      {
        input: [
          {
            type: "function_call",
            call_id: "c",
            name: "f",
            arguments: "{}",
            caller: { type: "program", caller_id: "p" },
          },
        ],
      },
      "input[0].caller can't be passed on: in chat completions only the model calls tools",
    ],
    [
      { input: [{ type: "custom_tool_call", call_id: "c", name: "f" }] },
      "input[0].input is required",
    ],
    ...[
      "web_search_call",
      "file_search_call",
      "computer_call",
      "computer_call_output",
      "code_interpreter_call",
      "image_generation_call",
      "mcp_call",
      "mcp_approval_response",
      "computer_call",
      "toString",
    ].map(
      (type) =>
        [
          { input: [{ role: "user", content: "x" }, { type }] },
          `input[1].type can't be passed on: chat completions have no "${type}"`,
        ] as const,
    ),
  ];
  for (const [fields, expected] of cases) t.equal(refusalWith(fields), expected);
});

t.test("of several errors in the input the first one is reported", async (t) => {
  t.equal(
    refusal({
      model: "m",
      input: [{ role: "user", content: 1 }, { type: "nope" }],
      tools: [{ type: "mcp" }],
      nope: 1,
    }),
    "input[0].content must be a string or an array, not 1",
  );
});

t.test("calls of the tools of OpenAI's agents become calls of functions", async (t) => {
  const exec = { type: "exec", command: ["ls"], env: {} };
  const patch = { type: "delete_file", path: "a" };
  const wrote = [{ stdout: "a\n", stderr: "", outcome: { type: "exit", exit_code: 0 } }];
  const input = [
    { role: "user", content: "go" },
    { type: "local_shell_call", id: "lsh_1", call_id: "c1", status: "completed", action: exec },
    { type: "local_shell_call_output", id: "c1", output: "a" },
    { type: "shell_call", call_id: "c2", action: { commands: ["ls"] } },
    { type: "shell_call_output", call_id: "c2", max_output_length: 9, output: wrote },
    { type: "apply_patch_call", call_id: "c3", status: "completed", operation: patch },
    { type: "apply_patch_call_output", call_id: "c3", status: "completed" },
  ];
  const call = (id: string, name: string, args: unknown): object => ({
    role: "assistant",
    content: null,
    tool_calls: [{ id, type: "function", function: { name, arguments: JSON.stringify(args) } }],
  });
  const result = (id: string, content: string): object => ({
    role: "tool",
    content,
    tool_call_id: id,
  });
  t.same(translated({ input })["messages"], [
    { role: "user", content: "go" },
    call("c1", "local_shell", exec),
    result("c1", "a"),
    call("c2", "shell", { commands: ["ls"] }),
    result("c2", JSON.stringify(wrote)),
    call("c3", "apply_patch", patch),
    result("c3", ""),
  ]);
});

t.test("of a compacted conversation the model learns that it can't read the summary", async (t) => {
  const input = [
    { role: "user", content: "go" },
    { type: "compaction", id: "cmp_1", encrypted_content: "gAAA" },
  ];
  const request = responsesToChat.request({ model: "m", input }, { ...options, isStrict: false });
  const messages = [{ role: "user" }, { role: "system", content: /compacted by another/ }];
  t.match(request, exactly({ dropped: ["input[] (compaction)"], body: { messages } }));
});

t.test("items of the input change the request's settings", async (t) => {
  const update = (more: object) => ({ type: "configuration_update", ...more });
  const format = { type: "json_schema", name: "n", schema: { type: "object" } };
  const body = {
    model: "m",
    reasoning: { effort: "low", summary: "auto" },
    input: [
      update({ reasoning: { effort: "medium" } }),
      { role: "user", content: "x" },
      update({ reasoning: { effort: "high" }, text: { format } }),
    ],
  };
  t.match(
    responsesToChat.request(body, options),
    exactly({
      ok: true,
      dropped: [],
      body: {
        messages: [{ role: "user", content: "x" }],
        reasoning_effort: "high",
        response_format: { type: "json_schema", json_schema: { name: "n" } },
      },
    }),
  );
  t.match(responsesToChat.echoSource!(body), {
    reasoning: { effort: "high", summary: "auto" },
    text: { format },
  });
  const wrong = { ...body, input: ["x", update({ reasoning: "high" })] };
  t.match(responsesToChat.request(wrong, options), {
    ok: false,
    failure: { param: /^(?:reasoning|input\[0\])/ },
  });
});
