import t from "tap";
import { authenticatedCaller } from "../../../proxy/auth/caller.js";
import {
  foreignObject,
  rememberOwner,
  targetsOfMaker,
} from "../../../proxy/objects/object-access.js";
import type { Target } from "../../../shared/domain/target-name.js";
import { fieldsOf } from "../body/fields-of.js";
import { fakeGateway, operator } from "../fake-gateway.js";

t.test("a body that names too many objects to ask for is refused, and says so", async (t) => {
  const { gateway } = fakeGateway(
    'providers: { one: { type: openai, base_url: "http://127.0.0.1:1/v1", models: [x] } }',
  );
  t.match(await foreignObject(gateway, authenticatedCaller("/team"), null), {
    status: 400,
    message: "the body names more than 1000 stored objects",
  });
  t.equal(await foreignObject(gateway, operator, null), null, "who may name all of them");
});

t.test(
  "responses and threads are remembered for as long as providers keep them, others for a year",
  async (t) => {
    const days: unknown[] = [];
    const call = (_op: string, body: unknown) => {
      days.push((body as { days: unknown }).days);
      return Promise.resolve({ ok: true, value: {} } as never);
    };
    const made = { provider: "openai", userPath: "/team", ids: ["x"] };
    for (const operation of ["responses", "files", "messages"] as const)
      await rememberOwner({ limiter: { call }, log: { warn: () => {} } }, { ...made, operation });
    await rememberOwner(
      { limiter: { call }, log: { warn: () => {} } },
      { ...made, operation: "files", ids: [] },
    );
    t.same(days, [30, 365, 1]);
  },
);

const [a, b, other] = [
  { provider: "one", model: "a" },
  { provider: "two", model: "b" },
  { provider: "two", model: "c" },
] as const satisfies readonly Target[];

const fake = fakeGateway(`
providers:
  one: { type: openai, base_url: "http://127.0.0.1:1/v1", models: [a] }
  two: { type: openai, base_url: "http://127.0.0.1:2/v1", models: [b, c] }
  east: { type: openai, base_url: "http://127.0.0.1:3/v1", models: [d], account: acme }
  west: { type: openai, base_url: "http://127.0.0.1:4/v1", models: [e], account: acme }
`);
fake.owners.set("resp_1", [{ provider: "two", userPath: "/team" }]);
fake.owners.set("conv_1", [{ provider: "one", userPath: "/team" }]);
fake.owners.set("resp_gone", [{ provider: "removed", userPath: "/team" }]);
fake.owners.set("resp_east", [{ provider: "east", userPath: "/team" }]);
const { limiter, providers } = fake.gateway;

t.test("what continues a response goes to the provider that made it", async (t) => {
  const table: readonly (readonly [string, readonly Target[]])[] = [
    ['{"previous_response_id":"resp_1"}', [b, other]],
    ['{"previous_respons\\u0065_id":"resp_1"}', [b, other]],
    ['{"previous_response_id":"resp_2","previous_response_id":"resp_1"}', [b, other]],
    ['{"conversation":"conv_1"}', [a]],
    ['{"conversation":{"id":"conv_1"}}', [a]],
    ['{"thread":{"type":"continue","previous_message_id":"conv_1"}}', [a]],
    ['{"thread":{"type":"create"}}', [a, b, other]],
    ['{"previous_response_id":null}', [a, b, other]],
    ['{"previous_response_id":"resp_unknown"}', [a, b, other]],
    ['{"previous_response_id":"resp_gone"}', [a, b, other]],
    ['{"previous_response_id":7,"conversation":[]}', [a, b, other]],
    ['{"previous_response_id":"../x y"}', [a, b, other]],
    ['{"input":"say previous_response_id: resp_1"}', [a, b, other]],
    ['{"input":[{"previous_response_id":"resp_1"}]}', [a, b, other]],
    ["{}", [a, b, other]],
  ];
  for (const [body, expected] of table)
    t.same(
      await targetsOfMaker({ limiter, providers }, fieldsOf(body), [a, b, other]),
      expected,
      body,
    );
});

t.test(
  "the daemon is asked only if it makes a difference, and its absence stops nothing",
  async (t) => {
    const asked: unknown[] = [];
    const away = {
      providers,
      limiter: {
        call(op: unknown) {
          asked.push(op);
          return Promise.resolve({ ok: false, failure: {} as never }) as never;
        },
      },
    };
    const body = fieldsOf('{"previous_response_id":"resp_1"}');
    for (const targets of [[b], [b, other]])
      t.equal(await targetsOfMaker(away, body, targets), targets);
    t.same(await targetsOfMaker(away, { valuesOf: () => [] }, [a, b]), [a, b]);
    t.same(await targetsOfMaker(away, fieldsOf("{}"), [a, b]), [a, b]);
    t.same(asked, []);
    t.same(await targetsOfMaker(away, body, [a, b]), [a, b]);
    t.same(asked, ["objects.owners"]);
  },
);

t.test("providers of one account can continue what either of them has stored", async (t) => {
  const east = { provider: "east", model: "d" };
  const west = { provider: "west", model: "e" };
  const continued = (id: string): Promise<readonly Target[]> =>
    targetsOfMaker({ limiter, providers }, fieldsOf(`{"previous_response_id":"${id}"}`), [
      a,
      west,
      b,
      east,
    ]);
  t.same(await continued("resp_east"), [west, east]);
  t.same(await continued("resp_1"), [b]);
  t.same(await continued("resp_gone"), [a, west, b, east]);
});
