/** Conversations of agents in each dialect, with ids and cache markers that change by turn. */
import type { JsonOperation } from "../../proxy/body/model-body.js";
import type { ReportedTurn } from "../outside/loops.js";

const text = (type: string, words: string): object => ({ type, text: words });

export interface ConversationDialect {
  readonly operation: JsonOperation;
  /** Where its requests go, and what they need beside the conversation. */
  readonly path: string;
  readonly fields: Readonly<Record<string, unknown>>;
  /** The field with the conversation. */
  readonly list: string;
  /** Its beginning. */
  readonly first: object;
  /** The items of a turn; each turn has another id. */
  readonly turn: (turn: ReportedTurn, id: string) => readonly object[];
}

export const conversationDialects: readonly ConversationDialect[] = [
  {
    operation: "chat_completions",
    path: "/v1/chat/completions",
    fields: {},
    list: "messages",
    first: { role: "system", content: "Be brief." },
    turn(turn, id) {
      if ("said" in turn)
        return [
          { role: "assistant", content: turn.said },
          { role: "user", content: turn.reply },
        ];
      const { tool: name, args, result, beside } = turn;
      return [
        {
          role: "assistant",
          content: `Call ${id}.`,
          tool_calls: [
            { id, type: "function", function: { name, arguments: JSON.stringify(args) } },
          ],
        },
        {
          role: "tool",
          tool_call_id: id,
          content: id === "1" ? [{ ...text("text", result), cache_control: {} }] : result,
        },
        ...(beside === undefined ? [] : [{ role: "user", content: beside }]),
      ];
    },
  },
  {
    operation: "messages",
    path: "/v1/messages",
    fields: { max_tokens: 100 },
    list: "messages",
    first: { role: "user", content: "Do it." },
    turn(turn, id) {
      const marked = id === "1" ? { cache_control: { type: "ephemeral" } } : {};
      if ("said" in turn)
        return [
          {
            role: "assistant",
            content: [{ type: "thinking", thinking: id }, text("text", turn.said)],
          },
          { role: "user", content: [{ ...text("text", turn.reply), ...marked }] },
        ];
      const { tool: name, args: input, result, beside } = turn;
      return [
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: id, signature: id },
            text("text", `Call ${id}.`),
            { type: "tool_use", id, name, input, ...marked },
          ],
        },
        {
          role: "user",
          content: [
            { type: "tool_result", tool_use_id: id, content: [text("text", result)], ...marked },
            text("text", `<system-reminder>turn ${id}</system-reminder>`),
            ...(beside === undefined ? [] : [text("text", beside)]),
          ],
        },
      ];
    },
  },
  {
    operation: "responses",
    path: "/v1/responses",
    fields: { store: false },
    list: "input",
    first: { role: "developer", content: "Be brief." },
    turn(turn, id) {
      if ("said" in turn)
        return [
          { type: "reasoning", id: `rs_${id}`, encrypted_content: id },
          { type: "message", id, role: "assistant", content: [text("output_text", turn.said)] },
          { role: "user", content: [text("input_text", turn.reply)] },
        ];
      const { tool: name, args, result, beside } = turn;
      return [
        { type: "reasoning", id: `rs_${id}`, encrypted_content: id },
        {
          type: "function_call",
          id: `fc_${id}`,
          call_id: id,
          name,
          arguments: JSON.stringify(args),
        },
        { type: "function_call_output", call_id: id, output: result },
        ...(beside === undefined ? [] : [{ role: "user", content: beside }]),
      ];
    },
  },
  {
    operation: "generate_content",
    path: "/v1beta/models/m:generateContent",
    fields: {},
    list: "contents",
    first: { role: "user", parts: [{ text: "Do it." }] },
    turn(turn, id) {
      if ("said" in turn)
        return [
          { role: "model", parts: [{ text: id, thought: true }, { text: turn.said }] },
          { role: "user", parts: [{ text: turn.reply }] },
        ];
      const { tool: name, args, result, beside } = turn;
      return [
        {
          role: "model",
          parts: [{ functionCall: { id, name, args }, thoughtSignature: id }],
        },
        {
          role: "user",
          parts: [
            { functionResponse: { id, name, response: { output: result } } },
            ...(beside === undefined ? [] : [{ text: beside }]),
          ],
        },
      ];
    },
  },
];

/** The conversation as a field of a request. */
export function conversationIn(
  { list, first, turn }: ConversationDialect,
  turns: readonly ReportedTurn[],
): Readonly<Record<string, unknown>> {
  return { [list]: [first, ...turns.flatMap((one, i) => turn(one, String(i)))] };
}
