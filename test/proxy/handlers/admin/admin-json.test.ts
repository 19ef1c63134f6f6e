import t from "tap";
import { readJson } from "../../../../proxy/handlers/admin/admin-json.js";
import { fakeGateway, served } from "../../fake-gateway.js";

const fake = fakeGateway("providers: { openai: { type: openai, api_key: none, models: [m] } }");

/** The value, or the field that is refused and why. */
async function read(text: string): Promise<unknown> {
  let result: unknown;
  await served(
    fake,
    async (context) => {
      const body = await readJson(context);
      result = body.ok ? body.value : `${body.failure.param}: ${body.failure.message}`;
    },
    { path: "/admin/rate-limits", body: text },
  );
  return result;
}

t.test("a field __proto__ is named as it was sent, wherever it is", async (t) => {
  const table: readonly (readonly [body: string, place: string])[] = [
    ['{"__proto__":{}}', "__proto__"],
    ['{"subject":"/a","__proto__":1}', "__proto__"],
    ['{"\\u005f_proto__":1}', "__proto__"],
    ['{"limit_key":{"__proto__":"minute"}}', "limit_key.__proto__"],
    ['{"targets":[{"model":"m"},{"__proto__":null}]}', "targets[1].__proto__"],
  ];
  for (const [body, place] of table) t.equal(await read(body), `${place}: unknown field ${place}`);
  t.same(await read('{"subject":"__proto__","a":["__proto__"]}'), {
    subject: "__proto__",
    a: ["__proto__"],
  });
});

t.test("what is no JSON, or too deep, is refused", async (t) => {
  t.match(await read("{"), /^body: the body must be a JSON object: /);
  t.match(await read('{"a":{"b":{"c":{"d":{}}}}}'), /^body: .*nested more than 4 deep/);
  t.same(await read('{"a":{"b":{"c":1}}}'), { a: { b: { c: 1 } } });
});
