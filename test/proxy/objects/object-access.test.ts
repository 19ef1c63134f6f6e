import t from "tap";
import { authenticatedCaller } from "../../../proxy/auth/caller.js";
import { foreignObject, rememberOwner } from "../../../proxy/objects/object-access.js";
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
  "responses are remembered for as long as OpenAI keeps them, other objects for a year",
  async (t) => {
    const days: unknown[] = [];
    const call = (_op: string, body: unknown) => {
      days.push((body as { days: unknown }).days);
      return Promise.resolve({ ok: true, value: {} } as never);
    };
    const made = { provider: "openai", userPath: "/team", ids: ["x"] };
    for (const operation of ["responses", "files"] as const)
      await rememberOwner({ limiter: { call }, log: { warn: () => {} } }, { ...made, operation });
    await rememberOwner(
      { limiter: { call }, log: { warn: () => {} } },
      { ...made, operation: "files", ids: [] },
    );
    t.same(days, [30, 365]);
  },
);
