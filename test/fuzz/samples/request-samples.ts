/** Valid requests of every operation with a JSON body, with every field that the proxy reads. */
import type { JsonOperation } from "../../../proxy/body/model-body.js";
import {
  chatRequest,
  chatRequestAsMessages,
  messagesRequest,
  messagesRequestAsChat,
} from "../../proxy/dialects/sample-requests.js";

export interface RequestSample {
  readonly operation: JsonOperation;
  readonly body: Readonly<Record<string, unknown>>;
}

const schema = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false,
};

const responsesRequest = {
  model: "smart",
  instructions: "Answer in French.",
  input: [
    { role: "developer", content: "Be brief." },
    {
      type: "message",
      role: "user",
      content: [
        { type: "input_text", text: "What is this?" },
        { type: "input_image", image_url: "data:image/png;base64,AA", detail: "low" },
        { type: "input_file", filename: "a.pdf", file_data: "data:application/pdf;base64,AA" },
      ],
    },
    {
      type: "reasoning",
      id: "rs_1",
      summary: [{ type: "summary_text", text: "a cat" }],
      encrypted_content: "x",
    },
    {
      type: "message",
      id: "msg_1",
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text: "Let me look.", annotations: [], logprobs: [] }],
    },
    {
      type: "function_call",
      id: "fc_1",
      call_id: "call_1__signed__cw",
      name: "weather",
      arguments: '{"city":"Lyon","id":12345678901234567890}',
      status: "completed",
    },
    { type: "custom_tool_call", call_id: "call_2", name: "shell", input: "ls" },
    { type: "function_call_output", call_id: "call_1__signed__cw", output: "rain" },
    {
      type: "custom_tool_call_output",
      call_id: "call_2",
      output: [
        { type: "input_text", text: "a" },
        { type: "input_text", text: "b" },
      ],
    },
    { role: "user", content: [{ type: "input_text", text: "And now?" }] },
  ],
  tools: [
    {
      type: "function",
      name: "weather",
      description: "of a city",
      parameters: schema,
      strict: true,
    },
    { type: "function", name: "clock", parameters: null, strict: null },
    { type: "custom", name: "shell", description: "runs a line" },
  ],
  tool_choice: "required",
  parallel_tool_calls: false,
  text: {
    format: { type: "json_schema", name: "cat", schema, description: "a cat", strict: true },
    verbosity: "low",
  },
  reasoning: { effort: "high", summary: "auto" },
  include: ["message.output_text.logprobs", "reasoning.encrypted_content"],
  top_logprobs: 3,
  max_output_tokens: 500,
  temperature: 0.5,
  top_p: 0.9,
  store: false,
  background: false,
  truncation: "disabled",
  metadata: { run: "7" },
  user: "u",
  service_tier: "flex",
  stream: true,
  stream_options: { include_obfuscation: false },
  previous_response_id: null,
  conversation: null,
};

/** With what the rewriters look for. */
const wordyChat = {
  model: "smart",
  messages: [
    { role: "system", content: "Be  brief.\n\n\n\nAnd kind.   \n" },
    { role: "system", content: "Be  brief.\n\n\n\nAnd kind.   \n" },
    { role: "user", content: "Look:\n\n```js\nlet  a;\n\n\n```\n\n| a |  b |\n|---|---|\n- x\n" },
    { role: "assistant", tool_calls: [] },
    { role: "tool", tool_call_id: "1", content: '{ "a": 1,\n  "b": [ 1, 2 ] }' },
  ],
};

/** Turns of one role that become one, and several results at once. */
const listedChat = {
  model: "smart",
  messages: [
    { role: "user", content: "a" },
    { role: "user", content: [{ type: "text", text: "b" }] },
  ],
};
const listedMessages = {
  model: "smart",
  max_tokens: 5,
  messages: [
    { role: "user", content: "a" },
    { role: "assistant", content: [{ type: "tool_use", id: "t", name: "f", input: {} }] },
    {
      role: "user",
      content: [{ type: "tool_result", tool_use_id: "t", content: [{ type: "text", text: "c" }] }],
    },
  ],
};

const plain = { model: "smart", messages: [{ role: "user", content: "hi" }] };

/** Of Gemini's own API; the model is usually in the path. */
const googleRequest = {
  model: "smart",
  systemInstruction: { parts: [{ text: "be brief" }] },
  contents: [
    {
      role: "user",
      parts: [{ text: "look" }, { inline_data: { mime_type: "image/png", data: "AAAA" } }],
    },
    {
      role: "model",
      parts: [
        { text: "hm", thought: true },
        { functionCall: { id: "a", name: "f.x", args: { n: 1 } }, thoughtSignature: "CvcB" },
        { functionCall: { name: "g" } },
      ],
    },
    {
      role: "function",
      parts: [
        { functionResponse: { name: "g", response: { error: "no" } } },
        {
          functionResponse: {
            id: "a",
            name: "f.x",
            response: { output: "yes" },
            parts: [{ inlineData: { mimeType: "image/png", data: "AAAA" } }],
          },
        },
      ],
    },
  ],
  tools: [
    {
      functionDeclarations: [
        {
          name: "f.x",
          parameters: {
            type: "OBJECT",
            properties: { n: { type: "INTEGER", nullable: true, minimum: 0 } },
          },
        },
        { name: "g", parametersJsonSchema: { type: "object" } },
      ],
    },
    { googleSearch: {} },
  ],
  toolConfig: { functionCallingConfig: { mode: "ANY", allowedFunctionNames: ["g"] } },
  generationConfig: {
    temperature: 0.5,
    maxOutputTokens: 100,
    stopSequences: ["x"],
    responseMimeType: "application/json",
    responseSchema: { type: "ARRAY", items: { type: "STRING" }, minItems: "1" },
    thinkingConfig: { includeThoughts: true, thinkingBudget: 100 },
  },
};

export const requestSamples: readonly RequestSample[] = [
  { operation: "chat_completions", body: chatRequest },
  { operation: "chat_completions", body: messagesRequestAsChat },
  { operation: "chat_completions", body: wordyChat },
  { operation: "chat_completions", body: { ...plain, stream: true } },
  { operation: "chat_completions", body: listedChat },
  { operation: "messages", body: listedMessages },
  { operation: "messages", body: chatRequestAsMessages },
  { operation: "messages", body: messagesRequest },
  { operation: "messages", body: { ...plain, max_tokens: 5, stream: true } },
  { operation: "responses", body: responsesRequest },
  { operation: "responses", body: responsesRequest },
  { operation: "responses", body: { model: "smart", input: "hi", stream: true } },
  { operation: "generate_content", body: googleRequest },
  { operation: "stream_generate_content", body: googleRequest },
  { operation: "count_content_tokens", body: { generateContentRequest: googleRequest } },
  { operation: "interactions", body: { model: "smart", input: "hi", stream: true } },
  { operation: "count_tokens", body: messagesRequest },
  { operation: "embeddings", body: { model: "smart", input: ["a", "b"], dimensions: 8 } },
  { operation: "speech", body: { model: "smart", input: "hi", voice: "alloy", stream: true } },
  { operation: "completions", body: { model: "smart", prompt: ["a", "b"], stream: true } },
  { operation: "compact", body: responsesRequest },
  { operation: "input_tokens", body: responsesRequest },
  { operation: "moderations", body: { input: "hi" } },
  { operation: "rerank", body: { model: "smart", query: "a", documents: ["b", { text: "c" }] } },
  { operation: "images", body: { model: "smart", prompt: "a cat", n: 1, stream: false } },
];
