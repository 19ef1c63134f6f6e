import t from "tap";
import {
  type CreateEvent,
  inputItems,
  joinItems,
  readClientEvent,
  requestBody,
} from "../../../../proxy/dialects/responses-socket/client-event.js";

const create = (fields: string): CreateEvent =>
  readClientEvent(`{"type":"response.create",${fields}}`) as CreateEvent;
const bodyOf = (event: CreateEvent, items = "", continues = ""): string =>
  requestBody(event, items, continues).toString();

t.test("a request has the client's fields, and none of the socket's", async (t) => {
  const event = create(
    '"model":"m","stream":false,"stream_id":"a","generate":true,"background":false,"previous_response_id":"r","input":"hi","tools":[{"parameters":{"const":12345678901234567890}}]',
  );
  t.match(event, { kind: "create", streamId: "a", previousId: "r", generate: true });
  t.equal(
    bodyOf(event, inputItems(event)),
    '{"model":"m","stream":true,"tools":[{"parameters":{"const":12345678901234567890}}],"input":[{"type":"message","role":"user","content":"hi"}]}',
  );
  t.match(bodyOf(event, "", "r"), /"previous_response_id":"r","input":\[\]/);
});

t.test("encrypted reasoning is asked for if the next request needs it", async (t) => {
  const included = '"include":["reasoning.encrypted_content"]';
  t.match(bodyOf(create('"store":false,"reasoning":{}')), included);
  t.match(bodyOf(create(`"store":false,"reasoning":{},${included}`)), included);
  t.notMatch(bodyOf(create('"store":false')), "include");
  t.notMatch(bodyOf(create('"reasoning":{}')), "include");
});

t.test("fields can't add to the request what the client didn't send", async (t) => {
  const event = create('"model":"m","input":[{"a":"]},\\"store\\":true"}],"__proto__":{"store":1}');
  const body = JSON.parse(bodyOf(event, inputItems(event))) as Record<string, unknown>;
  t.same(Object.keys(body), ["model", "__proto__", "stream", "input"]);
  t.same(body["input"], [{ a: ']},"store":true' }]);
});

t.test("items are joined", async (t) => {
  t.same(
    [joinItems("", ""), joinItems("1", ""), joinItems("", "2"), joinItems("1", "2")],
    ["", "1", "2", "1,2"],
  );
  t.equal(inputItems(create('"input":[1,2]')), "1,2");
  t.equal(inputItems(create('"input":null')), "");
});

t.test("no text makes it throw", async (t) => {
  const steer = readClientEvent(
    '{"type":"response.steer","previous_response_id":{"toString":1},"input":[1]}',
  );
  t.same(steer, { kind: "steer", previousId: "", input: [1] });
  for (const text of [
    "",
    "null",
    "\u0000",
    `{"a":${"[".repeat(1e6)}${"]".repeat(1e6)}}`,
    '{"type":{"toString":1}}',
    '{"type":"response.create","stream_id":{"toString":1}}',
    `{"type":"response.create","stream_id":"${"x".repeat(129)}"}`,
    '{"type":"response.create","previous_response_id":{"toString":1}}',
  ])
    t.equal(readClientEvent(text).kind, "invalid", text.slice(0, 70));
});
