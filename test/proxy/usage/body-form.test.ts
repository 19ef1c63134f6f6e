import t from "tap";
import { bodyForm, mustBeJson } from "../../../proxy/usage/body-form.js";
import type { Operation } from "../../../shared/operation.js";

t.test(
  "what must be JSON is the answer of a model in JSON, but pictures and deletions",
  async (t) => {
    const table: readonly (readonly [string, Operation, string, boolean])[] = [
      ["POST", "chat_completions", "application/json", true],
      ["POST", "chat_completions", "text/html", true],
      ["POST", "chat_completions", "image/png", true],
      ["GET", "responses", "", true],
      ["DELETE", "responses", "", false],
      ["POST", "images", "text/html", true],
      ["POST", "images", "image/png", false],
      ["POST", "image_edits", "application/octet-stream", false],
      ["POST", "image_variations", "video/mp4", false],
      ["POST", "images", "text/image/png", true],
      ["POST", "speech", "text/html", false],
      ["GET", "files", "application/json", false],
    ];
    for (const [method, operation, contentType, must] of table)
      t.equal(
        mustBeJson(method, operation, contentType),
        must,
        `${method} ${operation} ${contentType}`,
      );
  },
);

t.test("a body is read as JSON, text or bytes; what providers keep is never read", async (t) => {
  const table: readonly (readonly [string, Operation, string])[] = [
    ["", "chat_completions", "json"],
    ["application/json; charset=utf-8", "embeddings", "json"],
    ["application/problem+json", "speech", "json"],
    ["application/json", "files", "text"],
    ["", "batches", "text"],
    ["text/plain", "chat_completions", "text"],
    ["audio/mpeg", "speech", "bytes"],
    ["image/png", "images", "bytes"],
    ["video/mp4", "images", "bytes"],
    ["application/octet-stream", "files", "bytes"],
    ["text/audio/mpeg", "speech", "text"],
  ];
  for (const [contentType, operation, form] of table)
    t.equal(bodyForm(contentType, operation), form, `${contentType} ${operation}`);
});
