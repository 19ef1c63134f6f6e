/** Reports of Claude 5 and 5.5, GPT-5.6 and GPT-6, and of what agents send them. */
import { exactly } from "../support/patterns/exactly.js";
import type { OutsideCase, ProviderAnswer, Sent } from "./outside-case.js";
import {
  chat,
  chatTool,
  google,
  messageOf,
  messages,
  noArguments,
  responses,
  user,
} from "./requests.js";

const opus5 = "anthropic/claude-opus-5";
const opus55 = "anthropic/claude-opus-5-5";
const astra = "openai/gpt-6-astra";
const sol = "openai/gpt-5.6-sol";
const off = { thinking: { type: "disabled" } };
const tools = [{ name: "f", input_schema: noArguments }];

/** Refuses the first request. */
function refusingOnce(message: string): (sent: readonly Sent[]) => ProviderAnswer {
  const refused = { type: "error", error: { type: "invalid_request_error", message } };
  return ({ length }) =>
    length === 1 ? { status: 400, body: refused } : messageOf([{ type: "text", text: "hello" }]);
}

const thought = { type: "thinking", thinking: "hm", signature: "EqQBCkYIBhgCKkDj7w9signed" };
const thinking = [
  user("x"),
  {
    role: "assistant",
    content: [thought, { type: "tool_use", id: "toolu_1", name: "f", input: {} }],
  },
  user([{ type: "tool_result", tool_use_id: "toolu_1", content: "r" }]),
];

/** A conversation with a call that another provider made. */
const called = [
  { role: "user", parts: [{ text: "x" }] },
  {
    role: "model",
    parts: [{ functionCall: { name: "f", args: {} }, thoughtSignature: "c2lnbmVk" }],
  },
  { role: "user", parts: [{ functionResponse: { name: "f", response: {} } }] },
];

export const modelReports: readonly OutsideCase[] = [
  {
    id: "no-reasoning-at-opus-5-5",
    kind: "thinking",
    source: ["NousResearch/hermes-agent#120069", "androoAGI/starnet#32", "stdapi-ai/stdapi.ai#284"],
    request: chat({ model: opus55, reasoning_effort: "none" }),
    right: "Opus 5.5 always thinks and refuses thinking that is disabled: the header says so",
    lacks: ["thinking"],
    dropped: "thinking",
  },
  {
    id: "no-reasoning-at-sonnet-5-5",
    kind: "thinking",
    source: ["Anthropic: Claude Sonnet 5.5 migration guide"],
    request: chat({ model: "anthropic/claude-sonnet-5-5", reasoning_effort: "none" }),
    right: "Sonnet 5.5 thinks by default; between_tools turns that off, disabled is refused",
    sends: { thinking: { type: "between_tools" } },
  },
  {
    id: "no-reasoning-at-opus-5",
    kind: "thinking",
    source: ["elgorro/aiquila#410"],
    request: chat({ model: opus5, reasoning_effort: "none" }),
    right: "Opus 5 thinks unless thinking is disabled",
    sends: { thinking: { type: "disabled" } },
  },
  {
    id: "no-thinking-beside-a-high-effort",
    kind: "thinking",
    source: ["elgorro/aiquila#410"],
    request: messages({ model: "opus", ...off, output_config: { effort: "xhigh" } }),
    right: "without thinking, Opus 5 refuses efforts above high",
    sends: { ...off, output_config: { effort: "high" } },
  },
  {
    id: "forced-call-at-opus-5-5",
    kind: "tool choice",
    source: ["can1357/oh-my-pi#12939", "BerriAI/litellm#42721"],
    request: chat({ model: opus55, tools: [chatTool("f")], tool_choice: "required" }),
    right: "Opus 5.5 refuses forced calls",
    sends: { tool_choice: { type: "auto" } },
    dropped: "tool_choice",
  },
  {
    id: "no-reasoning-at-gpt-6-astra",
    kind: "fields by model",
    source: ["dcdpr/jp#1086", "coder/coder#28955", "UKGovernmentBEIS/inspect_ai#5254"],
    request: messages({ model: astra, ...off, temperature: 0.2 }),
    right: "GPT-6 Astra always reasons: it has no effort none, and takes no temperature",
    lacks: ["reasoning_effort", "temperature"],
    dropped: "reasoning_effort",
  },
  {
    id: "tools-at-gpt-6-astra",
    kind: "tools",
    source: ["bolna-ai/bolna#1019", "docker/docker-agent#4165"],
    request: messages({ model: astra, ...off, tools }),
    right: "GPT-6 Astra takes tools in the Responses API alone, at every effort",
    check: (t, { sent }) => t.match(sent.at(-1)!.path, /\/responses$/),
  },
  {
    id: "tools-at-gpt-6-sol",
    kind: "tools",
    source: ["onyx-dot-app/onyx#15008"],
    request: chat({
      model: "openai/gpt-6-sol",
      tools: [chatTool("f")],
      reasoning_effort: "high",
    }),
    result: "passed",
    right: "GPT-6 Sol takes tools with an effort in the Responses API",
    check: (t, { sent }) => t.match(sent.at(-1)!.path, /\/responses$/),
  },
  {
    id: "highest-effort-in-responses",
    kind: "fields by model",
    source: ["experientiallabs/experiential#764", "aebrer/dreb#481"],
    request: messages({ model: sol, output_config: { effort: "max" }, tools }),
    right: "GPT-5.6 takes the effort max in the Responses API",
    sends: { reasoning: { effort: "max" } },
  },
  {
    id: "highest-effort-in-chat",
    kind: "fields by model",
    source: ["BerriAI/litellm-docs#1173", "mnfst/modelparams.dev#236"],
    request: messages({ model: sol, output_config: { effort: "max" } }),
    result: "passed",
    right: "chat completions take the efforts up to xhigh",
    sends: { reasoning_effort: "xhigh" },
  },
  {
    id: "safeguards",
    kind: "fields by host",
    source: ["decolua/9router#4190"],
    request: {
      ...messages({ model: "openrouter/anthropic/claude-opus-4.8", safeguards: {} }),
      headers: { "anthropic-version": "2023-06-01" },
    },
    status: 400,
    result:
      "decided: a client that is refused safeguards runs a safety check of its own, as Anthropic's page on gateways says",
    right: "the refusal reaches Claude Code, with the field's name",
    receives: { error: { message: /^safeguards: / } },
  },
  ...[
    [
      "thinking-of-another-conversation",
      "Anthropic: Preserved thinking",
      "messages.1.content.0: The block is bound to a different conversation.",
    ],
    [
      "thinking-that-was-modified",
      "anthropics/claude-code#63231",
      "messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.",
    ],
  ].map(
    ([id, source, message]): OutsideCase => ({
      id: id!,
      kind: "thinking",
      source: [source!],
      request: messages({ model: opus5, messages: thinking, tools }),
      answer: refusingOnce(message!),
      right: "once more without the thinking, so that the session goes on",
      check(t, { sent }) {
        t.equal(sent.length, 2);
        t.notMatch(sent.at(-1)!.text, /"thinking"/);
      },
    }),
  ),
  {
    id: "tools-of-codex",
    kind: "tools",
    source: ["CommandCodeAI/command-code#885", "QuantumNous/new-api#7192"],
    request: responses({
      model: "vllm/qwen3-coder",
      tools: [
        { type: "function", name: "f", parameters: noArguments, strict: false },
        { type: "custom", name: "apply_patch", format: { type: "text" } },
        { type: "web_search", external_web_access: false },
        { type: "namespace", name: "n", description: "d", tools: [] },
      ],
    }),
    result: "passed",
    right: "a chat provider gets Codex's tools as functions, and none that it doesn't run",
    check(t, { sent }) {
      const sentTools = sent.at(-1)!.body["tools"] as readonly object[];
      t.match(
        sentTools,
        exactly([{ function: { name: "f" } }, { function: { name: "apply_patch" } }]),
      );
    },
  },
  {
    id: "search-of-claude-code-at-responses",
    kind: "tools",
    source: ["diegosouzapw/OmniRoute#2695"],
    request: messages({
      model: "openai/gpt-5.5",
      tools: [...tools, { type: "web_search_20250305", name: "web_search", max_uses: 8 }],
    }),
    result: "passed",
    right: "a search that Anthropic runs never becomes a function that nothing runs",
    dropped: "tools",
    check(t, { sent }) {
      t.notMatch(sent.at(-1)!.text, /web_search/);
    },
  },
  {
    id: "version-given-once",
    kind: "HTTP",
    source: ["diegosouzapw/OmniRoute#1454"],
    request: { ...messages({ model: opus5 }), headers: { "anthropic-version": "2023-06-01" } },
    result: "passed",
    right: "the client's anthropic-version isn't sent twice",
    check: (t, { sent }) => t.equal(sent.at(-1)!.headers["anthropic-version"], "2023-06-01"),
  },
  {
    id: "calls-of-others-at-openrouter",
    kind: "thinking",
    source: ["RooCodeInc/Roo-Code#10640", "massgen/MassGen#624", "jeremychone/rust-genai#115"],
    request: google("openrouter/google/gemini-3-pro-preview", {
      contents: called,
      tools: [{ functionDeclarations: [{ name: "f" }] }],
    }),
    right: "a call that OpenRouter hasn't signed has Google's value for calls of other models",
    check(t, { sent }) {
      const { messages: turns } = sent.at(-1)!.body as { messages: Record<string, unknown>[] };
      t.match(
        turns[1]!["reasoning_details"],
        exactly([
          {
            type: "reasoning.encrypted",
            data: "skip_thought_signature_validator",
            format: "google-gemini-v1",
          },
        ]),
      );
    },
  },
];
