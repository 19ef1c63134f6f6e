import t from "tap";
import { namingIn } from "../../../proxy/objects/object-body.js";
import { madeIds, type NamedIds } from "../../../proxy/objects/object-ids.js";
import { parseJson } from "../../../shared/checked.js";
import type { Operation } from "../../../shared/operation.js";

/** Of a request to a model. */
function namedIn(body: string, operation: Operation | null): NamedIds | null {
  const naming = namingIn(Buffer.from(body), parseJson(body), operation);
  return naming === null ? new Map() : naming.ids;
}

function idsIn(body: string): readonly string[] | null {
  const named = namedIn(body, null);
  return named === null ? null : [...named.keys()];
}

t.test("an answer tells what was made", async (t) => {
  t.same(madeIds("files", { id: "f", output_file_id: "x" }), ["f"]);
  t.same(madeIds("responses", { id: "resp_1", output: [{ id: "msg_1" }] }), ["resp_1"]);
  t.same(madeIds("batches", { id: "b", output_file_id: "o", error_file_id: null }), ["b", "o"]);
  t.same(madeIds("messages", { id: "msg_1", type: "message" }), ["msg_1"]);
  t.same(madeIds("messages", { type: "message_start", message: { id: "msg_1" } }), ["msg_1"]);
  t.same(madeIds("uploads", { id: "u", file: { id: "f" } }), ["u", "f"]);
  for (const answer of [null, [], "id", {}, { id: 7 }, { id: "../x" }, { id: "a b" }, { id: "" }])
    t.same(madeIds("files", answer), [], JSON.stringify(answer));
});

t.test(
  "the objects that a body names are found wherever they are, and however they are written",
  async (t) => {
    const table: readonly (readonly [body: string, ids: readonly string[]])[] = [
      ['{"previous_response_id":"resp_1"}', ["resp_1"]],
      ['{"conversation":"conv_1"}', ["conv_1"]],
      ['{"thread":{"type":"continue","previous_message_id":"msg_1"}}', ["msg_1"]],
      ['{"conversation":{"id":"conv_1"}}', ["conv_1"]],
      ['{"input":[{"content":[{"type":"input_file","file_id":"file-1"}]}]}', ["file-1"]],
      ['{"tools":[{"container":{"type":"auto","file_ids":["a","b"]}}]}', ["a", "b"]],
      ['{"tools":[{"container":"cntr_1"}]}', ["cntr_1"]],
      ['{"environment":{"type":"container_reference","container_id":"cntr_1"}}', ["cntr_1"]],
      ['{"conversation_id":"conv_1"}', ["conv_1"]],
      ['{"response_id":"r","batch_id":"b","upload_id":"u","part_ids":["p"]}', ["b", "p", "r", "u"]],
      ['{"input_file_id":"file-1"}', ["file-1"]],
      ['{"file\\u005fid":"file-1"}', ["file-1"]],
      ['{"a":{"b":[[[{"file_id":"file-1"}]]]},"file_id":"file-1"}', ["file-1"]],
      ['{"file_id":7,"conversation":null,"container":{"type":"auto"}}', []],
      ['{"text":"\\"file_id\\":\\"file-1\\""}', []],
      ['{"messages":[{"content":"hi"}]}', []],
      ['not JSON with "file_id"', []],
    ];
    for (const [body, ids] of table) t.same(idsIn(body)?.toSorted(), ids, body);
    const conversed = '{"conversation":"conv_1"}';
    t.same(namedIn(conversed, "responses"), new Map([["conv_1", "conversation"]]));
    t.same(namedIn(conversed, "chat_completions"), new Map());
    t.same(namedIn('{"file_ids":["f"]}', "messages"), new Map([["f", "file_ids"]]));
  },
);

t.test("a body names at most 1,000 objects: none hides behind others", async (t) => {
  const files = (count: number): readonly object[] =>
    Array.from({ length: count }, (_, i) => ({ file_id: `f${i}` }));
  const named = (value: unknown) => idsIn(JSON.stringify(value));
  t.equal(named(files(1000))?.length, 1000);
  t.equal(named([...files(1000), ...files(1000)])?.length, 1000, "each once");
  t.equal(named({ previous_response_id: "resp_1", input: files(1000) }), null);
  t.equal(named({ input: [{ file_ids: files(5000).map((_, i) => `f${i}`) }] }), null);
});
