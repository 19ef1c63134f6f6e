/** Reports about what messages contain: documents, images, sound, thinking, citations, turns. */
import { exactly } from "../support/patterns/exactly.js";
import type { OutsideCase, Seen } from "./outside-case.js";
import {
  chat,
  chatCall,
  chatTool,
  chunk,
  completionOf,
  done,
  events,
  google,
  messageEvents,
  messageOf,
  messages,
  noArguments,
  outputText,
  responseOf,
  responses,
  streamedText,
  usageChunk,
  user,
} from "./requests.js";

const vllm = "vllm/qwen3-coder";
const claude = "anthropic/claude-sonnet-4-5";
const base64 = (text: string): string => Buffer.from(text).toString("base64");
const dataUrl = (type: string, text: string): string => `data:${type};base64,${base64(text)}`;
const table = "a,b\n1,2";

const sentText = ({ sent }: Seen): string => sent.at(-1)!.text;
const turnsOf = ({ sent }: Seen): { role: string; content: unknown }[] =>
  sent.at(-1)!.body["messages"] as { role: string; content: unknown }[];

const documents = "documents";
const citations = "citations";
const cited = {
  type: "url_citation",
  url_citation: { url: "https://example.com/a", title: "A", start_index: 3, end_index: 5 },
};
const citedFlat = {
  type: "url_citation",
  url: "https://example.com/a",
  title: "A",
  start_index: 3,
  end_index: 5,
};
const citedByClaude = {
  type: "web_search_result_location",
  url: "https://example.com/a",
  title: "A",
  cited_text: "the source",
  encrypted_index: "x",
};
const citingBlocks = [
  { type: "text", text: "so " },
  { type: "text", text: "it", citations: [citedByClaude] },
];
const citingTools = [chatTool("a")];

export const contentReports: readonly OutsideCase[] = [
  ...["text/csv", "text/markdown", "text/plain", "text/html", "application/json"].map(
    (type): OutsideCase => ({
      id: `document-at-claude-${type}`,
      kind: documents,
      source: [
        "laravel/ai#886",
        "anomalyco/opencode#34019",
        "simonw/llm#1163",
        "craft-ai-agents/craft-agents-oss#577",
      ],
      request: chat({
        model: claude,
        messages: [
          user([{ type: "file", file: { filename: "a.csv", file_data: dataUrl(type, table) } }]),
        ],
      }),
      ...(type === "text/plain" ? { result: "passed" as const } : {}),
      right: "a text of any type is a document of the type text/plain",
      sends: {
        messages: [
          {
            content: [
              {
                type: "document",
                source: { type: "text", media_type: "text/plain", data: table },
                title: "a.csv",
              },
            ],
          },
        ],
      },
    }),
  ),
  {
    id: "document-with-a-charset",
    kind: documents,
    source: ["vercel/ai#7399"],
    request: chat({
      model: claude,
      messages: [
        user([
          {
            type: "file",
            file: { filename: "a.txt", file_data: "data:text/plain;charset=utf-8,a%20b" },
          },
        ]),
      ],
    }),
    right: "a data URL may be percent-encoded",
    sends: { messages: [{ content: [{ source: { type: "text", data: "a b" } }] }] },
  },
  {
    id: "document-from-responses",
    kind: documents,
    source: ["laravel/ai#886"],
    request: responses({
      model: claude,
      input: [
        {
          role: "user",
          content: [
            { type: "input_file", filename: "a.md", file_data: dataUrl("text/markdown", "# a") },
          ],
        },
      ],
    }),
    right: "a Markdown file of a Responses client is a document of Claude's",
    sends: { messages: [{ content: [{ type: "document", source: { data: "# a" } }] }] },
  },
  {
    id: "document-from-google",
    kind: documents,
    source: ["laravel/ai#886"],
    request: google(claude, {
      contents: [
        { role: "user", parts: [{ inlineData: { mimeType: "text/csv", data: base64(table) } }] },
      ],
    }),
    result: "passed",
    right: "a table of a Gemini client is a document of Claude's",
    sends: { messages: [{ content: [{ type: "document", source: { data: table } }] }] },
  },
  {
    id: "text-document-in-chat",
    kind: documents,
    source: ["pydantic/pydantic-ai#2851", "Stack-Cairn/LiveAgent#726"],
    request: messages({
      model: "openai/gpt-4o",
      messages: [
        user([
          {
            type: "document",
            title: "a.md",
            source: { type: "text", media_type: "text/plain", data: "# a" },
          },
        ]),
      ],
    }),
    right: "chat completions take PDFs alone as files: a text is sent as a text, with its title",
    check(t, seen) {
      t.notMatch(sentText(seen), /file_data/);
      t.match(JSON.stringify(turnsOf(seen)[0]), /a\.md[\s\S]*# a/);
    },
  },
  {
    id: "text-file-in-chat-from-responses",
    kind: documents,
    source: ["pydantic/pydantic-ai#2851"],
    request: responses({
      model: vllm,
      input: [
        {
          role: "user",
          content: [
            { type: "input_file", filename: "a.csv", file_data: dataUrl("text/csv", table) },
          ],
        },
      ],
    }),
    right: "chat completions take PDFs alone as files",
    check(t, seen) {
      t.notMatch(sentText(seen), /file_data/);
      t.match(JSON.stringify(turnsOf(seen)[0]), /a\.csv[\s\S]*a,b/);
    },
  },
  {
    id: "image-at-an-address",
    kind: "images",
    source: ["softwaremill/sttp-ai#462"],
    request: messages({
      model: vllm,
      messages: [
        user([{ type: "image", source: { type: "url", url: "https://example.com/a.png" } }]),
      ],
    }),
    result: "passed",
    right: "an image's address is passed on",
    sends: {
      messages: [
        {
          content: [{ type: "image_url", image_url: { url: "https://example.com/a.png" } }],
        },
      ],
    },
  },
  ...(
    [
      ["audio/mpeg", "mp3"],
      ["audio/x-wav", "wav"],
      ["audio/wave", "wav"],
      ["audio/mpga", "mp3"],
    ] as const
  ).map(
    ([mimeType, format]): OutsideCase => ({
      id: `sound-${mimeType}`,
      kind: "sound",
      source: ["vercel/ai#12764", "OpenRouterTeam/ai-sdk-provider#241"],
      request: google(vllm, {
        contents: [{ role: "user", parts: [{ inlineData: { mimeType, data: "UklGRg==" } }] }],
      }),
      ...(mimeType !== "audio/mpga" ? { result: "passed" as const } : {}),
      right: `chat completions call ${mimeType} ${format}`,
      sends: {
        messages: [{ content: [{ type: "input_audio", input_audio: { format } }] }],
      },
    }),
  ),
  {
    id: "redacted-thinking-elsewhere",
    kind: "thinking",
    source: ["farion1231/cc-switch#1831", "anthony-chaudhary/fak#466"],
    request: messages({
      model: vllm,
      messages: [
        user("x"),
        {
          role: "assistant",
          content: [
            { type: "redacted_thinking", data: "x" },
            { type: "text", text: "hi" },
          ],
        },
        user("y"),
      ],
    }),
    result: "passed",
    right: "what only Anthropic can read is left out elsewhere",
    check(t, seen) {
      t.notMatch(sentText(seen), /redacted/);
      t.match(turnsOf(seen)[1], { role: "assistant", content: "hi" });
    },
  },
  {
    id: "thinking-after-calls-without-it",
    kind: "thinking",
    source: ["anomalyco/opencode#3077", "znlsl/Antigravity2Api#11"],
    request: chat({
      model: claude,
      reasoning_effort: "high",
      tools: [chatTool("a")],
      messages: [
        user("x"),
        { role: "assistant", content: null, tool_calls: [chatCall("c1", "a")] },
        { role: "tool", tool_call_id: "c1", content: "ok" },
      ],
    }),
    result: "passed",
    right: "Claude refuses thinking where the last calls came without it",
    check(t, { sent }) {
      const { thinking } = sent.at(-1)!.body as { thinking?: { type: string } };
      t.ok(thinking === undefined || thinking.type === "disabled");
    },
  },
  {
    id: "reasoning-under-another-name",
    kind: "thinking",
    source: ["router-for-me/CLIProxyAPI#3587"],
    request: messages({ model: vllm }),
    answer: completionOf({
      message: { role: "assistant", content: "hi", reasoning: "hm" },
      finish_reason: "stop",
    }),
    result: "passed",
    right: "OpenRouter's name for reasoning is known",
    receives: { content: [{ type: "thinking", thinking: "hm" }, { type: "text" }] },
  },
  {
    id: "no-thinking-at-opus-4-8",
    kind: "thinking",
    source: ["experientiallabs/experiential#658"],
    request: chat({ model: "anthropic/claude-opus-4-8", reasoning_effort: "none" }),
    right: "models that only think adaptively refuse thinking by name, also disabled",
    check(t, { sent }) {
      const { thinking } = sent.at(-1)!.body as { thinking?: { type: string } };
      t.ok(thinking === undefined || thinking.type === "adaptive");
    },
  },
  {
    id: "system-among-the-turns",
    kind: "turns",
    source: [
      "zai-org/GLM-5#74",
      "jwadow/kiro-gateway#255",
      "juspay/neurolink#1772",
      "EasyMetaAu/helm-api#166",
      "smg-project/smg#1795",
      "katanemo/plano#967",
      "tashfeenahmed/freellmapi#362",
    ],
    request: messages({
      model: "openai/gpt-4o",
      system: "be kind",
      messages: [
        user("x"),
        {
          role: "system",
          content: [{ type: "text", text: "be terse", cache_control: { type: "ephemeral" } }],
        },
      ],
    }),
    result: "passed",
    right: "a system message among the turns keeps its place",
    check(t, seen) {
      t.same(
        turnsOf(seen).map(({ role }) => role),
        ["system", "user", "system"],
      );
    },
  },
  {
    id: "system-last-at-gemini",
    kind: "turns",
    source: ["ericc-ch/copilot-api#273"],
    request: messages({
      model: "gemini/gemini-2.5-pro",
      messages: [user("x"), { role: "system", content: "be terse" }],
    }),
    result: "passed",
    right: "a system message at the end is never the assistant's",
    check(t, seen) {
      t.notMatch(JSON.stringify(turnsOf(seen)), /"assistant"/);
    },
  },
  {
    id: "empty-text-with-a-cache-mark",
    kind: "turns",
    source: [
      "anthropics/claude-code#50082",
      "vercel/eve#2753",
      "NousResearch/hermes-agent#1216",
      "experientiallabs/experiential#799",
      "BiFangKNT/mtga#68",
    ],
    request: chat({
      model: claude,
      tools: [chatTool("a")],
      messages: [
        user("x"),
        {
          role: "assistant",
          content: [{ type: "text", text: "", cache_control: { type: "ephemeral" } }],
          tool_calls: [chatCall("c1", "a")],
        },
        { role: "tool", tool_call_id: "c1", content: "" },
        user([
          { type: "text", text: " " },
          { type: "text", text: "y" },
        ]),
      ],
    }),
    result: "passed",
    right: "Anthropic refuses empty texts, and cache marks on them",
    check(t, seen) {
      t.notMatch(sentText(seen), /"text":" ?"/);
    },
  },
  {
    id: "empty-text-in-a-client's-own-request",
    kind: "turns",
    source: ["anthropics/claude-code#55302", "anthropics/claude-code#59812"],
    request: messages({ model: claude, messages: [user([{ type: "text", text: "" }])] }),
    result:
      "decided: a request in the provider's own dialect passes as it is, and the provider's 400 says what is wrong",
    right: "the bytes of a native request stay, and the provider's 400 comes back",
    status: 400,
  },
  {
    id: "citations-of-claude-in-chat",
    kind: citations,
    source: ["BerriAI/litellm#23691", "Portkey-AI/gateway#959"],
    request: chat({ model: claude }),
    answer: messageOf(citingBlocks),
    right: "a citation of an address is an annotation of the message",
    receives: { choices: [{ message: { content: "so it", annotations: [cited] } }] },
  },
  {
    id: "citations-of-claude-in-a-chat-stream",
    kind: citations,
    source: ["BerriAI/litellm#23691"],
    request: chat({ model: claude, stream: true }),
    events: events(
      messageEvents([
        streamedText("so "),
        {
          block: { type: "text", text: "" },
          deltas: [
            { type: "citations_delta", citation: citedByClaude },
            { type: "text_delta", text: "it" },
          ],
        },
      ]),
    ),
    right: "a citation is an annotation of a delta",
    check(t, { events }) {
      t.match(
        events.flatMap(
          ({ choices }) =>
            (choices as { delta: { annotations?: object[] } }[])[0]?.delta.annotations ?? [],
        ),
        exactly([cited]),
      );
    },
  },
  {
    id: "citations-of-claude-in-responses",
    kind: citations,
    source: ["BerriAI/litellm#23690"],
    request: responses({ model: claude }),
    answer: messageOf(citingBlocks),
    right: "a citation is an annotation of the text",
    receives: { output: [{ content: [{ text: "so it", annotations: [citedFlat] }] }] },
  },
  {
    id: "citations-of-responses-in-chat",
    kind: citations,
    source: ["BerriAI/litellm#18378", "BerriAI/litellm#18486"],
    request: chat({ model: "openai/gpt-5.5", tools: citingTools }),
    answer: responseOf([outputText("so it", [citedFlat])]),
    right: "annotations of a response are the message's",
    receives: { choices: [{ message: { annotations: [cited] } }] },
  },
  {
    id: "citations-of-chat-in-responses",
    kind: citations,
    source: ["openai/openai-agents-python#4222"],
    request: responses({ model: vllm }),
    answer: completionOf({
      message: { role: "assistant", content: "so it", annotations: [cited] },
      finish_reason: "stop",
    }),
    right: "annotations of a chat message are the text's",
    receives: { output: [{ content: [{ text: "so it", annotations: [citedFlat] }] }] },
  },
  {
    id: "citations-of-chat-in-a-responses-stream",
    kind: citations,
    source: ["openai/openai-agents-python#4222"],
    request: responses({ model: vllm, stream: true }),
    events: events([
      chunk({ role: "assistant", content: "so it" }),
      chunk({ annotations: [cited] }),
      chunk({}, {}, "stop"),
      usageChunk,
      done,
    ]),
    right: "annotations of a stream have their event, and are in the response",
    check(t, { events }) {
      t.match(
        events.find(({ type }) => type === "response.output_text.annotation.added"),
        { annotation: citedFlat, annotation_index: 0 },
      );
      t.match(
        events.at(-1),
        exactly({
          response: { output: [{ content: [{ annotations: [citedFlat] }] }] },
        }),
      );
    },
  },
  {
    id: "tools-of-google-without-parameters",
    kind: "turns",
    source: ["Gemini API: systemInstruction"],
    request: google(vllm, { system_instruction: { parts: [{ text: "be kind" }] } }),
    result: "passed",
    right: "system_instruction has no role, and may have underscores",
    sends: { messages: [{ role: "system", content: "be kind" }, { role: "user" }] },
  },
  {
    id: "empty-tools",
    kind: "turns",
    source: ["OpenAI: tools must not be an empty list"],
    request: messages({ model: "openai/gpt-4o", tools: [] }),
    result: "passed",
    right: "OpenAI refuses an empty list of tools",
    lacks: ["tools"],
  },
  {
    id: "schema-of-an-answer-with-definitions",
    kind: "schemas",
    source: ["anomalyco/opencode#12295"],
    request: chat({
      model: "anthropic/claude-opus-4-6",
      response_format: {
        type: "json_schema",
        json_schema: {
          name: "n",
          schema: {
            type: "object",
            properties: { q: { $ref: "#/$defs/Q" } },
            required: ["q"],
            additionalProperties: false,
            $defs: { Q: { ...noArguments, additionalProperties: false } },
          },
        },
      },
    }),
    result: "passed",
    right: "definitions stay beside what refers to them",
    check(t, seen) {
      t.match(sentText(seen), /"\$defs":\{"Q"/);
      t.match(sentText(seen), /"\$ref":"#\/\$defs\/Q"/);
    },
  },
];
