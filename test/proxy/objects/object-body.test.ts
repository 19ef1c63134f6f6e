import t from "tap";
import { isUtf8Text } from "../../../proxy/body/model-body.js";
import { namingIn, parseObjectBody } from "../../../proxy/objects/object-body.js";

const problem = (body: string | Buffer): string | undefined => {
  const parsed = parseObjectBody(Buffer.from(body as string), isUtf8Text);
  return parsed.ok ? undefined : parsed.failure.message;
};

t.test("a body is a JSON object in UTF-8", async (t) => {
  t.equal(problem("{"), "the body must be a JSON object: it is not valid JSON");
  t.equal(problem("[]"), "the body must be a JSON object, not an array");
  t.match(problem(Buffer.from('{"a":"\xff"}', "latin1")), "it is not valid UTF-8");
  t.match(problem(Buffer.from('{"file_id":"x"}', "utf16le")), "it is not valid JSON");
  t.match(problem('--B\r\nContent-Disposition: form-data; name="file_id"'), "not valid JSON");
});

t.test(
  "each field that names an object is there once, as it is called, with a bare id",
  async (t) => {
    const good = [
      "{}",
      '{"file_id":"a","file_ids":["b","c"]}',
      '{"items":[{"file_id":"a"},{"file_id":"a"}],"id":"x"}',
      '{"conversation":{"id":"conv_1"},"text":"\\"file_id\\":1, \\\\"}',
      '{"tools":[{"properties":{"Container":{"type":"string"},"file_id":{"type":"string"}}}]}',
      '{"Input":"a","input":"b"}',
      `{"deep":${"[".repeat(50_000)}${"]".repeat(50_000)}}`,
    ];
    for (const body of good) t.equal(problem(body), undefined, body.slice(0, 80));
    const bad: readonly (readonly [body: string, message: string])[] = [
      ['{"file_id":"a","file_id":"b"}', "file_id is given more than once"],
      ['{"file_id":"a","file\\u005fid" : "b"}', "file_id is given more than once"],
      ['{"input":[{"file_id":"a"}],"input":[]}', "file_id is given more than once"],
      ['{"conversation":{"id":"a","id":"b"}}', "id is given more than once"],
      ['{"Previous_Response_Id":"a"}', "Previous_Response_Id is given: the field is called"],
      ['{"items":[{"FILE_IDS":["a"]}]}', "FILE_IDS is given: the field is called file_ids"],
      ['{"conver\\u017fation":"a"}', "is given: the field is called conversation"],
      ['{"conversation":{"id":"a","ID":"b"}}', "conversation.ID is given: the field is called id"],
      ['{"file_id":" a"}', "file_id must not have white space around it"],
      ['{"file_ids":["a","b\\n"]}', "file_ids must not have white space around it"],
      ['{"container":{"id":"a\\u00a0"}}', "container must not have white space around it"],
    ];
    for (const [body, message] of bad) t.match(problem(body), message, body);
  },
);

t.test(
  "a request to a model names each object once, and may spell tools as it likes",
  async (t) => {
    const repeated = (body: string): string | undefined =>
      namingIn(Buffer.from(body), JSON.parse(body), "responses")?.repeated?.message;
    const good = [
      "{}",
      '{"previous_response_id":"a"}',
      '{"input":[{"id":"a","file_id":"a"},{"id":"b","file_id":"a"}],"text":"\\u00e9 \\"file_id\\":1"}',
      '{"input":[{"arguments":{"Container":"a","file_id":" b"}}]}',
    ];
    for (const body of good) t.equal(repeated(body), undefined, body);
    for (const [body, name] of [
      ['{"previous_response_id":"a","previous_response_id":"b"}', "previous_response_id"],
      ['{"previous_response_id":"a","previous\\u005fresponse_id":null}', "previous_response_id"],
      ['{"file_id":"a","f\\u0069le\\u005F\\u0069d":"b"}', "file_id"],
      ['{"conversation":{"id":"a","\\u0069\\u0064":"b"}}', "id"],
      ['{"conversation":{"id":"a","id":"b"}}', "id"],
      ['{"input":[{"file_id":"a"}],"input":[],"tools":[{"file_ids":["file_id"]}]}', "file_id"],
    ] as const)
      t.equal(repeated(body), `${name} is given more than once`, body);
  },
);
