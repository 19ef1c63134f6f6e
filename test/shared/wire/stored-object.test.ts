import t from "tap";
import {
  isObjectId,
  objectDays,
  objectsPerCall,
  parseMadeObjects,
  parseObjectIds,
  readObjectOwners,
} from "../../../shared/wire/stored-object.js";

const many = (count: number, of: unknown): unknown[] => Array(count).fill(of);

t.test("an id is what providers make, and what fits into a path", async (t) => {
  for (const id of ["a", "-", "file-1.b_C", "_".repeat(256)]) t.ok(isObjectId(id), id);
  for (const id of ["", ".", "a/b", "a b", "a\n", "x".repeat(257), 7, null])
    t.notOk(isObjectId(id), String(id));
});

t.test("a new object is reported with its path and its lifetime", async (t) => {
  const name = { provider: "openai", id: "file-1" };
  const body = { user_path: "/a", objects: [name], days: 30 };
  for (const [changes, expected] of [
    [{}, { userPath: "/a", objects: [name], days: 30 }],
    [
      { days: 1, objects: [] },
      { userPath: "/a", objects: [], days: 1 },
    ],
    [
      { days: objectDays, objects: many(objectsPerCall, name) },
      { userPath: "/a", objects: many(objectsPerCall, name), days: objectDays },
    ],
    [
      { objects: [{ ...name, provider: "p".repeat(512) }] },
      { userPath: "/a", objects: [{ ...name, provider: "p".repeat(512) }], days: 30 },
    ],
  ] as const)
    t.strictSame(parseMadeObjects({ ...body, ...changes }), { ok: true, value: expected });
  const wrong = {
    user_path: ["a", "/a/", "", null],
    days: [0, objectDays + 1, 1.5, "30"],
    objects: [
      null,
      many(objectsPerCall + 1, name),
      [name, null],
      [{ ...name, id: "" }],
      [{ id: "file-1" }],
      [{ ...name, provider: "" }],
      [{ ...name, provider: "a b" }],
      [{ ...name, provider: "p".repeat(513) }],
      [{ ...name, provider: ["openai"] }],
    ],
  };
  for (const [param, values] of Object.entries(wrong))
    for (const value of values)
      t.match(
        parseMadeObjects({ ...body, [param]: value }),
        { ok: false, failure: { param } },
        `${param}: ${JSON.stringify(value)}`.slice(0, 60),
      );
  t.match(parseMadeObjects(null), { ok: false, failure: { param: "body" } });
});

t.test("owners are asked by ids, and answered in their order", async (t) => {
  for (const ids of [[], ["a", "b"], many(objectsPerCall, "a")])
    t.strictSame(parseObjectIds({ ids }), { ok: true, value: ids });
  for (const body of [null, {}, { ids: "a" }, { ids: ["a", 7] }, { ids: many(101, "a") }])
    t.match(parseObjectIds(body), { ok: false, failure: { param: "ids" } });
  const owner = { provider: "openai", userPath: "/a" };
  t.strictSame(readObjectOwners({ owners: [[owner], [], [owner, owner]] }, 3), [
    [owner],
    [],
    [owner, owner],
  ]);
  t.strictSame(
    readObjectOwners(
      { owners: [[owner, {}, null, { ...owner, userPath: 7 }, { userPath: "/" }]] },
      1,
    ),
    [[owner]],
    "what isn't an owner is passed over",
  );
  t.strictSame(readObjectOwners({ owners: ["x", [owner]] }, 2), [[], [owner]]);
  for (const body of [null, {}, { owners: [] }, { owners: [[owner]] }, { owners: owner }])
    t.strictSame(readObjectOwners(body, 2), [[], []], "an answer that isn't one names nobody");
});
