import { isUtf8 } from "node:buffer";
import t from "tap";
import { readRpcMessage } from "../../../proxy/body/rpc-message.js";

const read = (text: string) => readRpcMessage(Buffer.from(text), isUtf8);

t.test("a request, and the tool, prompt or resource that it names", async (t) => {
  for (const [text, id, method, name] of [
    ['{"jsonrpc":"2.0","id":1,"method":"tools/list"}', 1, "tools/list", null],
    ['{"id":"a","method":"tools/call","params":{"name":"x"}}', "a", "tools/call", "x"],
    [
      '{"id":0,"method":"resources/read","params":{"uri":"file:///x"}}',
      0,
      "resources/read",
      "file:///x",
    ],
    [
      '{"id":1,"method":"tools/call","params":{"name":"é","arguments":{"Name":1,"name":2}}}',
      1,
      "tools/call",
      "é",
    ],
    ['{"id":1,"method":"tools/\\u0063all","params":{"\\u006eame":"x"}}', 1, "tools/call", "x"],
    ['{"id":1,"method":"x","params":[1]}', 1, "x", null],
  ] as const)
    t.same(read(text), { kind: "request", id, method, name }, text);
});

t.test("notifications and answers to the server are no requests", async (t) => {
  t.match(read('{"method":"notifications/cancelled","params":{"name":"x"}}'), { kind: "other" });
  t.match(read('{"id":1,"result":{}}'), { kind: "other", method: "" });
  t.match(read('{"id":1,"error":{"code":1,"message":""}}'), { kind: "other" });
});

t.test("what another parser could read otherwise is invalid", async (t) => {
  for (const [text, problem] of [
    ["", /not JSON/],
    ["[]", /batch/],
    ["null", /not an object/],
    ["{}", /method is required/],
    ['{"id":1,"method":1}', /method must be a text/],
    ['{"id":null,"method":"x"}', /id must be/],
    ['{"id":null,"method":"notifications/x"}', /id must be/],
    ['{"method":"tools/call","params":{"name":"x"}}', /id is required/],
    ['{"method":"resources/read","params":{"uri":"file:///x"}}', /id is required/],
    ['{"method":"prompts/get","params":{"name":"x"}}', /id is required/],
    ['{"method":"Notifications/x"}', /id is required/],
    ['{"method":"notifications"}', /id is required/],
    ['{"id":1,"id":2,"method":"x"}', /id is given/],
    ['{"id":1,"method":"x","Method":"y"}', /method is given/],
    ['{"id":1,"METHOD":"y","result":1}', /method is given/],
    ['{"id":1,"method":"x","params":{},"params":{}}', /params is given/],
    ['{"id":1,"method":"tools/call","params":{"name":"x","NAME":"y"}}', /params.name is given/],
    ['{"id":1,"method":"tools/call","params":{"name":""}}', /params.name is required/],
    ['{"id":1,"method":"tools/call"}', /params.name is required/],
  ] as const) {
    const message = read(text);
    t.equal(message.kind, "invalid", text);
    t.match(message.kind === "invalid" ? message.problem : "", problem, text);
  }
  const latin = Buffer.from('{"id":1,"method":"tools/call","params":{"name":"x\xff"}}', "latin1");
  t.match(readRpcMessage(latin, isUtf8), { kind: "invalid", problem: /not valid UTF-8/ });
  t.match(read(`[${"1,".repeat(300_000)}1]`), {
    kind: "invalid",
    problem: /more than 250000 values/,
  });
});
