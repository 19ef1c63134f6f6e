import t from "tap";
import { chatCountToGoogle } from "../../../../proxy/dialects/chat-to-google/chat-count-to-google.js";
import type { JsonObject } from "../../../../proxy/dialects/shared/translation.js";
import { options } from "../request-options.js";

function counted(body: JsonObject): unknown {
  const result = chatCountToGoogle.request(body, options);
  return result.ok ? result.body : result;
}

t.test("what of a chat request counts is sent to be counted", async (t) => {
  t.strictSame(
    counted({
      model: "m",
      temperature: 1,
      messages: [
        { role: "system", content: "Be brief." },
        { role: "developer", content: [{ type: "text", text: "And kind." }] },
        {
          role: "user",
          content: [
            { type: "text", text: "what is it?" },
            { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
            { type: "image_url", image_url: { url: "https://example.com/a.png" } },
            { type: "file", file: { file_data: "data:application/pdf;base64,BBBB" } },
          ],
        },
        {
          role: "assistant",
          content: null,
          tool_calls: [
            { id: "a", type: "function", function: { name: "f", arguments: '{"x":1}' } },
            { id: "b", type: "function", function: { name: "g", arguments: "{" } },
          ],
        },
        { role: "tool", tool_call_id: "a", content: "one" },
        { role: "tool", tool_call_id: "z", content: [{ type: "text", text: "two" }] },
        { role: "assistant", content: "" },
      ],
      tools: [
        {
          type: "function",
          function: { name: "f", description: "d", parameters: { type: "object" } },
        },
        { type: "function", function: { name: "g" } },
      ],
    }),
    {
      contents: [
        {
          role: "user",
          parts: [
            { text: "what is it?" },
            { inlineData: { mimeType: "image/png", data: "AAAA" } },
            { inlineData: { mimeType: "application/pdf", data: "BBBB" } },
          ],
        },
        {
          role: "model",
          parts: [
            { functionCall: { name: "f", args: { x: 1 } } },
            { functionCall: { name: "g", args: {} } },
          ],
        },
        { role: "user", parts: [{ functionResponse: { name: "f", response: { output: "one" } } }] },
        {
          role: "user",
          parts: [{ functionResponse: { name: "unknown", response: { output: "two" } } }],
        },
      ],
      systemInstruction: { parts: [{ text: "Be brief." }, { text: "And kind." }] },
      tools: [
        {
          functionDeclarations: [
            { name: "f", description: "d", parametersJsonSchema: { type: "object" } },
            { name: "g" },
          ],
        },
      ],
    },
  );
  t.strictSame(counted({ messages: [{ role: "user", content: "hi" }] }), {
    contents: [{ role: "user", parts: [{ text: "hi" }] }],
  });
});
